"""What is claimed of matrices of a group; for the definitions see ``docs/theory/grokking.md``."""

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import ALWAYS, MOST, NEGATIVE, POSITIVE
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.tasks.groups import permutation_matrices
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import (
    SLACK,
    better_with_size,
    by_size,
    ends,
    growth,
    swept_sizes,
    told_by_decoder,
)

PAPER = "Liu et al. (2022), appendix H, "
OURS = "docs/studies/permutation-group.md"
ALONG: dict[str, Any] = {"along": "training_size"}


def fraction_from(cell, good):
    """Smallest share of samples trained from which on runs of every larger size are good, (seed,); infinity = never."""
    shares = np.append(
        np.array(cell.values("training_size")) / len(operation(cell.parameters).samples), np.inf
    )
    last_bad = np.where(good.all(0), -1, len(good) - 1 - (~good[::-1]).argmax(0))
    return shares[last_bad + 1]


def lower_bound(cell):
    end = ends(cell.simulation, cell.parameters)
    gap = by_size(end["accuracy"] - end["predicted_accuracy"])
    return PerSeed((gap >= -SLACK).mean(0), f"Mean of real less predicted: {gap.mean():.3f}.")


def deduced_only(cell):
    end = ends(cell.simulation, cell.parameters)
    gap = by_size(end["rqi"] - end["ideal_rqi"])
    note = f"Largest excess; {int((gap > SLACK).sum())} of {gap.size} runs."
    return Exact(max(float(gap.max()), 0.0), note)


grows = better_with_size(PAPER + "Fig. 17")


def sooner(cell):
    if (sizes := swept_sizes(cell)) is None:
        return None
    return growth(by_size(cell.simulation["rqi_step"].fillna(np.inf)), sizes)


def deduction(cell):
    """Share of samples from which on all can be deduced, as theory says; nan without theory."""
    if "deduction_size" not in cell.theory:
        return np.nan
    size = float(np.ravel(cell.theory["deduction_size"].values)[0])
    return size / len(operation(cell.parameters).samples)


def about_deduction(cell):
    """An eighth of all samples on both sides."""
    middle = deduction(cell)
    return (0, 1) if np.isnan(middle) else (middle - 0.125, middle + 0.125)


TRANSITION: dict[str, Any] = {
    "near": deduction,
    "inside": about_deduction,
    "why": "An eighth: between a tenth and nine tenths of training sets it takes a ninth more; sizes are a twelfth apart.",
    "statistic": "median",
    **ALONG,
}


def transition(cell):
    if swept_sizes(cell) is None or np.isnan(deduction(cell)):
        return None
    steps = by_size(cell.simulation["rqi_step"])
    return _finite(fraction_from(cell, ~np.isnan(steps)))


def transition_corrected(cell):
    if swept_sizes(cell) is None or np.isnan(deduction(cell)):
        return None
    steps = by_size(cell.simulation["validation_step"])
    return _finite(fraction_from(cell, ~np.isnan(steps)))


def _finite(shares):
    """Twice all samples for never: no order statistic tells it from infinity."""
    return np.where(np.isinf(shares), 2.0, shares)


def after_decoder(cell):
    if swept_sizes(cell) is None:
        return None
    return told_by_decoder(ends(cell.simulation, cell.parameters))


def plane(matrices) -> np.ndarray:
    """Symbols, (symbol, entry), in their first two principal components, (symbol, 2)."""
    centred = matrices - matrices.mean(0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, :2] * size[:2]


def convex(points) -> bool:
    """Whether all points, (point, 2), are corners of their convex hull."""
    try:
        return len(ConvexHull(points).vertices) == len(points)
    except QhullError:
        return False


def in_plane(cell, measure):
    """Share of the learned representations of three things with a property in two components, (seed,), with their number."""
    if cell.parameters.operation != "symmetric" or cell.parameters.symbols != 6:
        return None
    end = ends(cell.simulation, cell.parameters)
    good = by_size(end["rqi"]) > cell.parameters.rqi_threshold
    place = by_size(end["embedding"].transpose(..., "symbol", "coordinate"))
    found = np.zeros(good.shape)
    for index in zip(*np.nonzero(good), strict=True):
        found[index] = measure(plane(place[index]))
    with np.errstate(invalid="ignore"):
        return PerSeed(found.sum(0) / good.sum(0), f"{good.sum()} runs.")


IN_PLANE: dict[str, Any] = {
    "near": 1,
    "inside": MOST,
    "among": "seeds that learn the representation at some size",
    **ALONG,
}


def alternate(points) -> bool:
    """Whether even and odd permutations of three take turns around the middle; points (symbol, 2)."""
    middle = points - points.mean(0)
    odd = np.linalg.det(permutation_matrices(3)) < 0
    around = odd[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    return bool((around != np.roll(around, 1)).all())


CLAIMS = [
    grows,
    claim(
        "lower-bound",
        "The accuracy that parallelograms predict is a lower bound of the accuracy of the network.",
        lower_bound,
        source=PAPER + "Fig. 18",
        near=1,
        inside=ALWAYS,
        why="In all runs but one of ten.",
        note="Share of training sizes at which a run is at least as accurate as predicted.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "deduced-only",
        "No network has more parallelograms than can be deduced from its training set.",
        deduced_only,
        source=PAPER + "generalised parallelograms",
        near=0,
        inside=(0, SLACK),
        why="A bound; rounding of shares.",
        **ALONG,
        rank="control",
    ),
    claim(
        "sooner",
        "With more samples the representation is learned in fewer steps.",
        sooner,
        source=PAPER + "Fig. 17",
        near=-1,
        inside=NEGATIVE,
        why="A difference that the seeds establish.",
        note="Rank correlation of the step to the RQI with the training size; never is last.",
        **ALONG,
    ),
    claim(
        "transition",
        "Networks learn the representation from the fraction of samples on from which all products can be deduced.",
        transition,
        source=PAPER + "Fig. 17",
        note="Share from which on a run reaches the RQI; never is infinity.",
        **TRANSITION,
        rank="headline",
    ),
    claim(
        "transition.corrected",
        "Networks generalise from the fraction of samples on from which all products can be deduced.",
        transition_corrected,
        source=OURS,
        corrects="transition",
        note="Share from which on a run reaches the accuracy on validation samples; never is infinity.",
        **TRANSITION,
        rank="headline",
    ),
    claim(
        "after-decoder",
        "Validation accuracy goes with the parallelograms after the decoder rather than with those of the matrices.",
        after_decoder,
        source=OURS,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        **ALONG,
    ),
    claim(
        "hexagon",
        "In the first two principal components the six permutations are the corners of a convex hexagon.",
        lambda c: in_plane(c, convex),
        source=PAPER + "Fig. 16",
        why="In most runs; six random points of the plane do so in fewer than one run of ten.",
        note="Share of the learned representations in which they are.",
        **IN_PLANE,
        rank="headline",
    ),
    claim(
        "hexagon.corrected",
        "Around the middle of the first two principal components even and odd permutations take turns, convex or not.",
        lambda c: in_plane(c, alternate),
        source="docs/theory/grokking.md: matrices of S_3 are two triangles, of rotations and of reflections",
        corrects="hexagon",
        why="In most runs; random orders do so in one of ten.",
        note="Share of the learned representations in which they do.",
        **IN_PLANE,
        rank="headline",
    ),
]
