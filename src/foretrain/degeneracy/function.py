"""Any network as a pure function of parameters and a batch: all that curvature, counts and sampling need of it.

``apply(params, x)`` maps a pytree of float arrays and a batch (n, ...) to outputs (n, o), in JAX. Plain JAX and Flax give the
two as they are, a `Network` by `as_function`, Equinox and PyTorch by `foretrain.elsewhere.adapters` and `torch_reader`.
Parameters are kept in NumPy, in the precision they come in (half precisions become float32, which holds them exactly), so that
they compute in float64 inside ``jax.enable_x64(True)`` and in float32 outside it.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from foretrain.degeneracy.folded import layers, steps
from foretrain.degeneracy.network import Network, Params, examples, forward
from foretrain.errors import ArgumentError, argument_error, finite_array, nearest
from foretrain.lazy import jax
from foretrain.plans.place import place

_BLOCK = 512  # examples whose outputs are computed at a time
_FEW = 4  # examples on which purity is tried
_CLOSE = 1e-4  # of the outputs' deviation: rounding of single precision, and below every default of a noise scale
_ROUNDED = 1e-6  # of the outputs' size, where that is large beside their deviation
_HALF = 1e-2  # of the deviation, where the outputs come in half precision


@dataclass(frozen=True, eq=False)
class Function:
    """A network: what it computes, and its parameters.

    Args:
        apply: Of (params, x (n, ...)): outputs (n, o); pure, in JAX, each example by itself.
        params: Pytree of float arrays.
        network: The same as a chain of sections, which read `rows(x)`; interaction bases and counts by source need it,
            nothing else does. None where it has no such form.
        notes: Lines that a reader must know: what was assumed and not checked, why there is no `network`.
        symbols: Number of them, where x holds symbols that `network` reads one-hot; else 0.
        names: Of the arrays in `params`, in their order: where each stands in the tree, `layers.0.weight`.

    Raises:
        ArgumentError: `params` holds nothing, or something other than finite floats.
    """

    apply: Callable[[Any, Any], Any]
    params: Any
    network: Network | None = None
    notes: tuple[str, ...] = ()
    symbols: int = 0
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self):
        pairs, tree = jax.tree.flatten_with_path(self.params)
        if not pairs:
            raise argument_error("params", "hold at least one array", "holds none")
        names = tuple(jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in pairs)
        leaves = [_float(name, leaf) for name, (_, leaf) in zip(names, pairs, strict=True)]
        object.__setattr__(self, "params", jax.tree.unflatten(tree, leaves))
        object.__setattr__(self, "names", names)

    @cached_property
    def _leaves(self) -> list[np.ndarray]:
        return jax.tree.leaves(self.params)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(leaf.size for leaf in self._leaves)

    def part(self, *prefixes: str) -> "Function":
        """The same function of some of its parameters, by name; the others stay as they are, and there is no `network`.

        Args:
            *prefixes: `layers.1` chooses `layers.1` and all arrays below it, and leaves `layers.10` out.
        """
        for prefix in prefixes:
            if not any(_below(name, prefix) for name in self.names):
                stems = {name.rsplit(".", at)[0] for name in self.names for at in range(3)}
                rule, repair = "begin the name of a parameter", nearest(prefix, stems)
                raise argument_error("part", rule, f"is `{prefix}`", repair)
        moved = [any(_below(name, prefix) for prefix in prefixes) for name in self.names]
        pairs = zip(self.names, self._leaves, moved, strict=True)
        params = {name: leaf for name, leaf, moves in pairs if moves}
        names, leaves, tree = self.names, self._leaves, jax.tree.structure(self.params)

        def apply(params, x):
            whole = [params.get(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
            return self.apply(jax.tree.unflatten(tree, whole), x)

        return Function(apply, params, notes=self.notes)

    def data(self, x: Any) -> np.ndarray:
        """A batch checked, (n, ...): finite, at least one example; whole numbers stay whole."""
        x = finite_array("x", x)
        if x.ndim < 2 or not len(x):
            rule = "have an axis of examples, at least one, and an axis of inputs"
            raise argument_error("x", rule, f"has shape {x.shape}")
        if self.network is not None:
            examples(self.network, self.rows(x[:1]))
        return x

    def rows(self, x: Any) -> np.ndarray:
        """A batch as `network` reads it, float64: (n, d_0), or (n, T, d_0) where it has positions; symbols one-hot."""
        x = np.asarray(x)
        if self.symbols:
            return np.eye(self.symbols)[x]
        x = x.astype(np.float64)
        if self.network is None or not any(section.positions for section in self.network.sections):
            return x.reshape(len(x), -1)
        first, leaves = self.network.sections[0], self.network.params[0]
        width = first.inputs if first.weight is None else np.shape(leaves[first.weight])[-1]
        same = x.ndim == 3 or not width or x[0].size % width
        return x if same else x.reshape(len(x), -1, width)

    def outputs(self, x: Any) -> np.ndarray:
        """Outputs on a batch, (n, o), float64.

        Raises:
            ArgumentError: They are not finite, not (n, o), or `apply` fails on the batch, with its author's line.
        """
        x = self.data(x)
        run, block = jax.jit(self.apply), min(len(x), _BLOCK)
        filled = np.concatenate([x, np.repeat(x[-1:], -len(x) % block, 0)])  # blocks of one shape
        parts = [self._called(run, filled[at : at + block]) for at in range(0, len(x), block)]
        return np.concatenate(parts)[: len(x)]

    def _called(self, run, x) -> np.ndarray:
        with jax.enable_x64(True):
            double = lambda leaf: jax.numpy.asarray(leaf, "float64")  # noqa: E731
            batch = double(x) if x.dtype.kind == "f" else jax.numpy.asarray(x)
            try:
                outputs = np.asarray(run(jax.tree.map(double, self.params), batch))
            except ArgumentError:
                raise
            except Exception as error:
                got = f"raises at {place(error)}".rstrip(".")
                repair = f"It is called in JAX with x of shape {x.shape}, in float32 and float64."
                raise argument_error("apply", "answer a batch", got, repair) from error
        if outputs.ndim != 2 or len(outputs) != len(x) or not outputs.size:
            rule = f"give outputs (example, output), {len(x)} rows for {len(x)} examples"
            repair = "Try the last position's, or for squared errors outputs.reshape(len(x), -1)."
            raise argument_error("apply", rule, f"gives shape {outputs.shape}", repair)
        return finite_array("outputs", outputs).astype(np.float64)

    def check(self, x: Any) -> np.ndarray:
        """Outputs on all of x, (n, o), where the function is one of parameters and example alone.

        Raises:
            ArgumentError: It answers the same batch twice in two ways, an example's answer depends on the others, or
                `network` answers otherwise.
        """
        few = self.data(x)[:_FEW]
        alone = self._called(jax.jit(lambda params, x: self.apply(params, x)), few)  # traced anew
        outputs = self.outputs(x)
        if _difference(alone, outputs[: len(few)], outputs) > 1:
            again = self._called(self.apply, few)
            if not np.array_equal(again, self._called(self.apply, few)):
                repair = "Turn dropout off, and draw nothing inside it."
                raise argument_error("apply", "give the same answer twice", "does not", repair)
            rule = "answer each example by itself"
            repair = "Batch normalisation must take its stored mean and variance."
            raise argument_error("apply", rule, "some get others among fewer examples", repair)
        if self.network is not None:
            answers = layers(steps(self.network, False), self.rows(x), False)[-1]
            if _difference(answers.reshape(len(x), -1), outputs, outputs) > 1:
                raise argument_error("network", "answer as `apply` does", "answers otherwise")
        return outputs


def function_of(
    apply: Callable[[Any, Any], Any],
    params: Any,
    x: Any,
    network: Network | None = None,
    notes: Iterable[str] = (),
) -> Function:
    """A `Function` that was tried on data; arguments and errors as of `Function` and `Function.check`.

    >>> function_of(lambda params, x: x @ params["w"], {"w": np.ones((3, 2))}, np.eye(3)).size
    6
    """
    function = Function(apply, params, network, tuple(notes))
    function.check(x)
    return function


def as_function(network: Network, names: Sequence[str] | None = None) -> Function:
    """The function of a network; `names` of its sections stand before those of their arrays, numbers from 0 by default."""
    if names is None:
        return Function(_forward(network.sections), network.params, network)
    whole = _forward(network.sections)
    named = dict(zip(names, network.params, strict=True))
    return Function(lambda params, x: whole([params[name] for name in names], x), named, network)


@lru_cache(maxsize=64)
def _forward(sections):
    """One function for all networks of the same sections, so that programs are compiled once."""
    together = any(section.positions for section in sections)

    def apply(params: Sequence[Params], x):
        x = x if together else x.reshape(len(x), -1)
        return forward(Network(sections, tuple(params)), x).reshape(len(x), -1)

    return apply


def check_outputs(
    function: Function, x: Any, outputs: Any, repairs: Iterable[tuple[str, np.ndarray]] = ()
) -> Function:
    """The function, if it gives the outputs that its network gave: to rounding of their precision.

    Args:
        outputs: Of the original on x, (n, o).
        repairs: What to do if another network was meant, and that network's outputs on the first examples, for several: the
            first that gives the right ones is told.

    Raises:
        ArgumentError: They differ; the message says by how much and what to try.
    """
    meant = finite_array("outputs", outputs)
    tolerance = _HALF / _CLOSE if meant.dtype.itemsize == 2 else 1.0
    meant = meant.astype(np.float64).reshape(len(meant), -1) if meant.ndim else meant
    answers = function.outputs(x)
    if answers.shape != meant.shape:
        got = f"have shape {np.shape(outputs)}, and the network that was read gives {answers.shape}"
        raise argument_error("outputs", "be of the data and the network", got)
    if _difference(answers, meant, meant) <= tolerance:
        return function
    exp = np.exp(answers - answers.max(1, keepdims=True))
    softmax = "They are its softmax: give the outputs before it.", exp / exp.sum(1, keepdims=True)
    right = (
        repair
        for repair, others in itertools.chain([softmax], repairs)
        if _difference(others, meant[: len(others) or None], meant) <= tolerance
    )
    repair = next(right, "Look at the nonlinearity, the order of layers, and transposed weights.")
    largest = np.abs(answers - meant).max() / max(np.abs(meant).max(), np.finfo(float).tiny)
    got = f"differ by up to {largest:.2g} of the largest"
    raise argument_error("outputs", "be those of the network that was read", got, repair)


def _difference(answers, meant, all_of):
    """The largest difference, in units of the one that is allowed."""
    if answers.shape != meant.shape:
        return np.inf
    allowed = _CLOSE * all_of.std(0).max() + _ROUNDED * np.abs(all_of).max()
    return np.abs(answers - meant).max() / max(allowed, np.finfo(float).tiny)


def _below(name, prefix):
    return name == prefix or name.startswith(f"{prefix}.")


def _float(name, leaf):
    array = np.asarray(leaf)
    if array.dtype.name in ("bfloat16", "float16"):
        array = array.astype(np.float32)
    if array.dtype.kind != "f":
        rule, got = "be an array of floats", f"has dtype {array.dtype}"
        repair = "Only what is differentiated belongs into `params`: see equinox.partition."
        raise argument_error(f"params: {name}", rule, got, repair)
    return finite_array(f"params: {name}", array)
