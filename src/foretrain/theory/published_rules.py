"""The rules of descent, Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019) as published, in double precision."""

import numpy as np

BETAS, EPSILON = (0.9, 0.999), 1e-8


def step(
    optimizer: str,
    weights,
    slope,
    memory,
    count: int,
    learning_rate: float,
    weight_decay: float = 0.0,
) -> tuple:
    """Weights and memory after one step.

    Args:
        optimizer: "sgd", "sgd_decay", "adam" or "adamw".
        slope: Gradient of the loss at the weights, without decay.
        memory: Running means of the gradient and of its square, both of zeros before the first step.
        count: Number of the step, from 1.
    """
    if optimizer in ("sgd", "sgd_decay"):
        return weights - learning_rate * (slope + weight_decay * weights), memory
    first, second = (
        beta * old + (1 - beta) * new
        for beta, old, new in zip(BETAS, memory, (slope, slope**2), strict=True)
    )
    mean, square = (m / (1 - beta**count) for m, beta in zip((first, second), BETAS, strict=True))
    change = mean / (np.sqrt(square) + EPSILON) + weight_decay * weights
    return weights - learning_rate * change, (first, second)


def factorization_losses(
    start: np.ndarray,
    learning_rate: float,
    target: np.ndarray,
    optimizer: str,
    weight_decay: float,
    *,
    steps: int,
    every: int,
    tolerance: float,
) -> np.ndarray:
    """Losses |sum_i a_i b_i^T - sum_j x_j y_j^T|^2 while the x_j and y_j are trained, shape (stored step, seed).

    `optimizer` is one of those of `step`. A step costs O(n k (k + r)) and seed.

    Args:
        start, target: The x_j and y_j, (2, seed, k, n), and the a_i and b_i of every seed, (2, seed, r, n).
        tolerance: It ends where all losses are at most this part of that of zero weights, or none is finite.
    """
    weights, losses = start, []
    memory = (np.zeros_like(weights), np.zeros_like(weights))
    across = (0, 1, 3, 2)
    whole = (target @ target.transpose(across)).prod(0).sum((1, 2))
    for count in range(steps + 1):
        overlaps = weights @ target.transpose(across)  # shape (x or y, seed, k, r)
        squares = weights @ weights.transpose(across)  # shape (x or y, seed, k, k)
        if count % every == 0:
            signal, own = overlaps.prod(0).sum((1, 2)), squares.prod(0).sum((1, 2))
            losses.append(whole - 2 * signal + own)
            if (losses[-1] <= tolerance * whole).all() or not np.isfinite(losses[-1]).any():
                break
        # The gradient for x_j is 2 sum_k (y_j . y_k) x_k - 2 sum_i (b_i . y_j) a_i, and likewise for y_j.
        slope = 2 * (squares[::-1] @ weights - overlaps[::-1] @ target)
        weights, memory = step(
            optimizer, weights, slope, memory, count + 1, learning_rate, weight_decay
        )
    return np.array(losses)


def forgetting(count: int) -> float:
    """The bias-corrected mean square of a gradient that is gone, after so many steps, up to a constant factor.

    The mean falls by beta_2 a step, and over 1 - beta_2^t as beta_2^t/(1 - beta_2^t).
    """
    left = BETAS[1] ** count
    return left / (1 - left)
