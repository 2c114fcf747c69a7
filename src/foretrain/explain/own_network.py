"""A training of the user's own: network, data, loss, optimizer and learning rate, as pure functions and arrays in float64.

Weights at the start and minibatches are functions of a seed: start number k is ``init(key)`` of the k-th key, and its
batches are cut from one permutation of the examples per epoch, of which an incomplete last batch is left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from foretrain.dynamics import descent
from foretrain.elsewhere.adapters import check_collections
from foretrain.errors import (
    ForetrainError,
    argument_error,
    finite_array,
    integer,
    one_of,
    real,
    same_length,
)
from foretrain.explain.convolutions import without_convolutions
from foretrain.plans.place import place
from foretrain.streams import Seed, generator, key

OPTIMIZERS = (*descent.OPTIMIZERS, "nesterov")
# Optimizers that have an argument, by its name.
_TAKERS = {"momentum": ("momentum", "nesterov"), "betas": ("adam", "adamw")}
_ROOT = 0
_DRAWS = "The network draws random numbers by a key of its own: they are the same in every step."


@dataclass(frozen=True, eq=False)
class Training:
    """A training as it is described: what `described` is given, checked, and these.

    Attributes:
        loss: ``loss(outputs, y)``: one number, the mean over examples; its `loss_name` is ``own`` where it is the user's.
        learning_rates: Learning rate of every step, shape (step,).
        momentum: Of ``momentum`` and ``nesterov``, 0 of every other.
        clip: Infinite where nothing is clipped.
        notes: Lines that a reader of its results must know, such as how its starts are drawn.
        single: True if there is one start alone.
    """

    apply: Callable[[Any, Any], Any]
    init: Callable[[Any], Any]
    loss: Callable[[Any, Any], Any]
    loss_name: str
    x: Any
    y: Any
    x_test: Any
    y_test: Any
    optimizer: str
    learning_rates: np.ndarray
    batch_size: int
    momentum: float
    weight_decay: float
    order: np.ndarray | None = None
    clip: float = np.inf
    betas: tuple[float, float] = (0.9, 0.999)
    notes: tuple[str, ...] = ()
    single: bool = False

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.learning_rates)

    @property
    def epoch_steps(self) -> int:
        """Number of steps in an epoch."""
        return len(self.x) // self.batch_size

    @property
    def adaptive(self) -> bool:
        """True where a step is no multiple of gradients: of Adam and AdamW, and where these are clipped."""
        return self.optimizer.startswith("adam") or self.clip < np.inf

    def rule(self, learning_rate: Any) -> optax.GradientTransformation:
        """The optimizer, as in PyTorch: gradients are clipped before decay is added."""
        decay, adam = optax.add_decayed_weights(self.weight_decay), optax.scale_by_adam(*self.betas)
        trace = optax.trace(self.momentum, nesterov=self.optimizer == "nesterov")
        kinds = {"sgd": [decay], "adam": [decay, adam], "adamw": [adam, decay]}
        parts = kinds.get(self.optimizer, [decay, trace])
        clip = [optax.clip_by_global_norm(self.clip)] if self.clip < np.inf else []
        return optax.chain(*clip, *parts, optax.scale_by_learning_rate(learning_rate))

    @property
    def in_batches(self) -> bool:
        """True if a step sees a part of the examples."""
        return self.batch_size < len(self.x)


def described(
    apply: Callable,
    init: Callable,
    x,
    y,
    *,
    learning_rate: float | str | Callable | np.ndarray,
    steps: int,
    batch_size: int | None = None,
    loss: str | Callable = "mse",
    optimizer: str = "sgd",
    momentum: float | str | None = None,
    weight_decay: float | str = 0.0,
    order=None,
    clip: float | str | None = None,
    betas: Sequence[float | str] | None = None,
    x_test=None,
    y_test=None,
) -> Training:
    """Check a description of a training and call its functions once.

    Args:
        apply: ``apply(weights, x)``, pure, in JAX.
        init: ``init(key)``, a function of its key alone.
        x: Training inputs, examples first.
        y: Targets: of the shape of the outputs for ``mse``, class numbers (example,) for ``cross_entropy``.
        learning_rate: One number, those of every step (step,), or a schedule ``learning_rate(step)`` with steps from 0.
        steps: Number of steps.
        batch_size: Examples in a minibatch; by default all, or as many as in one of `order`.
        loss: ``mse``, the mean over examples of half the squared error, ``cross_entropy``, or ``loss(outputs, y)`` that gives
            the mean over the examples it is given.
        optimizer: ``sgd``, ``momentum``, ``nesterov``, ``adam`` or ``adamw``.
        momentum: Of ``momentum`` and ``nesterov`` alone; by default 0.9.
        weight_decay: Added to the gradient; of ``adamw`` decoupled.
        order: Numbers of the examples of every minibatch, (step, example), the same from every start; by default a
            permutation of all for every epoch and start.
        clip: Largest norm of all gradients together, to which longer ones are scaled; by default none are.
        betas: Of ``adam`` and ``adamw`` alone, both below 1; by default 0.9 and 0.999.
        x_test, y_test: Test examples.

    Raises:
        ArgumentError: An argument breaks its rule.
        ForetrainError: A function of the user raises; the text has its file and line.
    """
    one_of("optimizer", optimizer, OPTIMIZERS)
    for name, function in (("apply", apply), ("init", init)):
        if not callable(function):
            raise argument_error(name, "be a function", f"is {function!r}")
    x, y = _data("x", x), _data("y", y)
    examples = same_length(x=x, y=y)
    if (x_test is None) != (y_test is None):
        raise argument_error("x_test", "be given together with `y_test`", "stands alone")
    if x_test is not None:
        x_test, y_test = _data("x_test", x_test), _data("y_test", y_test)
        same_length(x_test=x_test, y_test=y_test)
        for name, array, other in (("x_test", x_test, x), ("y_test", y_test, y)):
            if array.shape[1:] != other.shape[1:]:
                rule = f"have examples of shape {other.shape[1:]}"
                raise argument_error(name, rule, f"has {array.shape[1:]}")
    steps = integer("steps", steps, minimum=1)
    size, notes = examples if batch_size is None else batch_size, ()
    if order is not None:
        rows = finite_array("order", order, ndim=2)
        order, others = rows[:steps], np.setdiff1d(rows, np.arange(examples))
        if len(rows) < steps or not 0 < rows.shape[1] <= examples or others.size:
            rule = f"hold whole numbers below {examples}, at most as many in a row for each of {steps} steps"
            got = f"has {others[0]:g}" if others.size else f"has the shape {rows.shape}"
            raise argument_error("order", rule, got)
        notes = (f"The order's first {steps} of {len(rows)} rows are taken.",) * (steps < len(rows))
        size = order.shape[1]
        if batch_size not in (None, size):
            rule = f"be {size}, the number of examples in a row of the order"
            raise argument_error("batch_size", rule, f"is {batch_size}", "Leave it out.")
    for name, value in (("momentum", momentum), ("betas", betas)):
        first, second = _TAKERS[name]
        if value is not None and optimizer not in (first, second):
            rule, repair = f"be given for {first} or {second} alone", f"Try optimizer `{first}`."
            raise argument_error(name, rule, f"is for {optimizer}", repair)
    momentum = 0.9 * (optimizer in _TAKERS["momentum"]) if momentum is None else momentum
    betas = (0.9, 0.999) if betas is None else betas
    if np.shape(betas) != (2,):
        raise argument_error("betas", "be two numbers", f"is {betas!r}")
    first, second = (real("betas", beta, minimum=0, maximum=0.99999) for beta in betas)
    training = Training(
        apply,
        init,
        _LOSSES[one_of("loss", loss, tuple(_LOSSES))] if isinstance(loss, str) else loss,
        loss if isinstance(loss, str) else "own",
        *(x, y, x_test, y_test),
        optimizer,
        _learning_rates(learning_rate, steps),
        integer("batch_size", size, minimum=1, maximum=examples),
        real("momentum", momentum, minimum=0, maximum=0.999),
        real("weight_decay", weight_decay, minimum=0),
        order,
        np.inf if clip is None else real("clip", clip, above=0),
        (first, second),
    )
    return _checked(training, notes)


def starts(training: Training, number: int) -> Any:
    """Weights of several starts in float64, a leading axis of starts on every leaf."""
    drawn = [_called("init", training.init, key(_ROOT, k, "weights")) for k in range(number)]
    stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(x, float) for x in leaves]), *drawn)
    if number > 1 and all((leaf == leaf[0]).all() for leaf in jax.tree.leaves(stacked)):
        rule, repair = "draw other weights for every key", "Use the key that it is given."
        raise argument_error("init", rule, "gives the same for all", repair)
    return stacked


def start_of(weights: Any, number: int) -> Any:
    """Weights of one start, of weights with a leading axis of starts on every leaf."""
    return jax.tree.map(lambda leaf: leaf[number], weights)


def batches(training: Training, number: int) -> np.ndarray:
    """Examples of every minibatch, shape (start, step, example), one permutation of all examples per epoch."""
    if training.order is not None:
        return np.repeat(training.order[None].astype(np.int32), number, 0)
    examples, size, per_epoch = len(training.x), training.batch_size, training.epoch_steps
    epochs = -(-training.steps // per_epoch)
    rows = np.empty((number, epochs, per_epoch * size), np.int32)
    for k in range(number):
        random = generator(Seed(_ROOT, k), "batch")
        for epoch in range(epochs):
            rows[k, epoch] = random.permutation(examples)[: per_epoch * size]
    return rows.reshape(number, -1, size)[:, : training.steps]


def observed(step: Callable, read: Callable, state: Any, at: Any) -> tuple[Any, Any]:
    """The state after ``step(number, state)`` up to the last of the steps `at`, and ``read(state)`` at each of them."""

    def segment(state, ends):
        state = jax.lax.fori_loop(ends[0], ends[1], step, state)
        return state, read(state)

    ends = jnp.r_[0, at[:-1]], jnp.asarray(at)
    return jax.lax.scan(segment, state, ends)


def _mse(outputs, y):
    return ((outputs - y) ** 2).sum() / (2 * len(outputs))


def _cross_entropy(outputs, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(outputs), y[:, None].astype(int), axis=1).mean()


_LOSSES = {"mse": _mse, "cross_entropy": _cross_entropy}


def _data(name, value):
    array = finite_array(name, value)
    if array.ndim == 0 or len(array) == 0:
        raise argument_error(name, "hold at least one example", f"has shape {array.shape}")
    return array.astype(float) if array.dtype.kind in "fb" else array


def _learning_rates(schedule, steps):
    if callable(schedule):
        schedule = [float(_called("learning_rate", schedule, step)) for step in range(steps)]
    if np.ndim(schedule) == 0:
        return np.full(steps, real("learning_rate", schedule, above=0))
    rates = finite_array("learning_rate", schedule, ndim=1).astype(float)[:steps]
    if len(rates) < steps or (rates < 0).any() or not rates.any():
        rule = f"be finite, never negative and not always 0, for each of {steps} steps"
        raise argument_error("learning_rate", rule, f"is {rates}")
    return rates


def _called(name, function, *arguments) -> Any:
    """Return what a function of the user returns; where it raises, the error names its line."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ForetrainError(f"Function `{name}` cannot be used: {place(error)}") from error


def _checked(training, notes) -> Training:
    """Call the functions of a training once; return it with a network without convolutions, and with notes on it."""
    with jax.enable_x64(True):
        weights = _called("init", training.init, key(_ROOT, 0, "weights"))
        check_collections("init", weights)
        leaves = jax.tree.leaves(weights)
        again = jax.tree.leaves(_called("init", training.init, key(_ROOT, 0, "weights")))
        if not all(map(np.array_equal, leaves, again)):
            raise argument_error("init", "be a function of its key", "gives two starts for one key")
        kinds = {str(getattr(leaf, "dtype", type(leaf).__name__)) for leaf in leaves}
        if not leaves or any("float" not in kind for kind in kinds):
            rule = "return a pytree of floating arrays"
            raise argument_error("init", rule, f"returns leaves of {', '.join(kinds) or 'none'}")
        weights = jax.tree.map(lambda leaf: np.asarray(leaf, float), weights)
        traced = jax.make_jaxpr(training.apply, return_shape=True)
        program, outputs = _called("apply", traced, weights, training.x)
        _check_outputs(training, outputs)
        loss = _called("loss", jax.eval_shape, training.loss, outputs, training.y)
        if getattr(loss, "shape", None) != ():
            raise argument_error("loss", "return one number", f"returns {loss}")
        apply = without_convolutions(training.apply, weights, training.x)
    notes += (_DRAWS,) * ("random_bits" in str(program))
    return replace(training, apply=apply, notes=notes)


def _check_outputs(training, outputs):
    if not hasattr(outputs, "shape") or not outputs.shape or len(training.x) != outputs.shape[0]:
        rule = f"return one array with {len(training.x)} rows, one for each example"
        raise argument_error("apply", rule, f"returns {getattr(outputs, 'shape', outputs)}")
    y, loss = training.y, training.loss_name
    if loss == "mse" and y.shape != outputs.shape:
        rule = f"have the shape {outputs.shape} of the outputs for the loss `mse`"
        repair = "Reshape the targets or the outputs."
        if y.size == len(y) < outputs.size and not (y % 1).any():  # numbers of classes
            repair = "Try the loss `cross_entropy` for class numbers, or one-hot targets."
        raise argument_error("y", rule, f"has {y.shape}", repair)
    if loss == "cross_entropy":
        if len(outputs.shape) != 2:
            got = f"returns {outputs.shape}"
            raise argument_error("apply", "return logits (example, class)", got)
        classes = outputs.shape[1]
        for name, labels in (("y", y), ("y_test", training.y_test)):
            if labels is None:
                continue
            whole = labels.ndim == 1 and labels.dtype.kind in "iu"
            if not (whole and 0 <= labels.min() and labels.max() < classes):
                rule = f"hold class numbers from 0 to {classes - 1}, shape (example,)"
                got = f"has {labels.min():g} to {labels.max():g}, shape {labels.shape}, {labels.dtype}"
                raise argument_error(name, rule, got)


def plain_run(training: Training, start, rows, learning_rates=None) -> tuple[Any, Any]:
    """Weights at the end of one run by Optax, and its training loss before every step and after the last, (steps + 1,).

    `learning_rates`, (step,), are by default the training's. They, `start` and `rows`, (step, example), may be traced.
    """
    training = replace(training, x=jnp.asarray(training.x), y=jnp.asarray(training.y))

    def loss(w, seen):
        return training.loss(training.apply(w, training.x[seen]), training.y[seen])

    @jax.jit
    def step(state, inputs):
        (w, memory), (rate, seen) = state, inputs
        change, memory = training.rule(rate).update(jax.grad(loss)(w, seen), memory, w)
        w = optax.apply_updates(w, change)
        return (w, memory), loss(w, np.arange(len(training.x)))

    state = start, training.rule(0.0).init(start)
    rates = training.learning_rates if learning_rates is None else learning_rates
    (end, _), after = jax.lax.scan(step, state, (rates, rows))
    return end, jnp.append(jax.jit(loss)(start, np.arange(len(training.x))), after)
