"""An explanation from files and to files: ``model.py`` with the network's functions, ``data.npz`` with the examples."""

import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from foretrain.elsewhere.measured import read_measured
from foretrain.elsewhere.own_model import own_model
from foretrain.errors import argument_error, nearest
from foretrain.explain.coordinate_check import CoordinateCheck, coordinate_check
from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described
from foretrain.explain.parametrisations import EXPONENTS
from foretrain.tasks.array_files import read_npz

PAGE = "explanation.html"
_IN_USE = ExitStack()  # of the files that a worker has read
_ARRAYS = ("x", "y", "x_test", "y_test")


def explain_files(
    model: str | PathLike,
    data: str | PathLike,
    *,
    loss: str | None = None,
    measured: Sequence[str | PathLike] | None = None,
    step_column: str | None = None,
    loss_column: str | None = None,
    out: str | PathLike | None = None,
    seeds: int | str = 16,
    from_zero: bool = False,
    cores: Set[int] | None = None,
    tell: Callable[[str], object] | None = None,
    **options: Any,
) -> Explanation:
    """Explain the network of a Python file on the examples of an npz file.

    Args:
        model: A file that defines ``apply(weights, x)`` and ``init(key)``, or else as of
            `foretrain.elsewhere.own_model.own_model`; a Python file may define ``loss(outputs, y)`` and ``rate(step)``, too.
            It is run, because it is named.
        data: Arrays ``x`` and ``y``, and perhaps ``x_test`` and ``y_test``.
        loss: By default the file's, else ``squared``.
        measured: Files of runs of this training made elsewhere; they and their columns are as of
            `foretrain.elsewhere.measured.read_measured`.
        step_column, loss_column: Names of their columns.
        out, from_zero, cores, tell: As of `foretrain.explain.explain.explained`.
        seeds: Number of starts; one where the model has no more.
        **options: Of `foretrain.explain.own_network.described`; a `rate` of None is the file's.

    Raises:
        ForetrainError: The file raises; the text has its line. Also as of `foretrain.explain.explain.explain`.
        StoreError: The data cannot be read.
    """
    runs = None
    if measured:
        runs = read_measured(*measured, step_column=step_column, loss_column=loss_column)
    files = {"model": _absolute(model), "data": _absolute(data), "loss": loss, **options}
    with described_files(**files) as (training, single):
        return explained(
            training,
            seeds=1 if single else seeds,
            from_zero=from_zero,
            measured=runs,
            out=out,
            source=partial(_training_of, files),
            cores=cores,
            tell=tell,
        )


def _absolute(path: str | PathLike) -> str:
    """The path, of ``model.py:name`` too, as every process can open it."""
    return os.path.abspath(path)


def _training_of(files: dict[str, Any]) -> Training:
    """The training of two files in a worker; as long as that lives, its functions may import what stands beside them."""
    training, _ = _IN_USE.enter_context(described_files(**files))
    return training


@contextmanager
def described_files(
    model: str | PathLike, data: str | PathLike, loss: str | None, **options: Any
) -> Iterator[tuple[Training, bool]]:
    """The training of two files, and whether its network has a single start; arguments are those of `explain_files`."""
    with _files(model, data, loss, options) as (network, arrays):
        training = described(network.apply, network.init, **arrays, **options)
        yield replace(training, notes=network.notes), network.single


def check_files(
    model: str | PathLike,
    data: str | PathLike,
    *,
    loss: str | None = None,
    parametrisation: str | None = None,
    **options: Any,
) -> CoordinateCheck:
    """The coordinate check of a Python file whose ``init(key, width)`` draws networks of a width.

    Args:
        model, data, loss: As of `explain_files`; its file defines ``apply`` and ``init``.
        parametrisation, **options: Of `foretrain.explain.coordinate_check.coordinate_check`; a `rate` of None is the file's.

    Raises:
        ArgumentError: The parametrisation is not declared, or ``init`` does not take two arguments. Also as of the check.
    """
    if parametrisation is None:
        raise argument_error(
            "parametrisation", "be given with `widths`", "is not", f"One of {', '.join(EXPONENTS)}."
        )
    with _files(model, data, loss, options) as (network, arrays):
        try:
            signature(network.init).bind(None, 1)
        except TypeError:
            rule = "define the function `init(key, width)`"
            raise argument_error("model", rule, "its `init` takes no width") from None
        x, y = arrays["x"], arrays["y"]
        return coordinate_check(
            network.apply, network.init, x, y, parametrisation=parametrisation, **options
        )


@contextmanager
def _files(model, data, loss, options):
    """The network and the arrays of two files; sets the loss and the rate of `options`."""
    arrays = read_npz(data)
    for name in arrays:
        if name not in _ARRAYS:
            raise argument_error(
                "data", "hold known arrays", f"has `{name}`", nearest(name, _ARRAYS)
            )
    for name in ("x", "y"):
        if name not in arrays:
            raise argument_error(
                "data", f"hold the array `{name}`", f"has {', '.join(arrays) or 'none'}"
            )
    with own_model(model, arrays["x"]) as network:
        if options.get("rate") is None:
            if "rate" not in network.functions:
                raise argument_error("rate", "be given", "neither an option nor `model` gives it")
            options["rate"] = network.functions["rate"]
        options["loss"] = loss or network.functions.get("loss", "squared")
        yield network, arrays


def write(explanation: Explanation, folder: str | PathLike) -> tuple[Path, ...]:
    """Write ``explanation.json``, the figure and ``explanation.html`` into a folder, which is made if need be.

    Raises:
        FolderError: The folder cannot be made or written.
    """
    from foretrain.explain import explanation_text as words
    from foretrain.explain.explanation_figure import draw
    from foretrain.figures.findings import write_findings

    summary, *said = words.head_lines(explanation)
    beside = explanation.beside()
    return write_findings(
        Path(folder),
        PAGE,
        draw(explanation),
        record=("explanation.json", explanation.as_dict()),
        above=1,
        title="Why the run is not what theory says",
        summary=summary,
        doubts=[("Said", said)],
        closing=[
            *([] if beside is None else [("Measured", beside.lines())]),
            ("Self-check, and what to trust", words.trust_lines(explanation)),
        ],
        tables=words.page_tables(explanation),
    )
