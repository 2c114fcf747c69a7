"""Optimisers as steps that ride in lanes: learning rate and weight decay are traced and may differ in every run."""

from typing import Any

import optax

from foretrain.errors import one_of

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")


def optimizer(
    name: str, learning_rate, weight_decay=0.0, *, momentum: float = 0.9
) -> optax.GradientTransformation:
    """An Optax optimiser whose rates may be traced.

    Decay is added to the gradient, as if weight_decay/2 |w|^2 were part of the loss, for ``sgd``, ``momentum`` and
    ``adam``; it is decoupled, w -> w - learning_rate * weight_decay * w, for ``adamw`` (Loshchilov & Hutter 2019).
    These are the conventions of PyTorch. Time in units of step x learning rate is that of the gradient flow for
    ``sgd``; ``momentum`` runs 1/(1 - momentum) times faster.

    Args:
        name: ``sgd``, ``momentum`` (heavy ball), ``adam`` or ``adamw`` (both with 0.9, 0.999, 1e-8); static.
        momentum: Of ``momentum``; static.
    """
    one_of("optimizer", name, OPTIMIZERS)
    rate = optax.scale_by_learning_rate(learning_rate)
    decay = optax.add_decayed_weights(weight_decay)
    if name == "sgd":
        return optax.chain(decay, rate)
    if name == "momentum":
        return optax.chain(decay, optax.trace(momentum), rate)
    if name == "adam":
        return optax.chain(decay, optax.scale_by_adam(), rate)
    return optax.chain(optax.scale_by_adam(), decay, rate)


def start(name: str, weights: Any) -> Any:
    """Memory of the optimiser before the first step; its dtypes are those of `weights`."""
    return optimizer(name, 0.0).init(weights)


def step(
    name: str,
    weights: Any,
    gradient: Any,
    memory: Any,
    learning_rate,
    weight_decay=0.0,
    *,
    momentum: float = 0.9,
) -> tuple[Any, Any]:
    """Weights and memory after one step of `optimizer`, which has the same `name` and `momentum`.

    The gradient is of the structure and dtypes of `weights`; the memory is what `start` or the step before gave.
    """
    rule = optimizer(name, learning_rate, weight_decay, momentum=momentum)
    change, memory = rule.update(gradient, memory, weights)
    return optax.apply_updates(weights, change), memory
