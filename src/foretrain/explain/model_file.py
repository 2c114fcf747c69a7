"""An explanation from files: ``model.py`` with the network's functions, ``data.npz`` with the examples."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from foretrain.elsewhere.curves import read_measured
from foretrain.elsewhere.examples import read_examples
from foretrain.elsewhere.own_model import own_model
from foretrain.engine.cache import program_cache
from foretrain.errors import argument_error, file_argument, nearest
from foretrain.explain.explain import explained
from foretrain.explain.explanation import Explanation
from foretrain.explain.own_network import Training, described
from foretrain.tasks.array_files import read_npy

_EXPLAINED = ("seeds", "from_zero", "tell", "out", "cores", "shard")  # options of `explained`


@program_cache()
def explain_files(
    model: str | PathLike,
    data: str | PathLike,
    *,
    measured: Sequence[str | PathLike] | None = None,
    **options: Any,
) -> Explanation | None:
    """Explain the network of a Python file on the examples of an npz file.

    Args:
        model, data: As of `described_files`.
        measured: Files of runs made elsewhere; ``step_column`` and ``loss_column`` are as of `read_measured`.
        **options: These, and others of `foretrain.explain.explain.explained` and `described_files`.

    Raises:
        ForetrainError: The file raises; the text has its line. Also as of `foretrain.explain.explain.explained`.
        StoreError: The data cannot be read.
    """
    own = {name: options.pop(name) for name in _EXPLAINED if name in options}
    columns = {name: options.pop(name, None) for name in ("step_column", "loss_column")}
    source = partial(described_files, model, data, **options)
    training, runs = source(), None
    if measured:
        runs = read_measured(*measured, **columns, epoch_steps=training.epoch_steps)
    return explained(training, measured=runs, source=source, **own)


def described_files(
    model: str | PathLike,
    data: str | PathLike,
    *,
    labels: str | PathLike | None = None,
    loss: str | None = None,
    learning_rate: float | str | None = None,
    **options: Any,
) -> Training:
    """Describe the training of files.

    Args:
        model: As of `foretrain.elsewhere.own_model.own_model`; a Python file may define ``loss(outputs, y)`` and
            ``learning_rate(step)``, too.
        data: An .npz file of ``x``, ``y``, and perhaps ``x_test`` and ``y_test``; or an .npy file of ``x``.
        labels: An .npy file of ``y``, beside an .npy file of ``x``.
        loss: By default the file's, else ``mse``.
        learning_rate: By default the file's; an .npy file holds those of every step.
        **options: `activation`, `layers`, `outputs` and `order` (.npy files), others of `own_model` and `described`.
    """
    arrays = read_examples(data, labels)
    if "y" not in arrays:
        repair = "An .npz file holds it beside `x`; an .npy file is named by --labels."
        raise argument_error("data", "hold the array `y`", f"has {', '.join(arrays)}", repair)
    for name in ("order", "outputs"):
        if options.get(name) is not None:
            options[name] = read_npy(file_argument(name, options[name]))
    read = {n: options.pop(n) for n in ("activation", "layers", "outputs") if n in options}
    network = own_model(model, arrays["x"], **read)
    functions = network.functions
    if learning_rate is None and "learning_rate" not in functions:
        got = "neither an option nor `model` gives it"
        repair = nearest("rate", ["learning_rate"]) if "rate" in functions else ""
        raise argument_error("learning_rate", "be given", got, repair)
    rate = functions["learning_rate"] if learning_rate is None else learning_rate
    if isinstance(rate, str) and rate.endswith(".npy"):
        rate = read_npy(file_argument("learning_rate", rate))
    options |= {"learning_rate": rate, "loss": loss or functions.get("loss", "mse")}
    training = described(network.apply, network.init, **arrays, **options)
    notes = (note for note in network.notes if not note.startswith("No layers"))  # of `analyze`
    return replace(training, notes=(*training.notes, *notes), single=network.single)
