"""An `Explanation` in sentences, tables, numbers and pictures."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.explain.curve_comparison import RUN, CurveComparison, curve_comparison
from foretrain.explain.curve_comparison_words import numbers as comparison_numbers
from foretrain.explain.curve_comparison_words import sentences, table
from foretrain.explain.explanation import Explanation
from foretrain.explain.explanation_figures import every_corner, run_and_parts
from foretrain.explain.kernel.kernel_prediction import KernelPrediction
from foretrain.explain.own_network import Training
from foretrain.explain.shares import FLOOR, Cause, Shares, gap_shares, largest_difference, lost
from foretrain.explain.simulated import Corner, cause_name, corner_name, linear_corner, run_corner
from foretrain.report.answer import Answer, Table
from foretrain.words import count, duration, number

_CORRECTED = "network, flow of L + rate/4 |grad L|^2"
_KERNEL = (
    "its change along the way of the linearised network moves the curve by {correction} of the loss at the start, and comes "
    "to {movement} of the kernel at the end of that"
)
_VERDICTS = {
    "will do": f"The kernel at the start will do: {_KERNEL}.",
    "not to be trusted": f"The kernel at the start is not to be trusted: {_KERNEL}.",
    "cannot be said": f"Whether the kernel at the start will do cannot be said: {_KERNEL}.",
    "diverges": "From {diverging} of {starts} starts the linearised network diverges in these steps: no curve is predicted. "
    "The rate times its sharpness over two is {edge}, and descent on all examples needs less than 1.",
}
_REGIMES = {
    "lazy": "the kernel hardly moves",
    "rich": "the kernel moves, features are learned",
    "edge": "the sharpness is at the edge of what the rate allows",
    "undecided": "the numbers name no regime",
}


def answer(explanation: Explanation) -> Answer:
    """Return what is said of a network predicted, trained and compared."""
    measured = compared(explanation)
    tables = [miss_table(explanation)]
    tables += [] if measured is None else [table(measured, sentences(measured))]
    tables.append(cause_table(explanation, "training", explanation.shares))
    if explanation.test_shares is not None:
        tables.append(cause_table(explanation, "test", explanation.test_shares))
    return Answer(
        name="explanation",
        title="Why the run is not what theory says",
        head=head_lines(explanation),
        tables=tables,
        drawings={
            "explanation": partial(run_and_parts, explanation, measured),
            "corners": partial(every_corner, explanation),
        },
        doubts=trust_lines(explanation),
        numbers=numbers(explanation, measured),
    )


def compared(explanation: Explanation) -> CurveComparison | None:
    """Return the comparison of runs made elsewhere with the curves of the table and the training itself."""
    if explanation.measured is None:
        return None
    corners = {**shown(explanation), RUN: explanation.run}
    curves = {name: explanation.train[corner] for name, corner in corners.items()}
    return curve_comparison(explanation.measured, explanation.at, curves, RUN)


def prediction_words(prediction: KernelPrediction) -> str:
    """Return the verdict of a prediction before training in a sentence or two."""
    words = {
        name: (value := getattr(prediction, name)) and plus_minus(value, most)
        for name, most in (("edge", np.inf), ("movement", np.inf), ("correction", 1))
    }
    starts = {"diverging": prediction.diverging, "starts": len(prediction.train)}
    return _VERDICTS[prediction.verdict].format(**words, **starts)


def screen(training: Training, curves: Mapping[Corner, np.ndarray]) -> str:
    """Return what the starts trained so far say of the gap and its causes, in a sentence; `curves` are training losses."""
    run, shares = curves[run_corner(training)], gap_shares(training, curves)
    causes = [f"{cause_name(training, each.name)} {share_words(each)}" for each in shares.causes]
    words = ", ".join(causes) or f"below {FLOOR}, there is nothing to take apart"
    return f"After {count(len(run), 'start')}: loss from {_ends(run)}, gap {plus_minus(shares.range, 1)}: {words}."


def head_lines(explanation: Explanation) -> list[str]:
    """Return the training, its losses, and the regime, in sentences."""
    training, regime, run = explanation.training, explanation.regime, explanation.run
    rates = training.learning_rates
    rate = number(rates[0])
    rate += "" if (rates == rates[0]).all() else f" to {number(rates[-1])}"
    batch = f"batches of {training.batch_size}" if training.in_batches else "all examples in a step"
    batch += f", gradients clipped to {number(training.clip)}" * (training.clip < np.inf)
    losses = f"loss from {_ends(explanation.train[run])}"
    if explanation.test is not None:
        losses += f", of the test from {_ends(explanation.test[run])}"
    prediction = explanation.prediction
    before = "nothing, for Adam's and clipped steps are no recursion of the kernel: explained, not predicted."
    movement, edge = plus_minus(regime.movement), plus_minus(regime.edge)
    gates = "" if regime.gates is None else f", {regime.gates.measured:.1%} of gates changed"
    if (twin := regime.twin) is not None:
        movement += f" (linearised {number(twin.movement.measured, 2)})"
        edge += f" (linearised {number(twin.edge.measured, 2)})"
        gates += "" if twin.gates is None else f" (linearised {twin.gates.measured:.1%})"
    return [
        f"{explanation.weights:,} weights, {count(len(training.x), 'example')}, {count(training.steps, 'step')} of "
        f"{training.optimizer} at rate {rate}, {batch}; {count(explanation.starts, 'start')}.",
        f"Trained: {losses}.",
        f"Said before training: {before if prediction is None else prediction_words(prediction)}",
        f"Regime: {regime.name}, {_REGIMES[regime.name]}. The kernel moved by {movement}, rate times sharpness over two "
        f"ended at {edge}{gates}.",
        *training.notes,
    ]


def miss_table(explanation: Explanation) -> Table:
    """Return how far theories are from the run: predictions, and explanations with one assumption kept."""
    run, tests, rows = explanation.train[explanation.run], explanation.test, []
    for name, corner in shown(explanation).items():
        row = name, *miss_words(explanation.train[corner], run)
        rows.append(row + (miss_words(tests[corner], tests[explanation.run])[:1] if tests else ()))
    prediction = explanation.prediction
    extra = {
        "predicted: kernel along its way, own steps": prediction and prediction.along,
        f"explained: {_CORRECTED}": explanation.corrected,
    }
    for name, losses in extra.items():
        if isinstance(losses, np.ndarray):
            rows.append((name, *miss_words(losses, run[: len(losses)]), *[""] * bool(tests)))
    title = "Largest difference from the run, over the loss at the start; and the last loss over the run's"
    return Table(title, ("", "miss", "last loss", *["miss on the test"] * bool(tests)), rows)


def shown(explanation: Explanation) -> dict[str, Corner]:
    """Return the corners that tables show, by name: predictions, and explanations with one assumption kept."""
    predicted = {Corner(), Corner(output=False), linear_corner(explanation.training)}
    chosen = {*predicted, Corner(True, True), explanation.theory}
    chosen |= {corner for corner in explanation.train if sum(corner) == sum(explanation.run) - 1}
    named = {}
    for corner in sorted(chosen - {explanation.run}, key=sum):
        if corner in explanation.train:
            trained = corner not in predicted or explanation.prediction is None
            kind = "explained" if trained else "predicted"
            named[f"{kind}: {corner_name(explanation.training, corner)}"] = corner
    return named


def cause_table(explanation: Explanation, split: str, shares: Shares) -> Table:
    """Return the causes of the gap of the training or test loss with their shares; no row where the gap is too small."""
    line = (
        f"From `{corner_name(explanation.training, explanation.theory)}` to the run the {split} loss differs by up to "
        f"{plus_minus(shares.range, 1)} of the loss at the start"
    )
    if shares.causes:
        line += f"; the parts are {number(shares.cancel, 2)} times the gap."
    else:
        line += f": below {FLOOR}, there is nothing to take apart."
    rows = []
    for cause in shares.causes:
        sizes = [number(x, 2) if x <= 1 else "beyond" for x in (cause.alone, cause.last)]
        rows.append((cause_name(explanation.training, cause.name), share_words(cause), *sizes))
    return Table(line, ("cause", "share of all parts", "alone", "last"), rows)


def share_words(cause: Cause) -> str:
    """Return a share in percent, with its interval where it has one."""
    measured, low, high = cause.share.measured, cause.share.low, cause.share.high
    return f"{measured:.0f}%" + (f" ({low:.0f} to {high:.0f})" if np.isfinite(low) else "")


def trust_lines(explanation: Explanation) -> list[str]:
    """Return the self-check and what cannot be said, in sentences."""
    checks, training = explanation.checks, explanation.training
    ways = {
        "Every assumption kept is the closed form to {} of the loss at the start.": checks.closed,
        "The kernel in own steps and batches is its recursion to {}.": checks.recursion,
        "No assumption kept is the run of Optax to {}.": checks.run,
    }
    lines = [words.format(number(off, 1)) for words, off in ways.items() if off is not None]
    if checks.run > 1e-9:
        lines.append("That is more than 1e-9: the training amplifies rounding.")
    if not training.adaptive:
        note = "; on minibatches each is held for its own step" if training.in_batches else ""
        substeps = f"{explanation.substeps:g}"
        lines.append(f"The flow is small steps, {substeps} x 4 gradients in a step{note}.")
        if explanation.single:
            lines.append("Small steps on all examples are in single precision, own in double.")
    some, examples = explanation.kernel_examples, count(len(training.x), "example")
    if some is not None and some < len(training.x):
        lines.append(f"How far the kernel moved is read off {some} of {examples}.")
    if isinstance(explanation.corrected, str):
        lines.append(f"Not explained: {_CORRECTED}, for {explanation.corrected}.")
    if away := int(lost(explanation.train[explanation.run]).sum()):
        others = "the network itself diverges; the regime is that of the others."
        lines.append(f"From {count(away, 'start')} {others}")
    if explanation.starts < 2 and not training.single:
        lines.append("One start has no interval.")
    lines.append(
        "Shares are of the largest sizes of all parts; with interactions they lie between what a cause changes alone and "
        "last, both over the loss at the start; `beyond` is more than that."
    )
    return [*lines, f"Took {duration(explanation.seconds)}."]


def numbers(explanation: Explanation, measured: CurveComparison | None) -> dict[str, Any]:
    """Return what a program reads: values as (measured, low, high)."""
    training, regime = explanation.training, explanation.regime
    named, run = {**shown(explanation), RUN: explanation.run}, explanation.train[explanation.run]
    record = {
        "said_before": None if explanation.prediction is None else explanation.prediction.verdict,
        "regime": regime.name,
        "kernel_movement": _interval(regime.movement),
        "edge": _interval(regime.edge),
        **_gap("", explanation.shares),
        "misses": {
            corner_name(training, corner): _interval(largest_difference(losses, run))
            for corner, losses in explanation.train.items()
            if corner != explanation.run
        },
        "steps": explanation.at,
        "epoch_steps": training.epoch_steps,
        "losses": {name: explanation.train[corner] for name, corner in named.items()},
        "seconds": explanation.seconds,
    }
    record |= {} if measured is None else {"measured": comparison_numbers(measured)}
    if explanation.test_shares is not None:
        record |= _gap("test_", explanation.test_shares)
    return record


def _gap(prefix: str, shares: Shares) -> Mapping[str, Any]:
    sizes = {c.name: {"alone": c.alone, "last": c.last} for c in shares.causes}
    causes = {c.name: {"share": _interval(c.share)} | sizes[c.name] for c in shares.causes}
    return {f"{prefix}gap": _interval(shares.range), f"{prefix}causes": causes}


def _interval(value: Interval) -> tuple[float, float, float]:
    return value.measured, value.low, value.high


def plus_minus(value: Interval, most: float = np.inf) -> str:
    """Return a value with half the width of its interval, where it has one; or that it is more than the `most` that counts."""
    if value.measured > most:
        return f"more than {most}"
    if not (np.isfinite(value.low) and np.isfinite(value.high)):
        return number(value.measured, 2)
    return f"{number(value.measured, 2)} ± {number((value.high - value.low) / 2, 1)}"


def miss_words(curves: np.ndarray, run: np.ndarray) -> tuple[str, str]:
    """Return how far curves (start, time) are from those of the run, or that they diverge, and their last loss over its."""
    if (lost(curves) & ~lost(run)).any():
        return "diverges", ""
    miss = largest_difference(curves, run)
    with np.errstate(all="ignore"):
        last = curves[:, -1] / run[:, -1]
    ratio = plus_minus(interval(last)) if np.isfinite(last).all() else ""
    return "beyond" if miss.measured > 1 else plus_minus(miss), ratio


def _ends(losses: np.ndarray) -> str:
    """Return the mean first and last loss of curves (start, time)."""
    return " to ".join(number(float(losses[:, at].mean()), 3) for at in (0, -1))
