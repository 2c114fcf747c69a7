"""Parallelograms of embeddings: do they tell what a network that learned addition from some samples answers to the rest?"""

from dataclasses import dataclass

from foretrain.networks.embedding import ACTIVATIONS
from foretrain.study import choice, default
from foretrain.training.embedding import Toy, check, inputs, labels, program, reads, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, Figs 2, 3, 10-12"
COST = "4 min"
REFERENCES = ("liu2022",)
SEEDS = 20
AXES = {"training_size": (10, 15, 20, 25, 30, 38, 46, 54)}
PRESETS = {"paper": {"training_size": (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 54)}}
CIRCLE = {  # Fig. 2c, d; embeddings a thousand times as fast as the decoder
    "operation": "cyclic",
    "symbols": 11,
    "training_size": 60,
    "embedding_dim": 2,
    "objective": "classification",
    "activation": "leaky_relu",
    "init_law": "normal",
    "embedding_learning_rate": 0.03,
    "decoder_learning_rate": 3e-5,
}


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model; runs take a fixed number of steps."""

    operation: str = default("addition", sweepable=False)
    init_law: str = choice(
        "embeddings start uniformly in (-s/2, s/2), or normally with standard deviation s",
        ("uniform", "normal"),
    )
    activation: str = choice("units of the decoder's hidden layers", ACTIVATIONS)
    steps: int = default(5000)
    observe_every: int = default(500)
    stop: str = default("never")


def variants(p):
    """Return four numbers under a slow and a fast decoder, and embeddings in the plane."""
    if p.operation != "addition" or p.embedding_dim > 1 or p.start_file:
        return {}
    four = {"symbols": 4, "training_size": 10, "steps": min(2000, p.steps)}
    return {
        "slow": four,
        "fast": {**four, "decoder_learning_rate": 10 * p.decoder_learning_rate},
        "plane": {"embedding_dim": 2, "steps": min(2500, p.steps), "seeds": 20},
        "circle": CIRCLE,
    }
