"""Predictions as text: which paths win, when each mode is learned, the expected loss, and how far to trust it."""

import math

import numpy as np

_ROWS, _CURVE_ROWS = 16, 11


def prediction_text(prediction) -> str:
    """The tables of a `foretrain.forecast.predict.Prediction`."""
    reduction = prediction.reduction
    head = f"{prediction.label}: {_count(len(reduction.paths), 'trained path')} in "
    lines = [head + _count(len(reduction.groups), "independent group")]
    lines.append(_trust(prediction.residual, prediction.exact))
    lines += ["", *_mode_table(prediction.modes, prediction.horizon), "", *_loss_table(prediction)]
    return "\n".join(lines)


def ranking_text(ranking) -> str:
    """The table of a `foretrain.forecast.predict.Ranking`, the fastest candidate first."""
    head = ("rank", "candidate", f"time to loss {_number(ranking.target_loss)}")
    rows = [(*head, "final loss", "residual")]
    pairs = zip(ranking.predictions, ranking.learning_times, strict=True)
    for place, (one, time) in enumerate(pairs, 1):
        numbers = (_time(time), _number(one.final_loss), f"{one.residual:.1g}")
        rows.append((str(place), one.label, *numbers))
    return "\n".join(_table(rows, left=(1,)))


def _count(number, noun) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value) -> str:
    return f"{value:.4g}" if abs(value) >= 1e-12 else "0"


def _time(value) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


def _trust(residual, exact) -> str:
    if exact:
        return f"Residual {residual:.1g}: the reduction is exact for decoupled starts."
    return (
        f"Residual {residual:.3g}: this part of the statistics is left out at every instant; "
        "what that does to the curves can add up over time."
    )


def _mode_table(modes, horizon) -> list[str]:
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
    ends = f"from {_number(prediction.initial_loss)} to {_number(prediction.final_loss)}"
    if prediction.modes:
        ends += f", half of the way by time {_time(prediction.learning_time)}"
    return [f"Loss {ends} (time: step x learning rate).", *_table(rows)]


def _table(rows, left=()) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
