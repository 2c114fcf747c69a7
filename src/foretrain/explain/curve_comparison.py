r"""Runs made elsewhere against curves of theories: their distance, in losses and in spreads over starts.

With n starts of a theory and k measured runs, the distance in spreads is

    sqrt( sum_t (mean of the runs - mean of the starts)^2 / sum_t s^2(t) (1/k + 1/n) ),

s^2 the variance over starts. Its square is a ratio whose parts have the same mean where the runs are more starts of that
theory, whatever the curves are and however their times depend on each other. Each start has such a distance from all others.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from foretrain.elsewhere.curves import Measured, read_measured
from foretrain.errors import StoreError, argument_error, path_argument, real
from foretrain.explain.shares import bounded
from foretrain.report.answer import Finding

RUN = "the training itself"


@dataclass(frozen=True)
class Distance:
    """Distance of measured runs from a theory.

    Attributes:
        miss: Largest difference of the means over log time, over the loss at the theory's start.
        step: The step where it is.
        spreads: The distance in spreads over starts; None of a single start.
        farthest: Largest such distance of one start from all others; None of fewer than three.
    """

    miss: float
    step: int
    spreads: float | None
    farthest: float | None


@dataclass(frozen=True, eq=False, repr=False)
class CurveComparison(Finding):
    """Measured runs and theories.

    Attributes:
        measured: The runs, at the steps that are compared: about evenly spaced in log time.
        later: Number of their steps after the last one that was predicted, which are not compared.
        at: Steps of the theories' curves, shape (time,).
        curves: Losses of every theory, shape (start, time); `distances` likewise one per theory.
        run: The theory that is the training itself, where it was trained.
        ratio: Measured loss at the first step over that of the first theory there.
        outside: True if the measured loss there is none that a start has.
    """

    measured: Measured
    later: int
    at: np.ndarray
    curves: Mapping[str, np.ndarray]
    distances: Mapping[str, Distance]
    run: str | None
    ratio: float
    outside: bool

    @property
    def nearest(self) -> str:
        """The theory with the smallest miss."""
        return min(self.distances, key=lambda name: self.distances[name].miss)


def compare_curves(
    curves: str | PathLike | Sequence[str | PathLike],
    folder: str | PathLike,
    *,
    learning_rate: float | str | None = None,
    step_column: str | None = None,
    loss_column: str | None = None,
) -> CurveComparison:
    """Compare runs made elsewhere with what `foretrain explain` or `foretrain predict` has stored, without training anything.

    Args:
        curves: One file of curves or several, see `foretrain.elsewhere.curves.read_measured`.
        folder: A folder that either has written.
        learning_rate: Of the measured runs; for a prediction of `foretrain predict`, whose time is step x rate.
        step_column, loss_column: Names of columns of the files.

    Raises:
        ArgumentError: A file, a column or the learning rate cannot be used.
        StoreError: The folder holds neither, or a record that cannot be read.
    """
    files = [curves] if isinstance(curves, str | PathLike) else curves
    measured = read_measured(*files, step_column=step_column, loss_column=loss_column)
    folder = path_argument("second", folder)
    at, theories = _stored(folder, learning_rate)
    return curve_comparison(measured, at, theories, RUN if RUN in theories else None)


def _stored(folder, learning_rate) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Steps and the losses of every theory that a folder holds."""
    names = "explanation.json", "prediction.json"
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise StoreError(
            f"`{folder}` holds neither {' nor '.join(names)}: make one by `foretrain explain` or `predict`."
        )
    try:
        record = json.loads(path.read_text("utf-8"))
        if "losses" in record:
            losses = {name: _array(rows) for name, rows in record["losses"].items()}
            return np.array(record["steps"]), losses
        if learning_rate is None:
            rule = "be the learning rate of the measured runs"
            got = "is not given, and the prediction's time is step x rate"
            raise argument_error("learning_rate", rule, got)
        pace = real("learning_rate", learning_rate, above=0)
        if "candidates" in record:
            raise argument_error("second", "hold one prediction", "ranks several candidates")
        losses = {"the prediction": _array([record["loss"]])}
        if "trained" in record:
            losses["networks trained beside it"] = _array(record["trained"]["loss"])
        return np.array(record["times"]) / pace, losses
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise StoreError(
            f"The record of `{folder}` cannot be read: {type(error).__name__}. Make it again by foretrain explain or predict."
        ) from None


def _array(rows):
    return np.array([[np.inf if loss is None else loss for loss in row] for row in rows], float)


def curve_comparison(
    measured: Measured, at: np.ndarray, curves: Mapping[str, np.ndarray], run: str | None = None
) -> CurveComparison:
    """Compare measured runs with theories.

    Args:
        measured: Runs made elsewhere.
        at: Steps of the curves from 0, ascending, shape (time,).
        curves: Losses of every theory, shape (start, time); between its steps they are taken as linear in log time.
        run: Name of the theory that is the training itself, if it was trained.

    Raises:
        ArgumentError: No two of the measured steps lie within those of the theories, or measured losses are negative and
            those of no theory are.
    """
    within = measured.steps <= at[-1]
    steps = measured.steps[within]
    if len(steps) < 2:
        rule = f"hold at least two steps up to {at[-1]}, the last that is predicted"
        raise argument_error("measured", rule, f"has {len(steps)}")
    chosen = np.unique(np.abs(steps[:, None] - at[None]).argmin(0))
    losses = measured.losses[:, within][:, chosen]
    lowest = losses.min()
    if lowest < 0 and all(np.nanmin(curve) >= 0 for curve in curves.values()):
        rule = "hold losses of at least 0, as all expected ones are"
        repair = "Is another column the loss? `--loss-column` names it."
        raise argument_error("measured", rule, f"has {lowest}", repair)
    points = Measured(measured.names, steps[chosen], losses, measured.dropped)
    expected = next(iter(curves.values()))
    first = float(expected[:, 0].mean())
    started = _at(points.steps[:1], at, expected)
    return CurveComparison(
        points,
        int((~within).sum()),
        at,
        curves,
        {name: _distance(points, at, curve, first) for name, curve in curves.items()},
        run,
        float(losses[:, 0].mean() / started.mean()),
        not started.min() <= losses[:, 0].mean() <= started.max(),
    )


def _at(steps, at, losses):
    """Curves (start, time) at other steps."""
    return np.stack([np.interp(np.log1p(steps), np.log1p(at), curve) for curve in losses])


def _distance(measured, at, losses, first):
    theory = _at(measured.steps, at, bounded(losses, np.full(len(losses), first)))
    runs = bounded(measured.losses, np.full(len(measured.losses), first))
    off = np.abs(runs.mean(0) - theory.mean(0))
    worst = int(off.argmax())
    farthest = None
    if len(theory) > 2:
        singles = [_spreads(curve[None], np.delete(theory, k, 0)) for k, curve in enumerate(theory)]
        farthest = max((spreads for spreads in singles if spreads is not None), default=None)
    return Distance(float(off[worst]), int(measured.steps[worst]), _spreads(runs, theory), farthest)


def _spreads(runs, theory):
    if len(theory) < 2:
        return None
    spread = theory.var(0, ddof=1).sum() * (1 / len(runs) + 1 / len(theory))
    off = ((runs.mean(0) - theory.mean(0)) ** 2).sum()
    return float(np.sqrt(off / spread)) if spread > 0 else None
