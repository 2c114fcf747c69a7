"""Predictions from files: graphs, data and times, as the command line names them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.errors import argument_error, file_argument, real
from foretrain.graph import Graph, read_graph
from foretrain.predict.predict import predict, rank
from foretrain.predict.prediction import Prediction, Ranking
from foretrain.tasks.gated_data import GatedData, load_gated_data

_MODELS = (".py", ".pt", ".pth", ".safetensors")


def predict_files(
    files: Sequence[str | PathLike],
    *,
    times: Sequence[str] | None = None,
    until: str | None = None,
    **options: Any,
) -> Prediction | Ranking:
    """Predict what a graph will learn on a file of data, or rank several such candidates.

    Args:
        files: As of `read_candidates`.
        times, until: As of `read_times`.
        **options: Of `foretrain.predict.predict.predict`.
    """
    options["times"] = read_times(times, until)
    candidates = read_candidates(files)
    if len(candidates) > 1:
        return rank(candidates, **options)
    ((label, (graph, data)),) = candidates.items()
    return predict(graph, data, label=label, **options)


def read_times(times: Sequence[str] | None, until: str | None) -> np.ndarray | None:
    """Return the times of the loss from the texts of two options, or None where neither is given.

    `times` ascend, in step x learning rate; `until` is the last of 201 times. Both together raise `ArgumentError`.
    """
    if until is None:
        return None if times is None else np.array([real("times", time) for time in times])
    if times is not None:
        raise argument_error("until", "be given without `times`", f"is {until}")
    return np.linspace(0, real("until", until, above=0), 201)


def read_candidates(files: Sequence[str | PathLike]) -> dict[str, tuple[Graph, GatedData]]:
    """Read graphs and data files in the order in which a command line names them.

    Files are a TOML file, then npz files of data on that graph, then perhaps another TOML file with its own, ... Returns name
    to (graph, data), the name being the data file's path, after its graph's where a file stands under several.
    """
    pairs: list[tuple[Path, Path]] = []
    graph_path = None
    for path in map(Path, files):
        if path.suffix == ".toml":
            _check_used(graph_path, pairs)
            graph_path = path
        elif graph_path is None:
            own = path.suffix in _MODELS
            repair = "A network of your own is read by `foretrain explain model.py data.npz`."
            raise argument_error(
                "files", "begin with a graph, a TOML file", f"begins with `{path}`", repair * own
            )
        elif (graph_path, path) in pairs:
            raise argument_error("files", "be distinct", f"`{graph_path} {path}` is named twice")
        else:
            pairs.append((graph_path, path))
    _check_used(graph_path, pairs)
    graphs = {path: read_graph(path) for path, _ in pairs}
    seen = [path for _, path in pairs]
    return {
        str(path) if seen.count(path) == 1 else f"{graph_path} {path}": (
            graphs[graph_path],
            load_gated_data(file_argument("files", path), graphs[graph_path]),
        )
        for graph_path, path in pairs
    }


def _check_used(graph_path: Path | None, pairs: list[tuple[Path, Path]]) -> None:
    if graph_path is not None and graph_path not in [used for used, _ in pairs]:
        rule = "hold at least one data file for every graph"
        raise argument_error("files", rule, f"`{graph_path}` has none")
