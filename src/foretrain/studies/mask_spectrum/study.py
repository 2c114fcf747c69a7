"""Spectra of random masks against random-matrix theory, and the outlier's direction in training."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import Seed, choice, declare, default, parameter, size
from foretrain.theory.factorization import random_matrix
from foretrain.training import masked_rank_one as flight

SOURCE = "Note on shared representations, section 3"
COST = "25 s"
REFERENCES = ("saxe2022", "benaych2012", "johnstone2001")
SEEDS = 80  # the fewest, with a few to spare, that tell a fraction of one from .95
AXES = {"mask_size": (100, 200, 400, 800)}
PRESETS = {"paper": {"mask_size": (*AXES["mask_size"], 1200, 2000), "density": (0.1, 0.3, 0.5)}}

PLACES = np.linspace(0, 1.1, 201)  # of the bulk, in units of its edge


@dataclass(frozen=True)
class Parameters(flight.Flow):
    """A random mask, and the flow of the networks that are trained on small masks."""

    mask_size: int = size(200, "number of input and of output domains", 5000, minimum=2, symbol="n")
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
