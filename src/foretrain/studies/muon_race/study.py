"""Muon ends the race: under spectral descent all paths grow alike, and smaller modes are learned first."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import figure, panel
from foretrain.theory.pathways import spectral as theory

SOURCE = "docs/studies/muon-race.md"
PAPER = "Rhee, Simon & Karkada (2026), abstract"
COST = "2 min"
REFERENCES = ("rhee2026", "jordan2024")
SEEDS = 20
AXES = {"depth": (2, 3, 4), "paths": (3, 1), "init_scale": (0.01, 0.1, 0.0001)}
PRESETS = {"paper": {"seeds": 50, "width": 12, "decay": 0.8}}
EARLY = 0.1  # share of the smallest mode when directions that paths have lost are looked for
UNBALANCED = 0.1  # scale of the first layer of a path whose layers are unequal
lab.declare("step mode", carried="u^T W v of each mode, all paths together.")
lab.declare("mode", arrival="Time at which a mode has first reached its share.", unit=lab.TIME_UNIT)
lab.declare("path mode", path_part="u^T W v of each mode in each path at the end.")
lab.declare("path", smallest_direction="Smallest singular value of a path early on, over t^L.")
lab.declare(
    "path",
    kind="bool",
    negative="Whether the product of determinants of its layers at the start is.",
)
lab.declare(
    "layer",
    early_sum="Sum of singular values of the first path's layers when the smallest mode is due.",
    last_sum="The same at the end.",
    early_square="Sum of their squares when the smallest mode is due.",
    last_square="The same at the end.",
)
lab.declare("mode", overshoot="Largest distance of a mode from its strength, last tenth of steps.")


@dataclass(frozen=True)
class Parameters(lab.Training):
    """Paths of square layers that add up to a target with modes of falling strengths."""

    rule: str = lab.choice(
        "step: polar factor of the gradient, Muon's approximation with momentum, or the gradient",
        ("spectral", "muon", "descent"),
    )
    depth: int = lab.parameter(
        2, "layers of a path", symbol="L", minimum=2, maximum=12, static=True
    )
    paths: int = lab.parameter(
        3, "paths that add up", symbol="M", minimum=1, maximum=32, static=True
    )
    width: int = lab.parameter(
        4, "width of all layers, and number of modes", minimum=2, maximum=32, static=True
    )
    singular_value: float = lab.parameter(4.0, "largest of the target", symbol="s", above=0)
    decay: float = lab.parameter(0.5, "strength of a mode over the one before", above=0, maximum=1)
    init_scale: float = lab.parameter(
        0.01, "typical initial singular value", symbol="σ", above=0, maximum=0.3
    )
    lead: float = lab.parameter(
        0.3, "by how much the start of each path is larger than that of the one before", minimum=0
    )
    imbalance: float = lab.parameter(
        0.0, "by how much that of the first layer is larger than of others", minimum=0
    )
    share: float = lab.parameter(
        0.9, "part of its strength at which a mode counts as learned", above=0, maximum=0.98
    )
    learning_rate: float = lab.default(0.001, "step", symbol="η")
    steps: int = lab.default(3000)
    observe_every: int = lab.default(20)
    precision: str = lab.default("float64")


def strengths(p):
    return p.singular_value * p.decay ** np.arange(p.width)


def variants(p):
    """Return Muon, descent where it ends in time, and paths whose first layer starts larger, all from the same draws."""
    if p.rule != "spectral" or p.imbalance:
        return {}
    networks = {"muon": {"rule": "muon"}}
    if p.init_scale ** (2 - p.depth) <= 101:
        bound = p.depth * p.singular_value ** (2 - 2 / p.depth)
        networks["descent"] = {
            "rule": "descent",
            "learning_rate": 0.4 / bound,
            "steps": 12000,
            "observe_every": 40,
            "loss_tolerance": 1e-3,
        }
    if p.depth == 2 and p.paths == 1:
        networks["unbalanced"] = {"imbalance": UNBALANCED / p.init_scale}
    return networks


def inputs(p, seed):
    """Draw normal weights of deviation init_scale / width^(1/2), (path, layer, width, width); other scales scale them."""
    random = lab.generator(seed, "weights")
    weights = random.standard_normal((p.paths, p.depth, p.width, p.width)) / p.width**0.5
    places = np.arange(p.paths) - (p.paths - 1) / 2
    weights *= p.init_scale * (1 + p.lead) ** places[:, None, None, None]
    weights[:, 0] *= 1 + p.imbalance
    shares = np.array([EARLY, p.share])
    due = theory.learning_time(strengths(p)[-1:], shares, p.paths, p.depth)
    early, late = np.ceil(due / p.learning_rate)
    return {"weights": weights, "strengths": strengths(p), "early": early, "due": late}


def program(p):
    """Step by a rule along the gradient of 1/2 |target - sum of paths|^2."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import spectral
    from foretrain.networks.singular_values import singular_values

    def products(weights):
        carried = weights[:, 0]
        for layer in range(1, p.depth):
            carried = weights[:, layer] @ carried
        return carried

    def modes(weights):
        return jnp.diagonal(products(weights), axis1=-2, axis2=-1)

    def loss(weights, inputs):
        target = jnp.diag(inputs["strengths"])
        return 0.5 * ((target - products(weights).sum(0)) ** 2).sum()

    def init(inputs):
        weights = inputs["weights"]
        missing = jnp.full(p.width, -1.0, weights.dtype)
        return {
            "weights": weights,
            "memory": jnp.zeros_like(weights),
            "early": weights,
            "due": weights,
            "count": jnp.zeros((), weights.dtype),
            "arrival": missing,
            "overshoot": jnp.zeros_like(missing),
        }

    def step(inputs, state):
        weights, memory, count = state["weights"], state["memory"], state["count"]
        direction = -jax.grad(loss)(weights, inputs)
        if p.rule == "spectral":
            direction = spectral.polar(direction)
        elif p.rule == "muon":
            direction, memory = spectral.muon(direction, memory)
        reached, wanted = modes(weights).sum(0), inputs["strengths"]
        first = (state["arrival"] < 0) & (reached >= inputs["share"] * wanted)
        away = jnp.where(count >= 0.9 * inputs["max_steps"], abs(reached - wanted), 0)
        return {
            "weights": weights + inputs["learning_rate"] * direction,
            "memory": memory,
            "early": jnp.where(count == inputs["early"], weights, state["early"]),
            "due": jnp.where(count == inputs["due"], weights, state["due"]),
            "count": count + 1,
            "arrival": jnp.where(first, count * inputs["learning_rate"], state["arrival"]),
            "overshoot": jnp.maximum(state["overshoot"], away),
        }

    def observe(inputs, state):
        weights = state["weights"]
        return {"loss": loss(weights, inputs), "carried": modes(weights).sum(0)}

    def finish(inputs, state):
        due, last = (singular_values(state[name][0]) for name in ("due", "weights"))
        time = inputs["early"] * inputs["learning_rate"]
        smallest = singular_values(products(state["early"]))[:, -1] / time**p.depth
        return {
            "arrival": jnp.where(state["arrival"] < 0, jnp.nan, state["arrival"]),
            "overshoot": state["overshoot"],
            "path_part": modes(state["weights"]),
            "smallest_direction": smallest,
            "early_sum": due.sum(-1),
            "last_sum": last.sum(-1),
            "early_square": (due**2).sum(-1),
            "last_square": (last**2).sum(-1),
        }

    return lab.Program(init, step, observe, finish=finish)


def predict(p, step, seed):
    """Return when spectral descent from zero learns each mode, its course, and signs of the paths' determinants."""
    of = strengths(p), p.share, p.paths, p.depth
    time = step * p.learning_rate
    return {
        "arrival": theory.learning_time(*of),
        "carried": theory.strength(time, strengths(p), p.paths, p.depth),
        "negative": theory.negative(inputs(p, seed)["weights"]),
    }


def carrying(network):
    """Return the quantity "paths that carry a mode", mean over modes, of a network."""

    def of(c):
        parts = c[network].path_part
        return (parts.sum("path") ** 2 / (parts**2).sum("path")).mean("mode")

    return of


NETWORKS = {"Spectral descent": "", "Muon": "muon", "Descent": "descent"}
CURVES = {"by": "mode", "ylim": (-0.1, None), "label": "Carried of each mode"}
FIGURES = {
    "order": figure(
        "Muon learns smaller modes first, descent larger ones",
        "Strength that all paths carry of each mode, mean over seeds; dashed, spectral descent from zero.",
        panel(lambda c: c.carried, title="Spectral descent", **CURVES),
        panel(
            lambda c: c["muon"].carried, theory=lambda c: c.theory.carried, title="Muon", **CURVES
        ),
        panel(lambda c: c["descent"].carried, x="step", theory=False, title="Descent", **CURVES),
        legend=4,
    ),
    "paths": figure(
        "No race is left under Muon",
        "Number of paths that carry a mode at the end, mean over modes and seeds. Descent is followed where it ends in time.",
        *(
            panel(
                carrying(network),
                x="init_scale",
                by="depth",
                theory=False,
                scale="semilogx",
                title=name,
                label="Paths carrying a mode",
                ylim=lambda c: (0.9, c.p.paths + 0.2),
            )
            for name, network in NETWORKS.items()
        ),
        legend=3,
    ),
    "times": figure(
        "Smaller modes first",
        "Time at which each mode is learned, median over seeds; dashed, spectral descent from zero.",
        panel(
            lambda c: c.arrival,
            x="mode",
            of=NETWORKS,
            statistic="median",
            scale="semilogy",
            label="Time of learning",
        ),
    ),
}
