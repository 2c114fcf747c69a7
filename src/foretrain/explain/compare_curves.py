"""Runs made elsewhere beside a stored prediction or explanation: what can be said of them without training anything."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.elsewhere.curves import read_measured
from foretrain.errors import StoreError, argument_error, path_argument, real
from foretrain.explain.beside import Beside, beside
from foretrain.explain.explanation_text import MEASURED_HEADING, RUN
from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    legend_below,
    panels,
    style,
    theory_line,
)
from foretrain.report.findings import write_findings
from foretrain.words import fold, laid

PAGE, RECORD = "comparison.html", "comparison.json"
_EXPLANATION, _PREDICTION = "explanation.json", "prediction.json"
_DASHES = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.8, 1.2, 1.8)))


def compare_curves(
    curves: str | PathLike | Sequence[str | PathLike],
    folder: str | PathLike,
    *,
    rate: float | str | None = None,
    step_column: str | None = None,
    loss_column: str | None = None,
) -> Beside:
    """Lay runs made elsewhere beside what `foretrain explain` or `foretrain predict` has stored.

    Args:
        curves: One file of curves or several, see `foretrain.elsewhere.curves.read_measured`.
        folder: A folder that either has written.
        rate: Learning rate of the measured runs; for a prediction of `foretrain predict`, whose time is step x rate.
        step_column, loss_column: Names of columns of the files.

    Raises:
        ArgumentError: A file, a column or the rate cannot be used.
        StoreError: The folder holds neither, or a record that cannot be read.
    """
    files = [curves] if isinstance(curves, str | PathLike) else curves
    measured = read_measured(*files, step_column=step_column, loss_column=loss_column)
    folder = path_argument("second", folder)
    at, theories = _stored(folder, rate)
    return beside(measured, at, theories, RUN if RUN in theories else None)


def text(found: Beside, width: float = np.inf) -> str:
    """A comparison in lines of at most `width` columns."""
    lines = [*found.lines(), "", MEASURED_HEADING, *laid(found.rows(), (0,), width)]
    return "\n".join(fold(line, int(width)) if len(line) > width else line for line in lines)


def draw(found: Beside) -> dict[str, Drawing]:
    """The measured runs over the theories."""
    with style():
        figure, ax = panels(height=4.4)
        colours = [one for name, one in PALETTE.items() if name != "black"]
        drawn = {name for name in found.curves if not name.startswith("explained")} | {
            found.nearest
        }
        for place, name in enumerate(one for one in found.curves if one in drawn):
            losses = found.curves[name]
            line = theory_line(colours[place % 6], linestyle=_DASHES[place % 3])
            top = 2 * losses[:, 0].mean()
            ax.plot(np.maximum(found.at, 0.5), np.minimum(losses.mean(0), top), **line, label=name)
        measured_line(ax, found)
        ax.set(xlabel="Step", ylabel="Loss, training", xscale="log", ylim=(0, None))
        legend_below(figure, 2)
    caption = "Measured runs, and means over starts of what was predicted, the training itself, and the nearest theory."
    return {"comparison": Drawing(figure, "Measured and expected", caption)}


def measured_line(ax: Any, found: Beside) -> None:
    """Draw circles at the mean of measured runs, in the band from the lowest to the highest where there are several."""
    steps, losses = np.maximum(found.measured.steps, 0.5), found.measured.losses
    losses = np.where(np.isfinite(losses), losses, np.nan)
    several = len(losses) > 1
    label = f"measured: mean and range of {len(losses)} runs" if several else "measured"
    circles = {"color": INK, "markerfacecolor": "white", "markersize": 4, "zorder": 5}
    ax.plot(steps, losses.mean(0), "o", **circles, label=label)
    if several:
        low, high = losses.min(0), losses.max(0)
        ax.fill_between(steps, low, high, color=INK, alpha=0.12, linewidth=0)


def write(found: Beside, folder: str | PathLike) -> tuple[Path, ...]:
    """Write ``comparison.json``, the figure and ``comparison.html`` into a folder, which is made if need be.

    Raises:
        FolderError: The folder cannot be made or written.
    """
    summary, *said = found.lines()
    heading, *rows = found.rows()
    return write_findings(
        Path(folder),
        PAGE,
        draw(found),
        record=(RECORD, found.as_dict()),
        title="Measured and expected",
        summary=summary,
        doubts=[("Said", said)],
        tables=[(MEASURED_HEADING, heading, rows)],
    )


def _stored(folder, rate) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """Steps and the losses of every theory that a folder holds."""
    explained = folder / _EXPLANATION
    try:
        if explained.is_file():
            record = json.loads(explained.read_text("utf-8"))
            losses = {name: _array(one) for name, one in record["losses"].items()}
            return np.array(record["steps"]), losses
        path = folder / _PREDICTION
        if not path.is_file():
            raise StoreError(
                f"`{folder}` holds neither {_EXPLANATION} nor {_PREDICTION}: make one by `foretrain explain` or `predict`."
            )
        record = json.loads(path.read_text("utf-8"))
        if rate is None:
            rule = "be the learning rate of the measured runs"
            raise argument_error(
                "rate", rule, "is not given, and the prediction's time is step x rate"
            )
        pace = real("rate", rate, above=0)
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
    return np.array([[np.inf if one is None else one for one in row] for row in rows], float)
