"""Products that can be deduced from random training sets, before anything is trained."""

from functools import lru_cache

import numpy as np

from foretrain.study import Seed, generator
from foretrain.theory.grokking import parallelograms
from foretrain.training.embedding import operation
from foretrain.training.embedding_start import operation_of

DRAWS = 100


def predict(p, step):
    """Mean share of parallelograms that a training set implies, and the median number of samples that implies all."""
    if operation(p).symbols > 6:
        return {}
    share = implied_shares(p.operation, p.symbols, p.ordered)
    return {
        "ideal_rqi": share[p.training_size - 1].mean(),
        "deduction_size": 1 + np.median((share < 1).sum(0)),
    }


@lru_cache(maxsize=16)
def implied_shares(name: str, symbols: int, ordered: bool) -> np.ndarray:
    """Share of all parallelograms that the first n samples of a random order imply, (n, draw)."""
    task = operation_of(name, symbols, ordered=ordered)
    count = len(task.samples)
    order = np.argsort(generator(Seed(0, 0), "deduction").random((DRAWS, count)), axis=1)
    sizes = np.arange(1, count + 1)[:, None, None]
    return parallelograms.ideal(task, order < sizes).mean(-1)
