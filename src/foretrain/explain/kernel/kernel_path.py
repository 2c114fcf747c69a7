r"""The kernel along the way of the linearised network: what the next order changes in the predicted curve, without training.

With the residual r of the loss the weights follow w' = -J(w)^T r and the outputs f' = -K(w) r, K = J J^T. The kernel at the
start takes K(u) for K(w). Next, K is taken at the weights w_1 that the linearised network passes: f' = -K(w_1(t)) r. That is
one step of Picard's iteration: where the kernel's change is of order eps, the first curve misses by eps and the second by its
square. The difference of both is known before training, and says by how much the first misses.

K is measured at a few points of the way and is linear in between, in the distance of the weights from the start. In own steps
and batches, momentum and decay are those of `foretrain.explain.kernel.kernel_recursion`, with K of the step.
"""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.explain.kernel.kernel_recursion import LARGEST, Kernel, Predicted, slope
from foretrain.explain.own_network import observed

POINTS = 4  # at which the kernel is measured, fewer where they do not fit


def kernel_along(
    kernel: Kernel, rows: np.ndarray, at: np.ndarray, way: Predicted
) -> tuple[np.ndarray, np.ndarray]:
    """Training losses with the kernel along the way at the steps `at`, shape (time,), and the kernel where the way ends.

    Args:
        kernel: Of the start.
        rows: Minibatches, shape (step, example).
        at: Steps, ascending from 0.
        way: The linearised network at these steps.

    Cost: `POINTS` kernels, and their memory; every step a product of a kernel and a vector.
    """
    training, n = kernel.training, kernel.size
    first = kernel.values[:n]
    lengths = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", way.alpha, first, way.alpha), 0))
    distance = np.maximum.accumulate(lengths)
    number = int(np.clip(LARGEST // first.nbytes - 1, 1, POINTS))
    shares = np.arange(1, number) / number
    chosen = [int(np.argmax(distance >= share * distance[-1])) for share in shares]
    chosen = sorted({*chosen, len(at) - 1} - {0}) or [0]
    kernels = [first]
    for point in chosen:
        weights = kernel.weights_at(way.alpha[point], float(way.beta[point]))
        kernels.append(kernel.values_at(weights)[:n])
    steps = np.interp(np.arange(training.steps), at, distance)
    nodes = np.r_[0.0, distance[chosen]]
    place = np.interp(steps, nodes, np.arange(len(nodes)))
    left = np.minimum(place.astype(int), len(nodes) - 2)
    with jax.enable_x64(True):
        program = _program(training, kernel.tail, tuple(at))
        seen = rows if training.in_batches else None
        outputs = kernel.outputs[:n], kernel.shrinking[:n]
        losses = program(np.stack(kernels), left, place - left, *outputs, seen)
    return np.asarray(losses), kernels[-1]


@lru_cache(maxsize=2)
def _program(training, tail, at):
    return jax.jit(partial(_followed, training, tail, np.array(at)))


def _followed(training, tail, at, kernels, left, share, outputs, shrinking, rows):
    """Losses at the steps `at`."""
    y, rates = jnp.asarray(training.y), jnp.asarray(training.learning_rates)
    decay, momentum, width = training.weight_decay, training.momentum, int(np.prod(tail))

    def step(number, state):
        f, alpha, beta, a, b = state
        seen = np.arange(len(y)) if rows is None else rows[number]
        pull = slope(training, tail, f.reshape(-1, width)[seen], seen)
        a = momentum * a + pull + decay * alpha
        b = momentum * b + decay * (1 + beta)
        before, after = kernels[left[number]], kernels[left[number] + 1]
        image = (1 - share[number]) * (before @ a) + share[number] * (after @ a)
        rate = rates[number]
        return f - rate * (image + b * shrinking), alpha - rate * a, beta - rate * b, a, b

    def read(state):
        return training.loss(state[0].reshape(-1, *tail), y)

    zeros, zero = jnp.zeros_like(outputs), jnp.zeros(())
    return observed(step, read, (outputs, zeros, zero, zeros, zero), at)[1]
