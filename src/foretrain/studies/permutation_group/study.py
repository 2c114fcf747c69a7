"""Permutation group: when are matrices of a non-abelian group learned from some of its products?"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.study import Seed, declare, default, generator
from foretrain.theory.grokking import parallelograms
from foretrain.training import embedding as toy
from foretrain.training.embedding import Toy, check, inputs, labels, program, reads, shared  # noqa: F401

SOURCE = "Liu et al. (2022), Towards understanding grokking, appendix H, Figs 16-18"
COST = "1 min"
REFERENCES = ("liu2022",)
EXPLORE = ("training_size",)
SEEDS = 12
AXES = {"training_size": (9, 12, 15, 18, 21, 24, 27, 30, 33)}
PRESETS = {
    "paper": {
        "seeds": 40,
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


def predict(p, step):
    """Mean share of parallelograms that a training set implies, and the median number of samples that implies all."""
    if toy.operation(p).symbols > 6:
        return {}
    share = implied_shares(p.operation, p.symbols, p.ordered)
    return {
        "ideal_rqi": share[p.training_size - 1].mean(),
        "deduction_size": 1 + np.median((share < 1).sum(0)),
    }


@lru_cache(maxsize=16)
def implied_shares(name: str, symbols: int, ordered: bool) -> np.ndarray:
    """Share of all parallelograms that the first n samples of a random order imply, (n, draw)."""
    task = toy.operation_of(name, symbols, ordered=ordered)
    count = len(task.samples)
    order = np.argsort(generator(Seed(0, 0), "deduction").random((100, count)), axis=1)
    return parallelograms.ideal(task, order < np.arange(1, count + 1)[:, None, None]).mean(-1)
