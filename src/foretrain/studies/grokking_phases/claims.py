"""What is claimed of phases, their causes and their times; what is predicted is in ``theory.py``."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import ALWAYS, POSITIVE, SOME
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.rank_correlation import rank_correlation

from .reading import (
    RATES,
    board,
    by_seed,
    foretold,
    generalised,
    good_failures,
    has_boundary,
    is_map,
    learned,
    learners,
    log_ratio,
    measured_boundary,
    off,
    order_of_seeds,
    predicted_boundary,
    shares,
    spacing,
)

PAPER = "Liu et al. (2022), "
OURS = "docs/studies/grokking-phases.md"
MAP: dict[str, Any] = {"along": RATES}
LEARNERS: dict[str, Any] = {**MAP, "among": "seeds whose training set tells enough"}


def lost(cell, found, known):
    """Share foretold by the ratio of rates alone, less the share foretold by both rates, (seed,), with its note."""
    ratio = log_ratio(cell)
    by_ratio = foretold(ratio, found, known)
    by_both = foretold(np.arange(ratio.size).reshape(ratio.shape), found, known)
    note = f"By the ratio {np.nanmean(by_ratio):.2f}, by both rates {np.nanmean(by_both):.2f}, of runs of one seed by others."
    return by_ratio - by_both, note


NEARLY: dict[str, Any] = {
    "near": 0,
    "inside": (-0.1, 0.1),
    "why": "'Nearly' as one run in ten. Where nothing depends on the ratio it would be the whole share.",
    "note": "Share of phases foretold by the ratio less that foretold by both rates.",
}


def one_dimensional(cell):
    if not is_map(cell) or cell.seeds < 2:
        return None
    found = board(cell.simulation, "phase")
    return PerSeed(*lost(cell, found, np.ones(found.shape, bool)))


def one_dimensional_corrected(cell):
    if not is_map(cell) or cell.seeds < 2:
        return None
    good, fit = learned(cell.simulation)
    which = learners(cell)
    values, note = lost(cell, good.astype(int), fit & which)
    return PerSeed(np.where(which, values, np.nan), note)


def one_seed(cell):
    if cell.seeds < 3 or min(len(cell.values(name)) for name in RATES) < 2:
        return None
    found = board(cell.simulation, "phase")
    groups = np.arange(found[..., 0].size).reshape(found.shape[:2])
    return foretold(groups, found, np.ones(found.shape, bool))


def boundary_gap(cell, name):
    """Predicted less measured boundary, decades, (seed,)."""
    if not has_boundary(cell) or name not in cell.theory:
        return None
    which = learners(cell)
    found, told = measured_boundary(cell), predicted_boundary(cell, name)
    known, note = found[which & ~np.isnan(found)], "No boundary in the map."
    if known.size:
        note = f"Measured at {known.mean():.2f} decades of embedding over decoder rate."
    return PerSeed(np.where(which, told - found, np.nan), note)


def within_two(cell):
    """A factor of two, and half of the distance of neighbouring ratios."""
    reach = np.log10(2) + spacing(cell) / 2
    return -reach, reach


EQUAL_TIMES: dict[str, Any] = {
    "near": 0,
    "inside": within_two,
    "why": "Within a factor of two, as thresholds of accuracy and RQI are conventions; the map knows it to half a step.",
    "unit": "decades",
    "note": "Predicted over measured ratio of rates; no constant is fitted.",
    **LEARNERS,
}


def both_causes(cell):
    share, told, count = good_failures(cell)
    note = f"Of {count} runs. Where training sets tell enough: {told:.2f}."
    return PerSeed(share, note) if count else None


def memorization_is_of_representation(cell):
    found, count = shares(cell, "representation", (2,))
    return PerSeed(found, f"Of {count} runs.") if count else None


def data_bound(cell):
    which = ~learners(cell)
    if not which.any():
        return None
    good = learned(cell.simulation)[0][..., which]
    return Exact(int(good.sum()), f"Of {good.size} runs.", int(which.sum()))


TOGETHER: dict[str, Any] = {**MAP, "among": "seeds that generalise in enough cells"}


def delay_ratio(cell):
    if (both := generalised(cell)) is None:
        return None
    return by_seed(*both, lambda told, found: np.median(told / found))


def delay_order(cell):
    if (both := generalised(cell)) is None:
        return None
    return by_seed(*both, rank_correlation, fewest=5)


def seed_order(cell):
    if (both := generalised(cell)) is None:
        return None
    if (found := order_of_seeds(*both, learners(cell))) is None:
        return None
    values, cells = found
    return PerSeed(values, f"{cells} cells.")


def better_order(id, words, source, predictor):
    """The sentence that a predictor which others compute at the start orders starts worse; ``predictor(cell)``: (seed,)."""

    def compared(cell):
        both, which = generalised(cell), learners(cell)
        if both is None or "start_norm" not in cell.theory:
            return None
        with np.errstate(divide="ignore"):
            ours, others = (
                order_of_seeds(told, both[1], which) for told in (both[0], predictor(cell))
            )
        if ours is None or others is None:
            return None
        told, found = np.nanmean(ours[0]), np.nanmean(others[0])
        return PerSeed(ours[0] - others[0], f"{told:.2f} and {found:.2f}, {ours[1]} cells.")

    return claim(
        id,
        f"At given rates, the sum of both times tells which starts and training sets generalise sooner better than {words}.",
        compared,
        source=source,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Rank correlation over seeds as in `seed-order`, less that of the other predictor.",
        **TOGETHER,
    )


def first(data, name):
    """A variable that is the same in all cells, (seed,)."""
    return board(data, name)[0, 0]


better_than_rate = better_order(
    "better-than-rate",
    "1 / lambda_3",
    PAPER + "eq. (12)",
    lambda cell: 1 / first(cell.simulation, "lambda_3"),
)
better_than_norm = better_order(
    "better-than-norm",
    "a small norm of all weights",
    "Liu, Michaud & Tegmark (2023), Omnigrok",
    lambda cell: first(cell.theory, "start_norm"),
)
better_than_kernel = better_order(
    "better-than-kernel",
    "a tangent kernel aligned with the targets",
    "Kumar et al. (2024), section 4",
    lambda cell: -first(cell.theory, "kernel_alignment"),
)
better_than_rqi = better_order(
    "better-than-rqi",
    "a large RQI of the start",
    OURS,
    lambda cell: -first(cell.theory, "start_rqi"),
)


def decoder_orders(cell):
    if (both := generalised(cell)) is None:
        return None
    ours = by_seed(*both, rank_correlation, fewest=5)
    return ours - np.nan_to_num(by_seed(alone(cell, both), both[1], rank_correlation, fewest=5))


def alone(cell, both):
    """1 / (lambda_3 rate), (cell, seed); nan where a run does not generalise."""
    rates = np.array(cell.values(RATES[1]))[None, :, None]
    with np.errstate(divide="ignore"):
        steps = 1 / (board(cell.simulation, "lambda_3") * rates)
    return np.where(np.isnan(both[0]), np.nan, steps.reshape(both[0].shape))


def decoder_counts(cell):
    if (both := generalised(cell)) is None:
        return None
    values = by_seed(alone(cell, both), both[1], off)
    return np.where(np.isinf(values), np.nan, values) - by_seed(*both, off)


def adam_is_better(cell):
    both, adam = generalised(cell), generalised(cell, "adam_step")
    if both is None or adam is None:
        return None
    with np.errstate(invalid="ignore"):  # neither tells a step where both say never
        return by_seed(*both, off) - by_seed(*adam, off)


CLAIMS = [
    better_than_rate,
    better_than_norm,
    better_than_kernel,
    better_than_rqi,
    claim(
        "one-dimensional",
        "The phase of a network depends only on the ratio of the two learning rates.",
        one_dimensional,
        source=PAPER + "Fig. 6a",
        **NEARLY,
        **MAP,
        rank="headline",
    ),
    claim(
        "one-dimensional.corrected",
        "The ratio of the two learning rates alone decides whether a network that fits generalises.",
        one_dimensional_corrected,
        source=OURS,
        corrects="one-dimensional",
        **NEARLY,
        **LEARNERS,
        rank="headline",
    ),
    claim(
        "one-seed",
        "One seed tells the phase of a cell.",
        one_seed,
        source=PAPER + "Figs 6, 13-15, one seed each",
        near=1,
        inside=ALWAYS,
        why="In all cells but one of ten.",
        note="Share of cells with the phase of most other seeds.",
        **MAP,
        rank="control",
    ),
    claim(
        "boundary",
        "Grokking ends, and memorization begins, where representation and decoder take equally long.",
        lambda c: boundary_gap(c, "rqi_step"),
        source=OURS,
        **EQUAL_TIMES,
        rank="headline",
    ),
    claim(
        "boundary-by-adam",
        "Grokking ends, and memorization begins, where Adam on the effective loss and the decoder take equally long.",
        lambda c: boundary_gap(c, "adam_step"),
        source=OURS,
        **EQUAL_TIMES,
    ),
    claim(
        "both-causes",
        "Networks that do not generalise have one of two causes: a bad representation, or a good one that the decoder"
        " does not use.",
        both_causes,
        source=OURS,
        near=0.25,
        inside=SOME,
        why="Neither is rarer than one in ten; a quarter is what others have seen.",
        note="Share of failures with the RQI wanted.",
        **MAP,
        among="seeds with failures",
    ),
    claim(
        "memorization-is-of-representation",
        "A network that memorises lacks the representation.",
        memorization_is_of_representation,
        source=PAPER + "section 4.2",
        near=1,
        inside=ALWAYS,
        why="All but one in ten.",
        note="Share of memorising runs whose RQI stays at or below its threshold.",
        **LEARNERS,
    ),
    claim(
        "data-bound",
        "Where the training set does not determine the representation, networks generalise at no learning rates.",
        data_bound,
        source=PAPER + "appendix E",
        near=0,
        inside=(0, 0),
        why="A count. The ideal model bounds accuracy, above 20 of 55 samples without exceptions.",
        note="Runs that generalise although the ideal model does not.",
        **MAP,
        rank="headline",
    ),
    claim(
        "delay-ratio",
        "Generalisation takes the time of the representation and that of the decoder, one after the other.",
        delay_ratio,
        source=OURS,
        near=1,
        inside=(0.5, 2),
        why="Were both learned at the same time, the sum would be at most twice the longer one; a factor of two the other"
        " way.",
        note="Median over cells of predicted over measured step; no constant is fitted, all cells are held out.",
        **TOGETHER,
        rank="headline",
    ),
    claim(
        "delay-order",
        "The sum of the times of representation and decoder orders the cells of a map by when they generalise.",
        delay_order,
        source=OURS,
        near=1,
        inside=(0.8, 1),
        why="Steps differ by a hundred between cells, the error of a factor of two swaps neighbours: ranks of 10 cells "
        "with such errors still have .8.",
        note="Rank correlation over cells.",
        **TOGETHER,
    ),
    claim(
        "seed-order",
        "At given learning rates, the sum of both times tells which starts and training sets generalise sooner.",
        seed_order,
        source=PAPER + "section 3.2",
        near=1,
        inside=POSITIVE,
        why="A correlation that the seeds establish.",
        note="Rank correlation over seeds, mean over the cells in which all of them generalise.",
        **TOGETHER,
    ),
    claim(
        "decoder-orders",
        "The sum of both times orders the cells of a map better than the grokking time of the training set alone.",
        decoder_orders,
        source=PAPER + "eq. (12)",
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Rank correlation over cells, less that of 1 / (lambda_3 rate).",
        **TOGETHER,
    ),
    claim(
        "decoder-counts",
        "The sum of both times predicts the step of generalisation better than the grokking time of the training set "
        "alone.",
        decoder_counts,
        source=PAPER + "eq. (12)",
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Median |log2 (predicted / measured)| of 1 / (lambda_3 rate), less that of the sum.",
        **TOGETHER,
    ),
    claim(
        "adam-is-better",
        "Adam on the effective loss predicts the step of generalisation better than its flow.",
        adam_is_better,
        source=OURS,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="Median |log2 (predicted / measured)| of the sum with the flow's time, less that with Adam's.",
        **TOGETHER,
    ),
]
