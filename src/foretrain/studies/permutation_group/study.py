"""Permutation group: when are matrices of a non-abelian group learned from some of its products?"""

from dataclasses import dataclass

from foretrain.study import declare, default
from foretrain.training.embedding import Toy, check, inputs, labels, program, shared  # noqa: F401
from foretrain.training.embedding_start import reads  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, appendix H, Figs 16-18"
COST = "1 min"
REFERENCES = ("liu2022",)
SEEDS = 12
AXES = {"training_size": (9, 12, 15, 18, 21, 24, 27, 30, 33)}
PRESETS = {
    "paper": {
        "seeds": 20,
        "training_size": (6, 9, 12, 14, 16, 18, 20, 22, 24, 27, 30, 33, 35),
        "hidden_width": 200,
        "steps": 50_000,
    }
}
declare(
    deduction_size="Median number of samples, in random order, from which on all parallelograms can be deduced."
)


@dataclass(frozen=True)
class Parameters(Toy):
    """Parameters of the toy model, by default for the permutations of three as matrices."""

    operation: str = default("symmetric")
    symbols: int = default(6)
    embedding_dim: int = default(3)
    parallelogram_tolerance: float = default(0.71)
    training_size: int = default(24)
    hidden_width: int = default(50)
    embedding_learning_rate: float = default(3e-3)
    decoder_learning_rate: float = default(1e-3)
    decoder_decay: float = default(30.0)
    steps: int = default(12_000)
    observe_every: int = default(500)
    stop: str = default("representation")
