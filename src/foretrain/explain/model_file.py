"""An explanation from files and to files: ``model.py`` with the network's functions, ``data.npz`` with the examples."""

import os
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from foretrain.elsewhere.curves import read_measured
from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import own_model
from foretrain.errors import argument_error
from foretrain.explain.coordinate_check import CoordinateCheck, coordinate_check
from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described
from foretrain.explain.parametrisations import EXPONENTS

PAGE = "explanation.html"


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
        model: As of `foretrain.elsewhere.own_model.own_model`; a Python file may define ``loss(outputs, y)`` and
            ``rate(step)``, too.
        data: An .npz file of ``x``, ``y``, and perhaps ``x_test`` and ``y_test``; or an .npy file of ``x``, with `labels`.
        loss: By default the file's, else ``squared``.
        measured: Files of runs of this training made elsewhere; they and their columns are as of
            `foretrain.elsewhere.curves.read_measured`.
        step_column, loss_column: Names of their columns.
        out, from_zero, cores, tell: As of `foretrain.explain.explain.explained`.
        seeds: Number of starts; one where the model has no more.
        **options: Of `foretrain.explain.own_network.described`; a `rate` of None is the file's. Also `labels`, an .npy file
            of ``y``.

    Raises:
        ForetrainError: The file raises; the text has its line. Also as of `foretrain.explain.explain.explain`.
        StoreError: The data cannot be read.
    """
    runs = None
    if measured:
        runs = read_measured(*measured, step_column=step_column, loss_column=loss_column)
    named = {"model": model, "data": data, "labels": options.pop("labels", None)}
    options["loss"] = loss
    training, single = described_files(**named, **options)
    paths = {name: path and os.path.abspath(path) for name, path in named.items()}
    return explained(
        training,
        seeds=1 if single else seeds,
        from_zero=from_zero,
        measured=runs,
        out=out,
        source=partial(_training_of, {**paths, **options}),
        cores=cores,
        tell=tell,
    )


def _training_of(files: dict[str, Any]) -> Training:
    """The training of two files, made again in a worker."""
    return described_files(**files)[0]


def described_files(
    model: str | PathLike, data: str | PathLike, loss: str | None, **options: Any
) -> tuple[Training, bool]:
    """The training of two files, and whether its network has a single start; arguments are those of `explain_files`."""
    network, arrays = _files(model, data, loss, options)
    training = described(network.apply, network.init, **arrays, **options)
    return replace(training, notes=network.notes), network.single


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
    network, arrays = _files(model, data, loss, options)
    try:
        signature(network.init).bind(None, 1)
    except TypeError:
        rule = "define the function `init(key, width)`"
        raise argument_error("model", rule, "its `init` takes no width") from None
    x, y = arrays["x"], arrays["y"]
    return coordinate_check(
        network.apply, network.init, x, y, parametrisation=parametrisation, **options
    )


def _files(model, data, loss, options):
    """The network and the arrays of two files; sets the loss and the rate of `options`."""
    arrays = read_examples(data, options.pop("labels", None))
    if "y" not in arrays:
        repair = "An .npz file holds it beside `x`; an .npy file is named by --labels."
        raise argument_error("data", "hold the array `y`", f"has {', '.join(arrays)}", repair)
    network = own_model(model, arrays["x"])
    if options.get("rate") is None:
        if "rate" not in network.functions:
            raise argument_error("rate", "be given", "neither an option nor `model` gives it")
        options["rate"] = network.functions["rate"]
    options["loss"] = loss or network.functions.get("loss", "squared")
    return network, arrays


def write(explanation: Explanation, folder: str | PathLike) -> tuple[Path, ...]:
    """Write ``explanation.json``, the figure and ``explanation.html`` into a folder, which is made if need be.

    Raises:
        FolderError: The folder cannot be made or written.
    """
    from foretrain.explain import explanation_text as words
    from foretrain.explain.explanation_figure import draw
    from foretrain.report.findings import write_findings

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
