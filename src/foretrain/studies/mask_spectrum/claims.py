"""Claims of the note on the spectrum of a random mask and on its outlier in training."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.agreement import distance
from foretrain.quantities.allowed import tolerance
from foretrain.study import claim
from foretrain.theory.factorization import random_matrix
from foretrain.training.masked_rank_one import DEPARTURE
from foretrain.training.masked_rank_one_claims import OURS, generalises, recorded

from .study import SOURCE, smaller

ROW = {"along": "mask_size", "source": SOURCE}


def first(c):
    """Return the largest singular value of each mask."""
    return c.mask_singular_values.isel(mode=0)


def second(c):
    return c.mask_singular_values.isel(mode=1)


def over_sizes(values):
    """Return the mean over sizes, nan for a seed without a value of one."""
    return values.mean("mask_size", skipna=False)


def within_note_edge(c):
    rest = c.mask_singular_values.isel(mode=slice(1, None))
    inside = (rest <= c.theory.note_edge).astype(float).where(rest.notnull())
    return over_sizes(inside.mean("mode"))


def second_value(c):
    sizes = c.axis("mask_size")
    scatter = [random_matrix.bernoulli_second_scatter(int(n), c.p.density) for n in sizes]
    return over_sizes((second(c) - c.theory.predicted_second) / sizes.copy(data=scatter))


def quarter_circle(c):
    gaps = []
    for size in c.values("mask_size"):
        rest = c.mask_singular_values.sel(mask_size=size).isel(mode=slice(1, size)).values
        law = lambda values, n=size: random_matrix.bulk_distribution(values, n, c.p.density)  # noqa: E731
        gaps.append(distance(rest, law) / (np.log(size) / size))
    drawn = np.isfinite(first(c)).all("mask_size")
    return np.where(drawn, np.max(gaps, 0), np.nan)


def outlier_in_training(c):
    above, below = (
        c[network].stage_misalignment.isel(stage=DEPARTURE, mask_size=-1)
        for network in ("trained", "smaller")
    )
    size = (c["trained"].sizes["input_domain"], c.p.density)
    ratio = random_matrix.bernoulli_second_value(*size) / random_matrix.bernoulli_outlier(*size)
    falls = (smaller(c.p) / c.p.init_scale) ** (1 - ratio)
    return (below - falls * above) / (1 - falls)


CLAIMS = [
    replace(recorded, along=("mask_size",)),
    claim(
        "outlier",
        "A mask with independent entries has an outlier singular value of the order of pn.",
        lambda c: over_sizes(first(c) / (c.p.density * c.axis("mask_size"))),
        near=1,
        inside=(0.5, 2),
        why="'On the order of': within a factor of two.",
        note="s_1/(pn), mean over sizes.",
        **ROW,
    ),
    claim(
        "outlier-shift",
        "The largest singular value of a random mask lies at np + 1 - p.",
        lambda c: over_sizes(first(c) - c.theory.predicted_outlier),
        **tolerance(0, lambda c: (1 - c.p.density) / 4),
        why="A quarter of the shift 1 - p that is to be seen; single masks scatter by sqrt(p(1 - p)), independently in n.",
        note="s_1 - (np + 1 - p), mean over sizes.",
        rank="headline",
        **ROW | {"source": OURS},
    ),
    claim(
        "dominates-by-a-lot",
        "The largest singular value of a random mask is much larger than all others.",
        lambda c: (first(c) / second(c)).min("mask_size", skipna=False),
        inside=(2, np.inf),
        why="A factor of two at the smallest size; it grows with the square root of n.",
        note="s_1/s_2, least over the sizes.",
        **ROW,
    ),
    *claim(
        "bulk-edge",
        "All singular values of a random mask but the largest concentrate in [0, 2 sqrt(p(1 - p))].",
        within_note_edge,
        near=1,
        inside=(0.99, 1),
        why="'Concentrate': one in a hundred may lie outside.",
        note="Fraction inside, mean over sizes.",
        rank="headline",
        **ROW,
    ).and_corrected(
        "All singular values of a random mask but the largest concentrate in [0, 2 sqrt(n p(1 - p))], and reach its end.",
        quantity=lambda c: (second(c) / c.theory.predicted_edge).isel(mask_size=-1),
        source=OURS,
        **tolerance(1, lambda c: c.values("mask_size")[-1] ** (-2 / 3)),
        why="The top of a bulk lies within n^(-2/3) of its edge: .38 below by the Tracy-Widom law, and single masks scatter "
        "by as much.",
        note="s_2 over the edge, at the largest size.",
    ),
    claim(
        "second-value",
        "The second singular value lies below the edge by the Tracy-Widom correction, one dimension less and the "
        "kurtosis of the entries.",
        second_value,
        **tolerance(0, 0.25),
        why="A quarter of the Tracy-Widom correction, which is .95 of the scatter of single masks.",
        note="s_2 minus its predicted mean, in units of the standard deviation of single masks, mean over sizes.",
        **ROW | {"source": OURS},
    ),
    claim(
        "quarter-circle",
        "All singular values but the largest follow the Marchenko-Pastur law, for square masks a quarter circle.",
        quarter_circle,
        near=0,
        inside=(-np.inf, 1),
        why="The values are rigid: each is off by about log(n)/n of the count, not by 1/sqrt(n) as independent ones.",
        note="Largest distance of the distribution functions, in units of log(n)/n, at the size where it is largest.",
        rank="headline",
        **ROW,
    ),
    claim(
        "outlier-in-training",
        "The largest singular value dominates training: u v^T emerges as the best rank-one approximation of T.",
        outlier_in_training,
        **tolerance(0, 0.1),
        why="'By a lot': a relative distance of a tenth is an angle of 6 degrees.",
        note="Relative distance when 1% of the loss is gone, where it tends by the law sigma^(1 - s_2/s_1).",
        where=lambda c: smaller(c.p) != c.p.init_scale,
        rank="headline",
        **ROW,
    ),
    claim(
        "outlier-generalises",
        "Where the largest singular value dominates, training succeeds and generalises.",
        lambda c: generalises(c["trained"].isel(mask_size=-1)),
        near=1,
        inside=(0.95, 1),
        why="Runs that are not dominated may be stuck: one in twenty.",
        note="Fraction of seeds.",
        of="trained",
        statistic="fraction",
        at_end=True,
        rank="headline",
        **ROW | {"source": OURS},
    ),
]
