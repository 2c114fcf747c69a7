"""Data of a gated network: inputs, targets and gates, one value of each per example."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from foretrain.errors import argument_error, finite_array, nearest, same_length
from foretrain.graph import Graph
from foretrain.tasks.array_files import read_npz

LARGEST = 1e50  # in size: products of four numbers, as fourth moments are, stay far below the range of float64


@dataclass(frozen=True, eq=False)
class GatedData:
    """Examples for a gated network; the gates belong to the data (Saxe, Sodhani & Lewallen 2022, section 2).

    Attributes:
        graph: The network's graph.
        inputs: Input node to array of shape (sample, width); every input node has one.
        targets: Output node to array of shape (sample, width); every output node has one. Where an output is gated off
            the network's answer is zero, and a target that is not zero only adds a constant to the loss.
        gates: Edge, or node that is not an input, to array of shape (sample,), 0/1 or real. What is left out is 1.

    All arrays are stored as float64. There is at least one sample.

    Raises:
        ArgumentError: a name is unknown or missing, a shape or length does not fit, or a number is not finite or larger
            than `LARGEST`.
    """

    graph: Graph
    inputs: Mapping[str, np.ndarray]
    targets: Mapping[str, np.ndarray]
    gates: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        graph = self.graph
        gateable = [n.name for n in graph.nodes if n.name not in graph.inputs]
        gateable += [edge.name for edge in graph.edges]
        _check_names("x", self.inputs, graph.inputs, "an input node", complete=True)
        _check_names("y", self.targets, graph.outputs, "an output node", complete=True)
        _check_names("gate", self.gates, gateable, "an edge or a node that is not an input")
        prefixes = {"inputs": "x", "targets": "y", "gates": "gate"}
        cleaned = {name: _clean(p, getattr(self, name), graph) for name, p in prefixes.items()}
        arrays = {f"{prefixes[k]}.{n}": a for k, group in cleaned.items() for n, a in group.items()}
        first = next(iter(arrays))
        if not len(arrays[first]):
            raise argument_error(first, "hold at least one sample", "is empty")
        same_length(**arrays)
        for name, group in cleaned.items():
            object.__setattr__(self, name, group)

    @property
    def samples(self) -> int:
        """Number of examples."""
        return len(next(iter(self.inputs.values())))


def _check_names(prefix, arrays, known, kind, *, complete=False):
    for name in arrays:
        if name not in known:
            repair = nearest(name, known)
            raise argument_error(f"{prefix}.{name}", f"name {kind}", "does not", repair)
    for name in known if complete else ():
        if name not in arrays:
            raise argument_error(f"{prefix}.{name}", "be given", "is missing")


def _clean(prefix, arrays, graph):
    cleaned = {}
    for name, array in arrays.items():
        label = f"{prefix}.{name}"
        array = finite_array(label, array, ndim=1 if prefix == "gate" else 2)
        largest = float(np.abs(array).max(initial=0))  # float16 cannot be compared with the bound
        if largest > LARGEST:
            rule = f"hold numbers of at most {LARGEST:g} in size"
            raise argument_error(label, rule, f"holds {largest:g}")
        array = array.astype(np.float64)
        if prefix != "gate" and array.shape[1] != graph.width[name]:
            rule = f"have shape (sample, {graph.width[name]}) by the width of `{name}`"
            raise argument_error(label, rule, f"has shape {array.shape}")
        cleaned[name] = array
    return cleaned


def load_gated_data(path: str | PathLike, graph: Graph) -> GatedData:
    """Read data from an npz file with arrays ``x.<node>``, ``y.<node>`` and ``gate.<edge or node>``.

    Names and widths are checked against the graph. A file that is missing, truncated, no npz, or claims more than it holds, or
    that holds pickled objects, raises `StoreError`.
    """
    groups = {"x": {}, "y": {}, "gate": {}}
    for name, array in read_npz(path).items():
        prefix, _, rest = name.partition(".")
        if prefix not in groups or not rest:
            names = "`x.<node>`, `y.<node>` or `gate.<edge or node>`"
            raise argument_error("data", f"hold arrays whose names are {names}", f"has `{name}`")
        groups[prefix][rest] = array
    return GatedData(graph, groups["x"], groups["y"], groups["gate"])
