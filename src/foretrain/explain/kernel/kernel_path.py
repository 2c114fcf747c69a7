r"""The kernel along the way of the linearised network: what the next order changes in the predicted curve, without training.

With the residual r of the loss the weights follow w' = -J(w)^T r and the outputs f' = -K(w) r, K = J J^T. The kernel at the
start takes K(u) for K(w). Next, K is taken at the weights w_1 that the linearised network passes: f' = -K(w_1(t)) r. That is
one step of Picard's iteration: where the kernel's change is of order eps, the first curve misses by eps and the second by its
square. The difference of both is known before training, and says by how much the first misses.

No kernel is made: K a is J (J^T a). In own steps and batches, momentum and decay are those of
`foretrain.explain.kernel.kernel_recursion`, with K of the step.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from foretrain.explain.corners import corner, program
from foretrain.explain.own_network import Training, observed


def kernel_along(training: Training, start: Any, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Training losses with the kernel along the way at the steps `at`, shape (time,).

    `rows` are minibatches, shape (step, example), `at` ascends from 0. Cost: every step about two gradients of all examples.
    """
    with jax.enable_x64(True):
        followed = program(_followed, training, tuple(at))
        return np.asarray(followed(start, rows if training.in_batches else None))


def _followed(training, at, start, rows):
    """Losses at the steps `at`."""
    x, y, rates = map(jnp.asarray, (training.x, training.y, training.learning_rates))
    network = lambda w: training.apply(w, x)  # noqa: E731
    linear = corner(training.apply, layers=False, gates=False)
    outputs, shrinking = jax.jvp(network, (start,), (start,))

    def step(number, state):
        moved, memory, f = state
        w, *_ = moved
        seen = slice(None) if rows is None else rows[number]
        slopes = jax.grad(lambda w: training.loss(linear(w, start, x[seen]), y[seen]))(w)
        pull = jax.grad(lambda f: training.loss(f[seen], y[seen]))(f)
        pulls = slopes, pull, jnp.asarray(training.weight_decay)
        changes, memory = training.rule(rates[number]).update(pulls, memory, moved)
        image = jax.jvp(network, (w,), jax.vjp(network, w)[1](changes[1]))[1]
        return optax.apply_updates(moved, changes), memory, f + image + changes[2] * shrinking

    moved = start, jnp.zeros_like(outputs), jnp.zeros(())
    state = moved, training.rule(0.0).init(moved), outputs
    return observed(step, lambda state: training.loss(state[2], y), state, np.array(at))[1]
