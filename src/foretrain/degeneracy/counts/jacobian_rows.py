"""Rows of the Jacobian of all outputs by all parameters, in double precision, for networks and for any function of a tree.

Perceptrons are differentiated by hand in NumPy, everything else by JAX, example by example from the outputs back.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.degeneracy.derivatives import passed
from foretrain.degeneracy.network import (
    LOSSES,
    Network,
    examples,
    forward,
    is_perceptron,
    register,
    size,
)
from foretrain.errors import argument_error, one_of
from foretrain.lazy import flatten_util, jax

_BLOCK = 2**24  # entries of J at a time


@dataclass(frozen=True)
class Rows:
    """The Jacobian: `of` (begin, end) are the rows of these examples, (example x output, parameter), float64.

    `unit` is that of rounding, in the precision of the outputs; the others are numbers.
    """

    of: Callable[[int, int], np.ndarray]
    examples: int
    outputs: int
    parameters: int
    unit: float

    @property
    def answers(self) -> int:
        """Rows of the whole: examples times outputs."""
        return self.examples * self.outputs

    def spans(self) -> Iterator[tuple[int, int]]:
        """(begin, end) of examples of which the rows take 128 MiB, at least one, in order."""
        step = max(1, _BLOCK // (self.outputs * self.parameters or 1))
        for begin in range(0, self.examples, step):
            yield begin, min(begin + step, self.examples)


def jacobian_rows(network: Any, x: Any, params: Any = None, loss: str = "mse") -> Rows:
    """Rows of the Jacobian, weighted as the loss has them; arguments as of `jacobian_spectrum`.

    Parameters of a network are in the order of `jax.flatten_util.ravel_pytree`, as of a function.
    """
    one_of("loss", loss, LOSSES)
    if not isinstance(network, Network):
        if params is None:
            raise argument_error("params", "be given where `network` is a function", "is None")
        return _by_jax(network, x, params, loss)
    x = examples(network, x)
    if not is_perceptron(network):
        register()
        return _by_jax(_function(network), x, network.params, loss)

    def by_hand(begin, end):
        derivatives = passed(network, x[begin:end])
        return weighted(derivatives.activations[-1], _by_hand(network, derivatives), loss)

    outputs = passed(network, x[:1]).activations[-1].shape[1]
    return Rows(by_hand, len(x), outputs, size(network), float(np.finfo(float).eps))


def _function(network):
    return lambda params, x: forward(network, x, params)


def weighted(outputs: np.ndarray, rows: np.ndarray, loss: str) -> np.ndarray:
    """Derivatives J of the outputs by anything, (n x output, d), so weighted that their squares sum to what the loss rises by.

    For `kl` outputs (n, output) are logits, p their probabilities: ``(p_o / 2)^(1/2) (J_o - sum_k p_k J_k)``; for `mse` J.
    Of outputs with more axes, positions for one, the last is of logits.
    """
    if loss == "mse":
        return rows
    from scipy.special import softmax

    p = softmax(outputs, -1)
    each = rows.reshape(*p.shape, -1)
    moved = each - np.einsum("...o,...op->...p", p, each)[..., None, :]
    return (np.sqrt(p / 2)[..., None] * moved).reshape(rows.shape)


def _by_hand(network, derivatives):
    columns = []
    for section, f, j in zip(
        network.sections, derivatives.activations[:-1], derivatives.by_preactivations, strict=True
    ):
        leaves = {section.weight: (j[..., None] * f[:, None, None]).reshape(*j.shape[:2], -1)}
        if section.bias is not None:
            leaves[section.bias] = j
        columns += [leaves[name] for name in sorted(leaves)]
    whole = np.concatenate(columns, -1)
    return whole.reshape(-1, whole.shape[-1])


def _by_jax(apply, x, params, loss):
    def precise(leaf):
        leaf = np.asarray(leaf)
        return leaf if leaf.dtype.kind in "biu" else leaf.astype(np.float64)

    data = jax.tree.map(precise, x)
    counts = {len(leaf) for leaf in jax.tree.leaves(data) if leaf.ndim}
    if len(counts) != 1 or 0 in counts:
        raise argument_error("x", "hold arrays of as many examples, at least one", "does not")
    (count,) = counts
    with jax.enable_x64(True):
        flat, rebuilt = flatten_util.ravel_pytree(
            jax.tree.map(lambda leaf: np.asarray(leaf, float), params)
        )

        def outputs(vector, example):
            answers = apply(rebuilt(vector), jax.tree.map(lambda leaf: leaf[None], example))
            return answers.ravel(), jax.numpy.atleast_1d(answers[0])

        run = jax.jit(jax.vmap(jax.jacrev(outputs, has_aux=True), (None, 0)))
        shape = jax.eval_shape(outputs, flat, jax.tree.map(lambda leaf: leaf[0], data))[0]

    def by_jax(begin, end):
        # Filled up to a power of two, so that few sizes are compiled.
        wide = 1 << (end - begin - 1).bit_length()
        at = np.minimum(np.arange(begin, begin + wide), end - 1)
        with jax.enable_x64(True):
            rows, answers = run(flat, jax.tree.map(lambda leaf: leaf[at], data))
        rows, answers = (np.asarray(leaf, np.float64)[: end - begin] for leaf in (rows, answers))
        return weighted(answers, rows.reshape(-1, flat.size), loss)

    return Rows(by_jax, count, shape.size, int(flat.size), float(jax.numpy.finfo(shape.dtype).eps))
