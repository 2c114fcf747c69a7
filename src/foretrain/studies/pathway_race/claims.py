"""Claims on the race of gating schemes; the corrected form is derived in ``docs/studies/pathway-race.md``."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import tolerance
from foretrain.quantities.measured import Exact
from foretrain.study import claim
from foretrain.training.routing import items_task

from .study import DUELS, OURS, duel_scales, part_factors, variants
from .theory import decoupled_run, loser_within, overlap, unshared_part

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.2, "


def half(times):
    """Return the half-learning times of mode 1."""
    return times.isel(mode=0)


def slowest_gain(times):
    ratios = half(times).shift(paths=1) / half(times)
    return ratios.isel(paths=slice(1, None)).min("paths", skipna=False)


def ends(times):
    """Return the half-learning time of mode 1 at the smallest P over that at the largest."""
    return half(times).isel(paths=0) / half(times).isel(paths=-1)


def ends_within(c, name):
    """Return the allowed interval of the ratio of times at both ends: larger or smaller by the overlaps of both."""
    reach = 1 + sum(overlap(c.p, c.values("paths")[end]) for end in (0, -1))
    expected = float(ends(c.theory[name]))
    return expected / reach, expected * reach


def is_swept(c):
    return len(c.values("paths")) > 1


def modules_alone(c):
    """Return True where modules race without full sharing, from random weights with encoders of their own."""
    return c.p.init_law == "orthogonal" and not (c.p.shared_encoders or c.p.against_full_sharing)


def half_time_within(c):
    time, late = float(half(c.theory.half_learning_time)), c.p.dynamics == "flow"
    reach = overlap(c.p, c.p.paths)
    return time * (1 - reach), time * (1 + reach + late * c.p.step_fraction / 2)


def decoupled_gap(c):
    overrides = {k: v for k, v in variants(c.p)["decoupled"].items() if k != "seeds"}
    run = c["decoupled"].isel(seed=0)
    measured = run["part_strength"].transpose("step", "part", "mode")
    measured = measured[np.isfinite(run["loss"].values)]
    expected = decoupled_run(replace(c.p, **overrides))
    gaps = np.abs(measured.values - expected[measured["step"].values]) / np.abs(expected).max()
    return Exact(float(gaps.max()) if len(gaps) > 1 else np.nan, seeds=1)


def ratio_gap(c, network=""):
    p, data = replace(c.p, shared_encoders=bool(network)), items_task(c.p.level_weights)
    limit = part_factors(p)[0].ratio ** 0.5
    outer = ((data.singular_values / data.variances)[0] / limit) ** (1 / 3)
    ratio = c[network].weight_ratio.isel(part=0, mode=0)
    return abs(ratio / limit - 1) / (2 * (p.init_scale / outer) ** 2)


def share(strength, scheme="full sharing"):
    """Return the share of a scheme in each mode of the learned map."""
    return strength.sel(part=scheme) / strength.sum("part")


def loser_gap(c, network):
    """Return how far the loser's share is from the prediction of the networks' own starts, over the allowed distance."""
    measured = share(c[network].end.part_strength.astype(float), DUELS[network])
    ratio = (measured / c.fits.foretold_share.sel(duel=network)).mean("mode", skipna=False)
    low, high = loser_within(c.p, duel_scales(c.p)[network])
    return xr.where(ratio > 1, (ratio - 1) / (high - 1), (1 - ratio) / (1 - low))


def has_duels(c):
    """Return True where modules meet full sharing on equal terms."""
    return modules_alone(c) and c.p.paths < c.p.domains**2 and c.p.full_sharing_scale == 1


def losers_gap(c):
    handicapped = loser_gap(c, "handicapped")
    return np.maximum(handicapped, loser_gap(c, "mixed")) if has_duels(c) else handicapped


SHARE = {"note": "Share of full sharing in the learned map, mean over modes.", "at_end": True}
RATIOS = {"along": "paths", "rank": "headline"}
CLAIMS = [
    claim(
        "sharing-faster",
        "Networks that share more structure learn faster.",
        lambda c: slowest_gain(c.fits.measured_half_time),
        source=PAPER + "Fig. 5b",
        near=lambda c: slowest_gain(c.theory.half_learning_time),
        inside=(1, np.inf),
        where=is_swept,
        why='"Faster": a ratio above one, between any two neighbouring P.',
        note="Half-learning time of mode 1 over that of the next larger P; the smallest of these ratios.",
        **RATIOS,
    ),
    *claim(
        "speed-up",
        "Sharing speeds learning up as in the reduction from equal starts.",
        lambda c: ends(c.fits.measured_half_time),
        source=PAPER + "eqs. (16)-(17), Fig. 5b",
        near=lambda c: ends(c.theory.equal_start_half_time),
        inside=lambda c: ends_within(c, "equal_start_half_time"),
        where=lambda c: (
            is_swept(c) and not c.p.against_full_sharing and c.p.init_law == "orthogonal"
        ),
        why="What the limit of wide layers leaves out of a learning time is of the size of the overlaps of two vectors, "
        "1/sqrt(N_h) averaged over the modules; two networks are compared.",
        note="Half-learning time of mode 1 at the smallest P over that at the largest.",
        **RATIOS,
    ).and_corrected(
        "From random weights half-learning times go as P^(-1/2), since the overlap of the starts falls with P.",
        source=OURS,
        near=lambda c: ends(c.theory.half_learning_time),
        inside=lambda c: ends_within(c, "half_learning_time"),
        where=lambda c: is_swept(c) and modules_alone(c),
    ),
    claim(
        "half-time",
        "From wide random weights the first mode is half learned when the closed form predicts, with nothing fitted.",
        lambda c: half(c.fits.measured_half_time),
        source=OURS,
        near=lambda c: half(c.theory.half_learning_time),
        inside=half_time_within,
        where=modules_alone,
        why="The limit of many hidden units leaves out overlaps of 1/sqrt(N_h), averaged over the modules; Euler's steps "
        "are late by half of the growth in one of them.",
        unit="step × learning rate",
    ),
    claim(
        "half-time-of-start",
        "Each network learns its first mode when its own initial weights predict, with nothing fitted.",
        lambda c: half(c.fits.measured_half_time) / half(c.fits.foretold_half_time),
        source=OURS,
        near=lambda c: 1 + c.p.step_fraction / 2,
        inside=lambda c: (1 - unshared_part(c.p), 1 + c.p.step_fraction + unshared_part(c.p)),
        where=lambda c: modules_alone(c) and c.p.dynamics == "flow",
        why="Euler's steps are late by half of the growth in one where it is exponential, by all of it towards a pole. What "
        "the means of a module's domains leave out is sigma^3 of a strength, and the square of what moves its routes apart.",
        note="Measured half-learning time of mode 1 over that of the reduction from the start's own overlaps.",
    ),
    claim(
        "decoupled",
        "From decoupled weights, descent of the modular network is Euler of the reduction, step by step.",
        decoupled_gap,
        source=PAPER + "eqs. (16)-(17)",
        at_most=1e-12,
        of="decoupled",
        why="Both do the same arithmetic in float64 in another order; over hundreds of steps rounding stays below 1e-12.",
        note="Largest deviation of mode strengths, those of a handicapped full sharing beside them included, over all "
        "steps, relative to the largest strength.",
        rank="control",
    ),
    claim(
        "ratio",
        "The ratio of hidden to outer strength B2/B1 tends to P^(1/4), and to (P/M)^(1/2) with shared encoders.",
        lambda c: np.maximum(ratio_gap(c), ratio_gap(c, "shared-encoders")),
        source=PAPER + "eqs. (16)-(17)",
        **tolerance(0, 1),
        where=lambda c: not (c.p.shared_encoders or c.p.against_full_sharing),
        why="A limit of long growth: the start leaves sigma^2/B1^2 of it, and two strengths enter.",
        note="Relative deviation of mode 1 from the limit over 2 sigma^2/B1^2, the larger of both networks.",
        at_end=True,
        rank="headline",
    ),
    claim(
        "full-sharing-wins",
        "In one network with both, the most shared pathway dominates the race.",
        lambda c: share(c["mixed"].end.part_strength).mean("mode"),
        source=PAPER + "Fig. 5b",
        near=lambda c: c.theory.full_sharing_share.mean(),
        inside=(0.95, np.inf),
        where=has_duels,
        why='"Dominate": nineteen parts in twenty of the learned map.',
        rank="headline",
        **SHARE,
    ),
    claim(
        "head-start",
        "A scheme that shares less wins if the poles of its closed form come first: a handicap of full sharing decides.",
        lambda c: share(c["handicapped"].end.part_strength).mean("mode"),
        source=OURS,
        inside=(-0.05, 0.05),
        where=modules_alone,
        why="To win: nineteen parts in twenty of the learned map.",
        rank="headline",
        **SHARE,
    ),
    claim(
        "loser",
        "When the race is won, the losing scheme has learned as much as each network's own initial weights predict, with "
        "nothing fitted.",
        losers_gap,
        source=OURS,
        **tolerance(0, 1),
        where=lambda c: modules_alone(c) and c.p.dynamics == "flow",
        why="The loser stops where the winner's pole ends the race, and the overlaps of both are known. Finite steps make the "
        "pole late by at most the growth in one of them; what domains do not share is a head start of its size.",
        note="Deviation of the share from the prediction over what is allowed, mean over modes; the larger of modules that "
        "lose and of a handicapped full sharing.",
        at_end=True,
    ),
]
