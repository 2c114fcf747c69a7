"""Predictions as text: which paths win, when each mode is learned, the expected loss, and how far to trust it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

_ROWS, _CURVE_ROWS = 16, 11


def prediction_text(prediction: Any) -> str:
    """The tables of a `foretrain.forecast.prediction.Prediction`."""
    lines = [_head(prediction), *_trust(prediction)]
    lines += ["", *_mode_table(prediction.modes, prediction.horizon), "", *_loss_table(prediction)]
    return "\n".join(lines)


def prediction_summary(prediction: Any) -> str:
    """A `foretrain.forecast.prediction.Prediction` in a few lines, for a prompt or a notebook."""
    outcomes = [mode.outcome for mode in prediction.modes]
    counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes))
    lines = [
        f"Prediction of {_head(prediction)}, from strength {prediction.init_scale:g}",
        f"  {_ends(prediction)}",
        f"  modes: {counts or 'nothing to learn'}",
        *(f"  {line}" for line in _trust(prediction)),
        "  print() shows the tables; .modes, .times, .loss hold them.",
    ]
    return "\n".join(lines)


def ranking_text(ranking: Any) -> str:
    """The table of a `foretrain.forecast.prediction.Ranking`, the fastest candidate first."""
    head = ("rank", "candidate", f"time to loss {_number(ranking.target_loss)}")
    rows = [(*head, "final loss", "attainable", "residual", "end")]
    pairs = zip(ranking.predictions, ranking.learning_times, strict=True)
    for place, (one, time) in enumerate(pairs, 1):
        numbers = (_time(time), _number(one.final_loss), _attainable(one), f"{one.residual:.1g}")
        end = {True: "stable", False: "saddle", None: "unknown"}[one.stable]
        rows += [(str(place), one.label, *numbers, end)]
    lines = _table(rows, left=(1, 6))
    if any(one.stable is False for one in ranking.predictions):
        lines.append("saddle: small random weights leave the predicted end and learn more, later.")
    if any(one.stable is None for one in ranking.predictions):
        lines.append(
            "unknown: the statistics have no exact reduction; the final loss is not that of training."
        )
    return "\n".join(lines)


def ranking_summary(ranking: Any) -> str:
    """A `foretrain.forecast.prediction.Ranking` in a few lines."""
    number = len(ranking.predictions)
    lines = [f"Ranking of {_count(number, 'candidate')}", *ranking_text(ranking).splitlines()]
    return "\n".join(lines[:8] + [f"... {number - 6} more"] * (number > 6))


def _head(prediction) -> str:
    reduction = prediction.reduction
    paths = _count(len(reduction.paths), "trained path")
    return f"{prediction.label}: {paths} in {_count(len(reduction.groups), 'independent group')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 1e-12 else "0"


def _time(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


def _attainable(prediction) -> str:
    least = "at least " if prediction.attainable_is_bound else ""
    return f"{least}{_number(prediction.attainable_loss)}"


def _trust(prediction) -> list[str]:
    lines = []
    attainable = f"loss {_attainable(prediction)} is attainable"
    end = _number(prediction.final_loss)
    if prediction.stable is False:
        curvature = prediction.smallest_curvature
        how = f"smallest curvature {curvature:.3g}" if curvature < 0 else "a flat one, left late"
        lines.append(
            f"UNSTABLE: the end of this prediction, loss {end}, is a saddle of the whole network ({how}). "
            f"Small random weights leave it: {attainable}."
        )
    if prediction.exact:
        line = f"Residual {prediction.residual:.1g}: the reduction is exact for decoupled starts."
        if prediction.stable and prediction.falls_short:
            line += f" Its end, loss {end}, is stable, though {attainable}."
        elif prediction.stable:
            line += " Its end is stable, and no weights do better."
        return [*lines, line]
    line = (
        f"Residual {prediction.residual:.3g}: this part of the statistics is left out at every instant; "
        "what that does to the curves can add up over time."
    )
    if prediction.falls_short and prediction.stable is None:
        line += f" The end, loss {end}, is that of the approximation: {attainable}."
    return [*lines, line]


def _ends(prediction) -> str:
    ends = f"loss from {_number(prediction.initial_loss)} to {_number(prediction.final_loss)}"
    if prediction.modes:
        ends += f", half of the way by time {_time(prediction.learning_time)}"
    return f"{ends} (time: step x learning rate)"


def _mode_table(modes, horizon: float) -> list[str]:
    if not modes:
        return ["Nothing to learn: on no path do open examples correlate with their targets."]
    rows = [("path", "mode", "S", "D", "Pr(path)", "half learned", "share", "outcome")]
    for mode in modes[:_ROWS]:
        rows.append(
            (
                mode.path,
                str(mode.mode),
                _number(mode.singular_value),
                _number(mode.input_variance),
                _number(mode.active),
                _time(mode.half_learning_time),
                f"{mode.share:.2f}",
                mode.outcome,
            )
        )
    lines = _table(rows, left=(0, 7))
    if len(modes) > _ROWS:
        lines.append(f"... and {len(modes) - _ROWS} more, learned later.")
    if any(math.isinf(mode.half_learning_time) for mode in modes):
        lines.append(f"never: not by time {horizon:.4g}.")
    return lines


def _loss_table(prediction) -> list[str]:
    times, losses = prediction.times, prediction.loss
    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), _CURVE_ROWS)).astype(int))
    rows = [("time", "expected loss")]
    rows += [(_number(times[at]), _number(losses[at])) for at in chosen]
    ends = _ends(prediction)
    return [f"{ends[0].upper()}{ends[1:]}.", *_table(rows)]


def _table(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
