"""Large steps: past the edge of stability paths that had lost a race get a share back, at depth three and beyond."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.theory.pathways import large_steps as theory

SOURCE = "docs/studies/large-steps.md"
COST = "1 min"
REFERENCES = ("kim2026",)
SEEDS = 20
EXPLORE = ("relative_step",)
AXES = {"depth": (4, 2, 3, 6), "paths": (2, 4), "relative_step": (1.3, 0.8, 1.1, 1.6)}
PRESETS = {"paper": {"relative_step": (1.3, 0.5, 0.8, 0.95, 1.1, 1.2, 1.4, 1.6, 1.8), "seeds": 50}}
WIDE_DEPTH = 4  # of matrices at most; deeper ones take long to leave their initial weights
MODES = 3  # of a wide network; each has half the strength of the one before
SPREAD = 0.2  # deviation of paths' initial weights, over them; at most three such are drawn
lab.declare("step path", share="Strength u^T W v of the largest mode that each path carries.")
lab.declare("path", early_share="The same when the step is raised.")
lab.declare(
    participation="(sum p)^2 / sum p^2 of the shares p at the end: how many paths carry the mode.",
    edge="Step times largest curvature at the end, over 2.",
    early_edge="Raised step times largest curvature when the step is raised, over 2.",
    last_loss="Largest loss in the last tenth of the steps, nan = the run did not get there.",
    return_steps="Steps until enough paths carry the mode again for a stable minimum, inf = never.",
)


@dataclass(frozen=True)
class Parameters(lab.Run):
    """Paths that add up to a target of strength 1; a small step until they have learned it, then a larger one."""

    depth: int = lab.size(4, "layers of a path", 12, minimum=2, symbol="L")
    paths: int = lab.size(2, "paths that add up", 64, minimum=2, symbol="M")
    hidden_width: int = lab.size(1, "width of all layers", 64)
    init_scale: float = lab.parameter(0.23, "typical initial weight", above=0)
    relative_step: float = lab.parameter(1.3, "step over one path's largest", symbol="f", above=0)
    warm_step: float = lab.parameter(0.1, "the same in the beginning", above=0, maximum=0.9)
    warm_loss: float = lab.parameter(1e-7, "loss at which the step is changed", above=0)
    steps: int = lab.default(20000)
    observe_every: int = lab.default(15)
    precision: str = lab.default("float64")


def check(p):
    if p.hidden_width == 1 and p.paths * (p.init_scale * (1 + 3 * SPREAD)) ** p.depth >= 1:
        rule = "be so small that all paths together start below 1"
        raise lab.argument_error("init_scale", rule, f"is {p.init_scale:g}")


def variants(p):
    """Return paths of matrices from independent normal weights."""
    wide = {"hidden_width": 8, "init_scale": 0.6, "warm_step": 0.3, "warm_loss": 1e-4}
    return {"matrices": wide} if p.hidden_width == 1 and 2 < p.depth <= WIDE_DEPTH else {}


def inputs(p, seed):
    """Draw weights: equal layers of each path at width one, normal ones of deviation init_scale / width^(1/2) beyond."""
    random, modes = lab.generator(seed, "weights"), np.arange(p.hidden_width)
    shape = p.paths, p.depth, p.hidden_width, p.hidden_width
    if p.hidden_width == 1:
        path = 1 + SPREAD * np.clip(random.standard_normal(p.paths), -3, 3)
        weights = np.broadcast_to(path[:, None, None, None], shape)
    else:
        weights = random.standard_normal(shape) / p.hidden_width**0.5
    return {"weights": p.init_scale * weights, "target": np.diag(0.5**modes * (modes < MODES))}


def program(p):
    """Descend 1/2 |target - sum of paths|^2 by the smaller step until the loss is small, then by the larger."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import linear_paths as network

    def shares(weights):
        return network.products(weights)[:, 0, 0]

    def largest_curvature(weights, target):
        def turn(_, vector):
            unit = vector / jnp.linalg.norm(vector)
            return jax.jvp(lambda w: jax.grad(network.loss)(w, target), (weights,), (unit,))[1]

        begin = jnp.ones_like(weights) + jax.grad(lambda w: shares(w).sum())(weights)
        return jnp.linalg.norm(jax.lax.fori_loop(0, 200, turn, begin))

    def init(inputs):
        zero = jnp.zeros((), inputs["weights"].dtype)
        return inputs["weights"], inputs["weights"], False, zero, zero - 1

    def step(inputs, state):
        weights, early, raised, count, late = state
        value, slope = jax.value_and_grad(network.loss)(weights, inputs["target"])
        early = jnp.where(raised, early, weights)
        raised |= value <= inputs["warm_loss"]
        relative = jnp.where(raised, inputs["relative_step"], inputs["warm_step"])
        late = jnp.where(count < 0.9 * inputs["max_steps"], -1, jnp.maximum(late, value))
        return weights - relative * 2 / p.depth * slope, early, raised, count + 1, late

    def observe(inputs, state):
        return {"loss": network.loss(state[0], inputs["target"]), "share": shares(state[0])}

    def finish(inputs, state):
        weights, early, raised, _, late = state
        share, over_edge = shares(weights), inputs["relative_step"] / p.depth
        values = {
            "participation": share.sum() ** 2 / (share**2).sum(),
            "early_share": shares(early),
            "edge": over_edge * largest_curvature(weights, inputs["target"]),
            "early_edge": over_edge * largest_curvature(early, inputs["target"]),
            "last_loss": late,
        }
        known = jnp.where(raised & (late >= 0), 1, jnp.nan)
        return {name: known * value for name, value in values.items()}

    return lab.Program(init, step, observe, finish=finish)


def predict(p, step, seed):
    """Return where the race of flow and the slide to the edge end, from what a run draws; nothing for matrices."""
    if p.hidden_width > 1:
        return {}
    flow = theory.shares_of_flow(inputs(p, seed)["weights"][:, 0, 0, 0], p.depth)
    left = theory.slide(flow, p.depth, p.depth / p.relative_step)
    return {
        "participation": theory.participation(left),
        "early_share": flow,
        "early_edge": p.relative_step / p.depth * theory.sharpness(flow, p.depth),
        "return_steps": theory.return_steps(flow, p.relative_step, p.depth),
    }
