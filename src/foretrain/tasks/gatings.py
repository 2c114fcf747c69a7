"""Candidate gatings of one task: ways to divide its examples among parallel pathways."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from foretrain.errors import argument_error, finite_array
from foretrain.tasks.gated_data import GatedData
from foretrain.tasks.logic import pathways_graph


def partitions(items: Sequence) -> Iterator[tuple[tuple, ...]]:
    """Every way to divide items into groups: 15 for four items (Bell's numbers)."""
    if not items:
        yield ()
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield ((first,), *smaller)
        for number, group in enumerate(smaller):
            yield (*smaller[:number], (first, *group), *smaller[number + 1 :])


def gates_by_features(features: Mapping[str, np.ndarray]) -> np.ndarray:
    """One pathway per combination of values of some features of the examples.

    Features map a name to values (sample,); gates are (pathway, sample), float64, and each example opens one pathway.
    """
    stacked = np.stack([np.asarray(values) for values in features.values()], axis=1)
    _, kind = np.unique(stacked, axis=0, return_inverse=True)
    return (kind.ravel() == np.arange(kind.max() + 1)[:, None]).astype(float)


def pathways_data(
    inputs: np.ndarray, targets: np.ndarray, gates: np.ndarray, hidden_width: int = 1
) -> GatedData:
    """Data of parallel two-layer pathways from ``x`` to ``y`` with given gates.

    Targets are (sample, 1), gates (pathway, sample), real, those of the hidden node of each pathway, of `hidden_width`.
    """
    gates = finite_array("gates", gates, ndim=2)
    inputs = finite_array("inputs", inputs, ndim=2)
    if gates.shape[1] != len(inputs):
        rule = f"have shape (pathway, {len(inputs)})"
        raise argument_error("gates", rule, f"has shape {gates.shape}")
    graph = pathways_graph(len(gates), hidden_width, input_width=inputs.shape[1])
    named = {f"h{number + 1}": gate for number, gate in enumerate(gates)}
    return GatedData(graph, {"x": inputs}, {"y": targets}, named)


def least_loss(inputs: np.ndarray, targets: np.ndarray, gates: np.ndarray) -> float:
    """Lowest mean of 1/2 |y - h|^2 that parallel linear pathways with these gates can reach, by least squares.

    Args:
        gates: Shape (pathway, sample), real; pathways may overlap.
    """
    gated = np.concatenate([gate[:, None] * inputs for gate in gates], axis=1)
    weights, *_ = np.linalg.lstsq(gated, targets, rcond=None)
    return float(((targets - gated @ weights) ** 2).sum(1).mean() / 2)
