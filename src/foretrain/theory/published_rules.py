"""The rules of descent, Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as published, in double precision."""

import numpy as np

BETAS, EPSILON = (0.9, 0.999), 1e-8


def step(optimizer: str, weights, slope, memory, count: int, rate: float, decay: float) -> tuple:
    """Weights and memory after one step.

    Args:
        optimizer: "sgd", "sgd_decay", "adam" or "adamw".
        weights: An array of any shape.
        slope: Gradient of the loss there, without decay.
        memory: Running means of the gradient and of its square, both of zeros before the first step.
        count: Number of the step, from 1.
        rate: Learning rate.
        decay: Lambda, which pulls apart from the gradient's means.
    """
    if optimizer in ("sgd", "sgd_decay"):
        return weights - rate * (slope + decay * weights), memory
    first, second = (
        beta * old + (1 - beta) * new
        for beta, old, new in zip(BETAS, memory, (slope, slope**2), strict=True)
    )
    mean, square = (m / (1 - beta**count) for m, beta in zip((first, second), BETAS, strict=True))
    change = mean / (np.sqrt(square) + EPSILON) + decay * weights
    return weights - rate * change, (first, second)


def rank_one_losses(
    optimizer: str,
    target: np.ndarray,
    start: np.ndarray,
    rate: float,
    decay: float,
    *,
    steps: int,
    every: int,
    tolerance: float,
) -> np.ndarray:
    """Losses |a b^T - x y^T|^2 of unit vectors a, b while x and y are trained, shape (stored step, seed).

    Args:
        optimizer: As in `step`.
        target: a and b of every seed, shape (2, seed, n).
        start: x and y, of that shape.
        rate: Learning rate.
        decay: Lambda.
        steps: Largest number of steps.
        every: Stride of what is stored.
        tolerance: It ends where all losses are at most this, or none is finite.
    """
    weights, losses = start, []
    memory = (np.zeros_like(weights), np.zeros_like(weights))
    for count in range(steps + 1):
        overlaps, squares = (target * weights).sum(-1), (weights**2).sum(-1)
        if count % every == 0:
            losses.append(1 - 2 * overlaps.prod(0) + squares.prod(0))
            if (losses[-1] <= tolerance).all() or not np.isfinite(losses[-1]).any():
                break
        # The gradient for x is 2 |y|^2 x - 2 (b . y) a, and likewise for y.
        slope = 2 * (squares[::-1, :, None] * weights - overlaps[::-1, :, None] * target)
        weights, memory = step(optimizer, weights, slope, memory, count + 1, rate, decay)
    return np.array(losses)
