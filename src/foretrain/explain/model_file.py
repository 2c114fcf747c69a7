"""An explanation from files: ``model.py`` with the network's functions, ``data.npz`` with the examples."""

import os
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from foretrain.elsewhere.curves import read_measured
from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import own_model
from foretrain.errors import argument_error, nearest
from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described


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
            ``learning_rate(step)``, too.
        data: An .npz file of ``x``, ``y``, and perhaps ``x_test`` and ``y_test``; or an .npy file of ``x``, with `labels`.
        loss: By default the file's, else ``mse``.
        measured: Files of runs of this training made elsewhere; they and their columns are as of
            `foretrain.elsewhere.curves.read_measured`.
        step_column, loss_column: Names of their columns.
        out, from_zero, cores, tell: As of `foretrain.explain.explain.explained`.
        seeds: Number of starts; one where the model has no more.
        **options: Of `foretrain.explain.own_network.described`; a `learning_rate` of None is the file's. Also `labels`, an
            .npy file of ``y``.

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


def _files(model, data, loss, options):
    """The network and the arrays of two files; sets the loss and the learning rate of `options`."""
    arrays = read_examples(data, options.pop("labels", None))
    if "y" not in arrays:
        repair = "An .npz file holds it beside `x`; an .npy file is named by --labels."
        raise argument_error("data", "hold the array `y`", f"has {', '.join(arrays)}", repair)
    network = own_model(model, arrays["x"])
    if options.get("learning_rate") is None:
        if "learning_rate" not in network.functions:
            got = "neither an option nor `model` gives it"
            repair = nearest("rate", ["learning_rate"]) if "rate" in network.functions else ""
            raise argument_error("learning_rate", "be given", got, repair)
        options["learning_rate"] = network.functions["learning_rate"]
    options["loss"] = loss or network.functions.get("loss", "mse")
    return network, arrays
