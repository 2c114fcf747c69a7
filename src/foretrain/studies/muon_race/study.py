"""Muon ends the race: under spectral descent all paths grow alike, and smaller modes are learned first."""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import figure, panel
from foretrain.theory.pathways import spectral as theory

SOURCE = "docs/studies/muon-race.md"
COST = "70 s"
REFERENCES = ("rhee2026", "jordan2024", "edelman1988")
EXPLORE = ("singular_value", "decay")
SEEDS = 20
AXES = {"depth": (2, 3, 4), "paths": (3, 1), "init_scale": (0.01, 0.1, 0.0001)}
PRESETS = {"paper": {"seeds": 50, "width": 12, "decay": 0.8}}
lab.declare("step mode", carried="u^T W v of each mode, all paths together.")
lab.declare("path mode", path_part="u^T W v of each mode in each path at the end.")


@dataclass(frozen=True)
class Parameters(lab.Training):
    """Paths of square layers that add up to a target with modes of falling strengths."""

    rule: str = lab.choice("rule of a step", ("spectral", "muon", "descent"), sweepable=False)
    depth: int = lab.size(2, "layers", 12, minimum=2, symbol="L")
    paths: int = lab.size(3, "paths", 32, symbol="M")
    width: int = lab.size(4, "width of layers", 32, minimum=2)
    singular_value: float = lab.parameter(4.0, "largest of the target", symbol="s", above=0)
    decay: float = lab.parameter(0.5, "strength of a mode over the one before", above=0, maximum=1)
    init_scale: float = lab.parameter(
        0.01, "typical initial singular value", symbol="σ", above=0, maximum=0.3
    )
    lead: float = lab.parameter(0.3, "by how much each path starts larger", minimum=0)
    share: float = lab.parameter(0.9, "part of a mode counted as learned", above=0, maximum=0.98)
    learning_rate: float = lab.default(0.001, "step", symbol="η")
    steps: int = lab.default(3000)
    precision: str = lab.default("float64")


def strengths(p):
    return p.singular_value * p.decay ** np.arange(p.width)


def variants(p):
    """Return Muon, and descent where it ends in time, from the same draws."""
    if p.rule != "spectral":
        return {}
    rate = 0.4 / (p.depth * p.singular_value ** (2 - 2 / p.depth))
    descent = {"rule": "descent", "learning_rate": rate, "steps": 12000, "loss_tolerance": 1e-3}
    slow = p.init_scale ** (2 - p.depth) > 101
    return {"muon": {"rule": "muon"}} | ({} if slow else {"descent": descent})


def inputs(p, seed):
    """Draw normal weights of deviation init_scale / width^(1/2), (path, layer, width, width); other scales scale them."""
    random = lab.generator(seed, "weights")
    weights = random.standard_normal((p.paths, p.depth, p.width, p.width)) / p.width**0.5
    places = np.arange(p.paths) - (p.paths - 1) / 2
    weights *= p.init_scale * (1 + p.lead) ** places[:, None, None, None]
    return {"weights": weights, "target": np.diag(strengths(p))}


def program(p):
    """Step by a rule along the gradient of 1/2 |target - sum of paths|^2."""
    import jax
    import jax.numpy as jnp

    from foretrain.dynamics import spectral
    from foretrain.networks import linear_paths as network

    def modes(weights):
        return jnp.diagonal(network.products(weights), axis1=-2, axis2=-1)

    def init(inputs):
        return inputs["weights"], jnp.zeros_like(inputs["weights"])

    def step(inputs, state):
        weights, memory = state
        direction = -jax.grad(network.loss)(weights, inputs["target"])
        if p.rule == "spectral":
            direction = spectral.polar(direction)
        elif p.rule == "muon":
            direction, memory = spectral.muon(direction, memory)
        return weights + inputs["learning_rate"] * direction, memory

    def observe(inputs, state):
        loss = network.loss(state[0], inputs["target"])
        return {"loss": loss, "carried": modes(state[0]).sum(0)}

    return lab.Program(init, step, observe, finish=lambda _, state: {"path_part": modes(state[0])})


def predict(p, step, seed):
    """Return the course of spectral descent from zero."""
    if p.rule != "spectral":
        return {}
    return {"carried": theory.strength(step * p.learning_rate, strengths(p), p.paths, p.depth)}


def carrying(runs):
    """Return how many paths carry each mode at the end, with the dims seed and mode."""
    return runs.path_part.sum("path") ** 2 / (runs.path_part**2).sum("path")


CURVES = {"by": "mode", "ylim": (-0.1, None), "label": "Carried", "xlabel": "Time"}
DESCENT = CURVES | {"x": "step", "xlabel": "Step", "theory": False, "scale": "semilogx"}
PATHS = {"x": "init_scale", "by": "depth", "scale": "semilogx", "label": "Paths carrying a mode"}
PATHS |= {"ylim": lambda c: (0.95, 1.05 * c.p.paths)}
FIGURES = {
    "order": figure(
        "Muon learns smaller modes first, descent larger ones",
        "Strength that all paths carry of each mode, mean over seeds; dashed, spectral descent from zero.",
        panel(lambda c: c.carried, title="Spectral descent", **CURVES),
        panel(lambda c: c.carried, of="muon", title="Muon", **CURVES),
        panel(lambda c: c.carried, of="descent", title="Descent", **DESCENT),
        legend=4,
    ),
    "paths": figure(
        "No race is left under Muon",
        "Number of paths that carry a mode at the end, mean over modes and seeds. Descent is followed where it ends in time.",
        *(
            panel(lambda c: carrying(c.simulation).mean("mode"), of=name, title=title, **PATHS)
            for title, name in (("Spectral descent", ""), ("Muon", "muon"), ("Descent", "descent"))
        ),
        legend=3,
    ),
}
