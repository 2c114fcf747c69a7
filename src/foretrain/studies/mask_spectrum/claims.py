"""What the note says of the spectrum of a random mask and of its outlier in training, and whether it is so."""

import math

import numpy as np

from foretrain.quantities.distribution import distance
from foretrain.studies.mask_spectrum.study import smaller
from foretrain.study import PerSeed, claim
from foretrain.theory import random_matrix
from foretrain.training import masked_rank_one_claims as common
from foretrain.training.masked_rank_one import DEPARTURE
from foretrain.training.masked_rank_one_claims import OURS, flown

NOTE = "Note on shared representations, section 3"
ALONG, TRAINED = ("mask_size",), ("", "trained")


def over_sizes(cell, measure, summary=lambda found: found.mean(0)) -> np.ndarray | None:
    """Mean over sizes, or other summary, of ``measure(n, largest value, other values, theory)``, shape (seed,).

    It is None if no spectra are there. Of each seed the largest value has shape (seed,), the others (seed, n - 1); nan
    where a seed has none.
    """
    if "mask_singular_values" not in cell.simulation:
        return None
    found = []
    for place, size in enumerate(cell.values("mask_size")):
        values = cell.simulation["mask_singular_values"].isel(mask_size=place).values[:, :size]
        law = cell.theory.isel(mask_size=place, missing_dims="ignore")
        measured = measure(size, values[:, 0], values[:, 1:], law)
        found.append(np.where(np.isfinite(values[:, 0]), measured, np.nan))
    return summary(np.array(found))


def quarter_shift(cell) -> tuple[float, float]:
    """A quarter of the shift 1 - p on either side."""
    return (cell.parameters.density - 1) / 4, (1 - cell.parameters.density) / 4


def dominates_by_a_lot(cell):
    ratio = lambda n, first, rest, _: first / rest[:, 0]  # noqa: E731
    return over_sizes(cell, ratio, lambda found: found.min(0))


def top_of_bulk(cell) -> tuple[float, float]:
    """n^(-2/3) on either side of one, at the largest size n."""
    reach = cell.values("mask_size")[-1] ** (-2 / 3)
    return 1 - reach, 1 + reach


def bulk_edge_corrected(cell):
    over_edge = lambda n, _, rest, law: rest[:, 0] / float(law["predicted_edge"])  # noqa: E731
    return over_sizes(cell, over_edge, lambda found: found[-1])


def second_value(cell):
    def measure(n, _, rest, law):
        scatter = random_matrix.bernoulli_second_scatter(n, cell.parameters.density)
        return (rest[:, 0] - float(law["predicted_second"])) / scatter

    return over_sizes(cell, measure)


def quarter_circle(cell):
    def measure(n, _, rest, law):
        quarter = lambda values: random_matrix.bulk_distribution(values, n, cell.parameters.density)  # noqa: E731
        return distance(rest, quarter) / (math.log(n) / n)

    return over_sizes(cell, measure, lambda found: found.max(0))


def largest(runs):
    """Runs on the largest masks."""
    return runs.isel(mask_size=-1, missing_dims="ignore")


def outlier_in_training(cell):
    if "smaller" not in cell.variants or smaller(cell.parameters) == cell.parameters.init_scale:
        return None
    runs = largest(flown(cell)), largest(cell.variants["smaller"])
    above, below = (one["stage_misalignment"].isel(stage=DEPARTURE).values for one in runs)
    # The part that falls as sigma^(1 - s_2/s_1) is taken out.
    p, size = cell.parameters, runs[0].sizes["input_domain"]
    ratio = random_matrix.bernoulli_second_value(size, p.density) / random_matrix.bernoulli_outlier(
        size, p.density
    )
    falls = (smaller(p) / p.init_scale) ** (1 - ratio)
    note = (
        "Relative distance when 1% of the loss is gone, where it tends by the law sigma^(1 - s_2/s_1); median "
        f"{_median(above):.3g} at sigma = {p.init_scale:g}, {_median(below):.3g} at {smaller(p):g}."
    )
    return PerSeed((below - falls * above) / (1 - falls), note)


def _median(values) -> float:
    return float(np.nanmedian(values)) if np.isfinite(values).any() else np.nan


def outlier_generalises(cell):
    runs = largest(flown(cell))
    error = runs["final_untrained_error"].values
    note = f"Fraction of seeds; largest untrained error {error.max(initial=0):.2g}."
    return PerSeed(common.generalised(runs), note)


COMMON = common.along(*ALONG, of=TRAINED)


CLAIMS = [
    *COMMON,
    claim(
        "outlier",
        "A mask with independent entries has an outlier singular value of the order of pn.",
        lambda c: over_sizes(c, lambda n, first, *_: first / (c.p.density * n)),
        along=ALONG,
        source=NOTE,
        near=1,
        inside=(0.5, 2),
        why="'On the order of': within a factor of two.",
        note="s_1/(pn), mean over sizes.",
    ),
    claim(
        "outlier-shift",
        "The largest singular value of a random mask lies at np + 1 - p.",
        lambda c: over_sizes(c, lambda n, first, _, law: first - float(law["predicted_outlier"])),
        along=ALONG,
        source=OURS,
        near=0,
        inside=quarter_shift,
        why="A quarter of the shift 1 - p that is to be seen; single masks scatter by sqrt(p(1 - p)), independently in n.",
        note="s_1 - (np + 1 - p), mean over sizes.",
        rank="headline",
    ),
    claim(
        "dominates-by-a-lot",
        "The largest singular value of a random mask is much larger than all others.",
        dominates_by_a_lot,
        along=ALONG,
        source=NOTE,
        inside=(2, np.inf),
        why="A factor of two at the smallest size; it grows with the square root of n.",
        note="s_1/s_2, least over the sizes.",
    ),
    claim(
        "bulk-edge",
        "All singular values of a random mask but the largest concentrate in [0, 2 sqrt(p(1 - p))].",
        lambda c: over_sizes(c, lambda n, _, rest, law: (rest <= float(law["note_edge"])).mean(1)),
        along=ALONG,
        source=NOTE,
        near=1,
        inside=(0.99, 1),
        why="'Concentrate': one in a hundred may lie outside.",
        note="Fraction inside, mean over sizes.",
        rank="headline",
    ),
    claim(
        "bulk-edge.corrected",
        "All singular values of a random mask but the largest concentrate in [0, 2 sqrt(n p(1 - p))], and reach its "
        "end.",
        bulk_edge_corrected,
        along=ALONG,
        source=OURS,
        corrects="bulk-edge",
        near=1,
        inside=top_of_bulk,
        why="The top of a bulk lies within n^(-2/3) of its edge: .38 below by the Tracy-Widom law, and single masks "
        "scatter by as much.",
        note="s_2 over the edge, at the largest size.",
        rank="headline",
    ),
    claim(
        "second-value",
        "The second singular value lies below the edge by the Tracy-Widom correction, one dimension less and the "
        "kurtosis of the entries.",
        second_value,
        along=ALONG,
        source=OURS,
        near=0,
        inside=(-0.25, 0.25),
        why="A quarter of the Tracy-Widom correction, which is .95 of the scatter of single masks.",
        note="s_2 minus its predicted mean, in units of the standard deviation of single masks, mean over sizes.",
    ),
    claim(
        "quarter-circle",
        "All singular values but the largest follow the Marchenko-Pastur law, for square masks a quarter circle.",
        quarter_circle,
        along=ALONG,
        source=NOTE,
        near=0,
        inside=(-np.inf, 1),
        why="The values are rigid: each is off by about log(n)/n of the count, not by 1/sqrt(n) as independent ones.",
        note="Largest distance of the distribution functions, in units of log(n)/n, at the size where it is largest.",
        rank="headline",
    ),
    claim(
        "outlier-in-training",
        "The largest singular value dominates training: u v^T emerges as the best rank-one approximation of T.",
        outlier_in_training,
        along=ALONG,
        source=NOTE,
        near=0,
        inside=(-0.1, 0.1),
        why="'By a lot': a relative distance of a tenth is an angle of 6 degrees.",
        of=(*TRAINED, "smaller"),
        rank="headline",
    ),
    claim(
        "outlier-generalises",
        "Where the largest singular value dominates, training succeeds and generalises.",
        outlier_generalises,
        along=ALONG,
        source=OURS,
        near=1,
        inside=(0.95, 1),
        why="Runs that are not dominated may be stuck: one in twenty.",
        of=TRAINED,
        statistic="fraction",
        at_end=True,
        rank="headline",
    ),
]
