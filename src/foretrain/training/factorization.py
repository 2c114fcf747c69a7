"""A low-rank matrix learned by two factors: parameters, draws, program and variables of the studies that train one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.arithmetic import float_type
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.plans.blocks import Run
from foretrain.plans.parameters import choice, parameter, size
from foretrain.streams import Seed, generator
from foretrain.vocabulary import declare

THREAD = "Jermyn & Shlegeris (2022), comments"
REFERENCE_RATES = {"sgd": 0.05, "sgd_decay": 0.05, "adam": 0.01, "adamw": 0.01}
RULES = {"sgd": "sgd", "sgd_decay": "sgd", "adam": "adam", "adamw": "adamw"}  # the optimizer's own
TRACKED = 10

declare("step", relative_loss="Training loss over that of the zero matrix.")
declare(
    "component",
    component_bumps="Maxima of an alignment that were given up.",
    first_target_bumps="Bumps on the target that is first aligned with.",
    final_alignment="Alignment with the best target at the end.",
)
declare("component", kind="int", first_target="Target first aligned with, -1 if with none.")


@dataclass(frozen=True)
class Factors:
    """Target, optimizer and start of two factors."""

    dimension: int = size(100, "height and width of the target", 2000, minimum=2, symbol="n")
    rank: int = size(2, "number of components of the target", 2000, symbol="r")
    optimizer: str = choice(
        "full-batch gradient descent, with weight decay, Adam, or AdamW", tuple(RULES)
    )
    init_scale: float = parameter(
        1.0, "standard deviation of the initial entries times sqrt(n)", symbol="σ", above=0
    )
    weight_decay: float = parameter(
        0.1,
        "strength of weight decay, used by sgd_decay and adamw only",
        symbol="λ",
        minimum=0,
        maximum=100,
    )


@dataclass(frozen=True)
class Factorization(Factors, Run):
    """Parameters of the S-curve studies, each with its rule."""

    components: int = size(
        0,
        "number of components of the learner; 0: as many as the target",
        2000,
        minimum=0,
        symbol="k",
    )
    loss_function: str = choice(
        "squared error |C - Z|^2, or cross-entropy of the flattened matrices read as logits",
        ("mse", "cross_entropy"),
    )
    target_law: str = parameter(
        "sphere",
        "components independent and uniform on the sphere, or orthonormal",
        choices=("sphere", "orthonormal"),
    )
    target_scale: float = parameter(
        1.0, "factor on the target of unit components", symbol="s", above=0
    )
    relative_rate: float = parameter(
        1.0, "learning rate over the optimizer's reference rate", above=0, maximum=1e6
    )
    prominence: float = parameter(
        0.1, "least rise and fall of an alignment that make a bump", above=0, maximum=1
    )
    aligned_at: float = parameter(
        0.25, "alignment from which a component counts as aligned", above=0, maximum=1
    )
    loss_tolerance: float = parameter(
        0.0, "a run ends when its loss is at most this times that of zero weights", minimum=0
    )


def check(p: Factorization) -> None:
    """Refuse combinations of parameters that make no target."""
    if p.target_law == "orthonormal" and p.rank > p.dimension:
        rule = f"be at most `dimension` = {p.dimension} for orthonormal targets"
        raise argument_error("rank", rule, f"is {p.rank}")


def time(p: Factorization, step: np.ndarray) -> np.ndarray:
    """Steps times learning rate; for Adam as well, though it is no flow's time there."""
    return step * learning_rate(p)


def learning_rate(p: Factorization) -> float:
    """The learning rate: `relative_rate` times the reference rate of the optimizer and the loss.

    A target s times as large makes the squared error s times as steep near the solution: the reference of descent is
    divided by s, while Adam does not see it. Cross-entropy of small logits is the squared error divided by 2 n^2, which
    descent gets back as a factor; large logits concentrate the probability on few entries, where it is steeper yet:
    there the reference is divided by s^2.
    """
    rate = p.relative_rate * REFERENCE_RATES[p.optimizer]
    if p.optimizer.startswith("adam"):
        return rate
    if p.loss_function == "cross_entropy":
        return rate * 2 * p.dimension**2 / p.target_scale**2
    return rate / p.target_scale


def weight_decay(p: Factorization) -> float:
    """Lambda as the optimizer takes it: none for sgd and adam.

    For descent it is in proportion to the loss, so that its share of a step is the same.
    """
    if p.optimizer in ("sgd", "adam"):
        return 0.0
    if p.optimizer == "adamw":
        return p.weight_decay
    return p.weight_decay * (REFERENCE_RATES["sgd_decay"] * p.relative_rate / learning_rate(p))


def components(p: Factorization) -> int:
    """Number of components of the learner."""
    return p.components or p.rank


def draw(p: Factorization, seed: Seed):
    """Target and start of one run, NumPy factors of shape (n, component)."""
    from foretrain.networks import factorization_start as network

    target = network.draw_target(
        generator(seed, "data"), p.dimension, p.rank, law=p.target_law, scale=p.target_scale
    )
    weights = generator(seed, "weights")
    return target, network.draw_start(weights, p.dimension, components(p), p.init_scale)


def inputs(p: Factorization, seed: Seed) -> dict[str, Any]:
    """Return the inputs of one run."""
    return inputs_from(p, *draw(p, seed))


def inputs_from(p: Factorization, target, start) -> dict[str, Any]:
    """Return the inputs of a run from a given target and start, factors of shape (n, component) each."""
    return arrays(p.loss_function, target, start, learning_rate(p), weight_decay(p))


def arrays(loss_function: str, target, start, rate: float, decay: float) -> dict[str, Any]:
    """Return the inputs of a run with a given target and start, learning rate and weight decay."""
    from foretrain.networks import factorization_rows as network

    goal = network.prepare(loss_function, target, start.left.shape[1])
    start = network.rows(start)
    return {
        **{f"goal_{name}": value for name, value in goal._asdict().items()},
        "start_left": start.left,
        "start_right": start.right,
        "rate": np.float64(rate),
        "decay": np.float64(decay),
    }


def program(p: Factorization) -> Program:
    """The program of a run; see `learner`."""
    return learner(p.loss_function, p.optimizer, components(p), float_type(p.precision))


def learner(loss_function: str, optimizer: str, components: int, floats: np.dtype) -> Program:
    """Return the program of two factors of that many components, from the inputs that `arrays` makes.

    Alignments of all components, or of the first ten, which stand for all by symmetry, are followed at every step, and
    what came of them is stored. Its inputs also hold ``prominence``, ``aligned_at`` and ``loss_tolerance``.
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    from foretrain.dynamics import descent
    from foretrain.networks import factorization_rows as network
    from foretrain.quantities import bump_counter

    rule, followed = RULES[optimizer], min(components, TRACKED)

    def goal_of(inputs):
        return network.Goal(*(inputs[f"goal_{name}"] for name in network.Goal._fields))

    def aligned(inputs, factors):
        return network.alignment(jax.tree.map(lambda a: a[:followed], factors), goal_of(inputs))

    def count(inputs, counter, alignments):
        return bump_counter.update(counter, alignments, inputs["prominence"], inputs["aligned_at"])

    def init(inputs):
        start, goal = network.Factors(inputs["start_left"], inputs["start_right"]), goal_of(inputs)
        # XLA (jaxlib 0.10.2) multiplies a broadcast number by reading past its end, which may give nan. Behind a
        # barrier the zeros are an array like any other.
        nothing = lax.optimization_barrier(jax.tree.map(jnp.zeros_like, start))
        zero_loss = network.goal_loss(loss_function, nothing, goal)
        counter = bump_counter.start(aligned(inputs, start))
        return start, descent.start(rule, start), counter, zero_loss

    def step(inputs, state):
        factors, memory, counter, zero_loss = state
        counter = count(inputs, counter, aligned(inputs, factors))
        slope = network.gradient(loss_function, factors, goal_of(inputs))
        rates = inputs["rate"], inputs["decay"]
        return *descent.step(rule, factors, slope, memory, *rates), counter, zero_loss

    def observe(inputs, state):
        factors, _, _, zero_loss = state
        loss = network.goal_loss(loss_function, factors, goal_of(inputs))
        return {"loss": loss, "relative_loss": loss / zero_loss}

    def done(inputs, state, observed):
        tolerance = inputs["loss_tolerance"]
        reached = (tolerance > 0) & (observed["relative_loss"] <= tolerance)
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        factors, _, counter, _ = state
        alignments = aligned(inputs, factors)
        counter = count(inputs, counter, alignments)
        bumps = bump_counter.bumps_at_end(counter, alignments, inputs["prominence"])
        first = jnp.arange(alignments.shape[0])[:, None] == counter.first_target
        return {
            "component_bumps": bumps.sum(0).astype(floats),
            "first_target_bumps": (bumps * first).sum(0).astype(floats),
            "final_alignment": alignments.max(0),
            "first_target": counter.first_target,
        }

    return Program(init, step, observe, done, finish)
