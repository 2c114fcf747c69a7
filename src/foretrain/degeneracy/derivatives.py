"""Activations of every layer and the derivatives of the outputs by them, batch by batch, in float64.

Perceptrons are differentiated by hand in NumPy; every other network by JAX, a section at a time: from the outputs back,
the rows (output) of ``df^L/df^{l+1}`` are pulled through section l. Nothing larger than batch x outputs x width arises.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.degeneracy.folded import Pointwise, shapes, steps
from foretrain.degeneracy.network import Network, examples, is_perceptron
from foretrain.lazy import jax, jnp

_ROOM = 2**28  # bytes of the derivatives of a batch, at most, unless a single example takes more


@dataclass(frozen=True)
class Pass:
    """Activations of a batch of n examples and derivatives of the outputs by them, of L sections.

    With positions n is the number of examples times that of a layer's positions, and d_L counts outputs at all positions in
    derivatives; of a section that reads positions together p and df^L/dp are None, too.

    f^0 to f^L, (n, d_l); p^1 to p^L, (n, d_{l+1}); df^L/df^l for l from 0 to L, (n, d_L, d_l); and df^L/dp^{l+1} for l from 0
    to L - 1, (n, d_L, d_{l+1}). Where a section names no weight its p and df^L/dp are None.
    """

    activations: list[np.ndarray]
    preactivations: list[np.ndarray | None]
    by_activations: list[np.ndarray]
    by_preactivations: list[np.ndarray | None]


def batches(network: Network, x: np.ndarray) -> Iterator[np.ndarray]:
    """Parts of the data, in order, each of as many examples as 256 MiB hold the derivatives of."""
    x = examples(network, x)
    wide = [t * d for t, d in shapes(network, x, False)]
    batch = max(1, _ROOM // (16 * wide[-1] * sum(wide)))
    for start in range(0, len(x), batch):
        yield x[start : start + batch]


def passed(network: Network, x: np.ndarray) -> Pass:
    """All derivatives of one batch."""
    return _by_hand(network, x) if is_perceptron(network) else _by_jax(network, x)


def evaluated(network: Network, x: np.ndarray) -> tuple[list, list]:
    """Activations and preactivations of one batch without derivatives, as in `Pass`."""
    layers, before = _evaluated(network, x)
    return _flat(layers), _flat(before)


def _flat(values):
    """Each (n, d) or (n, T, d) as (n T, d)."""
    return [None if f is None else f.reshape(-1, f.shape[-1]) for f in values]


def _evaluated(network, x):
    layers, before = [np.asarray(x, float)], []
    for at, step in enumerate(steps(network, False)):
        f, section = layers[-1], network.sections[at]
        if isinstance(step, Pointwise):
            before.append(step.preactivations(f))
            layers.append(step.value(before[-1]))
            continue
        p = None
        if section.weight is not None and not section.positions:
            params = _precise(network.params[at])
            p = f @ params[section.weight].T
            p = p if section.bias is None else p + params[section.bias]
        before.append(p)
        layers.append(step.values(f))
    return layers, before


def _precise(params):
    """Parameters of a section in float64."""
    return {name: np.asarray(value, np.float64) for name, value in params.items()}


def _by_hand(network, x):
    layers, before = evaluated(network, x)
    outputs = layers[-1].shape[1]
    by_f, by_p = [np.broadcast_to(np.eye(outputs), (len(x), outputs, outputs))], []
    for step, p in reversed(list(zip(steps(network, False), before, strict=True))):
        by_p.append(by_f[-1] * step.slope(p)[:, None])  # pyright: ignore[reportAttributeAccessIssue]
        by_f.append(by_p[-1] @ step.matrix)  # pyright: ignore[reportAttributeAccessIssue]
    return Pass(layers, before, by_f[::-1], by_p[::-1])


def _by_jax(network, x):
    layers, before = _evaluated(network, x)
    outputs = layers[-1][0].size
    own = np.eye(outputs).reshape(outputs, -1, layers[-1].shape[-1]).swapaxes(0, 1)
    by_f, by_p = [np.concatenate([own] * len(x))], []  # (n T, all outputs, d), example by example
    with jax.enable_x64(True):
        for at, step in reversed(list(enumerate(steps(network, False)))):
            section, f = network.sections[at], layers[at]
            if section.positions:
                slopes = by_f[-1].reshape(len(x), -1, *by_f[-1].shape[1:]).swapaxes(1, 2)
                pulled = step.pulled(slopes, f).swapaxes(1, 2)  # (n, T, o, d)
                by_f.append(pulled.reshape(-1, *pulled.shape[2:]))
                by_p.append(None)
                continue
            (rows,), params = _flat([f]), _precise(network.params[at])
            here, inner = _pull_back(section)(params, rows, by_f[-1])
            by_f.append(np.asarray(here))
            by_p.append(None if inner is None else np.asarray(inner))
    return Pass(_flat(layers), _flat(before), by_f[::-1], by_p[::-1])  # pyright: ignore[reportArgumentType]


@lru_cache(64)
def _pull_back(section):
    """Of (params, f, rows (d_L, d_{l+1})) for each example: the rows by f, (d_L, d_l), and by the preactivations, or None.

    Preactivations move by way of the weight, by ``shift f^T / |f|^2``, whatever comes after it in the section; where f
    is zero by way of the bias, and without one they stay.
    """

    def moved(params, f, shift):
        weight = params[section.weight]
        size = f @ f
        there = jnp.where(size > 0, 1 / jnp.where(size > 0, size, 1), 0)
        other = {section.weight: weight + jnp.outer(shift, f * there)}
        if section.bias is not None:
            other[section.bias] = params[section.bias] + jnp.where(size > 0, 0, 1) * shift
        return section.apply(params | other, f)

    def pull(params, f, rows):
        _, back = jax.vjp(lambda at: section.apply(params, at), f)
        (by_f,) = jax.vmap(back)(rows)
        if section.weight is None:
            return by_f, None
        still = jnp.zeros(params[section.weight].shape[0], f.dtype)
        _, back = jax.vjp(lambda shift: moved(params, f, shift), still)
        (by_p,) = jax.vmap(back)(rows)
        return by_f, by_p

    return jax.jit(jax.vmap(pull, (None, 0, 0)))
