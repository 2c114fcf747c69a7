"""Products that can be deduced from random training sets, before anything is trained."""

from functools import lru_cache

import numpy as np

from foretrain.study import Seed, generator
from foretrain.theory import parallelograms
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
    task = operation_of(name, symbols, ordered)
    count = len(task.samples)
    random = generator(Seed(0, 0), "deduction")
    order = np.argsort(random.random((DRAWS, count)), axis=1)
    share = np.ones((count, DRAWS))
    for size in range(1, count + 1):
        ideal = parallelograms.ideal(task, order < size)
        share[size - 1] = ideal.mean(-1)
        if (share[size - 1] == 1).all():
            break
    return share
