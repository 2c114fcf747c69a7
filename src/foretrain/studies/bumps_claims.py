"""What the thread says of bumps, and whether it is so. Tolerances stand beside their reasons.

A cell is stable where no run diverged and half of the runs leave at most a percent of the loss and never rise again by
more than a tenth of it; sentences that name no learning rate are judged over all stable rates of an optimiser.
"""

from collections.abc import Callable

import numpy as np
import xarray as xr

from foretrain.claims import Claim
from foretrain.claims import judge as judge_seeds
from foretrain.measures.plateaus import count_plateaus
from foretrain.measures.stability import is_stable
from foretrain.measures.trajectory import at_end
from foretrain.plans.labelled import LabelledRuns
from foretrain.studies import bumps as study
from foretrain.theory.s_curve_race import first_targets

THREAD = "Jermyn & Shlegeris (2022), comments"
OURS = "docs/studies/bumps.md"
FLOOR = 1e-4  # of the first loss: runs end there
ALWAYS, NEVER = (0.9, 1.0), (0.0, 0.1)


def judge(runs: LabelledRuns) -> list[Claim]:
    """Every sentence whose cells are in the grid."""
    cells = [cell for _, cell in runs.cells()]
    stable = [cell for cell in cells if _stable(cell)]
    return [
        *_adam_more(stable),
        *_varies(stable),
        *_common(stable),
        *_one_target(stable),
        *_which_target(stable),
        *_competition(stable),
        *_matched(stable),
        *_plateaus(cells),
    ]


def _stable(cell: LabelledRuns) -> bool:
    return is_stable(cell.simulation["relative_loss"].transpose("seed", "step").values)


def bumps_per_component(data: xr.Dataset) -> np.ndarray:
    """Bumps per tracked component of every run, shape (seed,)."""
    return np.nanmean(data["component_bumps"].transpose("seed", "component").values, 1)


def _select(cells, **wanted) -> list[LabelledRuns]:
    return [
        cell for cell in cells if all(getattr(cell.parameters, k) == v for k, v in wanted.items())
    ]


def _values(cells, field) -> list:
    return list(dict.fromkeys(getattr(cell.parameters, field) for cell in cells))


def _mean(cells, function: Callable[[LabelledRuns], np.ndarray]) -> np.ndarray:
    """Per seed the mean over cells of what `function` gives per seed; nan where no cell gives a number."""
    rows = np.array([function(cell) for cell in cells], float)
    counts = np.isfinite(rows).sum(0)
    return np.where(counts > 0, np.nansum(rows, 0) / np.maximum(counts, 1), np.nan)


def _rates(cells) -> str:
    return "relative rates " + ", ".join(f"{rate:g}" for rate in _values(cells, "relative_rate"))


def _adam_more(stable) -> list[Claim]:
    claims = []
    for rank in _values(stable, "rank"):
        for scale in _values(stable, "init_scale"):
            pair = [
                _select(stable, optimiser=name, rank=rank, init_scale=scale)
                for name in ("sgd", "adam")
            ]
            if not all(pair):
                continue
            sgd, adam = (
                _mean(cells, lambda cell: bumps_per_component(cell.simulation)) for cells in pair
            )
            claims.append(
                judge_seeds(
                    f"adam-more-bumps[rank={rank}, init_scale={scale:g}]",
                    "Adam makes more bumps than gradient descent.",
                    THREAD,
                    adam - sgd,
                    # "More": any positive difference that the seeds establish.
                    (1e-9, np.inf),
                    note=f"Bumps per component, Adam {np.nanmean(adam):.3f} ({_rates(pair[1])}) minus descent "
                    f"{np.nanmean(sgd):.3f} ({_rates(pair[0])}), paired by seed.",
                )
            )
    return claims


def _varies(stable) -> list[Claim]:
    claims = []
    for rank in _values(stable, "rank"):
        cells = _select(stable, rank=rank, relative_rate=1.0)
        samples = [bumps_per_component(cell.simulation) for cell in cells]
        if not samples:
            continue
        # Per seed its squared relative deviation, mean over cells: the variance over seeds in units of the mean.
        deviations = np.array(
            [(values / values.mean() - 1) ** 2 for values in samples if values.mean() > 0]
        )
        claims.append(
            judge_seeds(
                f"varies-by-seed[rank={rank}]",
                "The number of bumps varies significantly by random seed.",
                THREAD,
                deviations.mean(0) if len(deviations) else np.full(samples[0].size, np.nan),
                # "Significantly": a standard deviation of at least a quarter of the mean.
                (0.0625, np.inf),
                note="Variance over seeds of bumps per component over its squared mean, at the reference rates"
                + ("." if len(deviations) else "; no run has a bump."),
            )
        )
    return claims


def _common(stable) -> list[Claim]:
    claims = []
    for name in _values(stable, "optimiser"):
        cells = _select(stable, rank=2, optimiser=name)
        if cells:
            claims.append(
                judge_seeds(
                    f"common-at-rank-2[optimiser={name}]",
                    "At rank two bumps do not happen in all cases but are relatively common.",
                    THREAD,
                    _mean(
                        cells, lambda cell: (bumps_per_component(cell.simulation) > 0).astype(float)
                    ),
                    # Between a quarter of the runs and three quarters.
                    (0.25, 0.75),
                    note=f"Fraction of runs with a bump, {_rates(cells)}.",
                )
            )
    return claims


def _one_target(stable) -> list[Claim]:
    claims = []
    for rank in (2, 10):
        cells = _select(stable, rank=rank)
        if not cells:
            continue
        best = np.nanmean([_per_component(cell, "final_alignment") for cell in cells])
        claims.append(
            judge_seeds(
                f"one-target[rank={rank}]",
                "Usually each vector grows primarily towards one target.",
                THREAD,
                _mean(cells, _mostly_one),
                # Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four. Were two
                # components an orthogonal mixture of two targets at a uniform angle, 59% would be that close.
                (0.75, 1),
                note=f"Fraction of components with final alignment of .8 or more; mean best alignment {best:.2f}.",
            )
        )
    return claims


def _mostly_one(cell) -> np.ndarray:
    return (_per_component(cell, "final_alignment") >= 0.8).mean(1)


def _per_component(cell, name) -> np.ndarray:
    """A variable along (seed, component), without the padding of cells with fewer components."""
    values = cell.simulation[name].transpose("seed", "component").values
    components = cell.parameters.components or cell.parameters.rank
    return values[:, : min(components, values.shape[1])]


def _which_target(stable) -> list[Claim]:
    cells = _select(stable, rank=2)
    if not cells:
        return []
    ends = lambda cell: _per_component(cell, "final_target")  # noqa: E731
    predicted = [
        first_targets(*study.s_curves.draw(cell.parameters, cell.root_seed, seed))
        for cell in cells[:1]
        for seed in range(cell.seeds)
    ]
    return [
        judge_seeds(
            "which-target",
            "A component may end on either target of two: which one is a matter of symmetry breaking.",
            THREAD,
            _mean(cells, lambda cell: (ends(cell)[:, 0] == 0).astype(float)),
            # A fair coin, within what a hundred seeds can tell.
            (0.35, 0.65),
            predicted=0.5,
            note="Fraction of runs in which the first component ends closer to the first target.",
        ),
        judge_seeds(
            "which-target-start",
            "The start decides: a component first aligns with the target on which its growing overlap is largest.",
            OURS,
            _mean(
                cells,
                lambda cell: (_per_component(cell, "first_target") == np.array(predicted)).mean(1),
            ),
            # Nine in ten: overlaps that are nearly equal may be overtaken while they are small.
            (0.9, 1),
            predicted=1,
            note="Fraction of components whose first target is that of the largest |a.x + b.y| at the start.",
        ),
    ]


def shares_first_target(first: np.ndarray) -> np.ndarray:
    """Which components first aligned with the same target as another one, shape (seed, component)."""
    same = (first[:, :, None] == first[:, None, :]) & (first >= 0)[:, :, None]
    return same.sum(-1) > 1


def _competition(stable) -> list[Claim]:
    claims = []
    for rank in (2, 10):
        for name in _values(stable, "optimiser"):
            cells = _select(stable, rank=rank, optimiser=name)
            if not cells:
                continue
            where = f"[rank={rank}, optimiser={name}]"
            claims += [
                judge_seeds(
                    f"bumps-need-competition{where}",
                    "Bumps occur where two components first align with one target.",
                    THREAD,
                    _mean(cells, lambda cell: _share_of(cell, bumped=True)),
                    # "Is a sign of": nine bumps in ten.
                    ALWAYS,
                    predicted=1,
                    note="Fraction of components with a bump that shared their first target; of all components "
                    f"{np.nanmean(_mean(cells, _sharing)):.2f} do.",
                ),
                judge_seeds(
                    f"competition-makes-bumps{where}",
                    "If two components grow towards the same target, one of them has to back off.",
                    THREAD,
                    _mean(cells, _backed_off),
                    # "Has to": nine targets in ten.
                    ALWAYS,
                    predicted=1,
                    note="Fraction of targets first aligned with by two or more components, of which one at least "
                    "has a bump.",
                ),
            ]
    return claims


def _sharing(cell) -> np.ndarray:
    return shares_first_target(_per_component(cell, "first_target")).mean(1)


def _share_of(cell, bumped: bool) -> np.ndarray:
    """Per seed the fraction sharing their first target among the components with (without) a bump."""
    has = (_per_component(cell, "component_bumps") > 0) == bumped
    shares = shares_first_target(_per_component(cell, "first_target"))
    count = has.sum(1)
    return np.where(count > 0, (shares & has).sum(1) / np.maximum(count, 1), np.nan)


def _backed_off(cell) -> np.ndarray:
    """Per seed the fraction of contested targets of which a contestant has a bump; nan where none is contested."""
    fractions = []
    pairs = zip(
        _per_component(cell, "first_target"), _per_component(cell, "component_bumps"), strict=True
    )
    for first, bumped in pairs:
        contested = [t for t in set(first[first >= 0]) if (first == t).sum() > 1]
        backed = [(bumped[first == t] > 0).any() for t in contested]
        fractions.append(np.mean(backed) if backed else np.nan)
    return np.array(fractions)


def _matched(stable) -> list[Claim]:
    claims = []
    for name in _values(stable, "optimiser"):
        cells = [
            cell for cell in _select(stable, rank=2, optimiser=name) if "exchanged" in cell.variants
        ]
        if cells:
            effect = _mean(cells, _exchange_effect)
            claims.append(
                judge_seeds(
                    f"competition-matched[optimiser={name}]",
                    "Whether two components first align with one target makes the difference between bump and no bump.",
                    THREAD,
                    effect,
                    # The conjecture is one bump more in every pair; half of that is most of the difference.
                    (0.5, np.inf),
                    predicted=1,
                    note="Bumps of a run with a shared first target minus those of its partner without, the second "
                    "component's overlaps with the two targets exchanged; pairs in which that decides, rank two.",
                )
            )
        cells = _select(stable, rank=10, optimiser=name)
        if cells:
            claims.append(
                judge_seeds(
                    f"competition-within[optimiser={name}]",
                    "At rank ten, too, components that share their first target have more bumps than those that do not.",
                    THREAD,
                    _mean(cells, _within_effect),
                    # "More": any positive difference.
                    (1e-9, np.inf),
                    note="Bumps per component, sharing minus not, within a run.",
                )
            )
    return claims


def _exchange_effect(cell) -> np.ndarray:
    sides = []
    for data in (cell.simulation, cell.variants["exchanged"]):
        first = data["first_target"].transpose("seed", "component").values[:, :2]
        count = data["component_bumps"].transpose("seed", "component").values[:, :2].sum(1)
        sides.append(((first[:, 0] == first[:, 1]) & (first[:, 0] >= 0), count))
    (shared, count), (shared_too, count_too) = sides
    sign = shared.astype(int) - shared_too.astype(int)
    return np.where(sign != 0, sign * (count - count_too), np.nan)


def _within_effect(cell) -> np.ndarray:
    shares = shares_first_target(_per_component(cell, "first_target"))
    count = _per_component(cell, "component_bumps")
    both = shares.any(1) & ~shares.all(1)
    mean = lambda mask: (count * mask).sum(1) / np.maximum(mask.sum(1), 1)  # noqa: E731
    return np.where(both, mean(shares) - mean(~shares), np.nan)


def _plateaus(cells) -> list[Claim]:
    claims = []
    for cell in cells:
        p = cell.parameters
        if p.rank < p.dimension or p.optimiser not in ("sgd", "adam"):
            continue
        data = cell.simulation
        counts = count_plateaus(
            data["step"].values, data["loss"].transpose("seed", "step").values, floor=FLOOR
        )
        found = np.where(np.isfinite(counts), (counts >= 1).astype(float), np.nan)
        where = f"[init_scale={p.init_scale:g}, relative_rate={p.relative_rate:g}]"
        end = float(np.nanmedian(at_end(data["relative_loss"]).values))
        note = f"Fraction of runs with a plateau; median loss left {end:.2g}"
        if p.optimiser == "sgd":
            if not _stable(cell):
                continue
            claims.append(
                judge_seeds(
                    f"low-rank-needed{where}",
                    "At full rank gradient descent has no plateau.",
                    THREAD,
                    found,
                    NEVER,
                    note=f"{note}.",
                )
            )
            continue
        bumped = bumps_per_component(data)
        claims += [
            judge_seeds(
                f"adam-full-rank-plateau{where}",
                "Under Adam the full-rank case regains a plateau.",
                THREAD,
                found,
                ALWAYS,
                note=f"{note}.",
            ),
            judge_seeds(
                f"adam-full-rank-bumps{where}",
                "The plateau at full rank corresponds to a period with a lot of bump formation.",
                THREAD,
                bumped,
                # "A lot": a bump for every second component.
                (0.5, np.inf),
                note="Bumps per component at full rank under Adam.",
            ),
        ]
    return claims
