"""The simple case of shared representations: a masked rank-one fit escapes from small weights, in closed form."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.tasks import masks
from foretrain.vocabulary import TIME_UNIT, Variable, declare

SOURCE = "Note on shared representations, section 3"
COST = "40 s"
REFERENCES = ("saxe2022",)
SEEDS = 400
AXES = {"init_scale": (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)}
PRESETS = {
    "paper": {
        "trained_fraction": (0.3, 0.5),
        "init_scale": (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
        "seeds": 500,
    }
}

# Fractions of the loss of zero weights; a stage is the first accepted step at which the loss has fallen by one of them.
STAGES = (1e-4, 1e-2, 0.5)
FAINT, DEPARTURE, ESCAPE = range(3)


@dataclass(frozen=True)
class FlowParameters:
    """Parameters of every study that trains the masked rank-one model; each adds what makes its mask."""

    domains: int = parameter(
        10, "n, number of input and of output domains", minimum=2, maximum=1000, static=True
    )
    init_scale: float = parameter(
        1e-2, "sigma, standard deviation of every initial weight", above=0
    )
    loss_tolerance: float = parameter(
        1e-12, "a run has converged when its loss (a sum over pairs) is at most this", above=0
    )
    solver_tolerance: float = parameter(
        1e-9, "error of a step, relative to every weight", minimum=1e-13, maximum=1e-2, static=True
    )
    steps: int = parameter(
        1000,
        "largest number of attempted solver steps; a run above the tolerance is then stuck",
        minimum=1,
        maximum=10**9,
    )
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float64", "floating-point type", choices=("float32", "float64"), static=True
    )


@dataclass(frozen=True)
class Parameters(FlowParameters):
    """Parameters of the study; each field's rule says what it may be."""

    trained_fraction: float = parameter(
        0.4,
        "fraction of all pairs that is trained: the diagonal, then others at random, nested",
        above=0,
        maximum=1,
    )


VARIABLES = declare(
    Variable(
        "solver_time",
        ("step",),
        TIME_UNIT,
        meaning="Time of the flow after the steps attempted so far.",
    ),
    Variable("shared_scale", ("step",), meaning="s, the weight that all pairs share."),
    Variable(
        "progress",
        ("step",),
        TIME_UNIT,
        meaning="S, the integral of s over time.",
        source="Note on shared representations, section 3",
    ),
    Variable(
        "mode_amplitude",
        ("step", "mode"),
        meaning="Root mean square of the components of u and of v along each singular mode of the mask.",
    ),
    Variable("stage_time", ("stage",), TIME_UNIT, meaning="Time at which a stage is reached."),
    Variable("stage_scale", ("stage",), meaning="s when a stage is reached."),
    Variable("stage_progress", ("stage",), TIME_UNIT, meaning="S when a stage is reached."),
    Variable("stage_left", ("stage", "input_domain"), meaning="u when a stage is reached."),
    Variable("stage_right", ("stage", "output_domain"), meaning="v when a stage is reached."),
    Variable(
        "stage_misalignment",
        ("stage",),
        meaning="Relative distance of u v^T from the best rank-one fit of the mask at its best scale, at a stage.",
    ),
    Variable(
        "stage_agrees",
        ("stage",),
        kind="bool",
        meaning="Whether s u_i v_j > 0 for all pairs when a stage is reached.",
    ),
    Variable("final_loss", meaning="Training loss at the end, a sum over trained pairs."),
    Variable(
        "final_untrained_error",
        meaning="Mean over untrained pairs of (s u_i v_j - 1)^2 / 2 at the end.",
    ),
    Variable(
        "invariant_drift",
        meaning="Largest change of |u|^2 - s^2 and |v|^2 - s^2 over the stored steps, over |u|^2 + |v|^2 + s^2.",
    ),
    Variable("connected", kind="bool", meaning="Whether all domains lie in one component."),
    Variable(
        "start_opposes",
        kind="bool",
        meaning="Whether u^T T v and s have opposite signs at the start.",
    ),
    Variable("start_scale", meaning="s at the start, over init_scale."),
    Variable("turns", kind="bool", meaning="Whether s changes sign in the linearised flow."),
    Variable(
        "blow_up_time",
        (),
        TIME_UNIT,
        meaning="Time after which S is infinite in the linearised flow, c/sigma.",
        source="docs/theory/masked-rank-one.md",
    ),
    Variable("largest_singular_value", meaning="s_1 of the mask."),
    Variable(
        "alignment_exponent",
        meaning="1 - s_2/s_1 of the mask.",
        source="docs/theory/masked-rank-one.md",
    ),
    Variable("early_scale", ("step",), meaning="s of the linearised flow at the run's S."),
    Variable(
        "early_mode_amplitude",
        ("step", "mode"),
        meaning="Amplitude of each mode in the linearised flow at the run's S.",
    ),
    Variable(
        "stage_deviation",
        ("stage",),
        meaning="Largest relative deviation of u, v and s from the linearised flow at the run's S, at a stage.",
    ),
    Variable(
        "stage_time_deviation",
        ("stage",),
        meaning="Relative deviation of the time at a stage from t(S) of the linearised flow.",
    ),
    Variable(
        "stage_neglected",
        ("stage",),
        meaning="Spectral norm of (s u v^T) o T, which the linearised flow leaves out, over that of T, at a stage.",
    ),
)


class Draw(NamedTuple):
    """What chance gives to one run: a mask and a start of unit scale, the same at every init_scale."""

    trained_pairs: np.ndarray
    left: np.ndarray
    right: np.ndarray
    scale: float


class Flight(NamedTuple):
    """State of a run: where it is, when, where it was at each stage, and what it should conserve."""

    position: Any
    clock: Any
    stages: Any
    stage_time: Any
    conserved: Any
    drift: Any


def check(parameters: Parameters) -> None:
    """Refuse a mask that is smaller than its diagonal, and steps that the precision cannot resolve."""
    if parameters.trained_fraction * parameters.domains < 1:
        raise argument_error(
            "trained_fraction",
            f"be at least 1 / `domains` = {1 / parameters.domains:g}, the diagonal",
            f"is {parameters.trained_fraction:g}",
        )
    check_precision(parameters)


def check_precision(parameters: FlowParameters) -> None:
    """Refuse steps that the precision cannot resolve."""
    if parameters.precision == "float32" and parameters.solver_tolerance < 1e-5:
        raise argument_error(
            "solver_tolerance",
            "be at least 1e-05 in float32",
            f"is {parameters.solver_tolerance:g}",
        )


def draw(parameters: Parameters, root_seed: int, seed: int) -> Draw:
    """Mask and unit start of one seed."""
    size = parameters.domains
    pairs = round(parameters.trained_fraction * size**2)
    trained = masks.nested(size, pairs, generator(root_seed, seed, "mask"))
    return Draw(trained.astype(float), *unit_start(size, root_seed, seed))


def unit_start(size: int, root_seed: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Independent standard normal u, v (shape (size,)) and s of one seed."""
    random = generator(root_seed, seed, "weights")
    left, right = random.standard_normal((2, size))
    return left, right, float(random.standard_normal())


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    return flight_inputs(draw(parameters, root_seed, seed), parameters)


def flight_inputs(drawn: Draw, parameters) -> dict[str, np.ndarray]:
    """Inputs of a run from its draw; `parameters` needs `init_scale` and `loss_tolerance` only."""
    sigma = parameters.init_scale
    left, _, right = np.linalg.svd(drawn.trained_pairs)
    return {
        "trained_pairs": drawn.trained_pairs,
        "left_modes": left,
        "right_modes": right.T,
        "left_start": sigma * drawn.left,
        "right_start": sigma * drawn.right,
        "scale_start": np.float64(sigma * drawn.scale),
        "init_scale": np.float64(sigma),
        "loss_tolerance": np.float64(parameters.loss_tolerance),
        "connected": np.bool_(masks.is_connected(drawn.trained_pairs)),
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`."""
    return flight_program(
        parameters.solver_tolerance, parameters.observe_every, parameters.precision
    )


def flight_program(solver_tolerance: float, observe_every: int, precision: str) -> Program:
    """The flow of the masked rank-one model, whatever the mask, from `flight_inputs`."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics.adaptive import Clock, attempt
    from foretrain.networks import masked_rank_one as network

    levels = 1 - jnp.array(STAGES)

    def init(inputs):
        start = network.Position(
            inputs["left_start"],
            inputs["right_start"],
            inputs["scale_start"],
            jnp.zeros_like(inputs["scale_start"]),
        )
        zero = start.progress
        # Rates at the start are of order init_scale; the first steps find the right size by themselves.
        clock = Clock(zero, 1e-2 / inputs["init_scale"])
        stages = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(STAGES), *x.shape)), start)
        reached = network.loss(start, inputs["trained_pairs"]) <= _levels(inputs)
        times = jnp.where(reached, zero, -1)
        return Flight(start, clock, stages, times, network.conserved(start), zero)

    def _levels(inputs):
        return levels.astype(inputs["init_scale"].dtype) * jnp.sum(inputs["trained_pairs"]) / 2

    def step(inputs, state):
        trained = inputs["trained_pairs"]
        position, clock = attempt(
            network.velocity,
            state.position,
            trained,
            state.clock,
            relative=solver_tolerance,
            absolute=solver_tolerance * inputs["init_scale"],
        )
        new = (state.stage_time < 0) & (network.loss(position, trained) <= _levels(inputs))
        stages = jax.tree.map(
            lambda kept, now: jnp.where(new.reshape(-1, *[1] * now.ndim), now, kept),
            state.stages,
            position,
        )
        times = jnp.where(new, clock.time, state.stage_time)
        sizes = jnp.sum(position.left**2) + jnp.sum(position.right**2) + position.scale**2
        gap = jnp.abs(network.conserved(position) - state.conserved) / sizes
        return Flight(
            position, clock, stages, times, state.conserved, jnp.maximum(state.drift, gap.max())
        )

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

    def done(inputs, state, observed):
        reached = observed["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        reached, stages = state.stage_time >= 0, state.stages
        known = lambda x: jnp.where(reached.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.nan)  # noqa: E731
        sines = [
            _squared_sine(weights, inputs[name][:, 0])
            for weights, name in ((stages.left, "left_modes"), (stages.right, "right_modes"))
        ]
        trained = inputs["trained_pairs"]
        product = inputs["left_start"] @ trained @ inputs["right_start"]
        return {
            "stage_time": known(state.stage_time),
            "stage_scale": known(stages.scale),
            "stage_progress": known(stages.progress),
            "stage_left": known(stages.left),
            "stage_right": known(stages.right),
            "stage_misalignment": known(jnp.sqrt(sines[0] + sines[1] - sines[0] * sines[1])),
            "stage_agrees": jax.vmap(network.signs_agree)(stages) & reached,
            "final_loss": network.loss(state.position, trained),
            "final_untrained_error": network.untrained_error(state.position, trained),
            "invariant_drift": state.drift,
            "connected": inputs["connected"],
            "start_opposes": product * inputs["scale_start"] < 0,
            "start_scale": inputs["scale_start"] / inputs["init_scale"],
        }

    def _squared_sine(weights, best):
        """Squared sine of the angle between each weight and `best`, from the part across it."""
        across = weights - (weights @ best)[:, None] * best
        return jnp.sum(across**2, 1) / jnp.sum(weights**2, 1)

    return Program(init, step, observe, done, finish, observe_every, precision)


def coordinates(parameters, step: np.ndarray) -> dict:
    """The stages, by the fraction of the loss of zero weights that is gone."""
    return {"stage": (("stage",), np.array(STAGES))}


def estimate(parameters: Parameters) -> float:
    """Predicted number of steps: they grow with the decades that the weights have to cross."""
    return min(parameters.steps, 150 - 15 * float(np.log(parameters.init_scale)))


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Escape time, turning and alignment exponent of every seed; see `masked_rank_one_theory`."""
    from foretrain.studies.masked_rank_one import theory as masked_rank_one_theory

    return masked_rank_one_theory.predict(parameters, root_seed, seeds)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """The linearised flow at the S of the first seeds; see `masked_rank_one_theory`."""
    from foretrain.studies.masked_rank_one import theory as masked_rank_one_theory

    return masked_rank_one_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what the note says of the simple case, along every line of initial scales."""
    from foretrain.studies.masked_rank_one import claims as masked_rank_one_claims

    return masked_rank_one_claims.judge_grid(runs)
