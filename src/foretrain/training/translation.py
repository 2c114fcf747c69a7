"""Translation networks: parameters, program, stored variables, and the prediction from the trained pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.arithmetic import float_type
from foretrain.dynamics.program import CONVERGED, RUNNING, STALLED, Program
from foretrain.errors import argument_error
from foretrain.plans.blocks import Run
from foretrain.plans.parameters import default, parameter, size
from foretrain.streams import key
from foretrain.theory.connectivity import predict_masks
from foretrain.theory.grokking.frustration import frame_exponent, frustration
from foretrain.training.routing import PAIR as PAIR
from foretrain.vocabulary import TIME_UNIT, declare

GRAPH = "docs/theory/connectivity.md"
LEARNED = 0.25  # Half of the error of answering nothing: below it a pair counts as learned.
DEPARTED = 1e-4  # Share of the loss 1/2D of one mode: once it is gone the first mode has departed from zero.
SETTLED = 1.25  # A run is stuck for good once its loss is at most this times its lasting bound.

declare("step", unit=TIME_UNIT, solver_time="Time of the flow after the steps attempted so far.")
declare(
    "input_domain output_domain",
    pair_diagonal_error="The part of a pair's error that lies on the diagonal of its block.",
    orientation="Sign of the determinant of every pair's map at the end.",
)
declare(
    converged_loss="Training loss where the run ended.",
    final_drift="Change of Q at both hidden layers over the run, over the squared norm of the hidden matrix.",
)
declare(
    source="docs/studies/translation.md",
    lasting_bound="Loss below which the flow can never come again, told by signs of determinants at the end; 0 where none is.",
)
declare(
    "step",
    joined_error="Mean error of the untrained pairs within a component; zero if there are none.",
    across_error="Mean error of the pairs across components; zero if there are none.",
)
declare(
    "input_domain output_domain",
    unit=TIME_UNIT,
    learned_time=f"Time at which the error of a pair first is below {LEARNED:g}; nan if never.",
)
declare(
    source=GRAPH,
    misalignment="Relative distance of all maps at the end from u_1 v_1^T (x) O: u_1, v_1 the leading singular vectors of the "
    "trained pairs, O the best D x D matrix.",
    predicted_untrained_error="Its mean over untrained pairs; nan if all are trained.",
    frame_exponent="1 - s_2/s_1 of the trained pairs, smallest over components: power of sigma at which mirrored frames "
    "vanish.",
)
declare(
    "input_domain output_domain",
    source=GRAPH,
    predicted_pair_error="Expected error of every pair for small initial weights, from the trained pairs alone.",
)


@dataclass(frozen=True)
class Languages(Run):
    """Languages, the network that translates between them, and the solver of its flow."""

    languages: int = size(
        10, "number of languages, all of them in and out", 1000, minimum=2, symbol="L"
    )
    words: int = size(8, "number of words of each language", 10**4, symbol="D")
    hidden_width: int = size(8, "width of both hidden layers", 10**5, symbol="H")
    init_scale: float = parameter(
        0.03, "standard deviation of all initial weights", symbol="σ", above=0
    )
    diagonal: bool = parameter(
        True, "whether every language is trained with itself, before any other pair"
    )
    solver_tolerance: float = parameter(
        1e-2, "largest relative error of a step of the flow's solver", above=0, maximum=0.1
    )
    stages: int = size(6, "evaluations within a step of the flow's solver", 50, minimum=2)
    loss_tolerance: float = parameter(
        1e-6, "a run has converged when its loss is at most this", above=0
    )
    steps: int = default(
        2000, "attempted steps after which a run that is neither converged nor stuck is cut off"
    )
    observe_every: int = default(20)


def check_width(p: Any) -> None:
    """Refuse networks that are too narrow."""
    if p.hidden_width < p.words:
        rule = f"be at least `words` = {p.words}, the rank of a translation"
        raise argument_error("hidden_width", rule, f"is {p.hidden_width}")


def estimate(p: Any) -> float:
    """Attempted steps of a run, roughly: waits are longer from small weights and in square factors."""
    wait = 60 * (0.1 / min(p.init_scale, 0.1)) ** 0.3
    return min(p.steps, wait * (2 if p.hidden_width == p.words else 1))


def predict_pairs(trained: np.ndarray) -> dict[str, Any]:
    """Error of every pair, its mean over untrained pairs, number of components and `frame_exponent`, from the mask alone."""
    graph = predict_masks([trained])
    return {
        "predicted_pair_error": graph.pair_error[0],
        "predicted_untrained_error": graph.untrained_error[0],
        "component_count": graph.component_count[0],
        "frame_exponent": np.float64(frame_exponent(trained)),
    }


def program(
    p: Any, loss_mask: str = "full", start_orientation: str = "random", until: str = "loss"
) -> Program:
    """The jitted part of a run: gradient flow by `foretrain.dynamics.chebyshev`, one attempted step at a time.

    A run ends as converged at `loss_tolerance`. With square factors and a loss that sees everything it ends as stalled when
    it is stuck for good: signs of determinants keep its loss above a bound for ever (`foretrain.theory.grokking.frustration`),
    the bound is above the tolerance, and the loss has come down to `SETTLED` times the bound. Asking costs 2 L + 1
    determinants of D x D at each observation.

    Of the inputs of `p`, which are `Languages`, the study draws ``trained_pairs``. Of a trained pair the loss sees what
    `loss_mask` says, "full" or "diagonal_only"; `start_orientation` are signs of the determinants of square initial factors,
    "random" or "positive"; a run ends `until` its "loss", or at the "departure" of its first mode, when the loss has fallen
    by `DEPARTED` of what a mode costs.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import chebyshev
    from foretrain.dynamics.direction import gradient_gap
    from foretrain.networks import routing
    from foretrain.networks import translation as network

    def velocity(weights, inputs):
        return network.negative_gradient(weights, inputs["trained_pairs"], loss_mask)

    def with_positive_determinant(matrices):
        sign = jnp.sign(jnp.linalg.det(matrices))[..., None]
        return matrices.at[..., 0, :].multiply(sign)

    def loss(every, trained):
        full = loss_mask == "full"
        visible = network.pair_errors(every) if full else network.pair_diagonal_errors(every)
        return routing.mean_over(trained, visible)

    def init(inputs):
        random = key(inputs["root_seed"], inputs["seed"], "weights")
        size = (p.languages, p.words, p.hidden_width)
        scale, dtype = inputs["init_scale"], float_type(p.precision)
        weights = network.random_weights(random, *size, scale, dtype)
        if start_orientation == "positive":
            weights = jax.tree.map(with_positive_determinant, weights)
        flow = chebyshev.start(velocity, weights, inputs)
        slope = jax.grad(lambda w: loss(network.maps(w), inputs["trained_pairs"]))(weights)
        gap = gradient_gap(flow.slope, jax.tree.map(jnp.negative, slope))
        unlearned = -jnp.ones_like(flow.time * inputs["trained_pairs"])
        return flow, (routing.conserved(weights), gap), unlearned

    def joined(trained):
        """1 for pairs within a component, 0 for others: those that some path of trained pairs joins."""
        reached = jnp.minimum(trained @ trained.T + jnp.eye(p.languages, dtype=trained.dtype), 1)
        for _ in range(p.languages.bit_length()):
            reached = jnp.minimum(reached @ reached, 1)
        return jnp.minimum(reached @ trained, 1)

    def misalignment(every, trained):
        left, _, right = jnp.linalg.svd(trained)
        leading = (left[:, :1] * right[:1])[..., None, None]
        rest = every - leading * (leading * every).sum((0, 1))
        return jnp.sqrt((rest**2).sum() / (every**2).sum())

    def bound(flow, trained, loss):
        """Return the loss below which the flow never comes again, 0 where none is known."""
        if loss_mask != "full" or p.hidden_width != p.words:
            return jnp.zeros_like(loss)
        encoders, hidden, decoders = (jnp.linalg.slogdet(w)[0] for w in flow.position)
        modes, margin = frustration(trained, hidden * encoders, decoders, jnp.minimum)
        unit = 2 * p.words * trained.sum()
        return jnp.where(loss * unit < modes + margin, modes / unit, 0).astype(loss.dtype)

    def done(inputs, state, observed):
        if until == "departure":
            departed = observed["loss"] <= 0.5 - DEPARTED / (2 * p.words)
            return jnp.where(departed, CONVERGED, RUNNING).astype(jnp.int8)
        loss, lowest = observed["loss"], bound(state[0], inputs["trained_pairs"], observed["loss"])
        tolerance = inputs["loss_tolerance"]
        stuck = jnp.where((lowest > tolerance) & (loss <= SETTLED * lowest), STALLED, RUNNING)
        return jnp.where(loss <= tolerance, CONVERGED, stuck).astype(jnp.int8)

    def step(inputs, state):
        flow, kept, since = state
        flow = chebyshev.attempt(velocity, flow, inputs, inputs["solver_tolerance"], p.stages)
        fresh = (since < 0) & (network.pair_errors(network.maps(flow.position)) < LEARNED)
        return flow, kept, jnp.where(fresh, flow.time, since)

    def observe(inputs, state):
        flow, trained = state[0], inputs["trained_pairs"]
        every = network.maps(flow.position)
        errors, together = network.pair_errors(every), joined(trained)
        return {
            "loss": loss(every, trained),
            "untrained_error": routing.mean_over(1 - trained, errors),
            "joined_error": routing.mean_over(together * (1 - trained), errors),
            "across_error": routing.mean_over(1 - together, errors),
            "solver_time": flow.time,
        }

    def finish(inputs, state):
        flow, (conserved, gap), since = state
        every, trained = network.maps(flow.position), inputs["trained_pairs"]
        reached = loss(every, trained)
        return {
            "pair_error": network.pair_errors(every),
            "pair_diagonal_error": network.pair_diagonal_errors(every),
            "trained_pairs": trained,
            "orientation": network.orientations(every),
            "converged_loss": reached,
            "lasting_bound": bound(flow, trained, reached),
            "learned_time": jnp.where(since < 0, jnp.nan, since),
            "misalignment": misalignment(every, trained),
            "final_drift": routing.drift(flow.position, conserved),
            "gradient_gap": gap,
        }

    return Program(init, step, observe, done, finish)
