"""Exclusive-or: a small ReLU network learns it as four gated linear pathways would, one per example."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import DescentOrFlow, argument_error, declare, default, parameter
from foretrain.tasks.logic import xor
from foretrain.training.pathways import Pathways

from .gatings import gatings

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 3 and appendix A.1"
COST = "15 s"
REFERENCES = ("saxe2022",)
# The paper's size is small enough to be the default; its preset only halves the step.
PRESETS = {"paper": {"learning_rate": 0.005, "steps": 8000, "observe_every": 20}}


@dataclass(frozen=True)
class Parameters(Pathways, DescentOrFlow):
    """Parameters of the study; each field's rule says what it may be."""

    network: str = default(
        "relu", "a two-layer ReLU network, or four linear pathways each open on one example"
    )
    init_law: str = parameter(
        "normal",
        "law of the initial weights; decoupled (gated only): the submanifold of the reduction",
        choices=("normal", "decoupled"),
    )
    time_constant: float = parameter(
        2.5, "the paper's time is tau times step x learning rate", symbol="τ", above=0
    )


declare(
    "step example",
    source="Saxe, Sodhani & Lewallen (2022), eq. (21)",
    example_strength="Answer to each example over its norm, in the direction of its target: a(t) of its pathway.",
)
declare(
    "unit input",
    source="Saxe, Sodhani & Lewallen (2022), Fig. 3a",
    input_weights="Input weights of every hidden unit at the end; a gated network's pathway by pathway.",
)
declare("unit", output_weights="Output weight of every hidden unit at the end.")
declare(
    "example",
    source="docs/studies/xor.md",
    start_strength="a_0 of each example's pathway, derived from the initial weights.",
    gated_start_strength="a_0 of each pathway of the gated network, derived from its initial weights.",
)
declare(
    "step",
    gated_loss="Loss that the reduction expects of the gated network from its derived start.",
)
declare(
    "step",
    source="Saxe, Sodhani & Lewallen (2022), eqs. (21)-(23)",
    closed_form_loss="Closed form of the loss from the decoupled start of the gated network.",
    fitted_closed_form_loss="Eqs. (21)-(23) from the fitted a_0.",
)
declare(fitted_strength="a_0 with which eqs. (21)-(23) come closest to the measured loss.")


def check(p: Parameters) -> None:
    if p.network == "relu" and p.init_law == "decoupled":
        rule = "be `normal` with `network` = relu"
        raise argument_error("init_law", rule, "is `decoupled`", "Try --network gated.")


def natural_strength(p: Parameters) -> float:
    """Return N_h sigma_0^2, the unit of a_0."""
    return p.hidden_width * p.init_scale**2


def decoupled_strength(p: Parameters) -> float:
    """Return the strength of every edge of the decoupled start; a_0 is its square, the mean of random weights."""
    return p.init_scale * np.sqrt(p.hidden_width / 2)


def variants(p: Parameters) -> dict[str, dict]:
    """Return the gated network from random weights, and from decoupled ones by descent and by flow, both in float64."""
    decoupled = {"network": "gated", "init_law": "decoupled", "precision": "float64", "seeds": 1}
    return {
        "gated": {"network": "gated"},
        "decoupled": decoupled,
        "decoupled-flow": {**decoupled, "dynamics": "flow"},
    }


def labels(p: Parameters) -> dict:
    time = np.arange(0, p.steps + 1, p.observe_every) * p.learning_rate
    return {
        "paper_time": ("step", time * p.time_constant),
        "example": [" ".join(f"{value:+.0f}" for value in x) for x in xor(1).inputs["x"]],
        "input": ["x1", "x2"],
        "gating": list(gatings()),
    }
