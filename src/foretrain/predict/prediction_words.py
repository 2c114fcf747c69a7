"""Words of a prediction: which paths win, when each mode is learned, the expected loss, and how far to trust it."""

import math
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from foretrain.predict.prediction import ModePrediction, Prediction, Ranking
from foretrain.predict.prediction_figures import (
    draw_graph,
    draw_prediction,
    draw_ranking,
    is_drawn,
    start_words,
)
from foretrain.report.answer import Answer, Table
from foretrain.words import count

_MODES, _MODES_PRINTED = 200, 16
_LOSSES, _LOSSES_PRINTED = 41, 11
# Entries of a prediction that are written as they are.
_WRITTEN = (
    "label", "init_scale", "edge_strengths", "residual", "stable", "smallest_curvature", "attainable_loss",
    "attainable_is_bound", "initial_loss", "final_loss", "learning_time", "horizon", "modes", "times", "loss",
)  # fmt: skip
_READING = [
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


def answer(thing: Prediction | Ranking) -> Answer:
    """Return what is said of a prediction, or of candidates that are ranked."""
    return _ranking(thing) if isinstance(thing, Ranking) else _prediction(thing)


def _prediction(prediction: Prediction) -> Answer:
    tables = [_modes(prediction), _losses(prediction)]
    if prediction.trained is not None:
        tables.append(_judged(prediction))
    return Answer(
        name="prediction",
        title=f"Prediction of {prediction.label}",
        head=_head(prediction),
        tables=tables,
        drawings={
            "prediction": partial(draw_prediction, prediction),
            "graph": partial(draw_graph, prediction) if is_drawn(prediction) else None,
            "ranking": None,
        },
        doubts=_trust(prediction),
        numbers=_numbers(prediction),
    )


def _ranking(ranking: Ranking) -> Answer:
    first, time = ranking.predictions[0], ranking.learning_times[0]
    trust: dict[str, list[str]] = {}
    for prediction in ranking.predictions:
        for line in [*_unstable(prediction), *_trust(prediction)]:
            trust.setdefault(line, []).append(prediction.label)
    return Answer(
        name="prediction",
        title=f"Ranking of {count(len(ranking.predictions), 'candidate')}",
        head=[
            f"{first.label} is expected to learn first: it reaches loss {_number(ranking.target_loss)}, half of the way from "
            f"the start to the best end, by time {_time(time)} (time: step x learning rate)."
        ],
        tables=[_candidates(ranking)],
        drawings={
            "ranking": partial(draw_ranking, ranking),
            "graph": partial(draw_graph, first) if is_drawn(first) else None,
            "prediction": None,
        },
        doubts=[f"{', '.join(labels)}: {line}" for line, labels in trust.items()],
        numbers={
            "target_loss": ranking.target_loss,
            "learning_times": ranking.learning_times,
            "candidates": [_numbers(prediction) for prediction in ranking.predictions],
        },
    )


def _head(prediction: Prediction) -> list[str]:
    reduction = prediction.reduction
    paths = count(len(reduction.paths), "trained path")
    groups = count(len(reduction.groups), "independent group")
    start = f", from {start_words(prediction)}"
    outcomes = [mode.outcome for mode in prediction.modes]
    counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in dict.fromkeys(outcomes))
    ends = f"Loss from {_number(prediction.initial_loss)} to {_number(prediction.final_loss)}"
    if prediction.modes:
        ends += f", half of the way by time {_time(prediction.learning_time)}"
    return [
        f"{prediction.label}: {paths} in {groups}{'' if prediction.drawn else start}.",
        *_unstable(prediction),
        *_followed(prediction),
        f"{ends} (time: step x learning rate).",
        f"Modes: {counts or 'nothing to learn'}.",
        *_agreement(prediction),
    ]


def _candidates(ranking: Ranking) -> Table:
    head = ["rank", "candidate", f"time to loss {_number(ranking.target_loss)}"]
    head += ["trained"] if ranking.predictions[0].trained else []
    rows = []
    pairs = zip(ranking.predictions, ranking.learning_times, strict=True)
    for place, (prediction, time) in enumerate(pairs, 1):
        times = [_time(time)]
        if prediction.trained is not None:
            reached = prediction.trained.networks.time_to(ranking.target_loss)
            times.append(_time(float(np.median(reached))))
        losses = _number(prediction.final_loss), _attainable(prediction)
        end = {True: "stable", False: "saddle", None: "unknown"}[prediction.stable]
        end = end if prediction.drawn is None else "followed"
        residual = f"{prediction.residual:.1g}"
        rows.append((str(place), prediction.label, *times, *losses, residual, end))
    head += ["final loss", "attainable", "residual", "end"]
    return Table("Candidates", head, rows, notes=_candidate_notes(ranking))


def _candidate_notes(ranking: Ranking) -> list[str]:
    first = ranking.predictions[0]
    if first.drawn is not None:
        start = start_words(first)
        lines = [
            f"followed: the exact flow of {len(first.drawn.curves)} draws of {start}; medians. The residual is that of the "
            "reduction, which is not used."
        ]
        if first.trained is not None:
            lines.append(f"trained: median of {len(first.trained.networks.curves)} networks each.")
        return lines
    lines, ends = [], {prediction.stable for prediction in ranking.predictions}
    if False in ends:
        lines.append("saddle: small random weights leave the predicted end and learn more, later.")
    if None in ends:
        lines.append(
            "unknown: the statistics have no exact reduction; the final loss is not that of training."
        )
    return lines


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 1e-12 else "0"


def _time(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


def _signed(value: float) -> str:
    return f"{value:+.2g}" if math.isfinite(value) else "never"


def _attainable(prediction: Prediction) -> str:
    least = "at least " if prediction.attainable_is_bound else ""
    return f"{least}{_number(prediction.attainable_loss)}"


def _unstable(prediction: Prediction) -> list[str]:
    """Return a line if the reduction is printed and its end is a saddle."""
    if prediction.stable is not False or prediction.drawn is not None:
        return []
    curvature = prediction.smallest_curvature
    how = f"smallest curvature {curvature:.3g}" if curvature < 0 else "a flat one, left late"
    end = _number(prediction.final_loss)
    return [
        f"UNSTABLE: the end of this prediction, loss {end}, is a saddle of the whole network ({how}). "
        f"Small random weights leave it: loss {_attainable(prediction)} is attainable."
    ]


def _followed(prediction: Prediction) -> list[str]:
    """Return a line that names the prediction which is printed, where weights are random."""
    if prediction.drawn is None:
        return []
    start = start_words(prediction)
    return [
        f"Printed: the exact flow of the statistics in float64 from {start}; median of "
        f"{len(prediction.drawn.curves)} draws. What it conserves held to {prediction.drift:.1g}."
    ]


def _agreement(prediction: Prediction) -> list[str]:
    """Return a line that counts the verdicts of the trained networks."""
    trained = prediction.trained
    if trained is None:
        return []
    verdicts = [number.verdict for number in trained.judged]
    counts = ", ".join(f"{kind} {verdicts.count(kind)}" for kind in ("agrees", "differs", "open"))
    reduced = [number.reduced_verdict for number in trained.judged]
    return [
        f"Trained {len(trained.networks.curves)} networks on the examples, other draws, {trained.steps} steps of descent at "
        f"learning rate {trained.learning_rate:.3g}: the prediction {counts}; the reduction agrees in "
        f"{reduced.count('agrees')} of {len(reduced)}."
    ]


def _trust(prediction: Prediction) -> list[str]:
    if prediction.reduced is not None:
        return _of_the_reduction(prediction, prediction.reduced)
    attainable = f"loss {_attainable(prediction)} is attainable"
    end = _number(prediction.final_loss)
    if prediction.exact:
        line = f"Residual {prediction.residual:.1g}: the reduction is exact for decoupled starts."
        if prediction.stable and prediction.falls_short:
            line += f" Its end, loss {end}, is stable, though {attainable}."
        elif prediction.stable:
            line += " Its end is stable, and no weights do better."
        return [line]
    line = (
        f"Residual {prediction.residual:.3g}: this part of the statistics is left out at every instant; "
        "what that does to the curves can add up over time."
    )
    if prediction.falls_short and prediction.stable is None:
        line += f" The end, loss {end}, is that of the approximation: {attainable}."
    return [line]


def _of_the_reduction(prediction: Prediction, reduced: Prediction) -> list[str]:
    """Return lines on how complete the exact flow is, and on how far off the reduction would have been."""
    lines = []
    if not prediction.finished and prediction.falls_short:
        lines.append(
            f"At time {prediction.horizon:.4g}, where it was left, not every draw is down to the attainable loss, "
            f"{_attainable(prediction)}."
        )
    if prediction.exact:
        why = "The statistics have an exact reduction for decoupled starts; random weights are none"
    else:
        why = f"No basis diagonalises the statistics (residual {prediction.residual:.3g})"
    worst, at = prediction.reduced_worst()
    part = worst / prediction.initial_loss if prediction.initial_loss else 0.0
    line = (
        f"{why}. The reduction, from strength {reduced.init_scale:.3g}, would have been off by up to "
        f"{_number(worst)} ({part:.2g} of the loss at the start, at time {_number(at)}): half of "
        f"the way by {_time(reduced.learning_time)}, not {_time(prediction.learning_time)}; its end is loss "
        f"{_number(reduced.final_loss)}, not {_number(prediction.final_loss)}."
    )
    if prediction.stable is False:
        line += " That end is a saddle of the whole network."
    return [*lines, line]


def _judged(prediction: Prediction) -> Table:
    """Return the numbers of a prediction next to those of the networks trained."""
    assert prediction.trained is not None
    head = ("", "predicted", "trained", "off by (95% interval)", "allowed", "verdict")
    rows = [
        (
            number.quantity,
            _time(number.predicted),
            _time(number.trained),
            f"{_signed(number.off)} ({_signed(number.off_low)} to {_signed(number.off_high)})",
            f"{number.allowed:.2g}",
            number.verdict,
            _time(number.reduced),
            number.reduced_verdict,
        )
        for number in prediction.trained.judged
    ]
    return Table("Judged by trained networks", (*head, "reduction", "its verdict"), rows)


def _modes(prediction: Prediction) -> Table:
    modes = prediction.modes
    if not modes:
        line = "Nothing to learn: on no path do open examples correlate with their targets."
        return Table(line, (), ())
    drawn = modes[0].earliest is not None
    half = ("half learned", "of all draws") if drawn else ("half learned",)
    head = ("path", "mode", "S", "D", "Pr(path)", *half, "share", "outcome")
    rows = [_mode_row(mode) for mode in modes[:_MODES]]
    notes = []
    if len(modes) > _MODES_PRINTED:
        notes.append(f"{len(modes)} modes in all, those learned first in front.")
    if any(math.isinf(mode.half_learning_time) for mode in modes):
        notes.append(f"never: not by time {prediction.horizon:.4g}.")
    return Table("Modes", head, rows, rows[:_MODES_PRINTED], notes, _READING)


def _mode_row(mode: ModePrediction) -> tuple[str, ...]:
    span = []
    if mode.earliest is not None and mode.latest is not None:
        span.append(f"{_time(mode.earliest)} to {_time(mode.latest)}")
    return (
        mode.path,
        str(mode.mode),
        _number(mode.singular_value),
        _number(mode.input_variance),
        _number(mode.active),
        _time(mode.half_learning_time),
        *span,
        f"{mode.share:.2f}",
        mode.outcome,
    )


def _losses(prediction: Prediction) -> Table:
    times = prediction.times
    head, columns = ["time", "expected loss"], [times, prediction.loss]
    if prediction.drawn is not None and prediction.reduced is not None:
        drawn = prediction.drawn.at(times)
        head += ["lowest", "highest", "reduction"]
        columns += [drawn.min(axis=0), drawn.max(axis=0), prediction.reduced.loss]
    if prediction.trained is not None:
        trained = prediction.trained.networks.at(times)
        head += ["trained", "lowest", "highest"]
        columns += [np.median(trained, axis=0), trained.min(axis=0), trained.max(axis=0)]

    def rows(most: int) -> list[tuple[str, ...]]:
        chosen = np.linspace(0, len(times) - 1, min(len(times), most)).astype(int)
        return [tuple(_number(float(column[at])) for column in columns) for at in np.unique(chosen)]

    return Table("Loss", head, rows(_LOSSES), rows(_LOSSES_PRINTED))


def _numbers(prediction: Prediction) -> dict[str, Any]:
    """Return all but the reduced network, as a program reads it."""
    numbers = {name: getattr(prediction, name) for name in _WRITTEN}
    numbers |= {"time_unit": "step x learning rate", "init_law": prediction.law}
    drawn, reduced, trained = prediction.drawn, prediction.reduced, prediction.trained
    if drawn is not None and reduced is not None:
        losses = drawn.at(prediction.times)
        worst, worst_time = prediction.reduced_worst()
        numbers |= {
            "draws": len(losses),
            "lowest_loss": losses.min(axis=0),
            "highest_loss": losses.max(axis=0),
            "conserved_within": prediction.drift,
            "reached_attainable": prediction.finished,
            "reduction": {
                "strength": reduced.init_scale,
                "loss": reduced.loss,
                "final_loss": reduced.final_loss,
                "learning_time": reduced.learning_time,
                "worst": worst,
                "worst_time": worst_time,
            },
        }
    if trained is not None:
        numbers["trained"] = {
            "learning_rate": trained.learning_rate,
            "steps": trained.steps,
            "loss": trained.networks.at(prediction.times),
            "judged": [asdict(number) for number in trained.judged],
        }
    return numbers
