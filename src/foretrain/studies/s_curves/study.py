"""S-curves: a low-rank matrix learned by two factors, against rank, optimiser and loss."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.vocabulary import Variable, declare

SOURCE = "Jermyn & Shlegeris (2022), Multi-Component Learning and S-Curves, and its comments"
COST = "1 min"
REFERENCES = ("jermyn2022", "saxe2014")
AXES = {
    "loss_kind": ("mse", "cross_entropy"),
    "rank": (1, 2, 10, 100),
    "optimiser": ("sgd", "sgd_decay", "adam", "adamw"),
}
PRESETS = {"paper": {"seeds": 100}}

REFERENCE_RATES = {"sgd": 0.05, "sgd_decay": 0.05, "adam": 0.01, "adamw": 0.01}
RULES = {"sgd": "sgd", "sgd_decay": "sgd", "adam": "adam", "adamw": "adamw"}  # the optimiser's own
TRACKED = 10
LARGE_SCALE = 100.0  # entries of a unit component at n = 100 are then of order one


@dataclass(frozen=True)
class Parameters:
    """Parameters of the S-curve studies; each field's rule says what it may be."""

    dimension: int = parameter(
        100, "n, height and width of the target", minimum=2, maximum=2000, static=True
    )
    rank: int = parameter(2, "r, number of components of the target", minimum=1, static=True)
    components: int = parameter(
        0,
        "k, number of components of the learner; 0: as many as the target",
        minimum=0,
        static=True,
    )
    optimiser: str = parameter(
        "sgd",
        "full-batch gradient descent, with weight decay, Adam, or AdamW",
        choices=("sgd", "sgd_decay", "adam", "adamw"),
        static=True,
    )
    loss_kind: str = parameter(
        "mse",
        "squared error |C - Z|^2, or cross-entropy of the flattened matrices read as logits",
        choices=("mse", "cross_entropy"),
        static=True,
    )
    target_law: str = parameter(
        "sphere",
        "components independent and uniform on the sphere, or orthonormal",
        choices=("sphere", "orthonormal"),
    )
    target_scale: float = parameter(1.0, "s, factor on the target of unit components", above=0)
    init_scale: float = parameter(
        1.0, "sigma, standard deviation of the initial entries times sqrt(n)", above=0
    )
    relative_rate: float = parameter(
        1.0, "learning rate over the optimiser's reference rate", above=0, maximum=1e6
    )
    weight_decay: float = parameter(
        0.1, "lambda, used by sgd_decay and adamw only", minimum=0, maximum=100
    )
    prominence: float = parameter(
        0.1, "least rise and fall of an alignment that make a bump", above=0, maximum=1
    )
    aligned_at: float = parameter(
        0.25, "alignment from which a component counts as aligned", above=0, maximum=1
    )
    steps: int = parameter(600, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(2, "stride in steps of what is stored", minimum=1, static=True)
    loss_tolerance: float = parameter(
        0.0, "a run ends when its loss is at most this times that of zero weights", minimum=0
    )
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable(
        "relative_loss",
        ("step",),
        meaning="Training loss over that of the zero matrix.",
    ),
    Variable(
        "maxima_passed",
        ("step",),
        meaning="Maxima of alignments passed so far, of the prominence of a bump, per tracked component.",
    ),
    Variable(
        "component_bumps",
        ("component",),
        meaning="Bumps of each tracked component: maxima of an alignment that were given up.",
    ),
    Variable(
        "final_alignment",
        ("component",),
        meaning="Alignment of each tracked component with its best target at the end.",
    ),
    Variable(
        "final_target",
        ("component",),
        kind="int",
        meaning="Target with which each tracked component is aligned best at the end.",
    ),
    Variable(
        "first_target",
        ("component",),
        kind="int",
        meaning="Target with which each tracked component first was aligned, -1 if with none.",
    ),
    Variable(
        "direct_loss",
        ("step",),
        meaning="Training loss where the logits themselves are trained, by descent.",
    ),
    Variable(
        "direct_loss_large",
        ("step",),
        meaning="The same for a target whose logits are of order one.",
    ),
)


def check(parameters: Parameters) -> None:
    """Refuse combinations of parameters that make no target."""
    if parameters.target_law == "orthonormal" and parameters.rank > parameters.dimension:
        raise argument_error(
            "rank",
            f"be at most `dimension` = {parameters.dimension} for orthonormal targets",
            f"is {parameters.rank}",
        )


def learning_rate(parameters: Parameters) -> float:
    """The learning rate: `relative_rate` times the reference rate of the optimiser and the loss.

    A target s times as large makes the squared error s times as steep near the solution: the reference of descent is
    divided by s, while Adam does not see it. Cross-entropy of small logits is the squared error divided by 2 n^2, which
    descent gets back as a factor; large logits concentrate the probability on few entries, where it is steeper yet:
    there the reference is divided by s^2.
    """
    rate = parameters.relative_rate * REFERENCE_RATES[parameters.optimiser]
    if parameters.optimiser.startswith("adam"):
        return rate
    if parameters.loss_kind == "cross_entropy":
        return rate * 2 * parameters.dimension**2 / parameters.target_scale**2
    return rate / parameters.target_scale


def weight_decay(parameters: Parameters) -> float:
    """Lambda as the optimiser takes it: none for sgd and adam.

    For descent it is in proportion to the loss, so that its share of a step is the same.
    """
    if parameters.optimiser in ("sgd", "adam"):
        return 0.0
    if parameters.optimiser == "adamw":
        return parameters.weight_decay
    small = REFERENCE_RATES["sgd_decay"] * parameters.relative_rate / learning_rate(parameters)
    return parameters.weight_decay * small


def components(parameters: Parameters) -> int:
    """Number of components of the learner."""
    return parameters.components or parameters.rank


def tracked(parameters: Parameters) -> int:
    """Number of components whose alignments are followed: all, or the first ten, which stand for all by symmetry."""
    return min(components(parameters), TRACKED)


def draw(parameters: Parameters, root_seed: int, seed: int):
    """Target and start of one run, NumPy factors of shape (n, component)."""
    from foretrain.networks import factorization as network

    target = network.draw_target(
        generator(root_seed, seed, "data"),
        parameters.dimension,
        parameters.rank,
        law=parameters.target_law,
        scale=parameters.target_scale,
    )
    start = network.draw_start(
        generator(root_seed, seed, "weights"),
        parameters.dimension,
        components(parameters),
        parameters.init_scale,
    )
    return target, start


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return make_inputs(parameters, *draw(parameters, root_seed, seed))


def make_inputs(parameters: Parameters, target, start) -> dict[str, np.ndarray]:
    """The inputs of a run with a given target and start."""
    from foretrain.networks import factorization_rows as network

    goal = network.prepare(parameters.loss_kind, target, components(parameters))
    start = network.rows(start)
    return {
        **{f"goal_{name}": value for name, value in goal._asdict().items()},
        "start_left": start.left,
        "start_right": start.right,
        "rate": np.array(learning_rate(parameters)),
        "decay": np.array(weight_decay(parameters)),
        "prominence": np.array(parameters.prominence),
        "aligned_at": np.array(parameters.aligned_at),
        "loss_tolerance": np.array(parameters.loss_tolerance),
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`.

    Alignments are followed at every step, before the step is taken; what is stored is what came of it.
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    from foretrain.dynamics import descent
    from foretrain.measures import bump_counter
    from foretrain.networks import factorization_rows as network

    dtype, kind = jnp.dtype(parameters.precision), parameters.loss_kind
    rule = RULES[parameters.optimiser]
    followed = tracked(parameters)

    def aligned(inputs, factors):
        first = network.Factors(factors.left[:followed], factors.right[:followed])
        return network.alignment(first, _goal(inputs))

    def count(inputs, counter, alignments):
        return bump_counter.update(counter, alignments, inputs["prominence"], inputs["aligned_at"])

    def init(inputs):
        start = network.Factors(inputs["start_left"], inputs["start_right"])
        goal = _goal(inputs)
        # XLA (jaxlib 0.10.2) multiplies a broadcast number by reading past its end, which may give nan. Behind a
        # barrier the zeros are an array like any other.
        nothing = lax.optimization_barrier(jax.tree.map(jnp.zeros_like, start))
        zero_loss = network.goal_loss(kind, nothing, goal)
        return (
            start,
            descent.start(rule, start),
            bump_counter.start(aligned(inputs, start)),
            zero_loss,
        )

    def step(inputs, state):
        factors, memory, counter, zero_loss = state
        counter = count(inputs, counter, aligned(inputs, factors))
        slope = network.gradient(kind, factors, _goal(inputs))
        rates = inputs["rate"], inputs["decay"]
        factors, memory = descent.step(rule, factors, slope, memory, *rates)
        return factors, memory, counter, zero_loss

    def observe(inputs, state):
        factors, _, counter, zero_loss = state
        loss = network.goal_loss(kind, factors, _goal(inputs))
        return {
            "loss": loss,
            "relative_loss": loss / zero_loss,
            "maxima_passed": bump_counter.maxima(counter).astype(dtype) / followed,
        }

    def done(inputs, state, observed):
        tolerance = inputs["loss_tolerance"]
        reached = (tolerance > 0) & (observed["relative_loss"] <= tolerance)
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        factors, _, counter, _ = state
        alignments = aligned(inputs, factors)
        counter = count(inputs, counter, alignments)
        bumps = bump_counter.bumps_at_end(counter, alignments, inputs["prominence"])
        return {
            "component_bumps": bumps.astype(dtype),
            "final_alignment": alignments.max(0),
            "final_target": alignments.argmax(0).astype(jnp.int32),
            "first_target": counter.first_target,
        }

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def _goal(inputs):
    from foretrain.networks.factorization_rows import Goal

    return Goal(*(inputs[f"goal_{name}"] for name in Goal._fields))


def variants(parameters: Parameters) -> dict[str, dict]:
    """Beside it: cross-entropy of logits of order one, at which it is more than a squared error."""
    return {
        "large_logits": {
            "loss_kind": "cross_entropy",
            "target_scale": LARGE_SCALE,
            "steps": 5 * parameters.steps,
        }
    }


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps; for Adam it is steps times learning rate as well, though no flow's time."""
    return {"time": (("step",), step * learning_rate(parameters))}


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """What is known of a cell: the exact reduction at rank one, and softmax without factors."""
    from foretrain.studies.s_curves import theory as s_curves_theory

    return s_curves_theory.predict(parameters, root_seed, seeds)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge the thread's sentences about loss curves over the whole grid."""
    from foretrain.studies.s_curves import claims as s_curves_claims

    return judge_cells(s_curves_claims.judge_grid, runs, keep=tuple(AXES))
