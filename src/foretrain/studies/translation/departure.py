"""Sentences on how translation begins: the simple case's laws in the network itself, and which pairs are learned when."""

import numpy as np
import xarray as xr

from foretrain.quantities.cell import Runs
from foretrain.quantities.slopes import slopes
from foretrain.study import PerSeed, claim
from foretrain.theory.connectivity import joining_times
from foretrain.theory.masked_rank_one import misalignment_slope
from foretrain.training.translation import GRAPH, LEARNED, PAIR
from foretrain.training.translation_claims import CONVERGE, converged, is_square, within

from .study import departure_scale

SIMPLE = "Note on shared representations, section 3"
LAW = "docs/theory/masked-rank-one.md"
# A law for small misalignment is looked at where it is small, and far above the departure's own, about 1e-5.
ALIGNED = (1e-4, 0.5)


def departures(cell):
    """Runs that ended when their first mode departed, and their scales; None where fewer than two scales are there."""
    if "departure" not in cell.variants or len(cell.values("init_scale")) < 2:
        return None
    runs = cell.variants["departure"].transpose("init_scale", "trained_fraction", "seed", ...)
    kept = runs[["final_time", "misalignment", "trained_pairs"]].where(converged(runs))
    return kept, np.array([departure_scale(scale) for scale in cell.values("init_scale")])


def waits(cell, against) -> PerSeed | None:
    """Slope of log departure time, mean over fractions, against a function of sigma, between the two smallest scales.

    The words are the slopes between all neighbouring scales, from the largest on.
    """
    if (found := departures(cell)) is None:
        return None
    time, scales = np.log(found[0]["final_time"].values), np.log(against(found[1]))
    local = np.diff(time, axis=0) / np.diff(scales)[:, None, None]
    means = ", ".join(f"{np.nanmean(one):.5g}" for one in local[::-1] if np.isfinite(one).any())
    return PerSeed(local[0].mean(0), f"Between neighbouring scales, from the largest on: {means}.")


def in_the_limit(cell) -> tuple[float, float]:
    """A slope of -1 up to what the second smallest scale adds."""
    off = 1e-4 + 100 * departure_scale(
        sorted(cell.values("init_scale"))[min(1, len(cell.values("init_scale")) - 1)]
    )
    return -1 - off, -1 + off


def alignment_exponent(cell):
    if (found := departures(cell)) is None:
        return None
    measured, law = exponents(*found)
    ratio = measured / law
    known = np.isfinite(ratio)
    return np.where(known.any(0), np.nansum(ratio, 0) / np.maximum(known.sum(0), 1), np.nan)


def exponents(runs: Runs | xr.Dataset, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope of log misalignment against log sigma, and that of the law, shape (fraction, seed); nan where out of range."""
    left, masks = runs["misalignment"].values, runs["trained_pairs"].values
    seen = (left >= ALIGNED[0]) & (left <= ALIGNED[1])
    curves = np.where(seen, np.log(np.where(seen, left, 1.0)), np.nan)
    measured, law = np.full((2, *left.shape[1:]), np.nan)
    for place in np.argwhere(seen.sum(0) >= 2):
        at = (slice(None), *place)
        told = np.linalg.svd(masks[at][seen[at]][0], compute_uv=False)
        law[*place] = misalignment_slope(told, scales[seen[at]])
        measured[*place] = slopes(np.log(scales), curves[at][:, None])[0]
    return measured, law


def course(cell) -> xr.DataArray:
    """Time at which untrained pairs are learned over that at which the last pair of their quickest path was; runs converged.

    Smallest scale, dims (trained_fraction, seed, input_domain, output_domain); nan for all other pairs.
    """
    dims = ("trained_fraction", "seed", *PAIR)
    data, theory = (part.isel(init_scale=0) for part in (cell.simulation, cell.theory))
    times = data["learned_time"].where(converged(data)).transpose(*dims)
    trained = times.where(data["trained_pairs"] == 1)
    joined = times.copy(data=joining_times(trained.values))
    return (times / joined).where(within(data, theory))


def learned_with_path(cell):
    ratio = course(cell).stack(pair=("trained_fraction", *PAIR))
    return ratio.median("pair").values


CLAIMS = [
    claim(
        "departure-time",
        "The singular vectors of T take over at a time that goes as -log(sigma).",
        lambda c: waits(c, lambda scales: np.log(1 / scales)),
        along=("init_scale", "trained_fraction"),
        source=SIMPLE,
        near=1,
        inside=(0.9, 1.1),
        why="'Around': a tenth of the exponent with which the time would grow with log(1/sigma).",
        of="departure",
        note="Slope of log departure time against log log(1/sigma), between the two smallest sigma.",
        where=is_square,
    ),
    claim(
        "departure-time.corrected",
        "From small weights the first mode departs at a time that goes as 1/sigma.",
        lambda c: waits(c, lambda scales: scales),
        along=("init_scale", "trained_fraction"),
        source=LAW,
        near=-1,
        inside=in_the_limit,
        why="Exact in the limit. Corrections go as sigma, with a factor of 10 in runs seen before: ten times that is "
        "allowed, and 1e-4 for the solver.",
        corrects="departure-time",
        of="departure",
        note="Slope of log departure time against log sigma, between the two smallest sigma.",
        where=is_square,
    ),
    claim(
        "alignment-exponent",
        "W_o W_h W_i departs as u_1 v_1^T (x) O, with a misalignment that falls as sigma^(1 - s_2/s_1).",
        alignment_exponent,
        along=("init_scale", "trained_fraction"),
        source=LAW,
        near=1,
        inside=(0.95, 1.05),
        why="An exponent 8% off, or s_3 in place of s_2 (15% off on average), lies outside.",
        of="departure",
        note="Slope of log misalignment against log sigma over that of the law with all modes of T, 1 - s_k/s_1, which tends "
        f"to the first; where the misalignment lies between {ALIGNED[0]:g} and {ALIGNED[1]:g}, mean over masks.",
        where=is_square,
    ),
    claim(
        "learned-with-path",
        "An untrained pair is learned when the last pair of its quickest path is learned.",
        learned_with_path,
        along=("init_scale", "trained_fraction"),
        source=GRAPH,
        near=1,
        inside=(0.9, 1.25),
        why="Errors along a path add up, which delays what they join; from small weights most of the time is waiting. A "
        "quarter was chosen after a grid of four languages had given 1.07.",
        among=CONVERGE,
        note=f"Time at which its error first is below {LEARNED:g} over that of the last trained pair on the path for which "
        "this is earliest, median over untrained pairs within components, smallest scale.",
    ),
]
