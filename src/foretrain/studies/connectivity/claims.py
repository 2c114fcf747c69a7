"""The conjecture of docs/theory/connectivity.md, judged."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import POSITIVE
from foretrain.studies.connectivity.counts import (
    IF_AND_ONLY_IF,
    LIMIT,
    MASKS,
    OURS,
    at_smallest,
    outcomes,
)
from foretrain.studies.connectivity.limits import CLAIMS as LIMITS
from foretrain.studies.connectivity.study import is_square as is_square_mask
from foretrain.studies.connectivity.study import mask
from foretrain.study import Exact, PerSeed, claim
from foretrain.training import translation_claims as common
from foretrain.training.translation import GRAPH, PAIR
from foretrain.training.translation_claims import CONVERGE, converged, is_square, stuck

# Of runs that converge: over all masks of a scale, or at the smallest one.


def share(cell, of: str, among: str) -> PerSeed:
    """One count over another for every seed, summed over its masks."""
    counts = outcomes(cell).sum(MASKS)
    text = f"{float(stuck(cell.simulation).mean()):.1%} of the runs are stuck and left out."
    return PerSeed((counts[of] / counts[among].where(counts[among] > 0)).values, text)


trained_pairs_alone = common.trained_pairs_alone(mask, LIMIT)


def baseline(cell) -> float:
    """Fraction of the untrained pairs that lie across components, with both languages trained."""
    apart = (cell.theory["predicted_pair_error"].isel(init_scale=0) == 1).sum(PAIR).sum(MASKS)
    untrained = sum(cell.parameters.languages**2 - count for count in cell.values("trained_count"))
    return float(apart.mean()) / max(untrained, 1)


def better_than_occurrence(cell):
    data, _, counts = at_smallest(cell)
    # The two differ on pairs across components alone, where the graph is right unless they generalise.
    gain = (counts["apart"] - 2 * counts["false"]).sum(MASKS)
    untrained = (data["trained_pairs"] == 0).where(converged(data)).sum((*PAIR, *MASKS))
    return (gain / untrained.where(untrained > 0)).values


def of_square_masks(cell) -> bool:
    """Whether its masks have as many inputs as outputs, of which the probability of being connected is known."""
    return is_square_mask(cell.parameters)


def threshold(cell):
    _, theory, counts = at_smallest(cell)
    return (counts["all_came"] - theory["connection_probability"]).mean(MASKS).values


def connected_iff_all(cell):
    _, theory, counts = at_smallest(cell)
    agree = (counts["all_came"] == theory["connected"]).where(counts["all_came"].notnull())
    return agree.mean(MASKS).values


def stuck_falls(cell):
    if len(cell.values("init_scale")) < 2:
        return None
    held = stuck(cell.simulation).mean(MASKS)
    fall = held.isel(init_scale=-1) - held.isel(init_scale=0)
    return fall.where(common.all_done(cell.simulation, LIMIT)).values


def errors_of(cell, predicted: float) -> xr.DataArray:
    """Errors at the smallest scale of pairs for which that is predicted, nan elsewhere and in runs that did not converge."""
    data, theory, _ = at_smallest(cell)
    return data["pair_error"].where((theory["predicted_pair_error"] == predicted) & converged(data))


def across_spread(cell):
    square = ((errors_of(cell, 1) - 1) * cell.parameters.words) ** 2
    return square.mean((*MASKS, *PAIR)).values


def across_reverse(cell):
    data, theory, _ = at_smallest(cell)
    rho = theory["across_scale"]
    trace = (((1 + rho**2) / 2 - errors_of(cell, 1)) / rho).transpose(..., *PAIR)
    pairs = data["trained_pairs"].transpose(*trace.dims)
    # The reverses of (i, j) are the pairs from inputs trained with j to outputs trained with i.
    of_input, of_output = (pairs / pairs.sum(dim) for dim in reversed(PAIR))
    back = of_input.values @ np.nan_to_num(trace.values).swapaxes(-1, -2) @ of_output.values
    gap = np.abs(trace - back)
    return Exact(float(gap.max()), f"{int(gap.notnull().sum())} pairs.")


CLAIMS = [
    trained_pairs_alone,
    *LIMITS,
    claim(
        "precision",
        "Untrained pairs within a component generalise.",
        lambda c: share(c, "hits", "predicted"),
        along=MASKS,
        source=GRAPH,
        among=CONVERGE,
        note="Fraction of the pairs predicted to generalise that do.",
        **IF_AND_ONLY_IF,
        rank="headline",
    ),
    claim(
        "recall",
        "Only untrained pairs within a component generalise.",
        lambda c: share(c, "hits", "came"),
        along=MASKS,
        source=GRAPH,
        among=CONVERGE,
        note="Fraction of the pairs that generalise that were predicted to.",
        **IF_AND_ONLY_IF,
        rank="headline",
    ),
    claim(
        "across-never",
        "No pair across components generalises, though both of its languages are trained.",
        lambda c: share(c, "false", "apart"),
        along=MASKS,
        source=GRAPH,
        among=CONVERGE,
        near=0,
        inside=(0, 0.05),
        why="One in twenty, as for pairs within components.",
        note="Fraction of such pairs that generalise.",
        rank="control",
    ),
    claim(
        "better-than-occurrence",
        "From small weights the graph predicts generalisation better than whether both languages occur in training.",
        better_than_occurrence,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=baseline,
        inside=POSITIVE,
        why="More pairs are predicted right; predicted are those across components, with both languages trained.",
        note="Fraction of all untrained pairs of which the graph is right and the occurrence wrong, less the reverse.",
    ),
    claim(
        "threshold",
        "The generalisation threshold is the connectivity threshold of the graph of trained pairs.",
        threshold,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=0,
        inside=(-0.05, 0.05),
        why="A twentieth in probability, about the standard error of one point of the curve with a hundred masks.",
        note="Fraction of runs in which all untrained pairs generalise minus the exact probability that the mask is "
        "connected, mean over numbers of pairs, smallest scale.",
        where=of_square_masks,
        rank="headline",
    ),
    claim(
        "connected-iff-all",
        "All untrained pairs of a run generalise if and only if its graph is connected.",
        connected_iff_all,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        note="Fraction of runs for which the two agree, smallest scale.",
        where=of_square_masks,
        **IF_AND_ONLY_IF,
        rank="headline",
    ),
    claim(
        "stuck-falls",
        "At H = D fewer runs get stuck the smaller the initial weights.",
        stuck_falls,
        source=OURS,
        along=LIMIT,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        among="seeds whose runs all are done",
        note="Fraction of stuck runs at the largest minus that at the smallest scale.",
        where=is_square,
    ),
    claim(
        "across",
        "A pair across components computes a random orthogonal map, of error 1 on average.",
        lambda c: errors_of(c, 1).mean((*MASKS, *PAIR)).values,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=1,
        inside=(0.9, 1.1),
        why="The derivation needs components with as many inputs as outputs; elsewhere the map is scaled by rho, which "
        "adds (rho - 1)^2 / 2: a tenth for a third more or less.",
        note="Mean over pairs across components, smallest scale; languages that are never trained left out.",
        rank="headline",
    ),
    claim(
        "across-spread",
        "The error of a pair across components has the standard deviation 1/D.",
        across_spread,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=1,
        inside=(0.64, 1.44),
        why="A fifth to either side of the standard deviation: components of unequal numbers scale the map.",
        note="Mean square distance from 1 over pairs across components, in units of 1/D^2, smallest scale.",
    ),
    claim(
        "across-reverse",
        "At H = D a pair across components and its reverse compute one rotation O, scaled by rho and 1/rho.",
        across_reverse,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=0,
        inside=lambda cell: (0, 4 * cell.values("init_scale")[0]),
        why="The start leaves a part of the order of its scale in every map.",
        note="Largest difference between tr O/D of a pair and of its reverses, each from its error (1 + rho^2)/2 - rho tr "
        "O/D.",
        where=is_square,
    ),
    claim(
        "silent",
        "A language that is never trained answers nothing, at an error of 1/2.",
        lambda c: errors_of(c, 0.5).mean((*MASKS, *PAIR)).values,
        along=LIMIT,
        source=GRAPH,
        among=CONVERGE,
        near=0.5,
        inside=(0.49, 0.51),
        why="What the initial weights say is of the order of the scale; its cross term averages to zero.",
        note="Mean over pairs with a language that is never trained, smallest scale.",
        rank="control",
    ),
    replace(
        common.square_exact,
        along=LIMIT,
        statement="At H = D zero training loss forces generalisation within components, at any scale.",
    ),
]
