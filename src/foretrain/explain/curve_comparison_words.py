"""A `CurveComparison` in sentences, a table, numbers and a picture."""

from functools import partial

import numpy as np

from foretrain.explain.curve_comparison import CurveComparison
from foretrain.explain.explanation_figures import measured_and_expected
from foretrain.report.answer import Answer, Table
from foretrain.words import count, number

_SAME_START = 0.02  # of the loss at the first step, within which measured and expected are alike
_RARE = 0.05  # level below which runs are those of another training


def answer(comparison: CurveComparison) -> Answer:
    """Return what is said of measured runs."""
    return Answer(
        name="comparison",
        title="Measured and expected",
        head=sentences(comparison),
        tables=[table(comparison)],
        drawings={"comparison": partial(measured_and_expected, comparison)},
        numbers=numbers(comparison),
    )


def numbers(comparison: CurveComparison) -> dict:
    """Return what a program reads."""
    return {
        "runs": comparison.measured.names,
        "steps": comparison.measured.steps,
        "distances": comparison.distances,
        "nearest": comparison.nearest,
        "ratio_at_first_step": comparison.ratio,
    }


def table(comparison: CurveComparison, notes: list[str] | None = None) -> Table:
    """Return the distances from every theory."""
    rows = []
    for name, distance in comparison.distances.items():
        spreads = ["" if x is None else number(x, 2) for x in (distance.spreads, distance.level)]
        rows.append((name, f"{number(distance.miss, 2)} at step {distance.step}", *spreads))
    heading = "Largest difference from the measured run, over the loss at the start"
    return Table(heading, ("", "miss", "in spreads over starts", "level"), rows, notes=notes or ())


def sentences(comparison: CurveComparison) -> list[str]:
    """Return what can be said of the runs."""
    runs, steps = comparison.measured.names, comparison.measured.steps
    later = f"; {comparison.later} later ones have no prediction" if comparison.later else ""
    at = f"{count(len(steps), 'step')} of {comparison.measured.axis} from {steps[0]} to {steps[-1]}"
    lines = [f"Measured: {count(len(runs), 'run')}, compared at {at}{later}."]
    if comparison.measured.dropped:
        lines.append(f"Left out: {count(comparison.measured.dropped, 'step')}, not in all runs.")
    if comparison.outside and abs(comparison.ratio - 1) > _SAME_START:
        lines.append(
            f"At step {steps[0]} the measured loss is {number(comparison.ratio, 3)} times the expected one, "
            f"outside those of all {count(len(next(iter(comparison.curves.values()))), 'start')}: "
            "is it the same loss (the mean over examples; of half the squared error), of the same examples and start?"
        )
    lines += _same_training(comparison)
    name = comparison.nearest
    if name != comparison.run:
        lines.append(
            f"Nearest to it is `{name}`, off by up to {number(comparison.distances[name].miss, 2)} of the loss at the start."
        )
    return lines


def _same_training(comparison):
    """Return the sentence that says if the runs can be those of the training, where it was trained from several starts."""
    if comparison.run is None:
        return []
    verdict = "The measured losses are those of another training than the one described"
    starts = comparison.curves[comparison.run]
    diverging = not np.isfinite(comparison.measured.losses).all()
    if diverging and (starts < 2 * starts[:, 0].mean()).all():
        return [f"{verdict}: they diverge, and no start does."]
    distance = comparison.distances[comparison.run]
    if distance.spreads is None or distance.level is None:
        return []
    if distance.level >= _RARE:
        verdict = "The measured losses can be those of such starts"
    level = "less than 0.1%" if distance.level < 0.001 else f"{100 * distance.level:.2g}%"
    return [
        f"{verdict}: {level} of the runs of this training would be as far off, {number(distance.spreads, 2)} spreads."
    ]
