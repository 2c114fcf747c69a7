"""The masked rank-one model in flow: the common part of every study that trains it, all but its mask.

It is solved by an adaptive method of order 5, whose steps grow with the time that nothing happens. The state of a run is kept
at three stages: the first accepted step at which the loss of zero weights has fallen by each fraction of `STAGES`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foretrain.streams import Seed, generator
from foretrain.study import Program, Run, argument_error, declare, default, parameter, size
from foretrain.tasks import masks
from foretrain.vocabulary import TIME_UNIT

STAGES = (1e-4, 1e-2, 0.5)
FAINT, DEPARTURE, ESCAPE = range(3)


@dataclass(frozen=True)
class Flow(Run):
    """Parameters of every study that trains the model; each adds what makes its mask."""

    # The flow has no scale of its own, so that double precision reaches down to where s u v^T would underflow.
    init_scale: float = parameter(
        1e-2, "standard deviation of every initial weight", symbol="σ", minimum=1e-64, maximum=1e6
    )
    loss_tolerance: float = parameter(
        1e-12, "a run has converged when its loss (a sum over pairs) is at most this", above=0
    )
    solver_tolerance: float = parameter(
        1e-9, "error of a step, relative to every weight", minimum=1e-13, maximum=1e-2, static=True
    )
    steps: int = default(
        1000, "largest number of attempted solver steps; a run above the tolerance is then stuck"
    )
    precision: str = default("float64")


@dataclass(frozen=True)
class Domains(Flow):
    """The flow on a mask of equally many input and output domains, which are few."""

    domains: int = size(10, "number of input and of output domains", 1000, minimum=2, symbol="n")


declare(
    "step",
    unit=TIME_UNIT,
    solver_time="Time of the flow after the steps attempted so far.",
    progress="S, the integral of s over time.",
)
declare("step", shared_scale="s, the weight that all pairs share.")
declare(
    "step mode",
    mode_amplitude="Root mean square of the components of u and of v along each singular mode of the mask.",
)
declare(
    "stage",
    unit=TIME_UNIT,
    stage_time="Time at which a stage is reached.",
    stage_progress="S when a stage is reached.",
)
declare(
    "stage",
    stage_scale="s when a stage is reached.",
    stage_misalignment="Relative distance of u v^T from the best rank-one fit of the mask at its best scale, at a stage.",
)
declare("stage input_domain", stage_left="u when a stage is reached.")
declare("stage output_domain", stage_right="v when a stage is reached.")
declare(
    final_loss="Training loss at the end, a sum over trained pairs.",
    final_scale="s at the end.",
    final_untrained_error="Mean over untrained pairs of (s u_i v_j - 1)^2 / 2 at the end.",
    invariant_drift="Largest change of |u|^2 - s^2 and |v|^2 - s^2 over the stored steps, over |u|^2 + |v|^2 + s^2.",
    start_scale="s at the start, over init_scale.",
    alignment_exponent="1 - s_2/s_1 of the mask.",
)
declare("input_domain", final_left="u at the end.")
declare("output_domain", final_right="v at the end.")
declare(kind="bool", connected="Whether all domains lie in one component.")


class Draw(NamedTuple):
    """Mask and start of unit scale that one run draws, the same at every init_scale."""

    trained_pairs: np.ndarray
    left: np.ndarray
    right: np.ndarray
    scale: float


class Flight(NamedTuple):
    """State of a run: position, time, position at each stage, and the conserved quantities."""

    position: Any
    clock: Any
    stages: Any
    stage_time: Any
    conserved: Any
    drift: Any


def check_precision(p: Flow) -> None:
    """Refuse steps that the precision cannot resolve."""
    if p.precision != "float64" and p.solver_tolerance < 1e-5:
        rule = "be at least 1e-05 in float32"
        raise argument_error("solver_tolerance", rule, f"is {p.solver_tolerance:g}")


def unit_start(size: int, seed: Seed, outputs: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
    """Independent standard normal u (shape (size,)), v (shape (outputs,), 0 for the same) and s of one seed."""
    random = generator(seed, "weights")
    left, right = random.standard_normal(size), random.standard_normal(outputs or size)
    return left, right, float(random.standard_normal())


def flight_inputs(drawn: Draw, sigma: float) -> dict[str, Any]:
    """Inputs of the run from a draw at the initial scale `sigma`; costs a singular value decomposition."""
    left, _, right = np.linalg.svd(drawn.trained_pairs, full_matrices=False)
    return {
        "trained_pairs": drawn.trained_pairs,
        "left_modes": left,
        "right_modes": right.T,
        "left_start": sigma * drawn.left,
        "right_start": sigma * drawn.right,
        "scale_start": np.float64(sigma * drawn.scale),
        "connected": np.bool_(masks.is_connected(drawn.trained_pairs)),
    }


def program(p: Flow) -> Program:
    """Return the program of the flow from `flight_inputs`, for any mask."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.adaptive import Clock, attempt
    from foretrain.networks import masked_rank_one as network

    def init(inputs):
        zero = jnp.zeros_like(inputs["scale_start"])
        weights = (inputs[name] for name in ("left_start", "right_start", "scale_start"))
        start = network.Position(*weights, progress=zero)
        # Rates at the start are of order init_scale; the first steps find the right size by themselves.
        clock = Clock(zero, 1e-2 / inputs["init_scale"])
        stages = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(STAGES), *x.shape)), start)
        times = jnp.where(network.loss(start, inputs["trained_pairs"]) <= _levels(inputs), zero, -1)
        return Flight(start, clock, stages, times, network.conserved(start), zero)

    def _levels(inputs):
        levels = (1 - jnp.array(STAGES)).astype(inputs["init_scale"].dtype)
        return levels * jnp.sum(inputs["trained_pairs"]) / 2

    def step(inputs, state):
        trained, relative = inputs["trained_pairs"], p.solver_tolerance
        error = {"relative": relative, "absolute": relative * inputs["init_scale"]}
        position, clock = attempt(network.velocity, state.position, trained, state.clock, **error)
        new = (state.stage_time < 0) & (network.loss(position, trained) <= _levels(inputs))
        fresh = lambda kept, now: jnp.where(new.reshape(-1, *[1] * now.ndim), now, kept)  # noqa: E731
        stages = jax.tree.map(fresh, state.stages, position)
        times = jnp.where(new, clock.time, state.stage_time)
        sizes = jnp.sum(position.left**2) + jnp.sum(position.right**2) + position.scale**2
        gap = jnp.abs(network.conserved(position) - state.conserved) / sizes
        drift = jnp.maximum(state.drift, gap.max())
        return Flight(position, clock, stages, times, state.conserved, drift)

    def observe(inputs, state):
        position = state.position
        left = inputs["left_modes"].T @ position.left
        right = inputs["right_modes"].T @ position.right
        return {
            "loss": network.loss(position, inputs["trained_pairs"]),
            "solver_time": state.clock.time,
            "shared_scale": position.scale,
            "progress": position.progress,
            "mode_amplitude": jnp.sqrt((left**2 + right**2) / 2),
        }

    def finish(inputs, state):
        reached, stages = state.stage_time >= 0, state.stages
        known = lambda x: jnp.where(reached.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.nan)  # noqa: E731
        best = inputs["left_modes"][:, 0], inputs["right_modes"][:, 0]
        left = jax.vmap(lambda stage: network.misalignment(stage, *best))(stages)
        return {
            "stage_time": known(state.stage_time),
            **{f"stage_{name}": known(values) for name, values in stages._asdict().items()},
            "stage_misalignment": known(left),
            "final_loss": network.loss(state.position, inputs["trained_pairs"]),
            "final_left": state.position.left,
            "final_right": state.position.right,
            "final_scale": state.position.scale,
            "final_untrained_error": network.untrained_error(
                state.position, inputs["trained_pairs"]
            ),
            "invariant_drift": state.drift,
            "connected": inputs["connected"],
            "start_scale": inputs["scale_start"] / inputs["init_scale"],
        }

    return Program(init, step, observe, finish=finish)


def labels(p: Flow) -> dict[str, np.ndarray]:
    """The stages, by the fraction of the loss of zero weights that is gone."""
    return {"stage": np.array(STAGES)}


def estimate(p: Flow) -> float:
    """Predicted number of steps: they grow with the decades that the weights have to cross."""
    return min(p.steps, max(0.0, 150 - 15 * float(np.log(p.init_scale))))
