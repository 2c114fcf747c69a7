"""Activations of every layer and the derivatives of the outputs by them, batch by batch, in float64.

Perceptrons are differentiated by hand in NumPy; every other network by JAX, a section at a time: from the outputs back,
the rows (output) of ``df^L/df^{l+1}`` are pulled through section l. Nothing larger than batch x outputs x width arises.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from foretrain.degeneracy.network import Network, examples, is_perceptron, linear
from foretrain.degeneracy.nonlinearities import nonlinearity

_ROOM = (
    2**28
)  # bytes that the derivatives of a batch take, at most, unless a single example takes more


@dataclass(frozen=True)
class Pass:
    """What a batch of n examples does, with L sections.

    Args:
        activations: f^0 to f^L, (n, d_l).
        preactivations: p^1 to p^L, (n, d_{l+1}); None where a section names no weight.
        by_activations: df^L/df^l for l from 0 to L, (n, d_L, d_l).
        by_preactivations: df^L/dp^{l+1} for l from 0 to L - 1, (n, d_L, d_{l+1}); None as above.
    """

    activations: list[np.ndarray]
    preactivations: list[np.ndarray | None]
    by_activations: list[np.ndarray]
    by_preactivations: list[np.ndarray | None]


def batches(network: Network, x: np.ndarray, batch: int | None = None) -> Iterator[np.ndarray]:
    """Parts of the data, in order.

    Args:
        network: Whose sizes decide how many examples a part has where that is not said.
        x: (example, d_0).
        batch: Examples in a part; None takes as many as 256 MiB hold the derivatives of.
    """
    x = examples(network, x)
    if batch is None:
        batch = max(1, _ROOM // max(1, bytes_per_example(network, x.shape[1])))
    for start in range(0, len(x), batch):
        yield x[start : start + batch]


def bytes_per_example(network: Network, inputs: int) -> int:
    """Bytes of the derivatives of one example: 8 for each pair of an output and a unit, twice."""
    widths = _widths(network, inputs)
    return 16 * widths[-1] * sum(widths)


def _widths(network, inputs):
    if is_perceptron(network):
        return [
            inputs, *(len(p[s.weight]) for s, p in zip(network.sections, network.params, strict=True))
        ]  # fmt: skip
    import jax

    f = jax.ShapeDtypeStruct((inputs,), np.float32)
    widths = [inputs]
    for section, params in zip(network.sections, network.params, strict=True):
        f = jax.eval_shape(section.apply, params, f)
        widths.append(f.shape[0])
    return widths


def passed(network: Network, x: np.ndarray) -> Pass:
    """All derivatives of one batch.

    Args:
        network: With any sections.
        x: (n, d_0), checked.

    Returns:
        Arrays of NumPy, float64.
    """
    return _by_hand(network, x) if is_perceptron(network) else _by_jax(network, x)


def evaluated(network: Network, x: np.ndarray) -> tuple[list, list]:
    """Activations and preactivations of one batch without derivatives, as in `Pass`."""
    if not is_perceptron(network):
        return _evaluated_by_jax(network, x)
    layers, before = [np.asarray(x, float)], []
    for section, params in _sections(network):
        before.append(linear(section, params, layers[-1]))
        layers.append(nonlinearity(section.activation or "").value(before[-1], np))
    return layers, before


def _sections(network):
    """Sections with their parameters in float64."""
    for section, params in zip(network.sections, network.params, strict=True):
        yield section, {k: np.asarray(v, np.float64) for k, v in params.items()}


def _by_hand(network, x):
    layers, before = evaluated(network, x)
    outputs = layers[-1].shape[1]
    back = np.broadcast_to(np.eye(outputs), (len(x), outputs, outputs))
    by_f, by_p = [back], []
    for (section, params), p in reversed(list(zip(_sections(network), before, strict=True))):
        slope = nonlinearity(section.activation or "").slope(p, np)
        by_p.append(by_f[-1] * slope[:, None])
        by_f.append(by_p[-1] @ params[section.weight or ""])
    return Pass(layers, before, by_f[::-1], by_p[::-1])


def _evaluated_by_jax(network, x):
    import jax

    layers, before = [np.asarray(x, float)], []
    with jax.enable_x64(True):
        for section, params in _sections(network):
            named = section.weight is not None
            before.append(linear(section, params, layers[-1]) if named else None)
            layers.append(np.asarray(_compiled(section.apply)(params, layers[-1])))
    return layers, before


def _by_jax(network, x):
    import jax

    layers, before = _evaluated_by_jax(network, x)
    outputs = layers[-1].shape[1]
    by_f, by_p = [np.broadcast_to(np.eye(outputs), (len(x), outputs, outputs))], []
    with jax.enable_x64(True):
        for at in reversed(range(len(network.sections))):
            section = network.sections[at]
            params = {k: np.asarray(v, np.float64) for k, v in network.params[at].items()}
            here, inner = _pull_back(section)(params, layers[at], by_f[-1])
            by_f.append(np.asarray(here))
            by_p.append(None if inner is None else np.asarray(inner))
    return Pass(layers, before, by_f[::-1], by_p[::-1])


@lru_cache(64)
def _compiled(apply):
    import jax

    return jax.jit(jax.vmap(apply, (None, 0)))


@lru_cache(64)
def _pull_back(section):
    """Of (params, f, rows (d_L, d_{l+1})) for each example: the rows by f, (d_L, d_l), and by the preactivations, or None.

    Preactivations move by way of the weight, by ``shift f^T / |f|^2``, whatever comes after it in the section; where f
    is zero by way of the bias, and without one they stay.
    """
    import jax
    import jax.numpy as jnp

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
