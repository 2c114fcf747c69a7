"""The interaction basis: is a network sparser in it than in principal components, singular vectors or its neurons?"""

from dataclasses import dataclass

import numpy as np

from foretrain.study import choice, declare, parameter, size

SOURCE = "Bushnaq et al. (2024), Using degeneracy in the loss landscape, section 6 and appendix A"
COST = "50 s"
REFERENCES = ("bushnaq2024degeneracy", "bushnaq2024basis")
SEEDS = 10
PRESETS = {"paper": {"seeds": 20, "centring": ("mean", "none"), "hidden_width": 128}}
BASES = ("global", "local", "pca", "svd", "neurons")
KEPT = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 32, 40, 50, 65, 100, 130)
EDGES = (5, 10, 20, 30, 45, 65, 100, 150, 225, 350, 500, 800, 1200, 1800, 2700, 4200, 8000)
SAMPLES = (100, 200, 400, 800, 1600)
DRAWN = 20  # directions of a layer whose edges are stored
MOMENTS = ("fitted", "end")
declare(
    "basis kept", direction_loss="Behavioural loss where so many directions of each layer are kept."
)
declare(
    "basis kept_edges",
    edge_loss="Behavioural loss where so many edges between two layers are kept.",
)
declare(
    "basis",
    directions_needed="Directions of each layer with which the loss is a share of that of none, interpolated.",
    edges_needed="Likewise edges between two layers.",
)
declare(
    fitted_accuracy="Share of its examples that the network answers right.",
    module_agreement="Adjusted Rand index of modules and best frequencies.",
    module_purity="Share of directions of their module's commonest frequency, 0 by chance and 1 at most.",
    identity_gap="Largest entry of layer map minus identity.",
    importance_gap="Largest difference of importances, over the largest.",
    edge_gap="Largest edge minus importance, over the largest importance.",
    cross_on_product="Largest E^(1/2) between independent blocks, over the largest.",
)
declare("moment", unseen_accuracy="Share of the pairs not trained that are answered right.")
MEAN = "mean by variance times effect on outputs"
declare(
    "moment basis node_layer",
    frequency_share=f"Power of a direction at its best frequency of the symbols, {MEAN}.",
)
declare(
    "moment node_layer",
    shuffled_share=f"Power of a direction of the global basis at the best frequency where symbols are shuffled, {MEAN}.",
)
declare(
    "moment basis direction frequency",
    input_spectrum="Power at each frequency of the most important directions of the input.",
)
MOST = "of the most important directions of the local basis"
declare("section direction_to direction", edge_strength=f"E^(1/2) {MOST}, rows the next layer's.")
declare(
    "node_layer direction",
    kind="int",
    module=f"Module {MOST}, -1 for none.",
    direction_frequency=f"Best frequency {MOST}, -1 for none.",
)
declare(
    "sample_count",
    cross_on_samples="Sum of E between independent blocks on so many samples, over that of all: median of networks.",
)


@dataclass(frozen=True)
class Parameters:
    """A perceptron that was trained or made, and the bases that are compared."""

    task: str = choice(
        "rectified networks on digits or on addition modulo p, a transformer on the latter, a deep linear one, or two blocks",
        ("digits", "modular", "transformer", "linear", "blocks"),
        sweepable=False,
    )
    centring: str = choice(
        "activations are measured from their mean, or biases are folded in", ("mean", "none")
    )
    hidden_width: int = size(64, "width of both hidden layers", 256, minimum=8)
    modulus: int = size(11, "p of the addition", 31, minimum=3)
    embedding_dim: int = size(32, "coordinates of a token of the transformer", 256, minimum=2)
    training_share: float = parameter(
        0.8, "share of all pairs that the transformer is trained on", above=0, maximum=1
    )
    updates: int = parameter(400, "steps of Adam", minimum=1, maximum=10**5)
    batch_size: int = parameter(256, "examples of a step", minimum=1, maximum=10**4)
    learning_rate: float = parameter(0.003, "learning rate of Adam", above=0)
    weight_decay: float = parameter(0.01, "decoupled decay of all parameters", minimum=0)
    points: int = parameter(5, "points of the integral of an edge", minimum=1, maximum=100)
    tolerance: float = parameter(
        0.01, "share of the loss with nothing kept that may be lost", above=0, maximum=0.5
    )


def variants(p):
    """Return addition modulo p by two networks, a deep linear network, and two blocks that share nothing."""
    if p.task != "digits":
        return {}
    attention = {"task": "transformer", "updates": 10 * p.updates, "weight_decay": 1.0}
    return {
        "modular": {"task": "modular", "updates": 5 * p.updates, "weight_decay": 0.3},
        "transformer": attention | {"modulus": min(p.modulus + 2, 31)},
        "linear": {"task": "linear"},
        "blocks": {"task": "blocks"},
    }


def labels(p):
    return {
        "basis": np.array(BASES),
        "kept": np.array(KEPT),
        "kept_edges": np.array(EDGES),
        "sample_count": np.array(SAMPLES),
        "moment": np.array(MOMENTS),
        "frequency": np.arange(1, p.modulus // 2 + 1),
    }
