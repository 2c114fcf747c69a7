"""Free directions: do dependent activations, null Jacobians and synchronised neurons account for all that is free?"""

from dataclasses import dataclass

import numpy as np

from foretrain.study import choice, declare, parameter, size

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape"
COST = "2 min"
REFERENCES = ("bushnaq2024degeneracy",)
SEEDS = 10
REVISION = 2
AXES = {"kind": ("drawn", "dependent", "synchronized", "deep", "deeper")}
PRESETS = {"paper": {"seeds": 130}}
SOURCES = ("activations", "jacobians", "synchronized", "conditional")
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1)  # of examples on which a neuron's input has another sign
SCALES = 10.0 ** np.arange(-6, 0)  # of noise, as shares of the variance of a network's outputs
SAMPLED = SCALES[-2:]  # below, chains take too long to get around flat directions
TRAININGS = ("without", "with")
CURVE = 60  # points of the curves of training
declare("free_source network", counted="Free directions by source, none twice.")
declare(
    "network",
    parameter_count="Weights and biases of each network.",
    counted_by_squares="All sources, a block taken as s squared instead of size times s.",
    deficit="Parameters less the exact rank of the Jacobian on data.",
    free_of_heads="The same of values and outputs of attention, beyond every head alone, over a head's squared width.",
    heads_alike="Heads that have the attention pattern of a head before.",
    pairs_alike="Pairs of heads that have one pattern.",
    parameters_left="Of the sparsified network.",
)
declare(
    "noise_scale network",
    effective="Squared singular values of the Jacobian, over examples, of at least the scale.",
    counted_at_scale="Parameters less the directions counted as free at the scale.",
    counted_by_roots="The same, activations and Jacobians each held against the root of the scale.",
    left_at_scale="Fewest parameters of the sparsified network with a loss of at most the scale.",
    edges_at_scale="Fewest edges between directions of the interaction basis with a loss of at most the scale.",
    weights_at_scale="Fewest edges between neurons with a loss of at most the scale.",
    smooth="What it would be were the loss quadratic: the sum of s²/(s² + eps) over singular values.",
)
declare("sampled_scale network", sampled="2 lambda_Z at beta = 1/(2 eps), prior of unit width.")
declare(
    "flipped_share network",
    disagreement="What gates say that activations move by, summed over outputs.",
    mixing_loss="Behavioural loss once neurons of a block are mixed.",
)
declare(
    "decayed update",
    null_weight="Norm of first weights along directions of zero variance, over that at the start.",
    off_distribution="Mean square change of outputs by a unit step off the data, over that at the start.",
)


@dataclass(frozen=True)
class Parameters:
    """Small random networks, many to a run, each of its own shape."""

    kind: str = choice(
        "random weights and data; inputs that depend on one another; planted blocks of neurons with equal gates; two hidden "
        "layers; three; blocks with nearly equal gates; heads of attention; training with decay on dependent inputs; sampling",
        (*AXES["kind"], "approximate", "heads", "decay", "sampled"),
    )
    networks: int = size(15, "networks of a run", 1000)
    samples: int = parameter(1000, "examples of each", minimum=100, maximum=10**5)
    mixing: float = parameter(0.1, "size of the entries by which a block is mixed", above=0)
    learning_rate: float = parameter(0.05, "of the trained network", above=0)
    weight_decay: float = parameter(0.02, "of the trained network, in its gradient", minimum=0)
    updates: int = parameter(6000, "of the trained network", minimum=CURVE, maximum=10**6)


def variants(p):
    """Beside these networks: some of nearly equal gates, attention heads, one that is trained, few that are sampled."""
    return {
        "approximate": {"kind": "approximate", "samples": 4000},
        "heads": {"kind": "heads"},
        "decay": {"kind": "decay", "samples": 200},
        "sampled": {"kind": "sampled", "samples": 200, "networks": 3, "seeds": SEEDS},
    }


def labels(p):
    return {
        "free_source": np.array(SOURCES),
        "flipped_share": np.array(SHARES),
        "noise_scale": SCALES,
        "sampled_scale": SAMPLED,
        "decayed": np.array(TRAININGS),
        "update": shown(p),
    }


def shown(p):
    """Updates after which curves have a point."""
    return np.unique(np.linspace(0, p.updates, CURVE).astype(int))
