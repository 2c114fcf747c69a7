"""Spectra of random masks against random-matrix theory, and the outlier's direction in training."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.studies.masked_rank_one import study as toy
from foretrain.vocabulary import Variable, declare

SOURCE = "Note on shared representations, section 3"
COST = "30 s"
REFERENCES = ("saxe2022", "benaych2012", "johnstone2001")
SEEDS = 40
AXES = {"mask_size": (100, 200, 400, 800)}
PRESETS = {
    "paper": {
        "mask_size": (100, 200, 400, 800, 1200, 2000),
        "density": (0.1, 0.3, 0.5),
        "seeds": 40,
    }
}

TRAINED_SIZE = 64
_GRID = 201


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    mask_size: int = parameter(
        200, "n, number of input and of output domains", minimum=2, maximum=5000, static=True
    )
    density: float = parameter(
        0.3, "p, probability that a pair is trained, independently", above=0, maximum=0.99
    )
    network: str = parameter(
        "none",
        "what is trained on the mask: nothing, so that only its spectrum is stored, or the rank-one model",
        choices=("none", "rank_one"),
        static=True,
        sweepable=False,  # the variants, and what is judged, depend on it
    )
    init_scale: float = parameter(
        1e-4, "rank_one: sigma, standard deviation of every initial weight", above=0
    )
    loss_tolerance: float = parameter(
        1e-12, "rank_one: a run has converged when its loss is at most this", above=0
    )
    solver_tolerance: float = parameter(
        1e-8, "rank_one: error of a step, relative to every weight", above=0, static=True
    )
    steps: int = parameter(
        1000, "largest number of attempted solver steps", minimum=1, maximum=10**9
    )
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)


VARIABLES = declare(
    Variable(
        "mask_singular_values", ("mode",), meaning="Singular values of the mask, largest first."
    ),
    Variable("predicted_outlier", meaning="Limit np + 1 - p of the largest singular value."),
    Variable("predicted_edge", meaning="Upper edge 2 sqrt(n p (1 - p)) of the other ones."),
    Variable("predicted_second", meaning="Mean of the second singular value at this size."),
    Variable("note_edge", meaning="The note's edge, 2 sqrt(p (1 - p))."),
    Variable(
        "predicted_density",
        ("bulk_place",),
        meaning="Density of the bulk in units of its edge: the Marchenko-Pastur law of square matrices.",
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse to train on masks too large for it."""
    if parameters.network == "rank_one" and parameters.mask_size > 1000:
        raise argument_error(
            "mask_size", "be at most 1000 where a network is trained", f"is {parameters.mask_size}"
        )


def mask(parameters: Parameters, root_seed: int, seed: int) -> np.ndarray:
    """Independent entries, 1 with probability `density`; the same for every root seed, seed and size."""
    size = parameters.mask_size
    uniform = generator(root_seed, seed, "mask").random((size, size))
    return (uniform < parameters.density).astype(float)


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program; a spectrum is computed here, O(n^3): 3 s at n = 2000."""
    trained = mask(parameters, root_seed, seed)
    if parameters.network == "none":
        return {"mask_singular_values": np.linalg.svd(trained, compute_uv=False)}
    start = toy.unit_start(parameters.mask_size, root_seed, seed)
    return toy.flight_inputs(toy.Draw(trained, *start), parameters)


def program(parameters: Parameters) -> Program:
    """The flow of the rank-one model, or nothing but the spectrum that came in."""
    if parameters.network == "rank_one":
        return toy.flight_program(parameters.solver_tolerance, parameters.observe_every, "float64")
    import jax.numpy as jnp

    def init(inputs):
        return jnp.zeros((), jnp.int32)

    def step(inputs, state):
        return state

    def observe(inputs, state):
        return {}

    def done(inputs, state, observed):
        return jnp.asarray(CONVERGED, jnp.int8)

    def finish(inputs, state):
        return {"mask_singular_values": inputs["mask_singular_values"]}

    return Program(init, step, observe, done, finish, parameters.observe_every, "float64")


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside the spectra: the rank-one model trained on masks of 64 domains, or of fewer if these are smaller."""
    if parameters.network == "rank_one":
        return {}
    size = min(parameters.mask_size, TRAINED_SIZE)
    return {"trained": {"network": "rank_one", "mask_size": size}}


coordinates = toy.coordinates


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Outlier, edge, second value and density of the bulk, for one size and density."""
    from foretrain.theory import random_matrix

    size = (parameters.mask_size, parameters.density)
    edge = random_matrix.bernoulli_edge(*size)
    place = np.linspace(0, 1.1, _GRID)
    return xr.Dataset(
        {
            "predicted_outlier": random_matrix.bernoulli_outlier(*size),
            "predicted_edge": edge,
            "predicted_second": random_matrix.bernoulli_second_value(*size),
            "note_edge": random_matrix.bernoulli_edge(1, parameters.density),
            "predicted_density": (
                "bulk_place",
                edge * random_matrix.bulk_density(edge * place, *size),
            ),
        },
        coords={"bulk_place": place},
    )


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what the note says of spectra, pooled over sizes, and of the outlier in training."""
    from foretrain.studies.mask_spectrum import claims as mask_spectrum_claims

    return mask_spectrum_claims.judge_grid(runs)
