"""Labels of a study along dims, and the step numbers of what it measures along ``step``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from foretrain.plans.card import StudyError, dictionary
from foretrain.plans.parameters import rules
from foretrain.plans.place import asking

Labels = dict[str, tuple[tuple[str, ...], np.ndarray]]
_NONE = np.zeros(0, np.int64)


def labels_of(p: Any, step: np.ndarray, labels: Callable | None, time: Callable | None) -> Labels:
    """Return the labels of one cell, name to (dims, values); ``time`` is among them where there are steps.

    Args:
        p: Parameters of the cell.
        step: Stored step numbers, shape (step,); those that ``labels`` may give are left to `measured_steps`.
        labels: The function of that name of the study.
        time: The function of that name of the study; by default time is the step times the learning rate.
    """
    coordinates: Labels = {}
    for name, values in _own(p, labels).items():
        pair = isinstance(values, tuple) and len(values) == 2 and not isinstance(values[1], str)
        dim, values = values if pair else (name, values)
        coordinates[name] = ((dim,), np.asarray(values))
    coordinates.pop("step", None)
    if not step.size:
        return coordinates
    if time is not None:
        with asking("time"):
            values = np.asarray(time(p, step))
        if values.shape != step.shape:
            raise StudyError(
                f"`time` must give one number per step, shape {step.shape}, but gives shape {values.shape}."
            )
        coordinates["time"] = (("step",), values)
    elif "learning_rate" in rules(type(p)):
        coordinates["time"] = (("step",), step * p.learning_rate)
    return coordinates


def measured_steps(p: Any, labels: Callable | None) -> np.ndarray:
    """Return the step numbers that the study's ``labels`` gives, shape (step,); none where it gives none."""
    steps = np.asarray(_own(p, labels).get("step", _NONE))
    if steps.shape == (0,):
        return _NONE
    if steps.ndim != 1 or steps.dtype.kind not in "iu" or (np.diff(steps, prepend=-1) < 1).any():
        rule = "`labels` must give rising whole numbers from 0 on as `step`"
        raise StudyError(f"{rule}, but gives {steps.tolist()}.")
    return steps


def _own(p: Any, labels: Callable | None) -> dict[str, Any]:
    with asking("labels"):
        return dictionary("labels", labels(p)) if labels else {}
