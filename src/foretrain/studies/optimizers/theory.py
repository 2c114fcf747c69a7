"""The rules of descent, Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as published, in double precision."""

from functools import lru_cache

import numpy as np

from foretrain.studies.optimizers.study import Parameters, decay, draw
from foretrain.study import Seed

BETAS, EPSILON = (0.9, 0.999), 1e-8
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
    target, weights = drawn.swapaxes(0, 2).swapaxes(
        0, 1
    )  # shape (a or b, seed, n), (x or y, seed, n)
    memory, losses = (np.zeros_like(weights), np.zeros_like(weights)), []
    for count in range(p.steps + 1):
        overlaps, squares = (target * weights).sum(-1), (weights**2).sum(-1)
        if count % p.observe_every == 0:
            losses.append(1 - 2 * overlaps.prod(0) + squares.prod(0))
            if (losses[-1] <= p.loss_tolerance).all() or not np.isfinite(losses[-1]).any():
                break
        # The gradient for x is 2 |y|^2 x - 2 (b . y) a, and likewise for y.
        slope = 2 * (squares[::-1, :, None] * weights - overlaps[::-1, :, None] * target)
        weights, memory = _step(p, weights, slope, memory, count + 1)
    return np.array(losses)


def _step(p, weights, slope, memory, count):
    rate, pull = p.learning_rate, decay(p) * weights
    if p.optimizer in ("sgd", "sgd_decay"):
        return weights - rate * (slope + pull), memory
    first, second = (
        beta * old + (1 - beta) * new
        for beta, old, new in zip(BETAS, memory, (slope, slope**2), strict=True)
    )
    mean, square = (m / (1 - beta**count) for m, beta in zip((first, second), BETAS, strict=True))
    return weights - rate * (mean / (np.sqrt(square) + EPSILON) + pull), (first, second)
