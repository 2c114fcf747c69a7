"""Rank one: 2n parameters that learn exactly as four numbers do, plateau, signal and decay."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import RUNNING, Program
from foretrain.plans.grid import LabelledRuns, judge_cells
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.theory import rank_one as s_curve
from foretrain.theory.rank_one import RankOneState
from foretrain.vocabulary import Variable, declare

SOURCE = "Jermyn & Shlegeris (2022), rank one, and its comments; docs/theory/s-curves.md"
COST = "30 s"
REFERENCES = ("jermyn2022", "saxe2014")
SEEDS = 20
AXES = {"weight_decay": (0.0, 0.2), "init_scale": (1.0, 0.1), "dimension": (100, 10, 1000)}
PRESETS = {"paper": {"seeds": 200, "learning_rate": 0.005, "steps": 2400, "observe_every": 5}}

FIELDS = tuple(RankOneState.__dataclass_fields__)


@dataclass(frozen=True)
class Parameters:
    """Parameters of the rank-one study; each field's rule says what it may be."""

    dimension: int = parameter(
        100, "n, length of both factors", minimum=2, maximum=10**6, static=True
    )
    init_scale: float = parameter(
        1.0, "sigma, standard deviation of the initial entries times sqrt(n)", above=0
    )
    weight_decay: float = parameter(0.0, "lambda, pull towards zero", minimum=0, maximum=100)
    learning_rate: float = parameter(0.01, "eta, step of descent", above=0)
    steps: int = parameter(1200, "number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(5, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float64", "floating-point type", choices=("float32", "float64"), static=True
    )


_SOURCE = "docs/theory/s-curves.md"
VARIABLES = declare(
    Variable("overlap_x", ("step",), meaning="a . x, the learned part of x.", source=_SOURCE),
    Variable("overlap_y", ("step",), meaning="b . y, the learned part of y.", source=_SOURCE),
    Variable(
        "irrelevant_x", ("step",), meaning="Squared length of x orthogonal to a.", source=_SOURCE
    ),
    Variable(
        "irrelevant_y", ("step",), meaning="Squared length of y orthogonal to b.", source=_SOURCE
    ),
    Variable("alignment", ("step",), meaning="cos(x, a) cos(y, b)."),
    Variable(
        "signal",
        ("step",),
        meaning="Length of the part of -gradient for x along the target, 2 |b . y|.",
        source=_SOURCE,
    ),
    Variable(
        "decay",
        ("step",),
        meaning="Length of the part of -gradient for x along x itself, weight decay included.",
        source=_SOURCE,
    ),
    Variable(
        "plateau_length",
        unit="step × learning rate",
        meaning="Time from loss 1.1 to loss .9: by the flow of the reduction.",
        source=_SOURCE,
    ),
    Variable(
        "plateau_end",
        unit="step × learning rate",
        meaning="Time of loss .9 by the flow of the reduction.",
        source=_SOURCE,
    ),
    Variable(
        "plateau_estimate",
        unit="step × learning rate",
        meaning="Time from loss 1.1 to loss .9: in closed form.",
        source=_SOURCE,
    ),
)


def draw(parameters: Parameters, root_seed: int, seed: int):
    """Target (a, b) and start (x, y) of one run, unit vectors and Gaussian ones, shape (n,)."""
    from foretrain.networks.factorization import draw_start, draw_target

    size = parameters.dimension
    target = draw_target(generator(root_seed, seed, "data"), size, 1)
    weights = generator(root_seed, seed, "weights")
    start = draw_start(weights, size, 1, parameters.init_scale)
    return tuple(columns[:, 0] for columns in (*target, *start))


def reduced_start(parameters: Parameters, root_seed: int, seed: int) -> RankOneState:
    """The four numbers of one run's start."""
    a, b, x, y = draw(parameters, root_seed, seed)
    return s_curve.reduce(x, y, a, b)


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program."""
    vectors = draw(parameters, root_seed, seed)
    return {
        **dict(zip(("a", "b", "x", "y"), vectors, strict=True)),
        "learning_rate": np.array(parameters.learning_rate),
        "weight_decay": np.array(parameters.weight_decay),
    }


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`. It trains all 2n parameters."""
    import jax.numpy as jnp

    from foretrain.dynamics import descent
    from foretrain.measures.alignment import alignment
    from foretrain.networks import factorization as network
    from foretrain.networks.factorization import Factors

    def target(inputs):
        return Factors(inputs["a"][:, None], inputs["b"][:, None])

    def init(inputs):
        start = Factors(inputs["x"][:, None], inputs["y"][:, None])
        return start, descent.start("sgd", start)

    def step(inputs, state):
        factors, memory = state
        slope = network.gradient("mse", factors, target(inputs))
        rates = inputs["learning_rate"], inputs["weight_decay"]
        return descent.step("sgd", factors, slope, memory, *rates)

    def observe(inputs, state):
        factors, goal = state[0], target(inputs)
        parts = network.mse_split(factors, goal)
        (x, y), (a, b) = factors, goal
        overlap_x, overlap_y = (a * x).sum(), (b * y).sum()
        pull = parts.decay.left + inputs["weight_decay"] * x
        return {
            "loss": network.mse_loss(factors, goal),
            "overlap_x": overlap_x,
            "overlap_y": overlap_y,
            "irrelevant_x": ((x - overlap_x * a) ** 2).sum(),
            "irrelevant_y": ((y - overlap_y * b) ** 2).sum(),
            "alignment": alignment(x, y, a, b)[0, 0],
            "signal": jnp.sqrt((parts.signal.left**2).sum()),
            "decay": jnp.sqrt((pull**2).sum()),
        }

    def done(inputs, state, observed):
        return jnp.int8(RUNNING)

    def finish(inputs, state):
        return {}

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Time along the stored steps."""
    return {"time": (("step",), step * parameters.learning_rate)}


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The reduction from every seed's start, step for step, and the plateau it gives."""
    from foretrain.studies.rank_one import theory as rank_one_theory

    return rank_one_theory.predict(parameters, root_seed, seeds)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what the thread says of rank one, and what the reduction adds, over the grid."""
    from foretrain.studies.rank_one import claims as rank_one_claims

    return judge_cells(rank_one_claims.judge_grid, runs, keep=tuple(AXES))
