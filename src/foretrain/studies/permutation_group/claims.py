"""Claims on matrices of a group; for the definitions see ``docs/theory/grokking.md``."""

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from foretrain.quantities.allowed import ALWAYS, MOST, NEGATIVE, tolerance
from foretrain.quantities.rank_correlation import rank_correlation
from foretrain.study import Exact, PerSeed, claim, skip_if
from foretrain.tasks.groups import permutation_matrices
from foretrain.training.embedding import SLACK, accuracy, fractions, operation

PAPER = "Liu et al. (2022), appendix H, "
ALONG = {"along": "training_size"}
SHARE = {"near": 1, "within": (0, 1)}


def lower_bound(c):
    gap = accuracy(c) - c.end.predicted_accuracy
    note = f"Mean of real less predicted: {float(gap.mean()):.3f}."
    return PerSeed((gap >= -SLACK).mean("training_size"), note)


def beyond_deduction(c):
    gap = c.end.rqi - c.ideal_rqi
    note = f"Largest excess; {int((gap > SLACK).sum())} of {gap.size} runs."
    return Exact(max(float(gap.max(skipna=False)), 0.0), note)


def step_against_size(c):
    sizes = c.axis("training_size").values
    skip_if(sizes.size < 3, "fewer than three training sizes")
    # Steps that are the same at every size do not go with it.
    return np.nan_to_num(rank_correlation(c.rqi_step.fillna(np.inf).values.T, sizes))


def deduction(c):
    """Return the fraction of samples from which on all can be deduced, as theory says."""
    return float(c.theory.deduction_size.values.flat[0]) / len(operation(c.p).samples)


def best_from(c):
    """Return the largest miss of theory by the fraction from which on some of each eleven runs has the representation."""
    never = c.rqi_step.isnull()
    eleven = never.coarsen(seed=min(11, never.sizes["seed"]), boundary="trim").all()
    starts = fraction_from(c, eleven)
    note = f"The best of each eleven runs learn from {starts.values.round(3)} on; never is 2."
    return Exact(float(abs(starts - deduction(c)).max()), note)


def fraction_from(c, never):
    """Return the fraction of samples from which on no size is `never` without the step, (seed,); 2 for none, as infinity."""
    fraction = fractions(c)
    deduction(c)  # without this prediction nothing is claimed
    skip_if(fraction.size < 3, "fewer than three training sizes")
    last = fraction.where(never).max("training_size").fillna(-1)
    return fraction.where(fraction > last).min("training_size").fillna(2.0)


def plane(matrices) -> np.ndarray:
    """Return symbols, (symbol, entry), in their first two principal components, (symbol, 2)."""
    left, size, _ = np.linalg.svd(matrices - matrices.mean(0), full_matrices=False)
    return left[:, :2] * size[:2]


def convex(points) -> bool:
    """Return True where all points, (point, 2), are corners of their convex hull."""
    try:
        return len(ConvexHull(points).vertices) == len(points)
    except QhullError:
        return False


def alternate(points) -> bool:
    """Return True where even and odd permutations of three take turns around the middle; points (symbol, 2)."""
    middle = points - points.mean(0)
    odd = np.linalg.det(permutation_matrices(3)) < 0
    around = odd[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    return bool((around != np.roll(around, 1)).all())


def in_plane(c, measure):
    """Return the share of the learned representations with a property in two components, (seed,)."""
    good = (c.end.rqi > c.p.rqi_threshold).values
    place = c.end.embedding.transpose("training_size", "seed", "symbol", "coordinate").values
    with_property = np.zeros(good.shape)
    with_property[good] = [measure(plane(matrices)) for matrices in place[good]]
    with np.errstate(invalid="ignore"):
        return PerSeed(with_property.sum(0) / good.sum(0), f"{good.sum()} runs.")


CLAIMS = [
    claim(
        "lower-bound",
        "The accuracy that parallelograms predict is a lower bound of the accuracy of the network.",
        lower_bound,
        source=PAPER + "Fig. 18 (e)",
        inside=ALWAYS,
        why="In all runs but one of ten.",
        note="Share of training sizes at which a run is at least as accurate as predicted.",
        rank="headline",
        **SHARE,
        **ALONG,
    ),
    claim(
        "deduced-only",
        "No network has more parallelograms than can be deduced from its training set.",
        beyond_deduction,
        source=PAPER + "generalised parallelograms",
        at_most=SLACK,
        why="A bound; rounding of shares.",
        rank="control",
        **ALONG,
    ),
    claim(
        "sooner",
        "With more samples the representation is learned in fewer steps.",
        step_against_size,
        source=PAPER + "Fig. 18 (b)",
        near=-1,
        inside=NEGATIVE,
        why="A difference that the seeds establish.",
        note="Rank correlation of the step to the RQI with the training size; never is last.",
        **ALONG,
    ),
    *claim(
        "transition",
        "Networks learn the representation from the fraction of samples on from which all products can be deduced.",
        lambda c: fraction_from(c, c.rqi_step.isnull()),
        source=PAPER + "Fig. 18 (a), (b)",
        **tolerance(deduction, 0.125),
        why="An eighth: between a tenth and nine tenths of training sets it takes a ninth more; sizes are a twelfth apart.",
        statistic="median",
        note="Share from which on a run reaches the RQI; never is 2.",
        rank="headline",
        **ALONG,
    ).and_corrected(
        "Networks generalise from the fraction of samples on from which all products can be deduced.",
        quantity=lambda c: fraction_from(c, c.validation_step.isnull()),
        near=deduction,
        source="docs/studies/permutation-group.md",
        note="Share from which on a run reaches the accuracy on validation samples; never is 2.",
    ),
    claim(
        "transition-best",
        "The best of eleven runs learns the representation from the fraction of samples on from which all products can be "
        "deduced.",
        best_from,
        source=PAPER + "Fig. 18 (a), (b), whose lines are the best of eleven runs",
        at_most=0.125,
        why="An eighth, as for the median run.",
        unit="fraction of samples",
        **ALONG,
    ),
    *claim(
        "hexagon",
        "In the first two principal components the six permutations are the corners of a convex hexagon.",
        lambda c: in_plane(c, convex),
        source=PAPER + "Fig. 17",
        inside=MOST,
        why="In most runs; six random points of the plane do so in fewer than one run of ten.",
        among="seeds that learn the representation at some size",
        note="Share of the learned representations that do so.",
        where=lambda c: c.p.operation == "symmetric" and c.p.symbols == 6,
        rank="headline",
        **SHARE,
        **ALONG,
    ).and_corrected(
        "Around the middle of the first two principal components even and odd permutations take turns, convex or not.",
        quantity=lambda c: in_plane(c, alternate),
        near=1,
        source="docs/theory/grokking.md: matrices of S_3 are two triangles, of rotations and of reflections",
        why="In most runs; random orders do so in one of ten.",
    ),
]
