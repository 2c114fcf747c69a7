"""Bumps: how often components grow towards a target and give it up, against everything that may matter."""

from dataclasses import dataclass
from typing import Any

from foretrain.networks.factorization_start import exchanged
from foretrain.study import Seed, declare, default, parameter
from foretrain.training import factorization

SOURCE = "Jermyn & Shlegeris (2022), comments on bumps, which ask for a quantitative study"
COST = "90 s"
REFERENCES = ("jermyn2022",)
SEEDS = 60
AXES = {
    "optimizer": ("sgd", "adam"),
    "rank": (2, 10, 100),
    "init_scale": (1.0, 0.1),
    "relative_rate": (0.25, 1.0, 4.0, 10.0),
}
PRESETS = {
    "paper": {
        "seeds": 100,
        "optimizer": ("sgd", "sgd_decay", "adam", "adamw"),
        "init_scale": (1.0, 0.3, 0.1),
        "relative_rate": (0.25, 1.0, 2.5, 5.0, 10.0),
        "steps": 2000,
    }
}

declare(
    "component",
    kind="int",
    predicted_bumps="Bumps of the flow from the start, -1 where none is computed.",
    first_target_of_signs="Target first aligned with under descent by signs, -1 if with none, or where none is computed.",
)


@dataclass(frozen=True)
class Parameters(factorization.Factorization):
    """Parameters of the bumps study: those of the S-curves, and the exchange of a start."""

    exchanged: bool = parameter(
        False,
        "the second component starts reflected so that its overlaps with the first two targets change places",
    )
    steps: int = default(1000)
    observe_every: int = default(2)
    loss_tolerance: float = default(1e-4)


check, time, program = factorization.check, factorization.time, factorization.program


def draw_start(p: Parameters, seed: Seed) -> tuple[Any, Any]:
    """Draw target and start of a run, NumPy factors of shape (n, component)."""
    target, start = factorization.draw(p, seed)
    return target, exchanged(target, start) if p.exchanged else start


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    return factorization.inputs_from(p, *draw_start(p, seed))


def variants(p: Parameters) -> dict[str, dict]:
    """Return the network of rank two from the exchanged start: the matched partner of rank two from the start as drawn."""
    return {"exchanged": {"rank": 2, "components": 0, "exchanged": True}}
