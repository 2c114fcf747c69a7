r"""The kernel at the start, and what it predicts in the user's own steps and batches without a step of training.

The network linearised at its start u moves by theta = J^T alpha + beta u: alpha has a number for each training output, and
weight decay shrinks the start itself. A step of rate eta on a minibatch B with momentum mu and decay lambda is then

    a <- mu a + dl/df on B + lambda alpha,  alpha <- alpha - eta a;  b <- mu b + lambda (1 + beta),  beta <- beta - eta b

with the outputs f = f(u) + K alpha + beta J u, K = J J^T. Of squared error it is linear; every other loss is a function of the
outputs, too. The flow of squared error has the closed form e^{-K t/n}. Any rule that is linear in gradients acts likewise.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from foretrain.errors import ForetrainError, TooLarge, argument_error
from foretrain.explain.corners import corner, program
from foretrain.explain.kernel.kernel_values import kernel_function
from foretrain.explain.own_network import Training, observed
from foretrain.explain.simulated import Curves
from foretrain.plans.place import place

LARGEST = 2.5e8  # bytes of the kernels that are kept together
_VECTORS = 24  # of Lanczos' method
_kernel = lru_cache(maxsize=2)(kernel_function)


class Kernel:
    """The kernel of one start, or of a part of its training examples where it is one of `number` and they would not fit.

    Attributes:
        part: The training of the examples that it is of; `whole` is True if these are all.
        values: K of all outputs, test outputs behind training ones, and training outputs: shape (output, training output).
        outputs: f(u), shape (output,); `shrinking` J u likewise.

    Raises:
        TooLarge: The kernel of a single example does not fit.
        ForetrainError: The network raises; the text has the line.
    """

    def __init__(self, training: Training, start: Any, number: int = 1):
        self.training, self.start = training, start
        try:
            with jax.enable_x64(True):
                n, tests = len(training.x), 0 if training.x_test is None else len(training.x_test)
                self.tail = jax.eval_shape(training.apply, start, training.x).shape[1:]
                width, most = int(np.prod(self.tail)), LARGEST / 8 / number
                self.whole = (n + tests) * n * width**2 <= most
                self.part = training if self.whole else _part(training, int(most**0.5 / width))
                self.size = len(self.part.x) * width
                kernel = _kernel(self.part)(start)
        except ForetrainError:
            raise
        except Exception as error:
            raise ForetrainError(f"The network cannot be linearised: {place(error)}") from error
        self.values, self.outputs, self.shrinking = map(np.asarray, kernel)
        if not self.values.any():
            raise argument_error("init", "give outputs a gradient", "gives none at this start")

    @cached_property
    def edge(self) -> float:
        """`edge_share` of the linearised network at the start, at the largest rate."""
        start, rate = self.start, self.training.learning_rates.max()
        return edge_share(self.training, start, start, linearised=True, learning_rate=rate)

    def predicted(self, rows: np.ndarray, at: np.ndarray) -> Curves:
        """The linearised network from this start at the steps `at`, in own steps and batches `rows`, (step, example)."""
        with jax.enable_x64(True):
            seen = rows if self.training.in_batches else None
            recursion = program(_recursion, self.training, self.tail, tuple(at))
            (moved, _), (train, test) = recursion(self.values, self.outputs, self.shrinking, seen)
            weights = program(_moved, self.training)(self.start, *moved)
        return Curves(np.asarray(train), None if test is None else np.asarray(test), weights)

    def values_at(self, weights: Any) -> np.ndarray:
        """The values of the kernel at other weights."""
        with jax.enable_x64(True):
            return np.asarray(_kernel(self.part)(weights)[0])

    def flow(self, at: np.ndarray) -> np.ndarray:
        """Training loss of the flow of squared error in closed form, shape (time,); momentum lengthens its time."""
        training, n = self.training, len(self.training.x)
        time = np.r_[0, np.cumsum(training.learning_rates)][at] / (1 - training.momentum)
        error, decay = self.outputs[: self.size] - training.y.ravel(), training.weight_decay
        kernel, shrinking = self.values[: self.size] / n, self.shrinking[: self.size]
        values, vectors = np.linalg.eigh(kernel)
        rates = np.maximum(values, 0) + decay
        with np.errstate(divide="ignore", invalid="ignore"):
            gone = np.where(rates > 0, -np.expm1(-np.outer(time, rates)) / rates, time[:, None])
        left = error - (gone * (vectors.T @ (kernel @ error + decay * shrinking))) @ vectors.T
        return (left**2).sum(1) / (2 * n)

    def movement(self, values: np.ndarray) -> float:
        """The difference of other values of the kernel from these, over these, of training outputs."""
        start, end = self.values[: self.size], values[: self.size]
        return float(np.linalg.norm(end - start) / np.linalg.norm(start))


@lru_cache(maxsize=2)
def _part(training, number):
    """The training with so many of its examples, evenly spaced, and no test."""
    if number < 1:
        raise TooLarge("The kernel of one example does not fit: give a network with fewer outputs.")
    number = min(number, len(training.x))
    rows = np.linspace(0, len(training.x) - 1, number).round().astype(int)
    return replace(training, x=training.x[rows], y=training.y[rows], x_test=None, y_test=None)


def edge_share(
    training: Training, start: Any, weights: Any, *, linearised: bool, learning_rate: float
) -> float:
    """Return the learning rate times the sharpness of the training loss, over the largest product that is stable.

    That is two (1 + momentum), of Nesterov's rule over 1 + 2 momentum, too. The sharpness is that of the network at
    `weights`, or of the network linearised at `start` if `linearised`.
    """
    with jax.enable_x64(True):
        top = float(program(_top, training, linearised)(start, weights))
    ahead = 2 * training.momentum * (training.optimizer == "nesterov")
    return float(learning_rate) * top / 2 / (1 + training.momentum) * (1 + ahead)


def diverged(train: np.ndarray) -> bool:
    """True if a training curve, shape (time,), is not finite or exceeds twice the loss at its start."""
    return not (np.isfinite(train).all() and train.max() <= 2 * train[0])


def _top(training, linearised, start, weights):
    """The sharpness of the training loss."""
    network = corner(training.apply, layers=not linearised, gates=not linearised)
    loss = lambda w: training.loss(network(w, start, training.x), training.y)  # noqa: E731
    return sharpness(loss, weights)


def _recursion(training, tail, at, kernel, outputs, shrinking, rows):
    """The last alpha and beta with the memory of the optimizer, and losses at the steps `at`."""
    examples, width = len(training.x), int(np.prod(tail))
    y, rates = jnp.asarray(training.y), jnp.asarray(training.learning_rates)
    by_example = kernel.reshape(-1, width, kernel.shape[1])
    first, shrinking = outputs.reshape(-1, width), shrinking.reshape(-1, width)

    def outputs_at(moved, seen):
        alpha, beta = moved
        return first[seen] + by_example[seen] @ alpha + beta * shrinking[seen]

    def step(number, state):
        moved, memory = state
        seen = np.arange(examples) if rows is None else rows[number]
        loss = lambda f: training.loss(f.reshape(-1, *tail), y[seen])  # noqa: E731
        slopes = jax.grad(loss)(outputs_at(moved, seen))
        pull = jnp.zeros((examples, width)).at[seen].add(slopes).ravel()
        pulls = pull, jnp.asarray(training.weight_decay)
        changes, memory = training.rule(rates[number]).update(pulls, memory, moved)
        return optax.apply_updates(moved, changes), memory

    def read(state):
        outputs = outputs_at(state[0], slice(None)).reshape(-1, *tail)
        train, test = training.loss(outputs[:examples], y), None
        if training.x_test is not None:
            test = training.loss(outputs[examples:], jnp.asarray(training.y_test))
        return train, test

    zeros = jnp.zeros(kernel.shape[1]), jnp.zeros(())
    return observed(step, read, (zeros, training.rule(0.0).init(zeros)), np.array(at))


def _moved(training, start, alpha, beta):
    """The weights u + J^T alpha + beta u."""
    _, pull = jax.vjp(lambda w: training.apply(w, training.x).ravel(), start)
    return jax.tree.map(lambda u, more: u + more + beta * u, start, pull(alpha)[0])


def sharpness(loss: Callable[[Any], Any], weights: Any) -> Any:
    """The largest eigenvalue of the Hessian of ``loss(weights)``, traceable; 24 products of Hessian and vector.

    The Krylov space is kept orthogonal in full, so that the estimate is a lower bound, and exact where there are no more than
    24 weights.
    """
    flat, shaped = ravel_pytree(weights)
    gradient = jax.grad(lambda point: loss(shaped(point)))
    number = min(_VECTORS, flat.size)
    first = jax.random.normal(jax.random.key(0), flat.shape, flat.dtype)
    space = jnp.zeros((number + 1, flat.size), flat.dtype).at[0].set(first / jnp.linalg.norm(first))

    def widen(at, state):
        space, images = state
        image = jax.jvp(gradient, (flat,), (space[at],))[1]
        left = image - space.T @ (space @ image)
        left = left - space.T @ (space @ left)
        length = jnp.linalg.norm(left)
        # What is left of an exhausted space is rounding, which is no direction.
        kept = length > 1e-10 * (jnp.linalg.norm(image) + 1e-300)
        left = jnp.where(kept, left / jnp.where(kept, length, 1.0), 0.0)
        return space.at[at + 1].set(left), images.at[at].set(image)

    images = jnp.zeros((number, flat.size), flat.dtype)
    space, images = jax.lax.fori_loop(0, number, widen, (space, images))
    small = space[:number] @ images.T
    # A vector that is zero adds an eigenvalue 0 that is not the Hessian's; it is below all others.
    absent = (space[:number] ** 2).sum(1) < 0.5
    small = (small + small.T) / 2 - jnp.diag(absent * (1.0 + jnp.abs(small).sum()))
    return jnp.linalg.eigvalsh(small)[-1]
