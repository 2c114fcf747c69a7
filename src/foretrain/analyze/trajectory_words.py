"""A `Trajectory` in sentences, tables, numbers and a picture."""

from functools import partial

import numpy as np

from foretrain.analyze.analysis_figures import over_training
from foretrain.analyze.analysis_words import PICTURES, with_error
from foretrain.analyze.trajectory import Trajectory
from foretrain.report.answer import Answer, Table
from foretrain.words import number

LISTED = 3  # changes of a count up to which each is printed


def answer(trajectory: Trajectory) -> Answer:
    """Return what is said of a trajectory."""
    last, (effective, error) = trajectory.analyses[-1], trajectory.effective
    numbers = {name: getattr(trajectory, name) for name in "moments scales distance doubts".split()}
    numbers |= {name: getattr(last, name) for name in "source loss parameters answers".split()}
    counts = trajectory.by_source() | trajectory.block_counts()
    numbers |= {"effective": effective, "error": error, "counts": counts}
    return Answer(
        name="analysis",
        title=f"{trajectory.label} over training",
        head=changes(trajectory),
        tables=tables(trajectory),
        drawings=dict.fromkeys(PICTURES) | {"over-training": partial(over_training, trajectory)},
        doubts=trajectory.doubts,
        numbers=numbers,
    )


def changes(trajectory: Trajectory) -> list[str]:
    """Lines on the largest change of the loss and of N between two moments, and on every change of a count."""
    lines, moments = [], trajectory.moments
    for name, values in (("The loss", trajectory.distance), ("N", trajectory.effective[0][:, 1])):
        at = int(abs(np.diff(values)).argmax())
        ends = " to ".join(number(value, 4) for value in values[at : at + 2])
        most = f"changes most between {_between(moments, at)}: from {ends}"
        lines.append(f"{name} {'does not change' if values[at] == values[at + 1] else most}.")
    counts = {f"Free directions, {name}": each for name, each in trajectory.by_source().items()}
    counts |= {name.capitalize(): each for name, each in trajectory.block_counts().items()}
    return lines + [changes_of(name, each, moments) for name, each in counts.items() if each.any()]


def changes_of(name: str, values: np.ndarray, moments: np.ndarray) -> str:
    """Line on the moments between which a count changes."""
    steps = np.flatnonzero(np.diff(values))
    if not steps.size:
        return f"{name}: {values[0]:,} at every moment."
    parts = [
        f"{values[at]:,} to {values[at + 1]:,} between {_between(moments, at)}" for at in steps
    ]
    if len(steps) > LISTED:
        whole = f"{values[0]:,} to {values[-1]:,} in {len(steps)} changes"
        most = parts[int(abs(np.diff(values)[steps]).argmax())]
        parts = [whole, f"first {parts[0]}", f"most {most}"]
    return f"{name}: {'; '.join(parts)}."


def _between(moments, at):
    return " and ".join(f"{moment:g}" for moment in moments[at : at + 2])


def tables(trajectory: Trajectory) -> list[Table]:
    """Loss and effective parameters of every moment; where they were counted free directions by source, blocks, modules."""
    names = [f"{moment:g}" for moment in trajectory.moments]
    columns = {"loss": [number(float(loss), 4) for loss in trajectory.distance]}
    for eps, *pair in zip(trajectory.scales, *(of.T for of in trajectory.effective), strict=True):
        columns[f"N at {number(float(eps), 3)}"] = [*map(with_error, *pair)]
    last = trajectory.analyses[-1]
    whole = f"Effective parameters N of {last.parameters:,}, noise scale {last.source}"
    parts, counts = {whole: columns}, trajectory.by_source()
    if more := counts | trajectory.block_counts():
        columns = {name: [f"{value:,}" for value in values] for name, values in more.items()}
        if counts:
            columns["all"] = [str(freedom) for freedom in trajectory.counts]
        heading = "Free directions that change nothing at all, by source" if counts else "Modules"
        parts[heading] = columns
    return [
        Table(heading, ("moment", *part), [*zip(names, *part.values(), strict=True)])
        for heading, part in parts.items()
    ]
