"""A `CurveComparison` in sentences, a table, numbers and a picture."""

from functools import partial

import numpy as np

from foretrain.explain.curve_comparison import CurveComparison
from foretrain.explain.explanation_figures import measured_and_expected
from foretrain.report.answer import Answer, Table
from foretrain.words import count, number

_SAME_START = 0.02  # of the loss at the first step, within which measured and expected are alike


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
        spreads = "" if distance.spreads is None else number(distance.spreads, 2)
        if distance.farthest is not None:
            spreads += f" (a start: up to {number(distance.farthest, 2)})"
        rows.append((name, f"{number(distance.miss, 2)} at step {distance.step}", spreads))
    heading = "Largest difference from the measured run, over the loss at the start"
    return Table(heading, ("", "miss", "in spreads over starts"), rows, notes=notes or ())


def sentences(comparison: CurveComparison) -> list[str]:
    """Return what can be said of the runs."""
    runs, steps = comparison.measured.names, comparison.measured.steps
    later = f"; {comparison.later} later ones have no prediction" if comparison.later else ""
    lines = [
        f"Measured: {count(len(runs), 'run')}, compared at {count(len(steps), 'step')} from {steps[0]} to {steps[-1]}{later}."
    ]
    if comparison.measured.dropped:
        some = count(comparison.measured.dropped, "step")
        lines.append(f"Left out: {some} at which only some runs have a loss.")
    if comparison.outside and abs(comparison.ratio - 1) > _SAME_START:
        lines.append(
            f"At step {steps[0]} the measured loss is {number(comparison.ratio, 3)} times the expected one, "
            f"outside those of all {count(len(next(iter(comparison.curves.values()))), 'start')}: "
            "is it the same loss (the mean over examples; of half the squared error), of the same examples and start?"
        )
    lines += _same_training(comparison)
    others = {
        name: distance.miss
        for name, distance in comparison.distances.items()
        if name != comparison.run
    }
    if others:
        name = min(others, key=lambda other: others[other])
        lines.append(
            f"Nearest to it is `{name}`, off by up to {number(others[name], 2)} of the loss at the start."
        )
    return lines


def _same_training(comparison):
    """Return the sentence that says if the runs can be those of the training, where it was trained from several starts."""
    if comparison.run is None:
        return []
    verdict = "The measured losses are those of another training than the one described"
    starts = comparison.curves[comparison.run]
    if (
        not np.isfinite(comparison.measured.losses).all()
        and (starts < 2 * starts[:, 0].mean()).all()
    ):
        return [f"{verdict}: they diverge, and no start does."]
    distance = comparison.distances[comparison.run]
    if distance.spreads is None or distance.farthest is None:
        return []
    if distance.spreads <= distance.farthest:
        verdict = "The measured losses can be those of such starts"
    return [
        f"{verdict}: they are {number(distance.spreads, 2)} spreads from the starts, of which the farthest is "
        f"{number(distance.farthest, 2)} from the others."
    ]
