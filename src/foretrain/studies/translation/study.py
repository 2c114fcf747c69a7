"""Translation between languages: which pairs come for free, and which runs get stuck (shared representations)."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator, key
from foretrain.tasks.masks import components, nested
from foretrain.vocabulary import Variable, declare

SOURCE = "Note on shared representations, Fig. 1"
COST = "1 min"
REFERENCES = ("saxe2022", "sommeijer1998")
SEEDS = 3
_FRACTIONS = tuple(round(0.05 * number, 2) for number in range(2, 19))  # 10% to 90%
_SCALES = (0.3, 0.1, 0.03, 0.01)
AXES = {"hidden_width": (8, 16), "init_scale": _SCALES, "trained_fraction": _FRACTIONS}
PRESETS = {
    "paper": {
        "words": 32,
        "hidden_width": (32, 64),
        "init_scale": _SCALES,
        "trained_fraction": _FRACTIONS,
        "seeds": 3,
        "steps": 5000,  # with 32 words and the largest scale many runs are not done after 2000
    }
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    languages: int = parameter(
        10, "L, number of languages, all of them in and out", minimum=2, maximum=1000, static=True
    )
    words: int = parameter(
        8, "D, number of words of each language", minimum=1, maximum=10**4, static=True
    )
    hidden_width: int = parameter(
        8, "H, width of both hidden layers", minimum=1, maximum=10**5, static=True
    )
    init_scale: float = parameter(0.03, "sigma, standard deviation of all initial weights", above=0)
    trained_fraction: float = parameter(
        0.3, "fraction of all L^2 pairs that are trained", above=0, maximum=1
    )
    diagonal: bool = parameter(
        True, "whether every language is trained with itself, before any other pair"
    )
    loss_mask: str = parameter(
        "full",
        "what the loss sees of a trained pair: all entries, or as in the note's figure the diagonal ones",
        choices=("full", "diagonal_only"),
        static=True,
    )
    start_orientation: str = parameter(
        "random",
        "signs of the determinants of square initial factors: as drawn, or all made positive",
        choices=("random", "positive"),
        static=True,
    )
    step_tolerance: float = parameter(
        1e-2, "largest relative error of a step of the flow's solver", above=0, maximum=0.1
    )
    stages: int = parameter(
        6, "evaluations within a step of the flow's solver", minimum=2, maximum=50, static=True
    )
    loss_tolerance: float = parameter(
        1e-6, "a run has converged when its loss is at most this", above=0
    )
    steps: int = parameter(
        2000, "attempted steps after which a run counts as stuck", minimum=1, maximum=10**9
    )
    observe_every: int = parameter(20, "stride in steps of what is stored", minimum=1, static=True)
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
        "solver_time",
        ("step",),
        unit="step × learning rate",
        meaning="Time of the flow after the steps attempted so far.",
    ),
    Variable(
        "pair_error",
        ("input_domain", "output_domain"),
        meaning="Error of every route at the end, mean over items of 1/2 |error|^2.",
    ),
    Variable(
        "pair_diagonal_error",
        ("input_domain", "output_domain"),
        meaning="The part of a pair's error that lies on the diagonal of its block.",
    ),
    Variable(
        "trained_pairs", ("input_domain", "output_domain"), meaning="1 where a route is trained."
    ),
    Variable(
        "orientation",
        ("input_domain", "output_domain"),
        meaning="Sign of the determinant of every pair's map at the end.",
    ),
    Variable(
        "initial_orientation",
        ("input_domain", "output_domain"),
        meaning="Sign of the determinant of every pair's map at the start.",
    ),
    Variable("converged_loss", meaning="Training loss where the run ended."),
    Variable("final_time", unit="step × learning rate", meaning="Time where the run ended."),
    Variable("largest_weight", meaning="Largest absolute weight at the end."),
    Variable(
        "final_drift",
        meaning="Change of Q at both hidden layers over the run, over the squared norm of the hidden matrix.",
    ),
    Variable(
        "predicted_pair_error",
        ("input_domain", "output_domain"),
        meaning="Expected error of every pair for small initial weights, from the trained pairs alone.",
        source="docs/theory/connectivity.md",
    ),
    Variable(
        "predicted_untrained_error",
        meaning="Its mean over untrained pairs; nan if all are trained.",
        source="docs/theory/connectivity.md",
    ),
    Variable(
        "component_count",
        kind="int",
        meaning="Connected components of the graph whose edges are the trained pairs of domains.",
    ),
)


def trained_count(parameters) -> int:
    """Number of trained pairs."""
    return max(1, round(parameters.trained_fraction * parameters.languages**2))


def check(parameters: Parameters) -> None:
    """Refuse masks without room for the diagonal, too narrow networks, and orientations of factors that have none."""
    fewest = parameters.languages if parameters.diagonal else 1
    if trained_count(parameters) < fewest:
        raise argument_error(
            "trained_fraction",
            f"be at least {fewest / parameters.languages**2:g}, the diagonal",
            f"is {parameters.trained_fraction:g}",
            "Try `diagonal` false.",
        )
    if parameters.hidden_width < parameters.words:
        raise argument_error(
            "hidden_width",
            f"be at least `words` = {parameters.words}, the rank of a translation",
            f"is {parameters.hidden_width}",
        )
    if parameters.start_orientation == "positive" and parameters.hidden_width != parameters.words:
        raise argument_error(
            "start_orientation",
            "be `random` unless `hidden_width` equals `words`",
            f"is `positive` at {parameters.hidden_width} and {parameters.words}",
        )


def mask(parameters, root_seed: int, seed: int) -> np.ndarray:
    """Trained pairs T of one run; for one seed, a smaller fraction trains a subset."""
    random = generator(root_seed, seed, "mask")
    size = (parameters.languages, trained_count(parameters))
    return nested(*size, random, diagonal=parameters.diagonal)


def inputs(parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return run_inputs(parameters, mask(parameters, root_seed, seed))


def run_inputs(parameters, trained: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs of `program` for a mask."""
    return {
        "trained_pairs": trained.astype(float),
        "init_scale": np.float64(parameters.init_scale),
        "step_tolerance": np.float64(parameters.step_tolerance),
        "loss_tolerance": np.float64(parameters.loss_tolerance),
    }


def program(parameters) -> Program:
    """The jitted part of a run: gradient flow by `foretrain.dynamics.chebyshev`, one attempted step at a time."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import chebyshev
    from foretrain.networks import routing
    from foretrain.networks import translation as network

    dtype = jnp.dtype(parameters.precision)

    def velocity(weights, inputs):
        return network.negative_gradient(weights, inputs["trained_pairs"], parameters.loss_mask)

    def begin(inputs):
        random = key(inputs["root_seed"], inputs["seed"], "weights")
        size = (parameters.languages, parameters.words, parameters.hidden_width)
        weights = network.random_weights(random, *size, inputs["init_scale"], dtype)
        if parameters.start_orientation == "positive":
            weights = jax.tree.map(_with_positive_determinant, weights)
        return weights

    def _with_positive_determinant(matrices):
        sign = jnp.sign(jnp.linalg.det(matrices))[..., None]
        return matrices.at[..., 0, :].multiply(sign)

    def init(inputs):
        weights = begin(inputs)
        # Of the start is kept what is compared with the end; the maps rescaled, so that no determinant underflows.
        unscaled = jax.tree.map(lambda w: w / inputs["init_scale"], weights)
        kept = (routing.conserved(weights), network.orientations(network.maps(unscaled)))
        return chebyshev.start(velocity, weights, inputs), kept

    def step(inputs, state):
        flow, kept = state
        tolerance = inputs["step_tolerance"]
        return chebyshev.attempt(velocity, flow, inputs, tolerance, parameters.stages), kept

    def observe(inputs, state):
        flow, _ = state
        trained, every = inputs["trained_pairs"], network.maps(flow.position)
        return {
            "loss": routing.mean_over(trained, _seen(every)),
            "untrained_error": routing.mean_over(1 - trained, network.pair_errors(every)),
            "solver_time": flow.time,
        }

    def _seen(every):
        if parameters.loss_mask == "full":
            return network.pair_errors(every)
        return network.pair_diagonal_errors(every)

    def done(inputs, state, observed):
        reached = observed["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        flow, (conserved, orientation) = state
        last, every = flow.position, network.maps(flow.position)
        change = jax.tree.map(jnp.subtract, routing.conserved(last), conserved)
        drift = jnp.sqrt(sum((d**2).sum() for d in change)) / (last.hidden**2).sum()
        return {
            "pair_error": network.pair_errors(every),
            "pair_diagonal_error": network.pair_diagonal_errors(every),
            "trained_pairs": inputs["trained_pairs"],
            "orientation": network.orientations(every),
            "initial_orientation": orientation,
            "converged_loss": routing.mean_over(inputs["trained_pairs"], _seen(every)),
            "final_time": flow.time,
            "largest_weight": jnp.stack([jnp.abs(w).max() for w in last]).max(),
            "final_drift": drift,
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """The note's loss mask, and the same flow in double precision with a thirtieth of the error, one seed each."""
    return {
        "diagonal_only": {"loss_mask": "diagonal_only", "start_orientation": "random", "seeds": 1},
        "precise": {
            "precision": "float64",
            "step_tolerance": parameters.step_tolerance / 30,
            "steps": 3 * parameters.steps,  # a thirtieth of the error takes three times the steps
            "seeds": 1,
        },
    }


def estimate(parameters: Parameters) -> float:
    """Attempted steps of a run, roughly: waits are longer from small weights and in square factors."""
    wait = 80 * (0.1 / min(parameters.init_scale, 0.1)) ** 0.4
    return min(parameters.steps, wait * (2 if parameters.hidden_width == parameters.words else 1))


def predict(parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Error of every pair from the mask alone, for every seed's mask; see `expected_errors`."""
    return predict_from([mask(parameters, root_seed, seed) for seed in range(seeds)])


def predict_from(drawn: list[np.ndarray]) -> xr.Dataset:
    """The same for masks given one per seed."""
    errors, counts, means = [], [], []
    for trained in drawn:
        error = expected_errors(trained)
        untrained = trained == 0
        errors.append(error)
        means.append(error[untrained].mean() if untrained.any() else np.nan)
        counts.append(1 + max(labels.max() for labels in components(trained)))
    pair = ("seed", "input_domain", "output_domain")
    return xr.Dataset(
        {
            "predicted_pair_error": (pair, np.array(errors)),
            "predicted_untrained_error": ("seed", np.array(means)),
            "component_count": ("seed", np.array(counts)),
        },
        coords={"seed": np.arange(len(drawn))},
    )


def expected_errors(trained: np.ndarray) -> np.ndarray:
    """Expected error of every pair for small initial weights (docs/theory/connectivity.md).

    0 within a component; across components 1 - tr O/D with O a random orthogonal matrix, whose mean is 1, and
    1/2, the error of saying nothing, for a language that is trained with none.

    Args:
        trained: T, shape (input_domain, output_domain).

    Returns:
        Shape of T, float64.
    """
    sources, outputs = components(trained)
    silent = (trained.sum(1) == 0)[:, None] | (trained.sum(0) == 0)[None]
    return np.where(sources[:, None] == outputs[None], 0.0, np.where(silent, 0.5, 1.0))


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what the note says of its Fig. 1, over the whole grid."""
    from foretrain.studies.translation import claims as translation_claims

    return judge_cells(translation_claims.judge_grid, runs, keep=translation_claims.AXES)
