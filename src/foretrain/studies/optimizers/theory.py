"""The loss of the optimizers study by the published rules."""

from functools import lru_cache

import numpy as np

from foretrain.studies.optimizers.study import Parameters, decay, draw
from foretrain.study import Seed
from foretrain.theory.published_rules import rank_one_losses

_BLOCK = 32  # seeds that go together, for speed


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """The loss of x y^T from a run's own target and start, until it and some other seeds are below the tolerance."""
    found = np.full(len(step), np.nan)
    curve = _losses(p, seed.root, seed.number // _BLOCK)[:, seed.number % _BLOCK]
    found[: len(curve)] = curve
    return {"loss": found}


@lru_cache(maxsize=2)
def _losses(p: Parameters, root: int, block: int) -> np.ndarray:
    """Losses at the stored steps of a block of seeds, shape (step, seed)."""
    seeds = (Seed(root, number) for number in range(block * _BLOCK, (block + 1) * _BLOCK))
    drawn = np.array([[[f[:, 0] for f in pair] for pair in draw(p, seed)] for seed in seeds])
    target, start = drawn.transpose(1, 2, 0, 3)  # shape (a or b, seed, n), (x or y, seed, n)
    stored = {"steps": p.steps, "every": p.observe_every, "tolerance": p.loss_tolerance}
    return rank_one_losses(p.optimizer, target, start, p.learning_rate, decay(p), **stored)
