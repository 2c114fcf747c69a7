"""Free directions of any network by source: null spaces of its Jacobian, of parameters that meet in its computation.

A source is a set of parameters that can take back each other's changes: parameters less rank of the Jacobian's columns of
these alone. Sets are taken in this order, and each counts what is beyond those before:

1. one layer: a weight and its bias, of queries, keys and values the part of a head: dependent activations, unread outputs;
2. queries and keys of a head, which act through their product, and whose softmax does not see what is added to all keys;
3. values and outputs of a head, likewise;
4. normalisation: scale and shift, with the linear maps before and behind them;
5. neurons: a layer and all that read it, as the scale of a rectifier or neurons that are equal.

What moves an output is in none of these spaces, so that sources never count more than is free. What they leave takes more
layers, as a rotation of a residual stream does. Layers are found in the equations that JAX makes of the function.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretrain.degeneracy.counts.jacobian_rows import jacobian_rows
from foretrain.degeneracy.counts.jacobian_spectrum import GAP, Freedom, Spectrum
from foretrain.degeneracy.function import Function
from foretrain.lazy import jax

SOURCES = ("one layer", "queries and keys", "values and outputs", "normalisation", "neurons")
_CALLS = {"checkpoint", "closed_call", "custom_jvp_call", "custom_vjp_call", "jit", "pjit"}
_SHIFTS = {"add", "add_any", "sub"}
_LINEAR = _SHIFTS | set(
    "broadcast_in_dim concatenate convert_element_type copy cumsum dynamic_slice expand_dims neg pad reduce_sum reshape rev "
    "slice split squeeze transpose".split()
)
_PRODUCTS = {"conv_general_dilated", "div", "dot_general", "gather", "mul"}


@dataclass(frozen=True, kw_only=True)
class SourcedFreedom(Freedom):
    """The counts of a function; `places` are (name of the place, source, number above 0)."""

    places: tuple[tuple[str, str, int], ...]

    def by_source(self) -> dict[str, int]:
        """Free directions by each of `SOURCES`."""
        return {s: sum(many for _, source, many in self.places if source == s) for s in SOURCES}


@dataclass(eq=False)
class _Layer:
    """A place where parameters, by number, meet data, or data meet data; layers that it reads, True where linearly."""

    params: list[int]
    reads: dict["_Layer", bool]
    output: "_Value"
    scales: bool = False


@dataclass(eq=False)
class _Value:
    """A value: the parameters that it is made of; of data the layers since which nothing met, True where linear in them."""

    shape: tuple[int, ...] = ()
    params: frozenset[int] = frozenset()
    data: bool = False
    layers: dict[_Layer, bool] = field(default_factory=dict)


def sources(function: Function, x: np.ndarray, spectrum: Spectrum) -> SourcedFreedom:
    """Count what is free by source and place, from the spectrum of the function's Jacobian on x.

    >>> from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
    >>> product = Function(lambda w, x: x @ w["a"] @ w["b"], {"a": np.eye(2), "b": np.eye(2)})
    >>> sources(product, np.eye(2), jacobian_spectrum(product.apply, np.eye(2), product.params)).places
    (('a', 'neurons', 4),)

    Cost: the Jacobian once more, in double precision, and a decomposition of its columns for every set.
    """
    rows = jacobian_rows(function.apply, x, function.params, spectrum.loss)
    matrix: Any = np.zeros((0, rows.parameters))
    for span in rows.spans():
        matrix = np.concatenate([matrix, rows.of(*span)])
        matrix = np.linalg.qr(matrix, mode="r") if len(matrix) > rows.parameters else matrix
    least = spectrum.resolution * GAP**0.5 * spectrum.values.max(initial=0)
    basis, places = np.zeros((0, rows.parameters)), []
    with jax.enable_x64(True):
        sets = [*_Computation(function, x).sets()]
    for place, source, at in sets:
        columns = matrix[:, at]
        tall = len(columns) > len(at)
        _, values, directions = np.linalg.svd(np.linalg.qr(columns, mode="r") if tall else columns)
        new = np.zeros((len(at) - int((values > least).sum()), rows.parameters))
        new[:, at] = directions[len(at) - len(new) :]
        for _ in range(2):
            new -= (new @ basis.T) @ basis
        _, values, directions = np.linalg.svd(new, full_matrices=False)
        basis = np.concatenate([basis, directions[values > 1e-6]])
        places += [(place, source, more)] if (more := int((values > 1e-6).sum())) else []
    sizes = {"parameters": rows.parameters, "answers": rows.answers}
    return SourcedFreedom(spectrum=spectrum, places=tuple(places), **sizes)


class _Computation:
    """The equations of a function, in order, and its layers and products of data."""

    def __init__(self, function, x):
        # Drawn, so that nothing is zero by chance; symbols stay.
        random, self.names = np.random.default_rng(0), function.names
        draw = lambda leaf: random.uniform(0.05, 0.1, np.shape(leaf))  # noqa: E731
        params, example = jax.tree.map(draw, function.params), x[:1]
        example = draw(example) if x.dtype.kind == "f" else example
        closed, leaves = jax.make_jaxpr(function.apply)(params, example), jax.tree.leaves(params)
        self.leaves = [_Value(params=frozenset([at])) for at in range(len(leaves))]
        self.steps, self.layers, self.products = [], [], []
        inputs = [*self.leaves, _Value(data=True)]
        self._follow(closed.jaxpr, closed.consts, inputs)
        self.known = dict(zip(inputs, [*leaves, example], strict=True))
        ends = np.cumsum([leaf.size for leaf in leaves])
        self.spots = np.split(np.arange(ends[-1]), ends[:-1])

    def _follow(self, jaxpr, consts, inputs):
        """Take the equations as steps, calls by what they call; return the values of the outputs."""
        env = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *inputs), strict=True))
        read = lambda of: of.val if hasattr(of, "val") else env[of]  # noqa: E731
        for equation in jaxpr.eqns:
            arguments, params = [read(of) for of in equation.invars], equation.params
            if equation.primitive.name in _CALLS:
                inner = params.get("jaxpr", params.get("call_jaxpr"))
                inner = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
                outputs = self._follow(*inner, arguments)
            else:
                outputs = [_Value(of.aval.shape) for of in equation.outvars]
                self.steps.append((equation, arguments, outputs))
                self._place(equation, arguments, outputs)
            env |= dict(zip(equation.outvars, outputs, strict=True))
        return [read(of) for of in jaxpr.outvars]

    def _place(self, equation, arguments, outputs):
        """Say of what a step's outputs are made, and whether it is a layer."""
        name, values = equation.primitive.name, [v for v in arguments if isinstance(v, _Value)]
        data = [value for value in values if value.data]
        params = frozenset[int]().union(*(value.params for value in values if not value.data))
        if not data:
            for output in outputs:
                output.params = params
            return
        linear = name in _LINEAR or (name in _PRODUCTS and len(data) == 1)
        if name in ("div", "select_n"):  # by data, among data
            first = arguments[0] is data[0]
            linear = (first and len(data) == 1) if name == "div" else not first
        reads: dict[_Layer, bool] = {}
        for value in data:
            for layer, straight in value.layers.items():
                reads[layer] = reads.get(layer, True) and straight and linear
        before = [layer for layer, straight in reads.items() if straight and layer.params]
        if params and name in _SHIFTS and len(before) == 1:
            before[0].params.extend(params)
            before[0].output = outputs[0]
        elif params or (name == "dot_general" and len(data) == 2):
            layer = _Layer(sorted(params), reads, outputs[0], name in ("div", "mul"))
            self.layers.append(layer)
            if not params:
                self.products.append((layer, equation.params["dimension_numbers"][1], arguments))
            reads = (reads if name in _SHIFTS else {}) | {layer: True}
        for output in outputs:
            output.data, output.layers = True, reads

    def sets(self) -> Iterator[tuple[str, str, np.ndarray]]:
        """Yield places, sources and sets of parameters, by number, in the order in which they count."""
        layers = [layer for layer in self.layers if layer.params]
        parts, heads = {layer: [] for layer in layers}, []
        for product, batch, values in self.products:
            meet, source = [], SOURCES[1]
            for value, axes in zip(values, batch, strict=True):
                side = [of for of, straight in value.layers.items() if straight and of.params]
                if side:
                    meet.append((side, self._heads(side, value, axes, [value])))
            for side, each in meet:
                for layer in side:
                    parts[layer] += [np.intersect1d(head, self._all(layer)) for head in each]
            readers = [layer for layer in layers if layer.reads.get(product)]
            if len(meet) == 1 and readers:
                source, outputs = SOURCES[2], [layer.output for layer in readers]
                each = self._heads(readers, product.output, range(len(batch[0])), outputs)
                meet.append((readers, each))
            if len(meet) == 2:
                name = self._name(*meet[0][0], *meet[1][0])
                for at, pair in enumerate(zip(meet[0][1], meet[1][1], strict=True), 1):
                    place = f"{name}, head {at}" if len(meet[0][1]) > 1 else name
                    heads.append((place, source, np.union1d(*pair)))
        for layer in layers:
            for part in parts[layer] or [self._all(layer)]:
                yield self._name(layer), "one layer", part
        yield from sorted(heads, key=lambda head: head[1])
        for layer in layers:
            if layer.scales:
                around = [of for of, straight in layer.reads.items() if straight]
                around += [of for of in layers if of.reads.get(layer)]
                yield self._name(layer), "normalisation", self._all(layer, *around)
        for layer in layers:
            readers = [of for of in layers if layer in of.reads]
            yield self._name(layer), "neurons", self._all(layer, *readers)

    def _all(self, *layers):
        """Return all parameters of these layers, by number."""
        return np.unique(np.concatenate([self.spots[at] for of in layers for at in of.params]))

    def _name(self, *layers):
        """Return the name of each layer's first parameter."""
        names = [self.names[layer.params[0]].removesuffix(".weight") for layer in layers]
        return ", ".join(dict.fromkeys(names))

    def _heads(self, layers, value, axes, targets):
        """Return for every index along these axes the layers' parameters that move the targets by this part of a value."""
        chosen = sorted(set[int]().union(*(layer.params for layer in layers)))

        def moved(leaves, kept):
            env = self.known | {self.leaves[at]: of for at, of in zip(chosen, leaves, strict=True)}
            for equation, arguments, outputs in self.steps:
                inputs = [env[of] if isinstance(of, _Value) else of for of in arguments]
                results = equation.primitive.bind(*inputs, **equation.params)
                results = results if equation.primitive.multiple_results else [results]
                env |= dict(zip(outputs, results, strict=True))
                if value in outputs:
                    env[value] = env[value] * kept
            return sum(env[target].sum() for target in targets)

        slopes, heads = jax.jit(jax.grad(moved)), []
        for index in np.ndindex(*(value.shape[axis] for axis in axes)):
            along, kept = dict(zip(axes, index, strict=True)), np.zeros(value.shape)
            kept[tuple(along.get(axis, slice(None)) for axis in range(kept.ndim))] = 1
            drawn = slopes([self.known[self.leaves[at]] for at in chosen], kept)
            pairs = zip(chosen, drawn, strict=True)
            heads.append(np.concatenate([self.spots[at][np.ravel(by) != 0] for at, by in pairs]))
        return heads
