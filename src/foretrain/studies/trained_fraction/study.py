"""How many routes must be trained before all the others come for free: error against K/M."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Program
from foretrain.errors import argument_error
from foretrain.networks.routing_start import orthogonal_start
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.studies.routing import study as routing
from foretrain.tasks import masks
from foretrain.tasks.domains import Task, hierarchy_task
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 5c"
COST = "1 min"
REFERENCES = ("saxe2022",)
SEEDS = 5
AXES = {
    "mask": ("circulant", "random_rows", "biregular"),
    "trained_outputs": (1, 2, 3, 4, 5, 7, 10),
}
PRESETS = {
    "paper": {
        "trained_outputs": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
        "seeds": 10,
        "steps": 40000,
        "loss_tolerance": 1e-5,
    }
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    domains: int = parameter(
        10, "M, number of input and of output domains", minimum=1, maximum=1000, static=True
    )
    trained_outputs: int = parameter(
        4, "K, number of output domains that every input domain is trained with", minimum=1
    )
    mask: str = parameter(
        "circulant",
        "which K outputs: a circulant band, K at random per input, or random with K inputs per output",
        choices=("circulant", "random_rows", "biregular"),
    )
    hidden_width: int = parameter(
        64, "width of both hidden layers, N_h", minimum=4, maximum=10**5, static=True
    )
    init_scale: float = parameter(
        0.2, "sigma_0, all singular values of the orthogonal initial weights", above=0
    )
    level_weights: str = parameter(
        "authors", "feature values by level: 6, 4, 3 or 1, 1, 1", choices=("authors", "unit")
    )
    learning_rate: float = parameter(
        0.14,
        "step of descent; the paper's .05/K on the sum over routes is .143 on their mean",
        above=0,
    )
    loss_tolerance: float = parameter(
        1e-4, "a run has converged when its loss is at most this", above=0
    )
    patience: int = parameter(
        8000,
        "a run is stuck when its loss has fallen by less than 1% in this many steps",
        minimum=1,
        maximum=10**9,
    )
    steps: int = parameter(16000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(40, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable("converged_loss", meaning="Training loss where the run ended."),
    Variable(
        "converged_untrained_error",
        meaning="Mean over untrained routes and items of 1/2 |error|^2 where the run ended; nan if all are trained.",
    ),
    Variable(
        "weight_change",
        ("layer",),
        meaning="Change of a layer's weights since the start, relative to their size at the start.",
    ),
    Variable(
        "component_count",
        kind="int",
        meaning="Connected components of the graph whose edges are the trained pairs of domains.",
    ),
)


def check(parameters) -> None:
    """Refuse more trained outputs than there are."""
    if parameters.trained_outputs > parameters.domains:
        raise argument_error(
            "trained_outputs",
            f"be between 1 and `domains` = {parameters.domains}",
            f"is {parameters.trained_outputs}",
        )


def task(parameters) -> Task:
    """Data, the same in every domain: permutations of labels are absorbed by the decoders exactly."""
    return hierarchy_task(LEVEL_WEIGHTS[parameters.level_weights])


def mask(parameters: Parameters, root_seed: int, seed: int) -> np.ndarray:
    """Trained pairs T of one run, shape (input_domain, output_domain)."""
    return routing.mask(parameters, root_seed, seed)


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    pairs = mask(parameters, root_seed, seed)
    return run_inputs(parameters, pairs, parameters.learning_rate, root_seed, seed)


def run_inputs(parameters, pairs, rate: float, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """Inputs of `program` for a mask and a step; one seed has one start, whatever the mask and the scale."""
    data = task(parameters)
    weights = orthogonal_start(
        generator(root_seed, seed, "weights"),
        parameters.domains,
        parameters.hidden_width,
        data.inputs.shape[1],
        data.targets.shape[1],
    )
    return {
        "task_inputs": data.inputs,
        "task_targets": data.targets,
        "trained_pairs": pairs.astype(float),
        "rate": np.float64(rate),
        "loss_tolerance": np.float64(parameters.loss_tolerance),
        "patience": np.int32(parameters.patience),
        **{f"start_{k}": parameters.init_scale * w for k, w in weights._asdict().items()},
    }


def program(parameters) -> Program:
    """A routing network trained to a loss, seen by its errors alone while it learns.

    Serves every study whose parameters have `domains`, `observe_every` and `precision` and whose inputs are made by
    `run_inputs`. A run ends as converged at `loss_tolerance`, and as stalled when a stretch of `patience` steps
    brought the loss down by less than 1%.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.networks import routing as network

    def start(inputs):
        return network.Weights(*(inputs[f"start_{name}"] for name in network.Weights._fields))

    def errors(weights, inputs):
        return network.pair_errors(weights, inputs["task_inputs"], inputs["task_targets"])

    def loss(weights, inputs):
        return network.mean_over(inputs["trained_pairs"], errors(weights, inputs))

    def init(inputs):
        weights = start(inputs)
        return weights, (loss(weights, inputs), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int8))

    def step(inputs, state):
        weights, (mark, taken, stuck) = state
        value, slope = jax.value_and_grad(loss)(weights, inputs)
        weights = jax.tree.map(lambda w, g: w - inputs["rate"] * g, weights, slope)
        due = taken >= inputs["patience"]
        stuck = jnp.where(due & (value > 0.99 * mark), jnp.int8(1), stuck)
        return weights, (jnp.where(due, value, mark), jnp.where(due, 0, taken + 1), stuck)

    def observe(inputs, state):
        weights, _ = state
        error, trained = errors(weights, inputs), inputs["trained_pairs"]
        return {
            "loss": network.mean_over(trained, error),
            "untrained_error": network.mean_over(1 - trained, error),
        }

    def done(inputs, state, observed):
        _, (_, _, stuck) = state
        outcome = jnp.where(stuck > 0, STALLED, RUNNING)
        reached = observed["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, outcome).astype(jnp.int8)

    def finish(inputs, state):
        weights, _ = state
        error, trained = errors(weights, inputs), inputs["trained_pairs"]
        untrained = network.mean_over(1 - trained, error)
        items = jnp.eye(inputs["task_inputs"].shape[1], dtype=weights.hidden.dtype)[None]
        activity = weights.encoders.transpose(0, 2, 1).reshape(-1, weights.hidden.shape[0])
        size = lambda a: jnp.sqrt((a**2).sum())  # noqa: E731
        change = [size(w - w0) / size(w0) for w, w0 in zip(weights, start(inputs), strict=True)]
        return {
            "converged_loss": network.mean_over(trained, error),
            "converged_untrained_error": jnp.where((1 - trained).sum() > 0, untrained, jnp.nan),
            "pair_error": error,
            "trained_pairs": trained,
            "outputs": network.outputs(weights, items),
            "similarity": activity @ activity.T,
            "weight_change": jnp.stack(change),
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside the study's own scale: the same draws at an eighth of it, nearer to the limit of small weights."""
    return {"small-init": {"init_scale": parameters.init_scale / 8, "seeds": 3}}


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps, and names of the layers."""
    return {
        "time": (("step",), step * parameters.learning_rate),
        "layer": (("layer",), np.array(["encoders", "hidden", "decoders"])),
    }


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """What the graph of trained pairs alone says of every pair, in the limit of small initial weights."""
    from foretrain.studies.trained_fraction.theory import predicted_pairs

    data, per_seed = task(parameters), []
    for seed in range(seeds):
        pairs = mask(parameters, root_seed, seed)
        inputs, outputs = masks.components(pairs)
        error, untrained = predicted_pairs(pairs, data), pairs == 0
        per_seed.append(
            xr.Dataset(
                {
                    "pair_error": (("input_domain", "output_domain"), error),
                    "converged_untrained_error": (
                        (),
                        error[untrained].mean() if untrained.any() else np.nan,
                    ),
                    "component_count": ((), 1 + max(inputs.max(), outputs.max())),
                }
            )
        )
    return xr.concat(per_seed, "seed")


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what Fig. 5c says, and what the graph of trained pairs predicts, over the grid."""
    from foretrain.studies.trained_fraction import claims as trained_fraction_claims

    return trained_fraction_claims.judge_grid(runs)
