"""Spectra of random masks against random-matrix theory, and the outlier's direction in training."""

from dataclasses import dataclass, replace

import numpy as np

from foretrain import study as lab
from foretrain.quantities.allowed import tolerance
from foretrain.study import Seed, choice, claim, declare, default, parameter
from foretrain.theory.factorization import random_matrix
from foretrain.training import masked_rank_one as flight
from foretrain.training.masked_rank_one_claims import OURS, generalises, recorded

SOURCE = "Note on shared representations, section 3"
COST = "25 s"
REFERENCES = ("saxe2022", "benaych2012", "johnstone2001")
EXPLORE = ("density", "mask_size")
SEEDS = 80  # the fewest, with a few to spare, that tell a fraction of one from .95
AXES = {"mask_size": (100, 200, 400, 800)}
PRESETS = {"paper": {"mask_size": (*AXES["mask_size"], 1200, 2000), "density": (0.1, 0.3, 0.5)}}

PLACES = np.linspace(0, 1.1, 201)  # of the bulk, in units of its edge


@dataclass(frozen=True)
class Parameters(flight.Flow):
    """A random mask, and the flow of the networks that are trained on small masks."""

    mask_size: int = lab.size(
        200, "number of input and of output domains", 5000, minimum=2, symbol="n"
    )
    density: float = parameter(
        0.3, "probability that a pair is trained, independently", symbol="p", above=0, maximum=0.99
    )
    network: str = choice(
        "what is trained on the mask: nothing, so that only its spectrum is stored, or the rank-one model",
        ("none", "rank_one"),
        sweepable=False,  # variants and claims depend on it
    )
    init_scale: float = default(1e-4)
    solver_tolerance: float = default(1e-8)


declare("mode", mask_singular_values="Singular values of the mask, largest first.")
declare(
    predicted_outlier="Limit np + 1 - p of the largest singular value.",
    predicted_edge="Upper edge 2 sqrt(n p (1 - p)) of the other ones.",
    predicted_second="Mean of the second singular value at this size.",
    note_edge="The note's edge, 2 sqrt(p (1 - p)).",
)
declare(
    "bulk_place",
    predicted_density="Density of the bulk in units of its edge: the Marchenko-Pastur law of square matrices.",
)


def check(p: Parameters) -> None:
    if p.network == "rank_one" and p.mask_size > 1000:
        rule = "be at most 1000 where a network is trained"
        raise lab.argument_error("mask_size", rule, f"is {p.mask_size}")
    flight.check_precision(p)


def mask(p: Parameters, seed: Seed) -> np.ndarray:
    """Independent entries, 1 with probability `density`; the same for every root seed, seed and size."""
    uniform = lab.generator(seed, "mask").random((p.mask_size, p.mask_size))
    return (uniform < p.density).astype(float)


def measure(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """The spectrum of the mask, O(n^3): 3 s at n = 2000; nothing where a network is trained on the mask."""
    if p.network == "rank_one":
        return {}
    return {"mask_singular_values": np.linalg.svd(mask(p, seed), compute_uv=False)}


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    drawn = flight.Draw(mask(p, seed), *flight.unit_start(p.mask_size, seed))
    return flight.flight_inputs(drawn, p.init_scale)


def program(p: Parameters) -> lab.Program | None:
    """The flow of the rank-one model; None where only the spectrum is measured."""
    return flight.program(p) if p.network == "rank_one" else None


def variants(p: Parameters) -> dict[str, dict]:
    """Return the rank-one model on masks of at most 64 domains, from `init_scale` and, to see where it tends, far below."""
    if p.network == "rank_one":
        return {}
    trained = {"network": "rank_one", "mask_size": min(p.mask_size, 64)}
    return {"trained": trained, "smaller": {**trained, "init_scale": smaller(p)}}


def smaller(p: Parameters) -> float:
    """A second scale of the initial weights, far below the first."""
    return max(min(p.init_scale**2, p.init_scale / 100), 1e-64)


def labels(p: Parameters) -> dict[str, np.ndarray]:
    return {**flight.labels(p), "bulk_place": PLACES}


def predict(p: Parameters, step: np.ndarray) -> dict:
    """Outlier, edge, second value and density of the bulk, for one size and density."""
    law = (p.mask_size, p.density)
    edge = random_matrix.bernoulli_edge(*law)
    return {
        "predicted_outlier": random_matrix.bernoulli_outlier(*law),
        "predicted_edge": edge,
        "predicted_second": random_matrix.bernoulli_second_value(*law),
        "note_edge": random_matrix.bernoulli_edge(1, p.density),
        "predicted_density": edge * random_matrix.bulk_density(edge * PLACES, *law),
    }


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
        gap = np.arange(size - 1, 0, -1) - random_matrix.bulk_count(rest, size, c.p.density)
        gaps.append(np.maximum(gap.max(-1), 1 - gap.min(-1)) - np.sqrt(2) / np.pi * np.log(size))
    return np.mean(gaps, 0)


def heavy_entries(c) -> str:
    """Return why order one in n is not all where entries of a density have a large kurtosis; "" where it is."""
    second = random_matrix.bernoulli_kurtosis(c.p.density) ** 2 / min(c.values("mask_size"))
    return "" if second < 0.5 else f"kurtosis squared over n is {second:.2g}, not below .5"


def outlier_in_training(c):
    above, below = (
        c[network].stage_misalignment.isel(stage=flight.DEPARTURE, mask_size=-1)
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
        **tolerance(0, 1),
        domain=heavy_entries,
        why="Counts of values below a place vary by log(n)/pi^2 and are correlated like a logarithm, so that the largest of n "
        "is sqrt(2) log(n)/pi; what that leaves out is of order one, a value. An edge 1% off moves counts by .64 n/100.",
        note="Largest distance of the count of values from its mean to order one, less sqrt(2) log(n)/pi, mean over sizes.",
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
