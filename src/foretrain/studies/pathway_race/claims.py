"""What section 4.2 says of the race, and whether it is so."""

from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.trajectory import at_end
from foretrain.studies.pathway_race.study import handicap, part_factors, variants
from foretrain.studies.pathway_race.theory import (
    DUELS,
    decoupled_run,
    loser_within,
    overlap,
    unshared,
)
from foretrain.training.routing import items_task

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.2, "
OURS = "docs/studies/pathway-race.md"


def _times(cell) -> np.ndarray:
    """Measured half-learning times of mode 1, shape (seed, paths)."""
    return cell.fits["measured_half_time"].isel(mode=0).transpose("seed", "paths").values


def _slowest_gain(times) -> np.ndarray | np.float64:
    """Smallest ratio of the half-learning times of neighbouring P."""
    return (times[..., :-1] / times[..., 1:]).min(-1)


def _foretold(cell, name) -> np.ndarray:
    return cell.theory[name].isel(mode=0).transpose("paths").values


def _ends(cell, name) -> float:
    times = _foretold(cell, name)
    return float(times[0] / times[-1])


def _ends_within(cell, name) -> tuple[float, float]:
    reach = 1 + sum(overlap(cell.parameters, cell.values("paths")[end]) for end in (0, -1))
    return _ends(cell, name) / reach, _ends(cell, name) * reach


def speed_up(cell):
    p, paths = cell.parameters, cell.values("paths")
    if len(paths) == 1 or p.against_full_sharing or p.init_law == "decoupled":
        return None
    times, overlaps = _times(cell), cell.fits["effective_overlap"].transpose("paths", "seed").values
    listed = ", ".join(
        f"{np.mean(values):.2f} (P = {number})"
        for number, values in zip(paths, overlaps, strict=True)
    )
    return PerSeed(
        times[:, 0] / times[:, -1],
        f"Half-learning time of mode 1, P = {paths[0]} over P = {paths[-1]}. Effective equal start over init_scale: {listed}.",
    )


def _alone(p) -> bool:
    """Whether the modules race by themselves, from random weights with encoders of their own."""
    return p.init_law == "orthogonal" and not (p.shared_encoders or p.against_full_sharing)


def _half_time_within(cell) -> tuple[float, float]:
    p, time = cell.parameters, float(cell.theory["half_learning_time"].isel(mode=0))
    reach, late = overlap(p, p.paths), p.step_fraction / 2 * (p.dynamics == "flow")
    return time * (1 - reach), time * (1 + reach + late)


def half_time(cell):
    if not _alone(cell.parameters):
        return None
    equal = float(cell.theory["equal_start_half_time"].isel(mode=0))
    measured = cell.fits["measured_half_time"].isel(mode=0).values
    return PerSeed(measured, f"From equal starts at init_scale it would be {equal:.4g}.")


def _late(cell) -> tuple[float, float]:
    late, reach = cell.parameters.step_fraction, unshared(cell.parameters)
    return 1 - reach, 1 + late + reach


def half_time_of_start(cell):
    if not _alone(cell.parameters):
        return None
    both = (cell.fits[f"{name}_half_time"].isel(mode=0) for name in ("measured", "foretold"))
    measured, foretold = (one.transpose("seed").values for one in both)
    spread = np.nanstd(measured / np.nanmean(measured)) if np.isfinite(measured).any() else np.nan
    return PerSeed(measured / foretold, f"Measured times themselves vary by {spread:.1%} (SD).")


def decoupled(cell):
    run = cell.variants["decoupled"].isel(seed=0)
    overrides = {k: v for k, v in variants(cell.parameters)["decoupled"].items() if k != "seeds"}
    expected = decoupled_run(replace(cell.parameters, **overrides))
    kept = run["step"].values[np.isfinite(run["loss"].values)]
    measured = run["part_strength"].sel(step=kept).transpose("step", "part", "mode").values
    deviation = np.abs(measured - expected[kept]) / np.abs(expected).max()
    return Exact(float(deviation.max()) if kept.size > 1 else np.nan, seeds=1)


def _root(cell, shared: bool) -> float:
    return part_factors(replace(cell.parameters, shared_encoders=shared))[0].ratio ** 0.5


def _ratio_within(cell, shared: bool) -> tuple[float, float]:
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    outer = (data.singular_values[0] / data.variances[0] / _root(cell, shared)) ** (1 / 3)
    return 1 - 2 * (p.init_scale / outer) ** 2, 1 + 2 * (p.init_scale / outer) ** 2


def _ratio(cell, data, shared):
    if cell.parameters.against_full_sharing:
        return None
    limit = _root(cell, shared)
    measured = data["weight_ratio"].isel(part=0, mode=0).values
    return PerSeed(measured / limit, f"Measured ratio of mode 1 over {limit:.4g}.")


RATIO = {
    "source": PAPER + "eqs. (16)-(17)",
    "near": 1,
    "why": "A limit of long growth: the start leaves sigma^2/B1^2 of it, and two strengths enter.",
    "at_end": True,
}


def ratio(cell):
    return None if cell.parameters.shared_encoders else _ratio(cell, cell.simulation, False)


def _limit_within(cell) -> tuple[float, float]:
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    grown = p.init_scale**3 / (data.singular_values / data.variances)[0] / part_factors(p)[0].ratio
    reach = 8 * overlap(p, p.paths) * grown ** (2 / 3) + 2 * grown
    return 1 - reach, 1 + reach


def ratio_limit(cell):
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    if not _alone(p):
        return None
    optimum = data.singular_values / data.variances
    small, large = (optimum[[0, 2]] / optimum[0]) ** (-2 / 3)
    ratio = cell.simulation["weight_ratio"].isel(part=0).transpose("seed", "mode").values
    first, third = (ratio[:, mode] / _root(cell, False) for mode in (0, 2))
    words = f"At the two sizes it is {first.mean():.5f} and {third.mean():.5f}."
    return PerSeed((large * first - small * third) / (large - small), words)


def _share(data) -> np.ndarray:
    """Share of the fully shared pathway in what is learned at the end, shape (seed, mode)."""
    strength = at_end(data["part_strength"]).transpose("seed", "part", "mode").values
    return strength[:, 1] / strength.sum(1)


SHARE = {
    "note": "Share of the fully shared pathway in the learned map, mean over modes.",
    "at_end": True,
}


def full_sharing_wins(cell):
    p = cell.parameters
    if not _alone(p) or p.paths == p.domains**2 or p.full_sharing_scale != 1:
        return None
    return _share(cell.variants["mixed"]).mean(1)


def _loser(cell, variant, name) -> PerSeed:
    share, expected = _share(cell.variants[variant]), cell.theory[name].values
    if expected.mean() > 0.5:
        share, expected = 1 - share, 1 - expected
    text = f"Measured over predicted share, mean over modes; predicted {expected.mean():.2g}."
    return PerSeed((share / expected).mean(1), text)


LOSER = {
    "source": OURS,
    "near": 1,
    "why": "The loser stops where the winner's pole ends the race. Overlaps of 1/sqrt(N_h), averaged over the modules of a "
    "scheme, move that pole and the start of the loser, which is far from its own pole and follows.",
    "at_end": True,
}


def loser_mixed(cell):
    p = cell.parameters
    if not _alone(p) or p.paths == p.domains**2:
        return None
    return _loser(cell, "mixed", "full_sharing_share")


def _loser_of_start(cell, variant) -> PerSeed:
    duel = cell.fits["foretold_duel_strength"].isel(duel=DUELS.index(variant), moment=-1)
    strength = duel.transpose("seed", "part_of_two", "mode").values
    foretold = strength[:, 1] / strength.sum(1)
    share = _share(cell.variants[variant])[: len(foretold)]
    foretold = foretold[: len(share)]
    if variant == "mixed":
        share, foretold = 1 - share, 1 - foretold
    return PerSeed((share / foretold).mean(1), "Measured over predicted share, mean over modes.")


OF_START = {
    "source": OURS,
    "near": 1,
    "why": "The loser stops where the winner's pole ends the race, and the overlaps of both are known. Finite steps make "
    "the pole late by at most the growth in one of them; what domains do not share is a head start of its size.",
    "where": lambda cell: cell.parameters.dynamics == "flow",
    "at_end": True,
}


def loser_mixed_of_start(cell):
    p = cell.parameters
    if not _alone(p) or p.paths == p.domains**2 or p.full_sharing_scale != 1:
        return None
    return _loser_of_start(cell, "mixed")


_speed_up = claim(
    "speed-up",
    "Sharing speeds learning up as in the reduction from equal starts.",
    speed_up,
    source=PAPER + "eqs. (16)-(17), Fig. 5b",
    near=lambda cell: _ends(cell, "equal_start_half_time"),
    inside=lambda cell: _ends_within(cell, "equal_start_half_time"),
    why="What the limit of wide layers leaves out of a learning time is of the size of the overlaps of two vectors, "
    "1/sqrt(N_h) averaged over the modules; two networks are compared.",
    along="paths",
    rank="headline",
)


CLAIMS = [
    claim(
        "sharing-faster",
        "Networks that share more structure learn faster.",
        lambda c: _slowest_gain(_times(c)) if len(c.values("paths")) > 1 else None,
        source=PAPER + "Fig. 5b",
        near=lambda cell: float(_slowest_gain(_foretold(cell, "half_learning_time"))),
        inside=(1, np.inf),
        along=("paths",),
        why='"Faster": a ratio above one, between any two neighbouring P.',
        note="Half-learning time of mode 1 over that of the next larger P; the smallest of these ratios.",
        rank="headline",
    ),
    _speed_up,
    _speed_up.corrected(
        "From random weights half-learning times go as P^(-1/2), since the overlap of the starts falls with P.",
        source=OURS,
        near=lambda cell: _ends(cell, "half_learning_time"),
        inside=lambda cell: _ends_within(cell, "half_learning_time"),
        where=lambda cell: not cell.parameters.shared_encoders,
        rank="headline",
    ),
    claim(
        "half-time",
        "From wide random weights the first mode is half learned when the closed form predicts, with nothing fitted.",
        half_time,
        source=OURS,
        near=lambda cell: float(cell.theory["half_learning_time"].isel(mode=0)),
        inside=_half_time_within,
        why="The limit of many hidden units leaves out overlaps of 1/sqrt(N_h), averaged over the modules; Euler's steps "
        "are late by half of the growth in one of them.",
        unit="step × learning rate",
    ),
    claim(
        "half-time-of-start",
        "Each network learns its first mode when its own initial weights predict, with nothing fitted.",
        half_time_of_start,
        source=OURS,
        near=lambda cell: 1 + cell.parameters.step_fraction / 2,
        inside=_late,
        why="Euler's steps are late by half of the growth in one where it is exponential, by all of it towards a pole. "
        "What the means of a module's domains leave out is sigma^3 of a strength, and the square of what moves its "
        "routes apart.",
        note="Measured half-learning time of mode 1 over that of the reduction from the start's own overlaps.",
        where=lambda cell: cell.parameters.dynamics == "flow",
    ),
    claim(
        "decoupled",
        "From decoupled weights, descent of the modular network is Euler of the reduction, step by step.",
        decoupled,
        source=PAPER + "eqs. (16)-(17)",
        near=0,
        inside=(0, 1e-12),
        of="decoupled",
        why="Both do the same arithmetic in float64 in another order; over hundreds of steps rounding stays below 1e-12.",
        note="Largest deviation of mode strengths, those of a handicapped full sharing beside them included, over all "
        "steps, relative to the largest strength.",
        rank="control",
    ),
    claim(
        "ratio",
        "The hidden strength B2 tends to P^(1/4) times B1.",
        ratio,
        inside=lambda cell: _ratio_within(cell, False),
        **RATIO,
        rank="headline",
    ),
    claim(
        "ratio-limit",
        "In the limit of small weights the ratio of hidden to outer strength B2/B1 tends to P^(1/4).",
        ratio_limit,
        source=OURS,
        inside=_limit_within,
        why="The start leaves a share of (sigma/B2)^2 of the ratio, which two modes extrapolate to zero; their own "
        "overlaps, up to two of either side for both, and the next order, (sigma/B2)^3, remain.",
        note="Ratio of modes 1 and 3 over the limit, extrapolated along (S/D)^(-2/3).",
        near=1,
        at_end=True,
    ),
    claim(
        "ratio-shared-encoders",
        "With shared encoders the hidden strength B2 tends to (P/M)^(1/2) times B1.",
        lambda c: _ratio(c, c["shared-encoders"], True),
        inside=lambda cell: _ratio_within(cell, True),
        of="shared-encoders",
        **RATIO,
    ),
    claim(
        "full-sharing-wins",
        "In one network with both, the most shared pathway dominates the race.",
        full_sharing_wins,
        source=PAPER + "Fig. 5b",
        near=lambda cell: float(cell.theory["full_sharing_share"].mean()),
        inside=(0.95, np.inf),
        why='"Dominate": nineteen parts in twenty of the learned map.',
        of="mixed",
        **SHARE,
        rank="headline",
    ),
    claim(
        "head-start",
        "A scheme that shares less wins if the poles of its closed form come first: a handicap of full sharing "
        "decides.",
        lambda c: _share(c["handicapped"]).mean(1) if _alone(c.p) else None,
        source=OURS,
        inside=(-0.05, 0.05),
        why="To win: nineteen parts in twenty of the learned map. How much is left to the loser, other sentences say.",
        of="handicapped",
        **SHARE,
        rank="headline",
    ),
    claim(
        "loser-mixed",
        "When the race is won, the losing scheme has learned as much as the closed form predicts, with nothing "
        "fitted.",
        loser_mixed,
        inside=lambda cell: loser_within(cell.parameters, cell.parameters.full_sharing_scale),
        of="mixed",
        **LOSER,
    ),
    claim(
        "loser-handicapped",
        "When the race is won, a handicapped full sharing has learned as much as the closed form predicts, with "
        "nothing fitted.",
        lambda c: _loser(c, "handicapped", "handicapped_share") if _alone(c.p) else None,
        inside=lambda cell: loser_within(cell.parameters, handicap(cell.parameters)),
        of="handicapped",
        **LOSER,
    ),
    claim(
        "loser-mixed-of-start",
        "When the race is won, the losing scheme has learned as much as each network's own initial weights predict, "
        "with nothing fitted.",
        loser_mixed_of_start,
        inside=lambda cell: loser_within(
            cell.parameters, cell.parameters.full_sharing_scale, known_start=True
        ),
        of="mixed",
        **OF_START,
    ),
    claim(
        "loser-handicapped-of-start",
        "When the race is won, a handicapped full sharing has learned as much as each network's own initial weights "
        "predict, with nothing fitted.",
        lambda c: _loser_of_start(c, "handicapped") if _alone(c.p) else None,
        inside=lambda cell: loser_within(
            cell.parameters, handicap(cell.parameters), known_start=True
        ),
        of="handicapped",
        **OF_START,
    ),
]
