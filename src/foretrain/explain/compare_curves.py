"""Runs made elsewhere against a stored prediction or explanation, without training anything."""

import json
from collections.abc import Sequence
from os import PathLike

import numpy as np

from foretrain.elsewhere.curves import read_measured
from foretrain.errors import StoreError, argument_error, path_argument, real
from foretrain.explain.curve_comparison import RUN, CurveComparison, curve_comparison

_EXPLANATION, _PREDICTION = "explanation.json", "prediction.json"


def compare_curves(
    curves: str | PathLike | Sequence[str | PathLike],
    folder: str | PathLike,
    *,
    learning_rate: float | str | None = None,
    step_column: str | None = None,
    loss_column: str | None = None,
) -> CurveComparison:
    """Compare runs made elsewhere with what `foretrain explain` or `foretrain predict` has stored.

    Args:
        curves: One file of curves or several, see `foretrain.elsewhere.curves.read_measured`.
        folder: A folder that either has written.
        learning_rate: Of the measured runs; for a prediction of `foretrain predict`, whose time is step x rate.
        step_column, loss_column: Names of columns of the files.

    Raises:
        ArgumentError: A file, a column or the learning rate cannot be used.
        StoreError: The folder holds neither, or a record that cannot be read.
    """
    files = [curves] if isinstance(curves, str | PathLike) else curves
    measured = read_measured(*files, step_column=step_column, loss_column=loss_column)
    folder = path_argument("second", folder)
    at, theories = _stored(folder, learning_rate)
    return curve_comparison(measured, at, theories, RUN if RUN in theories else None)


def _stored(folder, learning_rate) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Steps and the losses of every theory that a folder holds."""
    explained = folder / _EXPLANATION
    try:
        if explained.is_file():
            record = json.loads(explained.read_text("utf-8"))
            losses = {name: _array(rows) for name, rows in record["losses"].items()}
            return np.array(record["steps"]), losses
        path = folder / _PREDICTION
        if not path.is_file():
            raise StoreError(
                f"`{folder}` holds neither {_EXPLANATION} nor {_PREDICTION}: make one by `foretrain explain` or `predict`."
            )
        record = json.loads(path.read_text("utf-8"))
        if learning_rate is None:
            rule = "be the learning rate of the measured runs"
            got = "is not given, and the prediction's time is step x rate"
            raise argument_error("learning_rate", rule, got)
        pace = real("learning_rate", learning_rate, above=0)
        if "candidates" in record:
            raise argument_error("second", "hold one prediction", "ranks several candidates")
        losses = {"the prediction": _array([record["loss"]])}
        if "trained" in record:
            losses["networks trained beside it"] = _array(record["trained"]["loss"])
        return np.array(record["times"]) / pace, losses
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise StoreError(
            f"The record of `{folder}` cannot be read: {type(error).__name__}. Make it again by foretrain explain or predict."
        ) from None


def _array(rows):
    return np.array([[np.inf if loss is None else loss for loss in row] for row in rows], float)
