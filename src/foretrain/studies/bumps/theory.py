"""Which target each component grows towards first, from its start alone."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.streams import Seed
from foretrain.studies.bumps.study import Parameters, draw_start
from foretrain.theory.first_target import first_targets
from foretrain.training.factorization import TRACKED


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """The first target of every component that is followed, -1 behind them, shape (ten components,)."""
    # Nothing of how it is trained matters, and many cells share one start.
    return {"first_target": _first(replace(p, optimizer="sgd", relative_rate=1.0), seed)}


@lru_cache(maxsize=10_000)
def _first(p: Parameters, seed: Seed) -> np.ndarray:
    found = first_targets(*draw_start(p, seed))[:TRACKED]
    return np.pad(found, (0, TRACKED - found.size), constant_values=-1)
