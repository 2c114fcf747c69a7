"""What the thread says of bumps and of where components end, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np
from scipy.stats import beta

from foretrain.claims.claim import Claim
from foretrain.claims.claim import judge as judge_seeds
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.bumps import competition_claims as bumps_competition_claims
from foretrain.studies.bumps import full_rank_claims as bumps_full_rank_claims
from foretrain.studies.bumps import study
from foretrain.studies.bumps.cells_claims import (
    OURS,
    bumps,
    mean,
    per_component,
    rates,
    select,
    stable,
    values,
)
from foretrain.theory.first_target import first_targets
from foretrain.training.thread_claims import ALWAYS, NEGATIVE, NEVER, POSITIVE, THREAD
from foretrain.training.thread_claims import where as label

CLOSE = 0.8  # alignment of a component that is primarily one target: cosines of .9


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """Every sentence whose cells are in the grid of the study's own axes."""
    cells = [cell for _, cell in runs.cells()]
    calm = [cell for cell in cells if stable(cell)]
    return [
        *_adam_more(calm, "adam-more-bumps"),
        *_adam_more(select(calm, relative_rate=1.0), "adam-more-bumps-reference"),
        *_varies(calm),
        *_common(calm),
        *_one_target(calm),
        *_which_target(calm),
        *bumps_competition_claims.judge(calm),
        *bumps_full_rank_claims.judge(cells),
    ]


def judge_thresholds(runs: LabelledRuns) -> list[Claim]:
    """Whether the main comparison hangs on the prominence that makes a bump, where that is swept beside the grid."""
    default = study.Parameters().prominence
    calm = [cell for _, cell in runs.cells() if stable(cell)]
    claims = []
    for rank in values(calm, "rank"):
        for scale in values(select(calm, rank=rank), "init_scale"):
            of = select(calm, rank=rank, init_scale=scale)
            found = {
                prominence: _adam_minus_descent(select(of, prominence=prominence))
                for prominence in values(of, "prominence")
            }
            differences = {prominence: one[0] for prominence, one in found.items() if one}
            if default not in differences:
                continue
            sign = np.sign(np.nanmean(differences.pop(default)))
            for prominence, difference in differences.items():
                p = of[0].parameters
                where = label(p, ("rank", "init_scale"))[:-1] + f", prominence={prominence:g}]"
                claims.append(
                    judge_seeds(
                        f"counts-robust{where}",
                        f"Which optimiser makes more bumps is the same as at a prominence of {default:g}.",
                        OURS,
                        sign * difference,
                        # The sign alone is asked for.
                        POSITIVE,
                        note=f"Bumps per component, Adam minus descent, times the sign ({sign:+g}) of that at the "
                        f"default, {rates(of)}, paired by seed.",
                    )
                )
    return claims


def _adam_minus_descent(cells):
    """Adam's bumps per component minus descent's and the larger of both, per seed, with a note; None if one is missing."""
    sides = [select(cells, optimiser=name) for name in ("sgd", "adam")]
    if not all(sides):
        return None
    sgd, adam = (mean(side, bumps) for side in sides)
    note = (
        f"Bumps per component, Adam {np.nanmean(adam):.3f} ({rates(sides[1])}) minus descent "
        f"{np.nanmean(sgd):.3f} ({rates(sides[0])}), paired by seed."
    )
    return adam - sgd, max(sgd, adam, key=np.nanmean), note


def _adam_more(cells, name) -> list[Claim]:
    claims = []
    for rank in values(cells, "rank"):
        for scale in values(select(cells, rank=rank), "init_scale"):
            of = select(cells, rank=rank, init_scale=scale)
            found = _adam_minus_descent(of)
            if found is None:
                continue
            difference, larger, note = found
            where = label(of[0].parameters, ("rank", "init_scale"))
            claims.append(
                judge_seeds(
                    f"{name}{where}",
                    "Adam makes more bumps than gradient descent.",
                    THREAD,
                    difference,
                    # "More": any positive difference that the seeds establish.
                    POSITIVE,
                    note=note,
                )
            )
            id = f"{name}.corrected{where}"
            if rank >= of[0].parameters.dimension:
                said = "At full rank hardly anything bumps under either."
                # Hardly: one component in ten.
                claims.append(
                    judge_seeds(
                        id, said, OURS, larger, NEVER, note="The larger of the two means of bumps."
                    )
                )
            elif rank > 2 and scale < 1:
                said = (
                    "With many components and a start smaller than the target descent makes more."
                )
                claims.append(judge_seeds(id, said, OURS, difference, NEGATIVE, note=note))
            elif rank == 2 and values(of, "relative_rate") == [1.0]:
                said = "At the reference rates two components have as many bumps under either."
                # As many: within a third of their number, .45.
                as_many = (-0.15, 0.15)
                claims.append(judge_seeds(id, said, OURS, difference, as_many, note=note))
    return claims


def _varies(cells) -> list[Claim]:
    claims = []
    for rank in values(cells, "rank"):
        of = select(cells, rank=rank, relative_rate=1.0)
        if not of:
            continue
        # Where there is less than a bump in twenty components, the variance over the squared mean says only that
        # bumps are rare.
        samples = [found for found in map(bumps, of) if found.mean() >= 0.05]
        # Per seed its squared relative deviation, mean over cells: the variance over seeds in units of the mean.
        deviations = np.array([(found / found.mean() - 1) ** 2 for found in samples])
        claims.append(
            judge_seeds(
                f"varies-by-seed[rank={rank}]",
                "The number of bumps varies significantly by random seed.",
                THREAD,
                deviations.mean(0) if samples else np.full(of[0].seeds, np.nan),
                # "Significantly": a standard deviation of at least a quarter of the mean.
                (0.0625, np.inf),
                note="Variance over seeds of bumps per component over its squared mean, at the reference rates, where "
                "there are .05 or more" + ("." if samples else "; nowhere are there."),
            )
        )
    return claims


def _common(cells) -> list[Claim]:
    claims = []
    for name in values(cells, "optimiser"):
        of = select(cells, rank=2, optimiser=name)
        if of:
            claims.append(
                judge_seeds(
                    f"common-at-rank-2[optimiser={name}]",
                    "At rank two bumps do not happen in all cases but are relatively common.",
                    THREAD,
                    mean(of, lambda cell: (bumps(cell) > 0).astype(float)),
                    # Between a quarter of the runs and three quarters.
                    (0.25, 0.75),
                    note=f"Fraction of runs with a bump, {rates(of)}.",
                )
            )
    return claims


def _one_target(cells) -> list[Claim]:
    claims = []
    for rank in (2, 10):
        of = select(cells, rank=rank)
        if not of:
            continue
        best = np.nanmean([per_component(cell, "final_alignment") for cell in of])
        found = mean(of, _mostly_one)
        note = f"Fraction of components with final alignment of .8 or more; mean best alignment {best:.2f}."
        mixed = random_mixture(rank)
        claims += [
            judge_seeds(
                f"one-target[rank={rank}]",
                "Usually each vector grows primarily towards one target.",
                THREAD,
                found,
                # Primarily: an alignment of at least .8 (cosines of .9). Usually: three components in four.
                (0.75, 1),
                note=note,
            ),
            judge_seeds(
                f"one-target.corrected[rank={rank}]",
                "A component is as close to a target as a uniformly random orthogonal mixture of all targets.",
                OURS,
                found,
                # Two targets: one in ten. Many targets: next to none, as the mixture has.
                (mixed - 0.1, mixed + 0.1) if rank == 2 else (0, 0.01),
                predicted=mixed,
                note=note,
            ),
        ]
    return claims


def random_mixture(rank: int) -> float:
    """How often a component of a Haar-random mixture of that many orthogonal targets is primarily one of them.

    The squared entries of a column are Beta(1/2, (r - 1)/2), of which at most one exceeds `CLOSE` > 1/2.
    """
    return float(rank * beta.sf(CLOSE, 0.5, (rank - 1) / 2))


def _mostly_one(cell) -> np.ndarray:
    return (per_component(cell, "final_alignment") >= CLOSE).mean(1)


def _which_target(cells) -> list[Claim]:
    cells = select(cells, rank=2)
    if not cells:
        return []
    ends = lambda cell: per_component(cell, "final_target")  # noqa: E731
    claims = [
        judge_seeds(
            "which-target",
            "A component may end on either target of two: which one is a matter of symmetry breaking.",
            THREAD,
            mean(cells, lambda cell: (ends(cell)[:, 0] == 0).astype(float)),
            # A fair coin, within what a hundred seeds can tell.
            (0.35, 0.65),
            predicted=0.5,
            note="Fraction of runs in which the first component ends closer to the first target.",
        ),
        *_which_start(cells, ""),
    ]
    for name in values(cells, "optimiser"):
        for scale in values(select(cells, optimiser=name), "init_scale"):
            of = select(cells, optimiser=name, init_scale=scale)
            claims += _which_start(of, label(of[0].parameters, ("optimiser", "init_scale")))
    return claims


def _which_start(cells, where) -> list[Claim]:
    found = mean(cells, _as_predicted)
    first = cells[0].parameters
    note = (
        "Fraction of components whose first target is that of the largest |a.x + b.y| at the start."
    )
    claims = [
        judge_seeds(
            f"which-target-start{where}",
            "The start decides: a component first aligns with the target on which its growing overlap is largest.",
            OURS,
            found,
            # Nine in ten: overlaps that are nearly equal may be overtaken while they are small.
            ALWAYS,
            predicted=1,
            note=note,
        )
    ]
    # The argument is on the flow, which Adam does not follow.
    if where and first.optimiser.startswith("sgd"):
        return claims
    said = "The start decides in three cases of four or more."
    # Halfway from chance, one half, to certainty.
    tolerance = (0.75, 1.0)
    if where:
        said = "Under Adam, too, the start decides more often than chance would."
        # Nearer to three in four than to chance.
        tolerance = (0.625, 1.0)
    id = f"which-target-start.corrected{where}"
    return [*claims, judge_seeds(id, said, OURS, found, tolerance, note=note)]


def _as_predicted(cell) -> np.ndarray:
    predicted = [
        first_targets(*study.s_curves.draw(cell.parameters, cell.root_seed, seed))
        for seed in range(cell.seeds)
    ]
    return (per_component(cell, "first_target") == np.array(predicted)).mean(1)
