"""Free directions: do dependent activations, null Jacobians and synchronised neurons account for all that is free?"""

from dataclasses import dataclass

import numpy as np

from foretrain import study as lab
from foretrain.study import Variable, parameter

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape"
COST = "40 s"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 10
AXES = {"kind": ("drawn", "dependent", "synchronized", "deep")}
PRESETS = {"paper": {"seeds": 40, "networks": 50}}
SOURCES = ("activations", "jacobians", "synchronized")
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1)  # of examples on which a neuron's input has another sign
TRAININGS = ("without", "with")
CURVE = 60  # points of the curves of training
lab.declare(
    Variable("parameter_count", ("network",), meaning="Weights and biases of each network."),
    Variable(
        "counted", ("free_source", "network"), meaning="Free directions by source, none twice."
    ),
    Variable(
        "counted_by_squares",
        ("network",),
        meaning="All sources, a block taken as s squared instead of size times s.",
    ),
    Variable(
        "deficit", ("network",), meaning="Parameters less the exact rank of the Jacobian on data."
    ),
    Variable("parameters_left", ("network",), meaning="Of the sparsified network."),
    Variable(
        "sparsified_gap",
        ("network",),
        meaning="Largest difference of the sparsified network's outputs, by the old gates, over the largest output.",
    ),
    Variable(
        "disagreement",
        ("flipped_share", "network"),
        meaning="What gates say that activations move by, summed over outputs.",
    ),
    Variable(
        "mixing_loss",
        ("flipped_share", "network"),
        meaning="Behavioural loss once neurons of a block are mixed.",
    ),
    Variable(
        "null_weight",
        ("decayed", "update"),
        meaning="Norm of first weights along directions of zero variance, over that at the start.",
    ),
    Variable(
        "off_distribution",
        ("decayed", "update"),
        meaning="Mean square change of outputs by a unit step off the data, over that at the start.",
    ),
    Variable("fit", ("decayed", "update"), meaning="Loss on the data, over that at the start."),
)


@dataclass(frozen=True)
class Parameters(lab.Run):
    """Small random networks, many to a run, each of its own shape."""

    kind: str = parameter(
        "drawn",
        "random weights and data; inputs that depend on one another; planted blocks of neurons with equal gates; two hidden "
        "layers; blocks with nearly equal gates; training with decay on inputs that depend on one another",
        choices=("drawn", "dependent", "synchronized", "deep", "approximate", "decay"),
        static=True,
    )
    networks: int = parameter(30, "networks of a run", minimum=1, maximum=1000, static=True)
    samples: int = parameter(1000, "examples of each", minimum=100, maximum=10**5)
    mixing: float = parameter(0.1, "size of the entries by which a block is mixed", above=0)
    learning_rate: float = parameter(0.05, "of the trained network", above=0)
    weight_decay: float = parameter(0.02, "of the trained network, in its gradient", minimum=0)
    updates: int = parameter(6000, "of the trained network", minimum=CURVE, maximum=10**6)
    steps: int = lab.default(1)
    observe_every: int = lab.default(1)
    precision: str = lab.default("float64")


def variants(p):
    """Beside random networks those of nearly equal gates, and one that is trained."""
    return {
        "approximate": {"kind": "approximate", "samples": 4000},
        "decay": {"kind": "decay", "samples": 200},
    }


def labels(p):
    """Sources, shares and trainings by name."""
    return {
        "free_source": np.array(SOURCES),
        "flipped_share": np.array(SHARES),
        "decayed": np.array(TRAININGS),
        "update": shown(p),
    }


def shown(p):
    """Updates after which curves have a point."""
    return np.unique(np.linspace(0, p.updates, CURVE).astype(int))
