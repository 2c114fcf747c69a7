"""The race of gating schemes: networks that share more learn faster, and win where they compete."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.dynamics.program import CONVERGED, RUNNING, Program
from foretrain.errors import argument_error
from foretrain.plans.grid import LabelledRuns
from foretrain.plans.parameters import parameter
from foretrain.streams import generator
from foretrain.studies.trained_fraction import study as trained_fraction
from foretrain.theory.pathway_race import RaceFactors, race_factors
from foretrain.vocabulary import Variable, declare

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 5a-b"
COST = "1 min"
REFERENCES = ("saxe2022",)
SEEDS = 4
AXES = {"paths": (1, 4, 9, 16, 36, 144)}
PRESETS = {"paper": {"seeds": 10, "step_fraction": 0.01, "loss_tolerance": 1e-4}}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the study; each field's rule says what it may be."""

    domains: int = parameter(
        12, "M, number of input and of output domains", minimum=1, maximum=100, static=True
    )
    paths: int = parameter(
        144,
        "P, routes through each hidden matrix, the square of a divisor of M",
        minimum=1,
        static=True,
    )
    shared_encoders: bool = parameter(
        False, "one encoder and decoder per domain, not one per module", static=True
    )
    against_full_sharing: bool = parameter(
        False,
        "beside the modules a fully shared pathway is always on, and their outputs add up",
        static=True,
    )
    full_sharing_scale: float = parameter(
        1.0, "initial scale of the fully shared pathway over that of the modules", above=0
    )
    hidden_width: int = parameter(
        64, "width of every hidden layer, N_h", minimum=4, maximum=10**5, static=True
    )
    init_scale: float = parameter(
        0.2, "sigma_0, all singular values of the initial weights", above=0
    )
    init_law: str = parameter(
        "orthogonal",
        "random orthogonal weights, or decoupled: the submanifold of the reduction",
        choices=("orthogonal", "decoupled"),
    )
    level_weights: str = parameter(
        "authors", "feature values by level: 6, 4, 3 or 1, 1, 1", choices=("authors", "unit")
    )
    dynamics: str = parameter(
        "flow",
        "gradient flow by Euler steps that adapt to how fast the weights grow, or descent with one step throughout",
        choices=("flow", "descent"),
    )
    learning_rate: float = parameter(
        0.3,
        "largest step, over the inverse of the curvature along the strongest mode",
        above=0,
        maximum=1,
    )
    step_fraction: float = parameter(
        0.03, "flow: largest relative growth of a mode in a step", above=0, maximum=0.5
    )
    loss_tolerance: float = parameter(
        3e-3, "a run has converged when its loss is at most this", above=0
    )
    steps: int = parameter(6000, "largest number of steps", minimum=1, maximum=10**9)
    observe_every: int = parameter(10, "stride in steps of what is stored", minimum=1, static=True)
    precision: str = parameter(
        "float32", "floating-point type", choices=("float32", "float64"), static=True
    )


VARIABLES = declare(
    Variable(
        "elapsed", ("step",), "step × learning rate", meaning="Time of the flow, the paper's."
    ),
    Variable(
        "part_strength",
        ("step", "part", "mode"),
        meaning="Strength u^T W v of each mode in the modules and in the fully shared pathway, mean over routes.",
        source="Saxe, Sodhani & Lewallen (2022), Fig. 5b",
    ),
    Variable(
        "weight_ratio",
        ("part", "mode"),
        meaning="B2/B1 of each mode where the run ended, from the lengths of its encoder and decoder vectors.",
        source="Saxe, Sodhani & Lewallen (2022), eqs. (16)-(17)",
    ),
    Variable(
        "half_learning_time",
        ("mode",),
        "step × learning rate",
        meaning="Time at which a mode is half learned from wide random weights, mean over routes.",
    ),
    Variable(
        "measured_half_time",
        ("mode",),
        "step × learning rate",
        meaning="Half-learning time of each mode in a run.",
    ),
    Variable(
        "equal_start_half_time",
        ("mode",),
        "step × learning rate",
        meaning="Half-learning time of the reduction if every strength starts at init_scale, whatever P.",
    ),
    Variable(
        "effective_overlap",
        meaning="Equal start of the reduction that has the same half-learning time of mode 1, over init_scale.",
    ),
    Variable(
        "full_sharing_share",
        ("mode",),
        meaning="Share of each mode that the fully shared pathway carries at the end.",
    ),
    Variable(
        "handicapped_share",
        ("mode",),
        meaning="The same, if the fully shared pathway starts at half the scale at which both would tie.",
    ),
)

task = trained_fraction.task


def check(parameters: Parameters) -> None:
    """Refuse modules that do not fit the domains."""
    from foretrain.theory.pathway_race import admissible_paths

    admissible = admissible_paths(parameters.domains)
    if parameters.paths not in admissible:
        listed = ", ".join(map(str, admissible))
        raise argument_error(
            "paths",
            f"be the square of a divisor of `domains` = {parameters.domains} ({listed})",
            f"is {parameters.paths}",
        )


def part_factors(parameters: Parameters) -> list[RaceFactors]:
    """Shares of the trained routes: of the modules and, where there is one, of the fully shared pathway."""
    m, shared = parameters.domains, parameters.shared_encoders
    factors = [race_factors(m, parameters.paths, shared_encoders=shared)]
    return factors + [race_factors(m, m**2)] * parameters.against_full_sharing


def part_scales(parameters: Parameters) -> list[float]:
    """Initial scale of every part."""
    scale = parameters.init_scale
    full = [scale * parameters.full_sharing_scale] * parameters.against_full_sharing
    return [scale, *full]


def descent_step(parameters: Parameters) -> float:
    """Step of plain descent: `learning_rate` over the curvature along mode 1 at the end, in the steepest part."""
    data = task(parameters)
    curvature = max(curvature_factor(f) for f in part_factors(parameters))
    gain, variance = (data.singular_values / data.variances)[0], data.variances[0]
    return parameters.learning_rate / float(curvature * variance * gain ** (4 / 3))


def curvature_factor(factors: RaceFactors) -> float:
    """3 outer r^(1/3): at B2 = sqrt(r) B1 the error of a mode decays at this number times D G^(4/3)."""
    return 3 * factors.outer * factors.ratio ** (1 / 3)


def handicap(parameters: Parameters) -> float:
    """Half the scale ratio sqrt(P)/M at which the fully shared pathway and the modules have their poles together."""
    return 0.5 * parameters.paths**0.5 / parameters.domains


def inputs(parameters: Parameters, root_seed: int, seed: int) -> dict[str, np.ndarray]:
    """What one run feeds to the program: data, and the start of every part."""
    from foretrain.networks.modular_routing import decoupled_modules, random_modules

    data, random = task(parameters), generator(root_seed, seed, "weights")
    x, u, v = data.inputs[0], data.output_modes, data.input_modes[0]
    m, width = parameters.domains, parameters.hidden_width
    fed = {
        "task_inputs": x,
        "task_targets": data.targets[0],
        "output_modes": u,
        "input_modes": v,
        "probe": np.linalg.pinv(x) @ v,
        "singular_values": data.singular_values,
        "variances": data.variances,
        "outer": np.array([f.outer for f in part_factors(parameters)]),
        "ratio": np.array([f.ratio for f in part_factors(parameters)]),
        "scales": np.array(part_scales(parameters)),
        "learning_rate": np.float64(parameters.learning_rate),
        "step_fraction": np.float64(parameters.step_fraction),
        "descent_step": np.float64(descent_step(parameters)),
        "adapt": np.float64(parameters.dynamics == "flow"),
        "loss_tolerance": np.float64(parameters.loss_tolerance),
    }
    schemes = [(parameters.paths, parameters.shared_encoders), (m**2, False)]
    for number, (scale, (paths, shared)) in enumerate(
        zip(part_scales(parameters), schemes, strict=False)
    ):
        if parameters.init_law == "decoupled":
            part = decoupled_modules(random, u, v, m, paths, width, shared_encoders=shared)
        else:
            size = len(x), len(u)
            part = random_modules(random, m, paths, width, *size, shared_encoders=shared)
        for name, weights in part._asdict().items():
            fed[f"part{number}_{name}"] = scale * weights
    return fed


def program(parameters: Parameters) -> Program:
    """The jitted part of a run; see `foretrain.dynamics.program.Program`.

    An adaptive step is the smaller of `step_fraction` over the fastest growth rate of a mode, outer e (sigma + B2), and
    `learning_rate` over the curvature, with B2 and the curvature read off the strengths of all routes.
    """
    import jax
    import jax.numpy as jnp

    from foretrain.networks import modular_routing as network

    parts = 1 + parameters.against_full_sharing

    def start(inputs):
        names = network.Modules._fields
        return tuple(
            network.Modules(*(inputs[f"part{n}_{name}"] for name in names)) for n in range(parts)
        )

    def loss(weights, inputs):
        return network.loss(weights, inputs["task_inputs"], inputs["task_targets"])

    def strengths(each, inputs):
        # u^T W v of every part, route and mode.
        both = inputs["output_modes"], inputs["probe"]
        return jnp.stack([jnp.einsum("jioe,om,em->jim", out, *both) for out in each])

    def init(inputs):
        return start(inputs), jnp.zeros((), inputs["task_inputs"].dtype)

    def step_size(inputs, routes):
        s, d = inputs["singular_values"], inputs["variances"]
        outer, ratio = inputs["outer"][:, None], inputs["ratio"][:, None]
        error = jnp.abs(s - d * routes.sum(0)).max((0, 1))
        strongest = jnp.abs(routes).max((1, 2))
        hidden = jnp.cbrt(ratio * strongest)
        growth = (outer * error * (inputs["scales"][:, None] + hidden)).max()
        curvature = (3 * outer * jnp.cbrt(ratio) * d * jnp.cbrt(strongest) ** 4).sum(0).max()
        adapted = jnp.minimum(inputs["step_fraction"] / growth, inputs["learning_rate"] / curvature)
        return jnp.where(inputs["adapt"] > 0, adapted, inputs["descent_step"])

    def step(inputs, state):
        weights, elapsed = state
        slope, each = jax.grad(loss, has_aux=True)(weights, inputs)
        size = step_size(inputs, strengths(each, inputs))
        return jax.tree.map(lambda w, g: w - size * g, weights, slope), elapsed + size

    def observe(inputs, state):
        weights, elapsed = state
        value, each = loss(weights, inputs)
        return {
            "loss": value,
            "elapsed": elapsed,
            "part_strength": strengths(each, inputs).mean((1, 2)),
        }

    def done(inputs, state, observed):
        reached = observed["loss"] <= inputs["loss_tolerance"]
        return jnp.where(reached, CONVERGED, RUNNING).astype(jnp.int8)

    def finish(inputs, state):
        weights, _ = state
        _, each = loss(weights, inputs)
        gain = strengths(each, inputs).mean((1, 2))
        # What the domains of a module have in common of W1 v and W3^T u: the mean leaves out what their starts do not.
        first = [(p.encoders @ inputs["input_modes"]).mean(2) for p in weights]
        third = [jnp.einsum("bajoh,om->bahm", p.decoders, inputs["output_modes"]) for p in weights]
        third = [vectors / p.decoders.shape[2] for vectors, p in zip(third, weights, strict=True)]
        outer = jnp.stack([_length(v) * _length(w) for v, w in zip(first, third, strict=True)])
        return {"weight_ratio": gain / outer**1.5}

    def _length(vectors):
        return jnp.sqrt((vectors**2).sum(2)).mean((0, 1))

    return Program(
        init, step, observe, done, finish, parameters.observe_every, parameters.precision
    )


def variants(parameters: Parameters) -> dict[str, dict]:
    """The reduction's own start; shared encoders; and the modules in one network with full sharing, on equal terms or not."""
    mixed = {"against_full_sharing": True, "seeds": 3}
    return {
        "decoupled": {
            "init_law": "decoupled",
            "dynamics": "descent",
            "precision": "float64",
            "steps": 200,
            "init_scale": 0.5,
            "seeds": 1,
        },
        "shared-encoders": {"shared_encoders": True, "seeds": 3},
        "mixed": mixed,
        "handicapped": {**mixed, "full_sharing_scale": handicap(parameters)},
    }


def coordinates(parameters: Parameters, step: np.ndarray) -> dict:
    """Names of the parts."""
    return {"part": (("part",), np.array(["modules", "full sharing"]))}


def predict(parameters: Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The race from wide random weights, and the reduction from equal starts; see `pathway_race_theory`."""
    from foretrain.studies.pathway_race import theory as pathway_race_theory

    return pathway_race_theory.predict(parameters)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """The effective initial overlap of every seed."""
    from foretrain.studies.pathway_race import theory as pathway_race_theory

    return pathway_race_theory.fit(runs)


def claims(runs: LabelledRuns) -> list[Claim]:
    """Judge what section 4.2 and Fig. 5 say, and the closed forms of the mixed race."""
    from foretrain.studies.pathway_race import claims as pathway_race_claims

    return pathway_race_claims.judge_grid(runs)
