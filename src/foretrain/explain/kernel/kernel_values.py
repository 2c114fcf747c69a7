"""The kernel of a network, J J^T over outputs, at given weights.

Where every example has its outputs by itself, the layers give it: weights W that are used once, in a product h W, have the
Jacobian h x d of their inputs h and of the derivatives d of an output by h W, and with it the part (h h'^T) * (d d'^T) of the
kernel. That takes one gradient for every output of an example, whatever the number of examples. All other weights (biases,
filters of convolutions, products over tokens) give theirs by their Jacobian, where that fits. Two columns of the kernel, each
by a gradient of its own, decide if this is right; if not, all columns are made so.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.explain.corners import equation_function, jit, walk
from foretrain.explain.own_network import Training

_TOGETHER = 32  # columns of a kernel, or outputs of an example, made at once
_LARGEST = 5e8  # bytes of a Jacobian
_AGREE = 1e-9  # of a column's largest entry, by layers and by a gradient of its own


def kernel_function(training: Training) -> Callable[[Any], tuple[Any, Any, Any]]:
    """The kernel, outputs and J w as a function of the weights.

    The kernel has shape (output, training output), test outputs behind training ones; `outputs` and J w (output,).
    """
    x = np.concatenate([training.x] + ([] if training.x_test is None else [training.x_test]))
    parts = training.apply, len(training.x)
    by_layers, by_columns, column = (
        jit(partial(function, *parts)) for function in (_by_layers, _by_columns, _column)
    )
    chosen: list[Callable] = []

    def kernel(w):
        if not chosen:
            values = by_layers(w, x) if _fits(*parts, w, x) else None
            chosen.append(by_layers if values is not None and right(values[0], w) else by_columns)
            if values is not None and chosen[0] is by_layers:
                return values
        return chosen[0](w, x)

    def right(values, w):
        pairs = ((values[:, at], column(w, x, at)) for at in (0, values.shape[1] // 2))
        return all(np.abs(a - b).max() <= _AGREE * np.abs(b).max() for a, b in pairs)

    return kernel


def _outputs(apply, n, x):
    """All outputs as a function of the weights, training and test examples each by themselves."""
    parts = [x[:n], x[n:]] if len(x) > n else [x]
    return lambda w: jnp.concatenate([apply(w, part).ravel() for part in parts])


def _column(apply, n, w, x, at):
    train, pull = jax.vjp(lambda weights: apply(weights, x[:n]).ravel(), w)
    return jax.jvp(_outputs(apply, n, x), (w,), pull(jnp.zeros_like(train).at[at].set(1.0)))[1]


def _by_columns(apply, n, w, x):
    size = jax.eval_shape(apply, w, x[:n]).size
    column = partial(_column, apply, n, w, x)
    columns = jax.lax.map(column, jnp.arange(size), batch_size=_TOGETHER)
    return columns.T, *jax.jvp(_outputs(apply, n, x), (w,), (w,))


def _by_layers(apply, n, w, x):
    products, rest = _products(apply, w, x)
    probes = {leaf: jnp.zeros(shape) for leaf, (shape, _) in products.items()}

    def outputs(probes):
        network = _Evaluation(apply, w, x, probes)
        return network.outputs.reshape(len(x), -1), network.inputs

    values, pull, inputs = jax.vjp(outputs, probes, has_aux=True)
    width = values.shape[1]
    units = jnp.broadcast_to(jnp.eye(width)[:, None], (width, *values.shape))
    slopes = jax.lax.map(lambda unit: pull(unit)[0], units, batch_size=_TOGETHER)
    whole = jnp.zeros((len(x), width, n, width))
    for leaf, (_, examples_first) in products.items():
        d, h = slopes[leaf].reshape(*slopes[leaf].shape[:2], -1), inputs[leaf]
        d = d if examples_first else jnp.swapaxes(d, 1, 2)  # (output, example, unit)
        by_units = jnp.einsum("pib,qjb->ipjq", d, d[:, :n])
        whole = whole + by_units * (h @ h[:n].T)[:, None, :, None]
    if rest:
        own = _jacobian(apply, w, x, rest)
        whole = whole + jnp.einsum("ipw,jqw->ipjq", own, own[:n])
    whole = whole.reshape(values.size, n * width)
    return whole, *jax.jvp(_outputs(apply, n, x), (w,), (w,))


def _fits(apply, n, w, x):
    """True if the Jacobian of the weights that no layer gives fits."""
    _, rest = _products(apply, w, x)
    leaves = jax.tree.leaves(w)
    outputs = jax.eval_shape(_outputs(apply, n, x), w).size
    return 8 * outputs * sum(np.size(leaves[leaf]) for leaf in rest) <= _LARGEST


def _jacobian(apply, w, x, rest):
    """Derivatives of every example's outputs by some leaves, (example, output, weight)."""
    leaves, tree = jax.tree.flatten(w)

    def own(some, row):
        whole = list(leaves)
        for leaf, values in zip(rest, some, strict=True):
            whole[leaf] = values
        return apply(jax.tree.unflatten(tree, whole), row[None]).ravel()

    parts = jax.vmap(jax.jacrev(own), in_axes=(None, 0))([leaves[leaf] for leaf in rest], x)
    return jnp.concatenate([part.reshape(*part.shape[:2], -1) for part in parts], axis=2)


def _products(apply, w, x):
    """The products that layers are, by the number of their leaf, and the numbers of all other leaves that are used."""
    seen = []

    def look(w, x):
        seen.append(_Evaluation(apply, w, x, {}))
        return seen[0].outputs

    jax.eval_shape(look, w, x)
    uses = seen[0].uses
    products = {leaf: each for leaf, each in seen[0].products.items() if uses[leaf] == 1}
    return products, sorted(set(uses) - set(products))


class _Evaluation:
    """One evaluation of a network, equation by equation, with a probe added to the product of every layer in `probes`.

    Attributes:
        outputs: Of the network.
        products: By the number of a leaf, the shape of its product with inputs that have one row for an example, and True if
            examples are its first axis.
        inputs: Those inputs, (example, input).
        uses: Number of equations that read a leaf, its transposition aside.
    """

    def __init__(self, apply, w, x, probes):
        self.number, self.probes = len(x), probes
        self.products, self.inputs, self.uses = {}, {}, Counter()
        leaves = [(leaf, number) for number, leaf in enumerate(jax.tree.leaves(w))]
        self.outputs, leaf = walk(apply, w, x, leaves, lambda x: (x, None), self._results)
        self.uses.update([leaf, leaf])  # an output that is a leaf is no product
        del self.uses[None]

    def _results(self, jaxpr, equation, pairs):
        """Results of one equation, each with the number of the leaf that it is, as its arguments are."""
        values, leaves = [value for value, _ in pairs], [leaf for _, leaf in pairs]
        results = equation_function(jaxpr, equation)(*values)
        if equation.primitive.name == "transpose" and leaves[0] is not None:
            return [(results[0], leaves[0])]
        self.uses.update(leaves)
        if equation.primitive.name == "dot_general":
            results = [self._product(equation, values, leaves, results[0])]
        return [(value, None) for value in results]

    def _product(self, equation, values, leaves, product):
        """The product with its probe, noted if it is a layer's."""
        contracted, batched = equation.params["dimension_numbers"]
        side = 0 if leaves[0] is None else 1  # where the inputs stand
        leaf, inputs = leaves[1 - side], values[side]
        rows = [size for at, size in enumerate(inputs.shape) if at not in contracted[side]]
        if leaf is None or leaves[side] is not None or any(map(len, batched)):
            return product
        if len(contracted[side]) != 1 or not rows or rows != [self.number, *[1] * (len(rows) - 1)]:
            return product
        self.products[leaf] = product.shape, side == 0
        self.inputs[leaf] = jnp.moveaxis(inputs, contracted[side][0], -1).reshape(self.number, -1)
        return product + self.probes[leaf] if leaf in self.probes else product
