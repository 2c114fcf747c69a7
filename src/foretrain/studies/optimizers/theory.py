"""The loss of the optimizers study by the published rules."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from foretrain.study import Seed, float_type
from foretrain.theory.published_rules import factorization_losses

from .study import decay, draw, variants

_BLOCK = 32  # seeds that go together, for speed
_SEEDS, _STEPS = 8, 300  # of higher rank, where a step takes longer


def predict(p, step, seed):
    """The loss of a run's own target and start, and that of AdamW with strong decay.

    At rank one until the run and some other seeds are below the tolerance; at higher rank, and with strong decay, the first
    steps of the first seeds, nan elsewhere. Computed in double precision, given in that of the runs.
    """
    losses = {"loss": _curve(p, step, seed, p.rank == 1)}
    if p.optimizer == "adamw":
        strong = replace(p, **variants(p)["strong_decay"])
        losses["strong_loss"] = _curve(strong, step[: _STEPS // p.observe_every + 1], seed, False)
    return losses


def _curve(p, step, seed, whole):
    losses = np.full(len(step), np.nan, float_type(p.precision))  # many long curves
    if whole or seed.number < _SEEDS:
        size = _BLOCK if whole else _SEEDS
        short = p if whole else replace(p, steps=min(p.steps, _STEPS))
        curve = _losses(short, seed.root, seed.number // size, size)[:, seed.number % size]
        losses[: len(curve)] = curve[: len(step)]
    return losses


@lru_cache(maxsize=4)
def _losses(p, root, block, size):
    """Losses at the stored steps of a block of seeds, shape (step, seed)."""
    seeds = (Seed(root, number) for number in range(block * size, (block + 1) * size))
    drawn = np.array([[[f.T for f in pair] for pair in draw(p, seed)] for seed in seeds])
    # Shape (a or b, seed, r, n), (x or y, seed, r, n).
    target, start = drawn.transpose(1, 2, 0, 3, 4)
    stored = {"steps": p.steps, "every": p.observe_every, "tolerance": p.loss_tolerance}
    return factorization_losses(start, p.learning_rate, target, p.optimizer, decay(p), **stored)
