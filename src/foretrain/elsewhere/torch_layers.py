"""Layers of an exported PyTorch module: values that all of the computation passes through, and the sections between them.

A layer's activations are a vector, or positions by features where values are (1, T, d) and nothing is convolved. Symbols that
only embeddings read are one-hot, (T, symbols).
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from foretrain.degeneracy.network import Network, Section, dense, network_of
from foretrain.elsewhere.adapters import known_nonlinearity
from foretrain.elsewhere.aten import operation
from foretrain.errors import argument_error, nearest

_PRODUCTS = ("addmm", "bmm", "convolution", "embedding", "mm")
_VIEWS = ("_unsafe_view", "alias", "clone", "view")  # the same numbers in the same order
_SYMBOLS = 1000  # at most so many are made one-hot
Part = tuple[Section, dict[str, np.ndarray], list[str]]  # leaves, and their names in the module


def network_of_graph(
    graph: Any, params: dict[str, np.ndarray], layers: Sequence[str] | None = None
) -> Network:
    """Return the network whose layers are outputs of the named submodules, or every possible layer of a module of vectors.

    Without `layers` a linear map and its nonlinearity are a section, and so is any other step that multiplies, with what
    follows up to the next: a residual block with the normalisation after it.

    Raises:
        ArgumentError: The module convolves and no layers are named, a layer is gone around, or a parameter acts in two.
    """
    cuts = _trimmed(_cuts(graph))
    if layers is None:
        if _convolves(graph):
            rule, got = "name submodules where the module convolves", "are not given"
            raise argument_error("layers", rule, got)
        parts = _sections(graph, params, cuts)
    else:
        ends = [_end(graph, cuts, name) for name in layers]
        ends = [cuts[0], *ends, *([] if ends[-1:] == [cuts[-1]] else [cuts[-1]])]
        at = [cuts.index(end) for end in ends]
        if sorted(set(at)) != at:
            raise argument_error("layers", "be in the order of the computation", f"are {layers}")
        parts = []
        for begin, end in pairwise(at):
            inner = _sections(graph, params, cuts[begin : end + 1])
            parts += inner if len(inner) == 1 else [_other(graph, params, cuts[begin], cuts[end])]
    used = [name for _, _, names in parts for name in names]
    twice = next((name for name in used if used.count(name) > 1), None)
    if twice is not None:
        rule = "use each parameter in one layer"
        raise argument_error("model", rule, f"`{twice}` acts in two")
    if _shape(graph, cuts[0])[0] > 1 and not any(section.positions for section, *_ in parts):
        rule, repair = "read positions together", "Give each position as an example."
        raise argument_error("model", rule, "acts on each alike", repair)
    return network_of([section for section, *_ in parts], [leaves for _, leaves, _ in parts])


def symbols(graph: Any) -> int:
    """Return the number of symbols where only embeddings read the data; 0 for other data.

    Raises:
        ArgumentError: Data of whole numbers are read otherwise, or symbols are too many to be one-hot.
    """
    if graph.input.meta["val"].is_floating_point():
        return 0
    users = list(graph.input.users)
    if any(operation(node.target) != "embedding" for node in users):
        rule = "read whole numbers by embeddings alone"
        raise argument_error("model", rule, "has something else that reads them")
    (many,) = {node.args[0].meta["val"].shape[0] for node in users[:1]}
    if many > _SYMBOLS:
        raise argument_error("model", f"have at most {_SYMBOLS:,} symbols", f"has {many:,}")
    return many


def _convolves(graph):
    return any(operation(node.target) == "convolution" for node in graph.nodes)


def _shape(graph, node) -> tuple[int, int]:
    """Return the numbers of positions (1 without positions) and of features of a value."""
    shape = tuple(node.meta["val"].shape)
    many = symbols(graph) if node is graph.input else 0
    if many:
        return math.prod(shape), many
    if not _convolves(graph) and (len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)):
        return shape[-2:]
    return 1, math.prod(shape)


def _cuts(graph):
    """Return the input, and every node that all of the later computation goes through."""
    last: dict[Any, int] = {}
    data = {graph.input}
    for at, node in enumerate(graph.nodes):
        reads = [value for value in node.all_input_nodes if value in data]
        if reads:
            data.add(node)
        last |= dict.fromkeys(reads, at)
    last[graph.output] = len(graph.nodes)
    cuts, alive = [graph.input], {graph.input}
    for at, node in enumerate(graph.nodes):
        if node in data:
            alive.add(node)
        alive = {value for value in alive if last.get(value, -1) > at}
        if alive == {node} and hasattr(node.meta["val"], "ndim"):
            cuts.append(node)
    return cuts


def _trimmed(cuts):
    """Return the cuts without those at both ends that only reshape data or outputs."""
    viewed = [operation(node.target) in _VIEWS for node in cuts]
    begin = next((at - 1 for at in range(1, len(cuts)) if not viewed[at]), 0)
    end = next((at for at in range(len(cuts) - 1, begin, -1) if not viewed[at]), begin)
    return cuts[begin : end + 1]


def _places(node):
    return [path for path, _ in (node.meta.get("nn_module_stack") or {"": ("", "")}).values()]


def _end(graph, cuts, name):
    """Return the node of a submodule's output."""
    inside = [node for node in graph.nodes if name in _places(node)]
    if not inside:
        names = {place for node in graph.nodes for place in _places(node) if place}
        raise argument_error("layers", "name submodules", f"`{name}` is none", nearest(name, names))
    inside = [node for node in inside if operation(node.target) not in _VIEWS] or inside
    if inside[-1] not in cuts:
        got = f"something goes around `{name}`"
        repair = "Name the module that a residual is added in."
        raise argument_error("layers", "be passed by all of the computation", got, repair)
    return inside[-1]


def _between(graph, begin, end):
    """Return the nodes that `end` needs after `begin`, in order, and the names of their parameters."""
    needed, front = set(), [end]
    while front:
        node = front.pop()
        if node is not begin and node not in needed:
            needed.add(node)
            front += node.all_input_nodes
    names = {graph.parameters[node.name] for node in needed if node.name in graph.parameters}
    return [node for node in graph.nodes if node in needed], sorted(names)


def _other(graph, params, begin, end) -> Part:
    """Return a section that is no linear map with a nonlinearity."""
    nodes, names = _between(graph, begin, end)
    shape, whole = tuple(begin.meta["val"].shape), _shape(graph, end)
    many = symbols(graph) if begin is graph.input else 0
    together = any(_shape(graph, node)[0] > 1 for node in _trimmed(_cuts(graph)))

    def apply(params, f):
        f = f.reshape(*shape, many) if many else f.reshape(shape)
        return graph.value(params, {begin: f}, nodes, end).reshape(whole if together else -1)

    section = Section(apply, inputs=_shape(graph, begin)[1], positions=together)
    return section, {name: params[name] for name in names}, names


def _sections(graph, params, cuts) -> list[Part]:
    parts: list[Part] = []
    begin, multiplies = None, False  # of a step that is still open

    def close(end):
        nonlocal begin, multiplies
        if begin is not None and _pointwise(graph, begin, end) != "identity":
            parts.append(_other(graph, params, begin, end))
        begin, multiplies = None, False

    for before, node in pairwise(cuts):
        linear = _linear(graph, params, before, node)
        name = None if linear or begin is not None else _pointwise(graph, before, node)
        if linear:
            close(before)
            parts.append(linear)
        elif name == "identity":
            continue
        elif name and parts and parts[-1][0].activation == "identity":
            _, leaves, names = parts.pop()
            parts.append((dense(name, "bias" in leaves), leaves, names))
        else:
            steps, _ = _between(graph, before, node)
            product = any(operation(step.target) in _PRODUCTS for step in steps)
            if product and multiplies:
                close(before)
            begin, multiplies = begin or before, multiplies or product
    close(cuts[-1])
    return parts


def _linear(graph, params, begin, end) -> Part | None:
    """Return the section W f + b, equal at every position, or None."""
    nodes, _ = _between(graph, begin, end)
    if [operation(node.target) for node in nodes] not in (["permute", "addmm"], ["permute", "mm"]):
        return None
    turned, product = nodes
    *bias, read, by = product.args
    weight = graph.parameters.get(turned.args[0].name)
    biases = [graph.parameters.get(node.name) for node in bias]
    if read is not begin or by is not turned or weight is None or None in biases or product.kwargs:
        return None
    leaves = {"weight": params[weight]} | ({"bias": params[biases[0]]} if biases else {})
    shapes = _shape(graph, begin), _shape(graph, end)
    if shapes[0][0] != shapes[1][0] or (shapes[1][1], shapes[0][1]) != leaves["weight"].shape:
        return None
    return dense("identity", bool(biases)), leaves, [weight, *biases]


def _pointwise(graph, begin, end) -> str | None:
    """Return the name of the coordinate-wise nonlinearity of a step without parameters; None if it is no such step."""
    _, names = _between(graph, begin, end)
    shape = _shape(graph, begin)
    if names or (begin is graph.input and symbols(graph)) or _shape(graph, end) != shape:
        return None
    grid = np.linspace(-4, 4, 41)
    points = grid[(np.arange(41)[:, None] + 7 * np.arange(math.prod(shape))) % 41]
    section, _, _ = _other(graph, {}, begin, end)
    with jax.enable_x64(True):
        values = jax.vmap(lambda f: section.apply({}, f.reshape(shape)))(points)
    return known_nonlinearity(points, np.asarray(values))
