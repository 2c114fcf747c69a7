"""Sentences on the limit of small weights, on who gets stuck, and on what else could tell which pairs generalise."""

import numpy as np
import xarray as xr

from foretrain.study import PerSeed, claim
from foretrain.theory.connectivity import predicted_pair_error
from foretrain.training import translation_claims as common
from foretrain.training.translation import GRAPH, PAIR
from foretrain.training.translation_claims import (
    CONVERGE,
    converged,
    is_square,
    stuck,
    within,
)

from .counts import (
    IF_AND_ONLY_IF,
    LIMIT,
    MASKS,
    OURS,
    at_smallest,
)
from .study import variants

DECADE = 9.99  # A rate is measured from the smallest scale to the first that is ten times as large.
NEAR = 0.02  # of a limit


def is_wide(cell) -> bool:
    """Whether hidden layers have directions to spare, H >= 2 D."""
    return cell.parameters.hidden_width >= 2 * cell.parameters.words


def scales_apart(cell) -> tuple[int, float, float]:
    """Place of the larger of two scales, and both: the smallest, and the first a decade above it or the largest."""
    scales = cell.values("init_scale")
    far = [place for place, scale in enumerate(scales) if scale >= DECADE * scales[0]]
    place = far[0] if far else len(scales) - 1
    return place, scales[0], scales[place]


def law(cell) -> np.ndarray:
    """Mean of sigma^(1 - s_2/s_1) over masks, of the smaller and of the larger of `scales_apart`.

    At H = D every mask counts as one run, at H = 2D with as many pairs as it joins and does not train.
    """
    exponent = cell.theory["frame_exponent"].isel(init_scale=0).transpose(*MASKS, "seed").values
    weight = np.ones(exponent.shape)
    if not is_square(cell):
        joined = cell.theory["predicted_pair_error"].isel(init_scale=0) == 0
        count = joined.sum(PAIR).transpose(*MASKS, "seed").values
        weight = count - np.array(cell.values("trained_count"))[:, None]
    return np.array(
        [(weight * scale**exponent).sum() / weight.sum() for scale in scales_apart(cell)[1:]]
    )


def missed(cell) -> xr.Dataset:
    """Untrained pairs within components that lack half a mode or more, per run; nan for runs that did not converge.

    A pair across a reflection lacks one mode or has it reversed, at an error of 1/(2 D) or more, whatever error a pair that
    is said to generalise may have.

    Returns:
        ``missed``, and ``joined``, of which they are a part.
    """
    data = cell.simulation
    joined = within(data, cell.theory)
    lacks = joined & (data["pair_error"] > 0.25 / cell.parameters.words)
    counts = xr.Dataset({"missed": lacks.sum(PAIR), "joined": joined.sum(PAIR)})
    return counts.where(converged(data))


def shares(cell) -> tuple[np.ndarray, np.ndarray] | None:
    """What a seed contributes to the share of stuck runs (H = D), or of joined pairs that are missed, at both scales.

    Shape (seed,) each; their means are the shares. Nan for seeds with a run that is not done; None with one scale.
    """
    if (apart := scales_apart(cell))[0] == 0:
        return None
    if is_square(cell):
        found = stuck(cell.simulation).mean(MASKS)
        found = found.where(common.all_done(cell.simulation, LIMIT))
    else:
        counts = missed(cell).sum(MASKS)
        joined = counts["joined"].mean("seed")
        found = counts["missed"] / joined.where(joined > 0)
    found = found.transpose("init_scale", "seed").values
    return found[0], found[apart[0]]


def rate(cell) -> PerSeed | None:
    """Slope of the logarithm of a share against that of sigma; a seed's value is its part in it, to first order."""
    if (found := shares(cell)) is None:
        return None
    _, small, large = scales_apart(cell)
    means = [np.nanmean(one) if np.isfinite(one).any() else np.nan for one in found]
    words = f"From {means[1]:.3g} at sigma = {large:g} to {means[0]:.3g} at {small:g}."
    if not min(means) > 0:
        return PerSeed(np.full(found[0].shape, np.nan), words)
    parts = [one / mean - 1 for one, mean in zip(found, means, strict=True)]
    values = (np.log(means[0] / means[1]) + parts[0] - parts[1]) / np.log(small / large)
    return PerSeed(values, words)


def limit(cell) -> PerSeed | None:
    """Lower and upper bound of a share in the limit of small weights, a value of each for every seed.

    Straight lines through both scales. What falls faster than the law makes the share convex in it, so that a line in the law
    ends too low; no term of the law falls faster than sigma, nor does saturation, so that it is concave in sigma, where a line
    ends too high. Either is raised to zero if it ends below, which no share can.
    """
    if (found := shares(cell)) is None:
        return None
    _, small, large = scales_apart(cell)
    lines = []
    for ratio in (float(np.divide(*law(cell))), small / large):
        ends = (found[0] - ratio * found[1]) / (1 - ratio)
        mean = np.nanmean(ends) if np.isfinite(ends).any() else np.nan
        lines.append((mean, ends + max(0.0, -mean)))
    words = f"The lines end at {lines[0][0]:.2g} and {lines[1][0]:.2g}."
    low, high = (line for _, line in lines)
    return PerSeed(low, words, upto=high)


def slope_of_law(cell) -> float:
    """Slope of the logarithm of the law between both scales; nan with one scale."""
    place, small, large = scales_apart(cell)
    return float(np.log(np.divide(*law(cell))) / np.log(small / large)) if place else np.nan


def half_to_either_side(cell) -> tuple[float, float]:
    """The law's slope, a half of it less or more."""
    slope = slope_of_law(cell)
    return (0.0, 1.0) if np.isnan(slope) else (0.5 * slope, 1.5 * slope)


BY_LAW = {
    "near": slope_of_law,
    "inside": half_to_either_side,
    "why": "The law holds to leading order, with a factor that the mask may change. A share that stays, of slope 0, and one "
    "that falls with the scale itself, of slope 1, lie outside where the law's slope is below 2/3.",
    "note": "Slope of log share against log sigma, from the smallest scale over a decade; predicted from the masks alone.",
}
BY_LINE = {
    "inside": (-np.inf, NEAR),
    "near": 0,
    "why": "One in fifty, at the upper bound too. A share is not below zero.",
    "note": "From the end of a straight line in the law's mean of sigma^(1 - s_2/s_1) to that of one in sigma, both from the "
    "smallest scale over a decade, and zero where they end below it.",
}


stuck_told = common.stuck_told(MASKS[0])


def right(cell) -> xr.Dataset:
    """Untrained pairs of every run at the smallest scale, and how many of them rules tell right; nan if it did not converge.

    Returns:
        ``untrained``, ``graph``, and ``degrees`` with a dim ``least``: a pair generalises if the product of the numbers of
        pairs that train its languages is at least so much.
    """
    data, theory, _ = at_smallest(cell)
    untrained = data["trained_pairs"] == 0
    came = data["pair_error"] < cell.parameters.generalises_below
    pairs = data["trained_pairs"]
    product = pairs.sum(PAIR[1]) * pairs.sum(PAIR[0])
    least = xr.DataArray(np.arange(1, cell.parameters.languages**2 + 1), dims="least")
    found = {
        "untrained": untrained,
        "graph": untrained & (came == (theory["predicted_pair_error"] == 0)),
        "degrees": untrained & (came == (product >= least)),
    }
    return xr.Dataset({name: pairs.sum(PAIR) for name, pairs in found.items()}).where(
        converged(data)
    )


def told_beside(cell, name: str) -> PerSeed | None:
    """Fraction of untrained pairs of trained languages that the graph tells right, of a network beside."""
    if name not in cell.variants:
        return None
    runs = cell.variants[name].transpose(*MASKS, "seed", ...)
    kept, masks = converged(runs).values, runs["trained_pairs"].transpose(..., *PAIR).values
    came = runs["pair_error"].transpose(..., *PAIR).values < cell.parameters.generalises_below
    told, asked = np.zeros((2, kept.shape[-1]))
    for place in np.argwhere(kept):
        trained = masks[tuple(place)]
        expected = predicted_pair_error(trained)
        both = (trained == 0) & (expected != 0.5)
        told[place[-1]] += (both & (came[tuple(place)] == (expected == 0))).sum()
        asked[place[-1]] += both.sum()
    text = f"Of {asked.sum():.0f} pairs; {1 - kept.mean():.1%} of the runs did not converge."
    return PerSeed(told / np.where(asked > 0, asked, np.nan), text)


def has_beside(cell) -> bool:
    """Whether networks on masks of other shapes are trained beside it: at small scales, each judged for itself."""
    return bool(variants(cell.parameters))


CLAIMS = [
    stuck_told,
    claim(
        "stuck-rate",
        "At H = D the fraction of stuck runs falls with the scale as sigma^(1 - s_2/s_1) of the trained pairs.",
        lambda c: rate(c),
        along=LIMIT,
        source=OURS,
        among="seeds whose runs all are done",
        where=is_square,
        **BY_LAW,
    ),
    claim(
        "stuck-limit",
        "At H = D no run gets stuck in the limit of small weights.",
        lambda c: limit(c),
        along=LIMIT,
        source=OURS,
        among="seeds whose runs all are done",
        where=is_square,
        **BY_LINE,
    ),
    claim(
        "missed-rate",
        "At H = 2D the missed pairs within components become fewer as sigma^(1 - s_2/s_1) of the trained pairs.",
        lambda c: rate(c),
        along=LIMIT,
        source=OURS,
        among=CONVERGE,
        where=is_wide,
        **BY_LAW,
        rank="headline",
    ),
    claim(
        "missed-limit",
        "At H = 2D no pair within a component is missed in the limit of small weights.",
        lambda c: limit(c),
        along=LIMIT,
        source=OURS,
        among=CONVERGE,
        where=is_wide,
        **BY_LINE,
    ),
    claim(
        "rectangular",
        "The graph predicts which pairs generalise where three times as many languages are read as are written.",
        lambda c: told_beside(c, "rectangular"),
        along=MASKS,
        source=GRAPH,
        among=CONVERGE,
        where=has_beside,
        **IF_AND_ONLY_IF,
        of="rectangular",
        note="Fraction of untrained pairs of trained languages that it tells right, from the scale to the power 3/2.",
    ),
    claim(
        "sparse",
        "The graph predicts which pairs generalise for sparse masks of many languages.",
        lambda c: told_beside(c, "sparse"),
        along=MASKS,
        source=GRAPH,
        among=CONVERGE,
        where=has_beside,
        **IF_AND_ONLY_IF,
        of="sparse",
        note="Fraction of untrained pairs of trained languages that it tells right, from the scale to the power 3/2. Four "
        "times as many languages with as many trained pairs each.",
    ),
]
