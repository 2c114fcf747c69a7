"""Routing between domains: shared representations, learned as predicted (M domains, K trained outputs each)."""

import functools
from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.tasks import masks
from foretrain.tasks.domains import Task, digits_task, hierarchy_task
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS
from foretrain.theory.pathway_race import authors_time_scale
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 4"
COST = "15 s"
REFERENCES = ("saxe2022",)
PRESETS = {
    "paper": {
        "loss_convention": "authors",
        "learning_rate": 0.02,
        "steps": 700,
        "observe_every": 4,
    },
    "digits": {"data": "digits"},
}
CONDITIONAL_DEFAULTS = {
    ("data", "digits"): {"learning_rate": 0.2, "steps": 2500, "observe_every": 25},
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the routing study; each field's rule says what it may be."""

    domains: int = parameter(
        7, "M, number of input and of output domains", minimum=1, maximum=1000, static=True
    )
    trained_outputs: int = parameter(
        4, "K, number of output domains that every input domain is trained with", minimum=1
    )
    mask: str = parameter(
        "circulant",
        "which K outputs: a circulant band, K at random per input, or random with K inputs per output",
        choices=masks.MASKS,
    )
    hidden_width: int = parameter(64, "width of both hidden layers", minimum=1, static=True)
    init_scale: float = parameter(0.2, "sigma_0, scale of the initial weights", above=0)
    init_law: str = parameter(
        "orthogonal",
        "law of the initial weights; decoupled: the submanifold of the reduction",
        choices=("orthogonal", "xavier", "gaussian", "decoupled"),
        static=True,
    )
    data: str = parameter(
        "hierarchy",
        "items with hierarchical features, or scikit-learn's 1,797 digits",
        choices=("hierarchy", "digits"),
        static=True,
    )
    level_weights: str = parameter(
        "authors", "feature values by level: 6, 4, 3 or 1, 1, 1", choices=("authors", "unit")
    )
    transform: str = parameter(
        "permutation",
        "digits: what makes a domain, a pixel permutation or a rotation by 180 i/M degrees",
        choices=("permutation", "rotation"),
        static=True,
    )
    scaling: str = parameter(
        "whitened",
        "digits: inputs as they are, or whitened on the training set",
        choices=("whitened", "raw"),
        static=True,
    )
    heldout_fraction: float = parameter(
        0.2, "digits: fraction held out for testing", minimum=0.05, maximum=0.9, static=True
    )
    dynamics: str = parameter(
        "descent",
        "gradient descent, or gradient flow by Tsitouras' 5th-order method with the same step",
        choices=("descent", "flow"),
        static=True,
    )
    learning_rate: float = parameter(0.04, "step of descent or of the flow's solver", above=0)
    loss_convention: str = parameter(
        "paper",
        "paper: mean over items and trained routes of 1/2 |error|^2; authors: their code's sum over routes",
        choices=("paper", "authors"),
    )
    steps: int = parameter(2500, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(20, "stride in steps of what is stored", minimum=1, static=True)
    loss_tolerance: float = parameter(
        0.0, "a run ends when its loss is at most this; 0 runs all steps", minimum=0
    )
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable(
        "untrained_error",
        ("step",),
        meaning="Mean over untrained routes and items of 1/2 |error|^2, as the paper's loss.",
    ),
    Variable(
        "heldout_error",
        ("step",),
        meaning="Mean over trained routes and held-out samples of 1/2 |error|^2.",
    ),
    Variable(
        "heldout_untrained_error",
        ("step",),
        meaning="Mean over untrained routes and held-out samples of 1/2 |error|^2.",
    ),
    Variable(
        "singular_values",
        ("step", "layer", "mode"),
        meaning="Largest singular values of each layer, mean over the domains of a layer.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 4f",
    ),
    Variable(
        "mode_strength",
        ("step", "mode"),
        meaning="Strength u^T W v of each mode of the whole map, mean over trained routes.",
    ),
    Variable(
        "off_diagonal_mass",
        ("step",),
        meaning="Share of the whole map's squared norm that lies off the diagonal in the modes of the data, "
        "trained routes; modes of equal singular value count as one block.",
    ),
    Variable(
        "conserved_drift",
        ("step",),
        meaning="Change of Q at both hidden layers since the start, over the squared norm of the hidden matrix.",
    ),
    Variable(
        "pair_error",
        ("input_domain", "output_domain"),
        meaning="Error of every route at the end, mean over items of 1/2 |error|^2.",
    ),
    Variable(
        "trained_pairs", ("input_domain", "output_domain"), meaning="1 where a route is trained."
    ),
    Variable(
        "outputs",
        ("input_domain", "output_domain", "feature", "item"),
        meaning="Output of every route for every item at the end.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 4h",
    ),
    Variable(
        "similarity",
        ("sample", "sample_other"),
        meaning="Dot products of first-hidden-layer activity, samples ordered by domain, then item.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 4g",
    ),
    Variable(
        "heldout_accuracy",
        ("input_domain", "output_domain"),
        meaning="Fraction of held-out samples classified right on every route.",
    ),
    Variable(
        "fitted_start",
        meaning="Strength of every mode and layer from which the reduction fits the loss best.",
    ),
    Variable(
        "fitted_loss", ("step",), meaning="Training loss of the reduction from the fitted start."
    ),
    Variable(
        "fitted_mode_strength",
        ("step", "mode"),
        meaning="Mode strengths of the reduction from the fitted start.",
    ),
    Variable("mode_singular_value", ("mode",), meaning="Singular value S of <y x^T>."),
    Variable("mode_variance", ("mode",), meaning="Input variance D of each mode."),
    Variable(
        "mode_optimum", ("mode",), meaning="Strength of each mode in the least-squares solution."
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse combinations of parameters that make no network."""
    if parameters.trained_outputs > parameters.domains:
        raise argument_error(
            "trained_outputs",
            f"be between 1 and `domains` = {parameters.domains}",
            f"is {parameters.trained_outputs}",
        )
    modes = 4 if parameters.data == "hierarchy" else 10
    if parameters.hidden_width < modes:
        raise argument_error(
            "hidden_width",
            f"be at least {modes}, the number of modes of the data",
            f"is {parameters.hidden_width}",
        )


def mask(parameters: Parameters, root_seed: int, seed: int) -> np.ndarray:
    """Trained pairs T of one run, shape (input_domain, output_domain)."""
    size = (parameters.domains, parameters.trained_outputs)
    return masks.draw(parameters.mask, *size, generator(root_seed, seed, "mask"))


def paper_rate(parameters: Parameters) -> float:
    """The learning rate in the paper's time, whatever the loss convention."""
    if parameters.loss_convention == "paper":
        return parameters.learning_rate
    features = 7 if parameters.data == "hierarchy" else 10
    size = (parameters.domains, parameters.trained_outputs)
    return parameters.learning_rate * authors_time_scale(*size, features)


def task(parameters: Parameters, root_seed: int, seed: int) -> Task:
    """Data of one run. Label permutations of output domains are left out: the decoders absorb them exactly."""
    if parameters.data == "hierarchy":
        return hierarchy_task(LEVEL_WEIGHTS[parameters.level_weights])
    return _digits(
        parameters.domains,
        parameters.transform,
        parameters.scaling,
        parameters.heldout_fraction,
        root_seed,
        seed,
    )


@functools.lru_cache(maxsize=16)
def _digits(domains, transform, scaling, heldout_fraction, root_seed, seed):
    random = generator(root_seed, seed, "data")
    return digits_task(domains, transform, scaling, heldout_fraction, random)


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    data = task(parameters, root_seed, seed)
    pairs = mask(parameters, root_seed, seed).astype(float)
    return {
        **{f"task_{name}": value for name, value in data._asdict().items()},
        "trained_pairs": pairs,
        "init_scale": np.float64(parameters.init_scale),
        "rate": np.float64(paper_rate(parameters)),
        "loss_tolerance": np.float64(parameters.loss_tolerance),
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `routing_training`."""
    from foretrain.studies.routing import training as routing_training

    return routing_training.program(parameters)


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside the random starts: the decoupled start, and the flow from random weights, both in float64."""
    return {
        "decoupled": {"init_law": "decoupled", "precision": "float64", "seeds": 1},
        # A flow step costs seven gradients; half of the time is enough to see most modes learned.
        "flow": {
            "dynamics": "flow",
            "precision": "float64",
            "steps": max(1, parameters.steps // 2),
            "seeds": 2,
        },
    }


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps, and names of the layers."""
    return {
        "time": (("step",), step * parameters.learning_rate),
        "layer": (("layer",), np.array(["encoders", "hidden", "decoders"])),
    }


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The reduction, by Euler with the run's own step from the decoupled start; see `routing_theory`."""
    from foretrain.studies.routing import theory as routing_theory

    return routing_theory.predict(parameters, root_seed, seeds)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """The reduction from the start that fits each seed's loss best; see `routing_theory`."""
    from foretrain.studies.routing import theory as routing_theory

    return routing_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what Fig. 4 and section 4 say of this network, cell by cell."""
    from foretrain.studies.routing import claims as routing_claims

    return judge_cells(routing_claims.judge_cell, runs)
