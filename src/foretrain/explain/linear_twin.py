r"""The linear twin of a rectified network with two layers and no biases, which predicts its training on symmetric data.

Such a network is the sum of an odd part, linear in x, f_odd = c x A B with the layers A and B, and an even one. On data that
hold -x with -y for every x with y the loss is that of the odd part plus half the mean square of the even one, and while the
even part stays small the network trains as the linear network c x A B. Descent of that on all examples is a recursion of
S = (A, B^T):

    S <- S - eta (M + lambda) S,    M = [[0, c G], [c G^T, 0]],    G = X^T (c X A B - Y) / n

so that Q = S S^T, a square of inputs plus outputs, is known at every step, whatever the width. Without an even part, for two
linear layers, it holds on any data.
"""

from typing import Any

import jax
import numpy as np

from foretrain.explain.own_network import Training

# Of the loss at the start: an even part below it left misses of at most .012 of the loss in networks that were trained.
SMALL = 0.01
_ROUNDING = 1e-9


def linear_twin(training: Training, starts: Any, at: np.ndarray) -> np.ndarray | str:
    """Training losses of the linear twins at the steps `at`, shape (start, time), or why they predict nothing.

    `starts` are weights with a leading axis of starts. Cost: at every step three products of squares of inputs plus outputs.
    """
    leaves = jax.tree.leaves(starts)
    shapes = [np.shape(leaf)[1:] for leaf in leaves]
    if training.loss_name != "mse" or training.optimizer != "sgd":
        return "the loss is not squared, or the optimizer not plain descent"
    if training.in_batches:
        return "minibatches of symmetric data are not symmetric"
    if training.x.ndim != 2 or training.y.ndim != 2:
        return "inputs and outputs are not vectors"
    if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][0]:
        return "the network has not two matrices of weights, (input, unit) and (unit, output), and no others"
    drawn = [jax.tree.map(lambda leaf, k=k: leaf[k], starts) for k in range(len(leaves[0]))]
    factors = [_factor(training, weights) for weights in drawn]
    if None in factors:
        return "the network is not two layers without biases whose odd part is linear"
    parts = (_parts(training, weights, training.x) for weights in drawn)
    shares = [(even**2).sum() / ((odd + even - training.y) ** 2).sum() for odd, even in parts]
    largest = float(max(shares))  # half the mean square of the even part over the loss
    if largest > _ROUNDING and not _symmetric(training.x, training.y):
        return "the data are not symmetric: not every x with y has -x with -y"
    if largest > SMALL:
        return f"the even part of the network at the start is {largest:.2g} of the loss, and it must be below {SMALL}"
    return np.stack(
        [_recursion(training, weights, c, at) for weights, c in zip(drawn, factors, strict=True)]
    )


def _factor(training, weights):
    """The number c with f_odd = c x A B, None where there is none: of the data and of random inputs and weights."""
    random = np.random.default_rng(0)
    inputs = training.x.shape[1]
    cases = [(weights, training.x)]
    for _ in range(2):
        drawn = lambda leaf: np.asarray(leaf) * random.uniform(-2, 2, leaf.shape)  # noqa: E731
        cases.append((jax.tree.map(drawn, weights), random.standard_normal((8, inputs))))
    factors = []
    for weights, x in cases:
        first, last = map(np.asarray, jax.tree.leaves(weights))
        if first.shape[0] != inputs:
            return None
        odd, _ = _parts(training, weights, x)
        linear = x @ first @ last
        if odd.shape != linear.shape or not linear.any():
            return None
        factors.append((linear * odd).sum() / (linear**2).sum())
        if np.abs(odd - factors[0] * linear).max() > _ROUNDING * np.abs(odd).max():
            return None
    return float(factors[0])


def _parts(training, weights, x):
    """The odd and even part of the network, shape (example, output) each."""
    with jax.enable_x64(True):
        plus, minus = (np.asarray(training.apply(weights, signed)) for signed in (x, -x))
    return (plus - minus) / 2, (plus + minus) / 2


def _symmetric(x, y):
    """True if the examples are the same ones after all signs are turned."""
    both = np.c_[x, y] / np.abs(np.c_[x, y]).max()
    rows, turned = (np.round(signed, 9) + 0.0 for signed in (both, -both))
    return bool((rows[np.lexsort(rows.T)] == turned[np.lexsort(turned.T)]).all())


def _recursion(training, weights, c, at):
    """Losses of one twin."""
    first, last = map(np.asarray, jax.tree.leaves(weights))
    x, y, n, inputs = training.x, training.y, len(training.x), len(first)
    both = np.concatenate([first, last.T])
    square, losses = both @ both.T, np.empty(training.steps + 1)
    identity = np.eye(len(square))
    for step in range(training.steps + 1):
        error = c * x @ square[:inputs, inputs:] - y
        losses[step] = (error**2).sum() / (2 * n)
        if step == training.steps:
            break
        slope = np.zeros_like(square)
        slope[:inputs, inputs:] = c * x.T @ error / n
        slope += slope.T + training.weight_decay * identity
        change = identity - training.learning_rates[step] * slope
        square = change @ square @ change.T
    return losses[at]
