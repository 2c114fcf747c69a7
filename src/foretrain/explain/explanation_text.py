"""An explanation in words and tables."""

import math
from base64 import b64encode
from typing import Any

import numpy as np

from foretrain.claims import markup
from foretrain.claims.interval import Interval
from foretrain.explain.shares import FLOOR, apart, lost
from foretrain.explain.simulated import Corner
from foretrain.words import count, duration, fold, laid, number

_Q = (
    "its change along the way of the linearised network moves the curve by {correction} of the loss at the start, and comes "
    "to {q} of the kernel at the end of that"
)
_SAID = {
    "will do": f"The kernel at the start will do: {_Q}.",
    "not to be trusted": f"The kernel at the start is not to be trusted: {_Q}.",
    "cannot be said": f"Whether the kernel at the start will do cannot be said: {_Q}.",
    "diverges": "From {diverging} of {starts} starts the linearised network diverges in these steps: no curve is predicted. "
    "The rate times its sharpness over two is {edge}, and descent on all examples needs less than 1.",
}
RUN = "the training itself"
MEASURED_HEADING = "Largest difference from the measured run, over the loss at the start"
_MEANS = {
    "lazy": "the kernel hardly moves",
    "rich": "the kernel moves, features are learned",
    "edge": "the sharpness is at the edge of what the rate allows",
    "undecided": "the numbers name no regime",
}


def cause_words(training: Any, name: str) -> str:
    """The name of a cause."""
    step = "the step's size and momentum" if training.momentum else "the step's size"
    return {
        "layers": "layers learn together",
        "gates": "gates move",
        "step": step,
        "batches": "minibatches",
        "output": "output at the start",
    }[name]


def corner_words(training: Any, corner: Corner) -> str:
    """A corner as what is kept and given up."""
    network = {
        (False, False): "kernel",
        (True, False): "gates frozen",
        (False, True): "layers apart",
        (True, True): "network",
    }[corner.layers, corner.gates]
    step = "own steps" if corner.step else "flow"
    sizes = {True: ", own batches", False: ", all examples"} if training.in_batches else {}
    zero = "" if corner.output else ", from zero"
    return f"{network}, {step}{sizes.get(corner.batches, '')}{zero}"


def forecast_words(forecast: Any) -> str:
    """The verdict of a prediction before training in a sentence or two."""
    q, correction = (
        "" if one is None else plus_minus(one) for one in (forecast.movement, forecast.correction)
    )
    starts = {"diverging": forecast.diverging, "starts": len(forecast.train)}
    return _SAID[forecast.verdict].format(
        q=q, correction=correction, edge=plus_minus(forecast.edge), **starts
    )


def head_lines(whole: Any) -> list[str]:
    """The training, its losses, and the regime, in lines."""
    training = whole.training
    rates = training.learning_rates
    rate = (
        number(rates[0])
        if (rates == rates[0]).all()
        else f"{number(rates[0])} to {number(rates[-1])}"
    )
    batch = f"batches of {training.batch_size}" if training.in_batches else "all examples in a step"
    losses = (
        f"loss from {_mean(whole.train[whole.run][:, 0])} to {_mean(whole.train[whole.run][:, -1])}"
    )
    if whole.test is not None:
        losses += f", of the test from {_mean(whole.test[whole.run][:, 0])} to {_mean(whole.test[whole.run][:, -1])}"
    lines = [
        f"{whole.weights:,} weights, {len(training.x)} examples, {training.steps} steps of {training.optimizer} "
        f"at rate {rate}, {batch}; {count(whole.starts, 'start')}.",
        f"Trained: {losses}.",
    ]
    if whole.forecast is None:
        lines.append(
            "Said before training: nothing, for Adam's steps are no recursion of the kernel."
        )
    else:
        lines.append(f"Said before training: {forecast_words(whole.forecast)}")
    regime = whole.regime
    lines.append(
        f"Regime: {regime.name}, {_MEANS[regime.name]}. The kernel moved by {plus_minus(regime.movement)}"
        f"{_twin(regime.twin_movement)}, rate times sharpness over two ended at {plus_minus(regime.edge)}"
        f"{_twin(regime.twin_edge)}{_gates(regime)}."
    )
    return lines


def miss_rows(whole: Any) -> list[tuple[str, ...]]:
    """How far theories are from the run, a heading first: predictions, and explanations with one assumption kept."""
    rows: list[tuple[str, ...]] = [
        ("", "miss", *(["miss on the test"] if whole.test is not None else []))
    ]
    for name, corner in shown(whole).items():
        kinds = (whole.train, whole.test)[: len(rows[0]) - 1]
        cells = [miss_words(curves[corner], curves[whole.run]) for curves in kinds]
        rows.append((name, *cells))
    for one in whole.extra:
        if one.train is not None:
            miss = miss_words(one.train, whole.train[whole.run][: len(one.train)])
            rows.append((f"{one.kind}: {one.name}", miss, *[""] * (len(rows[0]) - 2)))
    return rows


def shown(whole: Any) -> dict[str, Corner]:
    """The corners that tables show, by name: predictions, and explanations with one assumption kept."""
    predicted = {
        Corner(),
        Corner(output=False),
        Corner(step=True, batches=whole.training.in_batches),
    }
    chosen = {*predicted, Corner(True, True), whole.theory}
    chosen |= {one for one in whole.train if sum(one) == sum(whole.run) - 1}
    named = {}
    for corner in sorted(chosen - {whole.run}, key=sum):
        if corner in whole.train:
            trained = corner not in predicted or whole.forecast is None
            kind = "explained" if trained else "predicted"
            named[f"{kind}: {corner_words(whole.training, corner)}"] = corner
    return named


def cause_rows(whole: Any, split: str = "train") -> list[tuple[str, ...]]:
    """The causes of the gap with their shares, a heading first; only that where the gap is too small."""
    shares = whole.shares if split == "train" else whole.test_shares
    rows = [("cause", "share of all parts", "alone", "last")]
    for one in shares.causes:
        share = f"{one.share.measured:.0f}%"
        if math.isfinite(one.share.low):
            share += f" ({one.share.low:.0f} to {one.share.high:.0f})"
        rows.append(
            (
                cause_words(whole.training, one.name),
                share,
                number(one.alone, 2),
                number(one.last, 2),
            )
        )
    return rows


def gap_line(whole: Any, split: str = "train") -> str:
    """The size of the gap and how far its parts cancel."""
    shares = whole.shares if split == "train" else whole.test_shares
    what = "training loss" if split == "train" else "test loss"
    line = (
        f"From `{corner_words(whole.training, whole.theory)}` to the run the {what} differs by up to "
        f"{plus_minus(shares.range)} of the loss at the start"
    )
    if not shares.causes:
        return f"{line}: below {FLOOR}, there is nothing to take apart."
    return f"{line}; the parts are {number(shares.cancel, 2)} times the gap."


def trust_lines(whole: Any) -> list[str]:
    """The self-check and what cannot be said, in lines."""
    checks, training = whole.checks, whole.training
    lines = []
    if checks.closed is not None:
        lines.append(
            f"Every assumption kept is the closed form to {checks.closed:.1g} of the loss at the start."
        )
    if checks.recursion is not None:
        lines.append(
            f"The kernel in own steps and batches is its recursion to {checks.recursion:.1g}."
        )
    lines.append(f"No assumption kept is the run of Optax to {checks.run:.1g}.")
    if checks.run > 1e-9:
        lines.append("That is more than 1e-9: the training amplifies rounding.")
    if not training.adaptive:
        held = "; on minibatches each is held for its own step" if training.in_batches else ""
        lines.append(f"The flow is small steps, {whole.substeps} x 4 gradients in a step{held}.")
        if whole.single:
            lines.append("Small steps are in single precision, all else in double.")
    lines += [f"Not {one.kind}: {one.name}, for {one.why}." for one in whole.extra if one.why]
    away = int(lost(whole.train[whole.run]).sum())
    if away:
        lines.append(
            f"From {count(away, 'start')} the network itself diverges; the regime is that of the others."
        )
    if whole.starts < 2 and not training.notes:
        lines.append("One start has no interval.")
    lines.append(
        "Shares are of the largest sizes of all parts; with interactions they lie between what a cause changes alone and "
        "last, both over the loss at the start."
    )
    return [*lines, *training.notes, f"Took {duration(whole.seconds)}."]


def text(whole: Any, width: float = math.inf) -> str:
    """An explanation in lines of at most `width` columns."""
    lines = head_lines(whole)
    lines += [
        "",
        "Largest difference from the run, over the loss at the start",
        *laid(miss_rows(whole), (0,), width),
    ]
    lines += measured_text(whole.beside(), width)
    for split in ("train", "test")[: 1 + (whole.test is not None)]:
        lines += ["", gap_line(whole, split)]
        rows = cause_rows(whole, split)
        lines += laid(rows, (0,), width) if len(rows) > 1 else []
    lines += ["", *trust_lines(whole)]
    return "\n".join(fold(line, int(width)) if len(line) > width else line for line in lines)


def measured_text(found: Any, width: float = math.inf) -> list[str]:
    """Runs made elsewhere beside theories, in lines of a text; none without runs."""
    if found is None:
        return []
    return ["", *found.lines(), "", MEASURED_HEADING, *laid(found.rows(), (0,), width)]


def summary(whole: Any) -> str:
    """An explanation in a few lines, for a prompt or a notebook."""
    head = head_lines(whole)
    causes = ", ".join(
        f"{name} {share.partition(' ')[0]}" for name, share, *_ in cause_rows(whole)[1:]
    )
    return "\n".join(
        [
            f"Explanation of {head[0]}",
            *(f"  {line}" for line in head[1:]),
            f"  {gap_line(whole)}",
            *([f"  causes: {causes}"] if causes else []),
            "  print() shows the tables, .plot() the curves; .dataset() holds them.",
        ]
    )


def page_tables(whole: Any) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """The tables of a page: heading, names of columns, rows."""
    rows = miss_rows(whole)
    tables = [("Largest difference from the run, over the loss at the start", rows[0], rows[1:])]
    found = whole.beside()
    if found is not None:
        heading, *rows = found.rows()
        tables.append((MEASURED_HEADING, heading, rows))
    for split in ("train", "test")[: 1 + (whole.test is not None)]:
        rows = cause_rows(whole, split)
        if len(rows) > 1:
            tables.append((gap_line(whole, split), rows[0], rows[1:]))
    return tables


def notebook_face(whole: Any) -> str:
    """An explanation as HTML for a notebook: its summary, its figure, and tables to unfold."""
    title, *lines = summary(whole).splitlines()
    return markup.render(
        "report/face.html",
        title=title,
        subtitle="",
        lines=lines,
        picture=b64encode(whole.plot()._repr_png_()).decode(),
        parts=[],
        tables=page_tables(whole),
    )


def as_dict(whole: Any) -> dict:
    """The numbers of the tables as JSON-ready values."""

    def causes(shares):
        return {
            one.name: {"share": _ends(one.share), "alone": one.alone, "last": one.last}
            for one in shares.causes
        }

    forecast, regime = whole.forecast, whole.regime
    record = {
        "said_before": None if forecast is None else forecast.verdict,
        "regime": regime.name,
        "kernel_movement": _ends(regime.movement),
        "edge": _ends(regime.edge),
        "gap": _ends(whole.shares.range),
        "causes": causes(whole.shares),
        "misses": {
            corner_words(whole.training, one): _ends(whole.miss(one))
            for one in whole.train
            if one != whole.run
        },
        "steps": whole.at.tolist(),
        "losses": {
            name: [[_json(loss) for loss in curve.tolist()] for curve in whole.train[one]]
            for name, one in {**shown(whole), RUN: whole.run}.items()
        },
        "seconds": whole.seconds,
    }
    if (found := whole.beside()) is not None:
        record["measured"] = found.as_dict()
    if whole.test_shares is not None:
        record["test_gap"] = _ends(whole.test_shares.range)
        record["test_causes"] = causes(whole.test_shares)
    return record


def _ends(one: Interval):
    return [_json(value) for value in (one.measured, one.low, one.high)]


def _json(value):
    return value if math.isfinite(value) else None


def plus_minus(one: Interval) -> str:
    """A value with half the width of its interval, where it has one."""
    if not (math.isfinite(one.low) and math.isfinite(one.high)):
        return number(one.measured, 2)
    return f"{number(one.measured, 2)} +- {number((one.high - one.low) / 2, 1)}"


def _gates(regime):
    if regime.gates is None:
        return ""
    null = "" if regime.twin_gates is None else f" (linearised {regime.twin_gates.measured:.1%})"
    return f", {regime.gates.measured:.1%} of gates changed{null}"


def _twin(one):
    return "" if one is None else f" (linearised {number(one.measured, 2)})"


def _mean(values):
    return number(float(np.mean(values)), 3)


def miss_words(curves: np.ndarray, run: np.ndarray) -> str:
    """How far curves (start, time) are from those of the run, or that they diverge where it does not."""
    if (lost(curves) & ~lost(run)).any():
        return "diverges"
    return plus_minus(apart(curves, run))
