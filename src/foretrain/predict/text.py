"""Predictions as text: which paths win, when each mode is learned, the expected loss, and how far to trust it."""

import math
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from foretrain.claims import markup
from foretrain.predict.laws import law_words
from foretrain.words import count, fold, laid

_ROWS = 16
_TABLES = "print() shows the tables; .modes, .times, .loss hold them."


def prediction_text(prediction: Any, width: float = math.inf) -> str:
    """The tables of a `foretrain.predict.prediction.Prediction`, in lines of at most `width` columns."""
    lines = [_head(prediction), *_trust(prediction)]
    lines += ["", *_mode_table(prediction.modes, prediction.horizon, width), ""]
    ends = _ends(prediction)
    lines += [f"{ends[0].upper()}{ends[1:]}.", *laid(_loss_rows(prediction, 11), (), width)]
    if prediction.trained is not None:
        lines += ["", *_judged(prediction, width)]
    return _folded(lines, width)


def prediction_summary(prediction: Any) -> str:
    """A `foretrain.predict.prediction.Prediction` in a few lines, for a prompt or a notebook."""
    outcomes = [mode.outcome for mode in prediction.modes]
    counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes))
    lines = [
        f"Prediction of {_head(prediction)}, from {start_words(prediction)}",
        f"  {_ends(prediction)}",
        f"  modes: {counts or 'nothing to learn'}",
        *(f"  {line}" for line in _trust(prediction)),
        *(f"  {line}" for line in _judged(prediction)[:1]),
        f"  {_TABLES}",
    ]
    return "\n".join(lines)


def ranking_rows(ranking: Any) -> list[tuple[str, ...]]:
    """The table of a `foretrain.predict.prediction.Ranking`, a heading first."""
    trained = ranking.predictions[0].trained is not None
    head = ("rank", "candidate", f"time to loss {_number(ranking.target_loss)}")
    head += ("trained",) if trained else ()
    rows = [(*head, "final loss", "attainable", "residual", "end")]
    pairs = zip(ranking.predictions, ranking.learning_times, strict=True)
    for place, (one, time) in enumerate(pairs, 1):
        times = (_time(time),)
        if trained:
            seen = one.trained.networks.time_to(ranking.target_loss)
            times += (_time(float(np.median(seen))),)
        numbers = (*times, _number(one.final_loss), _attainable(one), f"{one.residual:.1g}")
        end = {True: "stable", False: "saddle", None: "unknown"}[one.stable]
        end = end if one.drawn is None else "followed"
        rows.append((str(place), one.label, *numbers, end))
    return rows


def ranking_text(ranking: Any, width: float = math.inf) -> str:
    """The table of a `foretrain.predict.prediction.Ranking`, the fastest candidate first; as `prediction_text`."""
    rows = ranking_rows(ranking)
    lines = laid(rows, (1, len(rows[0]) - 1), width)
    first = ranking.predictions[0]
    if first.drawn is not None:
        draws = len(first.drawn.curves)
        lines.append(
            f"followed: the exact flow of {draws} draws of {start_words(first)}; medians. The residual is that of the "
            "reduction, which is not used."
        )
        if first.trained is not None:
            lines.append(f"trained: median of {len(first.trained.networks.curves)} networks each.")
        return _folded(lines, width)
    if any(one.stable is False for one in ranking.predictions):
        lines.append("saddle: small random weights leave the predicted end and learn more, later.")
    if any(one.stable is None for one in ranking.predictions):
        lines.append(
            "unknown: the statistics have no exact reduction; the final loss is not that of training."
        )
    return _folded(lines, width)


def told(found: Any, width: float = math.inf) -> str:
    """A prediction or a ranking in words, in lines of at most `width` columns."""
    tell = ranking_text if hasattr(found, "predictions") else prediction_text
    return tell(found, width)


def _folded(lines: Sequence[str], width: float) -> str:
    """Lines, of which those that are too long are folded; tables have been given room before."""
    return "\n".join(fold(line, int(width)) if len(line) > width else line for line in lines)


def ranking_summary(ranking: Any) -> str:
    """A `foretrain.predict.prediction.Ranking` in a few lines."""
    number = len(ranking.predictions)
    lines = [f"Ranking of {count(number, 'candidate')}", *ranking_text(ranking).splitlines()]
    return "\n".join(lines[:8] + [f"... {number - 6} more"] * (number > 6))


def _head(prediction) -> str:
    reduction = prediction.reduction
    paths = count(len(reduction.paths), "trained path")
    return f"{prediction.label}: {paths} in {count(len(reduction.groups), 'independent group')}"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 1e-12 else "0"


def _time(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


def _attainable(prediction) -> str:
    least = "at least " if prediction.attainable_is_bound else ""
    return f"{least}{_number(prediction.attainable_loss)}"


def start_words(prediction: Any) -> str:
    """The start of a prediction in words."""
    if prediction.drawn is None:
        return f"strength {prediction.init_scale:g}"
    return f"random weights, {law_words(prediction.law, prediction.init_scale)}"


def followed_lines(prediction: Any) -> list[str]:
    """Which of the two predictions is printed where weights are random, and what the other would have been off by."""
    reduced = prediction.reduced
    lines = [
        f"Printed: the exact flow of the statistics in float64 from {start_words(prediction)}; median of "
        f"{len(prediction.drawn.curves)} draws. What it conserves held to {prediction.drift:.1g}."
    ]
    if not prediction.finished and prediction.falls_short:
        what = "at least " if prediction.attainable_is_bound else ""
        lines.append(
            f"At time {prediction.horizon:.4g}, where it was left, not every draw is down to the attainable loss, "
            f"{what}{_number(prediction.attainable_loss)}."
        )
    if prediction.exact:
        why = "The statistics have an exact reduction for decoupled starts; random weights are none"
    else:
        why = f"No basis diagonalises the statistics (residual {prediction.residual:.3g})"
    part = reduced.worst / prediction.initial_loss if prediction.initial_loss else 0.0
    line = (
        f"{why}. The reduction, from strength {reduced.strength:.3g}, would have been off by up to "
        f"{_number(reduced.worst)} ({part:.2g} of the loss at the start, at time {_number(reduced.worst_time)}): half of "
        f"the way by {_time(reduced.learning_time)}, not {_time(prediction.learning_time)}; its end is loss "
        f"{_number(reduced.final_loss)}, not {_number(prediction.final_loss)}."
    )
    if prediction.stable is False:
        line += " That end is a saddle of the whole network."
    return [*lines, line]


def judged_rows(prediction: Any) -> list[tuple[str, ...]]:
    """The numbers of a prediction beside trained networks, a heading first."""
    head = ("", "predicted", "trained", "off by (95% interval)", "allowed", "verdict")
    rows: list[tuple[str, ...]] = [(*head, "reduction", "its verdict")]
    for one in prediction.trained.judged:
        rows.append(
            (
                one.quantity,
                _time(one.predicted),
                _time(one.trained),
                f"{_signed(one.off)} ({_signed(one.off_low)} to {_signed(one.off_high)})",
                f"{one.allowed:.2g}",
                one.verdict,
                _time(one.reduced),
                one.reduced_verdict,
            )
        )
    return rows


def _judged(prediction, width: float = math.inf) -> list[str]:
    if prediction.trained is None:
        return []
    trained = prediction.trained
    verdicts = [one.verdict for one in trained.judged]
    counts = ", ".join(f"{v} {verdicts.count(v)}" for v in ("agrees", "differs", "open"))
    reduced = [one.reduced_verdict for one in trained.judged]
    networks, agreed = len(trained.networks.curves), reduced.count("agrees")
    head = (
        f"Trained {networks} networks on the examples, other draws, {trained.steps} steps of descent at learning rate "
        f"{trained.learning_rate:.3g}: the prediction {counts}; the reduction agrees in {agreed} of {len(reduced)}."
    )
    return [head, *laid(judged_rows(prediction), (0,), width)]


def _signed(value: float) -> str:
    return f"{value:+.2g}" if math.isfinite(value) else "never"


def _trust(prediction) -> list[str]:
    if prediction.drawn is not None:
        return followed_lines(prediction)
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


def _mode_table(modes, horizon: float, width: float) -> list[str]:
    if not modes:
        return ["Nothing to learn: on no path do open examples correlate with their targets."]
    rows = _mode_rows(modes[:_ROWS])
    lines = laid(rows, (0, len(rows[0]) - 1), width)
    if len(modes) > _ROWS:
        lines.append(f"... and {len(modes) - _ROWS} more, learned later.")
    if any(math.isinf(mode.half_learning_time) for mode in modes):
        lines.append(f"never: not by time {horizon:.4g}.")
    return lines


def _mode_rows(modes) -> list[tuple[str, ...]]:
    drawn = bool(modes) and modes[0].earliest is not None
    half = ("half learned", "of all draws") if drawn else ("half learned",)
    rows = [("path", "mode", "S", "D", "Pr(path)", *half, "share", "outcome")]
    for mode in modes:
        rows.append(
            (
                mode.path,
                str(mode.mode),
                _number(mode.singular_value),
                _number(mode.input_variance),
                _number(mode.active),
                _time(mode.half_learning_time),
                *([f"{_time(mode.earliest)} to {_time(mode.latest)}"] if drawn else []),
                f"{mode.share:.2f}",
                mode.outcome,
            )
        )
    return rows


def _loss_rows(prediction, most: int) -> list[tuple[str, ...]]:
    times, losses = prediction.times, prediction.loss
    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), most)).astype(int))
    head, columns = ["time", "expected loss"], [times, losses]
    if prediction.drawn is not None:
        drawn = prediction.drawn.at(times)
        head += ["lowest", "highest", "reduction"]
        columns += [drawn.min(axis=0), drawn.max(axis=0), prediction.reduced.loss]
    if prediction.trained is not None:
        trained = prediction.trained.networks.at(times)
        head += ["trained", "lowest", "highest"]
        columns += [np.median(trained, axis=0), trained.min(axis=0), trained.max(axis=0)]
    return [tuple(head), *(tuple(_number(c[at]) for c in columns) for at in chosen)]


def trust_lines(found: Any) -> list[str]:
    """Sentences on the trust in a prediction, or in each of a ranking."""
    if hasattr(found, "predictions"):
        return [f"{one.label}: {line}" for one in found.predictions for line in _trust(one)]
    return [*_trust(found), *_judged(found)[:1]]


def page_tables(found: Any) -> list[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    """The tables of a prediction or a ranking for a page: heading, names of columns, rows."""
    if hasattr(found, "predictions"):
        return [("Candidates", *_split(ranking_rows(found)))]
    tables = []
    if found.trained is not None:
        tables.append(("Judged by trained networks", *_split(judged_rows(found))))
    if found.modes:
        tables.append(("Modes", *_split(_mode_rows(found.modes[:200]))))
    return [*tables, ("Loss", *_split(_loss_rows(found, 41)))]


def reading_lines(found: Any) -> list[str]:
    """What the columns of the table of modes say; [] for a ranking, and where nothing is learned."""
    if hasattr(found, "predictions") or not found.modes:
        return []
    return [
        "A mode is one direction of the inputs and the direction of the targets that it decides; it is learned as a whole. A "
        "path is a way along edges from an input to an output.",
        "S: how strongly inputs and targets of the mode vary together on the examples that open the path, a mean over all "
        "examples. The larger S is the sooner the mode is learned.",
        "D: how strongly the inputs of the mode vary by themselves on these examples. A path that learns the mode alone ends "
        "where the product of its weights is S / D.",
        "Pr(path): fraction of the examples that open the path.",
        "Half learned: time at which half of the mode is there, in step x learning rate: at learning rate 0.1, time 20 is "
        "step 200. never: not within the time that was followed.",
        "Share: part of the mode that this path carries at the end. Of paths that are open on the same examples one wins (0.9 "
        "or more), or several share it.",
    ]


def notebook_face(found: Any) -> str:
    """A prediction or a ranking as HTML for a notebook: its summary and how far to trust it, its figure, tables to unfold."""
    title, *lines = repr(found).splitlines()
    ranked = hasattr(found, "predictions")
    return markup.render(
        "report/face.html",
        title=title,
        subtitle="",
        # The tables stand below: nothing has to be printed for them.
        lines=trust_lines(found) if ranked else [one for one in lines if one.strip() != _TABLES],
        parts=[],
        tables=page_tables(found),
        **({} if ranked else {"picture": b64encode(found.plot()._repr_png_()).decode()}),
    )


def _split(rows):
    return rows[0], rows[1:]
