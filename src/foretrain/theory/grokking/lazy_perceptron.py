"""Generalisation of a perceptron from a large start: weight decay shrinks the start, its tangent kernel does the rest.

A large start is a random function that training cancels on the training images alone. Decay takes weights w of rate eta to
w (1 - eta lambda)^k after k steps. The perceptron linearised there and fitted by least change answers other images by

    f(x) + K(x, X) K(X, X)^-1 (Y - f(X)),

K the tangent kernel, mean over outputs. Small starts leave the kernel's own answer, large ones their noise. See
docs/theory/lazy-perceptron.md.
"""

import numpy as np

from foretrain.networks.embedding import Decoder
from foretrain.networks.perceptron import layers

_STRIDE, _FURTHEST, _HALVINGS = 0.05, 5.0, 4  # of the mean logarithm by which weights have shrunk
_ROUNDING = 1e-12  # of the mean of the kernel's diagonal


def shrunk(start: Decoder, body: float, last: float) -> Decoder:
    """The start with the two hidden layers, and the last one, multiplied by these."""
    return Decoder(*(body * part for part in start[:4]), *(last * part for part in start[4:]))


def kernel(weights: Decoder, images: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Tangent kernel, mean over outputs, (sample, other): weights and biases of every layer count."""
    sides = []
    for part in (images, others):
        first, second, _ = layers(weights, part)
        sides.append((part, first, second, first > 0, (second > 0).astype(float)))
    (x, h, g, on, up), (y, h_, g_, on_, up_) = sides
    outputs = weights.weight_3.shape[1]
    total = g @ g_.T + 1
    total += (h @ h_.T + 1) * ((up * (weights.weight_3**2).mean(1)) @ up_.T)
    below = np.zeros_like(total)
    for column in weights.weight_3.T:
        back, back_ = ((s * column) @ weights.weight_2.T for s in (up, up_))
        below += (back * on) @ (back_ * on_).T
    return total + (x @ y.T + 1) * below / outputs


def lazy_answers(weights: Decoder, images, targets, others) -> np.ndarray:
    """Outputs for other images of the linearised perceptron that has fitted targets (sample, output) by least change."""
    within = kernel(weights, images, images)
    within[np.diag_indices_from(within)] += _ROUNDING * np.trace(within) / len(within)
    change = np.linalg.solve(within, targets - layers(weights, images)[2])
    return layers(weights, others)[2] + kernel(weights, others, images) @ change


def shrinking(hidden_learning_rate: float, last_learning_rate: float, weight_decay: float) -> float:
    """Fall per step of the logarithm of weights, mean over the three layers; nan where a step overshoots."""
    three = [hidden_learning_rate, hidden_learning_rate, last_learning_rate]
    rates = np.array(three) * weight_decay
    return float(abs(np.log1p(-rates).mean())) if rates.max() < 1 else np.nan


def lazy_step(
    start: Decoder,
    images: np.ndarray,
    labels: np.ndarray,
    others: np.ndarray,
    other_labels: np.ndarray,
    *,
    hidden_learning_rate: float,
    last_learning_rate: float,
    weight_decay: float,
    threshold: float,
) -> float:
    """First step at which the linearised perceptron answers a fraction `threshold` of other images right.

    Images are (sample, pixel), labels (sample,), of the training set and of others; rates those of the hidden layers and of
    the last one, the weight decay, decoupled, that of all. At the step weights are known to .3%; it is infinity for never,
    nan where decay overshoots.
    """
    targets = np.eye(start.bias_3.size)[labels]
    per_step = shrinking(hidden_learning_rate, last_learning_rate, weight_decay)
    if np.isnan(per_step):
        return np.nan

    def enough(depth):
        step = depth / per_step if per_step > 0 else 0.0
        rates = hidden_learning_rate, last_learning_rate
        weights = shrunk(start, *((1 - rate * weight_decay) ** step for rate in rates))
        answers = lazy_answers(weights, images, targets, others)
        return (answers.argmax(1) == other_labels).mean() >= threshold

    if enough(0.0):
        return 0.0
    if per_step == 0:
        return np.inf
    for above in np.arange(_STRIDE, _FURTHEST, _STRIDE):
        if enough(above):
            below = above - _STRIDE
            for _ in range(_HALVINGS):
                middle = (below + above) / 2
                below, above = (below, middle) if enough(middle) else (middle, above)
            return float(above / per_step)
    return np.inf
