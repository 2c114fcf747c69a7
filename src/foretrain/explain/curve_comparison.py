r"""Runs made elsewhere against curves of theories: their distance, in losses and in spreads over starts, and its level.

With n starts of a theory and k measured runs, the distance in spreads is

    sqrt( sum_t (mean of the runs - mean of the starts)^2 / sum_t [ s^2(t) (1/k + 1/n) + v(t) ] ),

s^2 the variance over starts and v that of the noise of minibatches, a sixth of the squared second difference of neighbouring
losses. Its square is a ratio whose parts have the same mean where the runs are more starts of that theory, whatever the curves
are and however their times depend on each other. By Box (1954) it then has about the law F(f, f(n - 1)), where f is
(tr S)^2 / tr S^2 of the starts' covariance S over times. The level is the chance of as large a ratio.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from scipy.special import fdtrc

from foretrain.elsewhere.curves import Measured, between, read_measured
from foretrain.errors import ArgumentError, StoreError, argument_error, path_argument, real
from foretrain.explain.shares import bounded
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.report.answer import Finding

RUN = "the training itself"


@dataclass(frozen=True)
class Distance:
    """Distance of measured runs from a theory.

    Attributes:
        miss: Largest difference of the means over log time, over the loss at the theory's start.
        step: The step where it is.
        spreads: The distance in spreads over starts; None of a single start.
        level: Share of runs of that theory which would be at least as far off; None of a single start.
    """

    miss: float
    step: int
    spreads: float | None
    level: float | None


@dataclass(frozen=True, eq=False, repr=False)
class CurveComparison(Finding):
    """Measured runs and theories.

    Attributes:
        measured: The runs at the steps that are compared, about evenly spaced in log time: means over what is nearest to each.
        later: Number of their steps after the last one that was predicted, which are not compared.
        at: Steps of the theories' curves, shape (time,).
        curves: Losses of every theory, shape (start, time); `distances` likewise one per theory.
        run: The theory that is the training itself, where it was trained.
        ratio: Measured loss at the first step over that of the first theory there.
        outside: True if the measured loss there is none that a start has, by more than twice the noise.
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
        """The theory of smallest miss, not the training itself; of equal ones, as at the start, that of fewest spreads."""
        theories = {k: v for k, v in self.distances.items() if k != self.run} or self.distances
        return min(theories, key=lambda name: (theories[name].miss, theories[name].spreads or 0))


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
    at, theories, size = _stored(path_argument("second", folder), learning_rate)
    runs = read_measured(*files, step_column=step_column, loss_column=loss_column, epoch_steps=size)
    return curve_comparison(runs, at, theories, RUN if RUN in theories else None)


def _stored(folder, learning_rate) -> tuple[np.ndarray, dict[str, np.ndarray], int | None]:
    """Steps and the losses of every theory that a folder holds, and the steps of an epoch where it tells them."""
    names = "explanation.json", "prediction.json"
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise StoreError(
            f"`{folder}` holds neither {' nor '.join(names)}: make one by `foretrain explain` or `predict`."
        )
    try:
        record = json.loads(read_file(path, MOST_TEXT))
        at, losses, size = record.get("steps"), record.get("losses"), record.get("epoch_steps")
        if not losses:
            if learning_rate is None:
                got = "is not given, and the prediction's time is step x rate"
                raise argument_error("learning_rate", "be that of the measured runs", got)
            pace = real("learning_rate", learning_rate, above=0)
            if "candidates" in record:
                raise argument_error("second", "hold one prediction", "ranks several candidates")
            at, losses = np.array(record["times"]) / pace, {"the prediction": [record["loss"]]}
            if "trained" in record:
                losses["networks trained beside it"] = record["trained"]["loss"]
        at = np.ravel(at) + 0  # numbers alone
        rows = {n: np.array(r, float) for n, r in losses.items()}
        return at, {n: r.reshape(len(np.atleast_2d(r)), at.size) for n, r in rows.items()}, size
    except ArgumentError:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The record of `{folder}` cannot be read: {type(error).__name__}. Make it again by foretrain explain or predict."
        ) from None


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
    losses = measured.losses[:, within]
    lowest = losses.min()
    if lowest < 0 and all(np.nanmin(curve) >= 0 for curve in curves.values()):
        rule = "hold losses of at least 0, as all expected ones are"
        repair = "Is another column the loss? `--loss-column` names it."
        raise argument_error("measured", rule, f"has {lowest}", repair)
    nearest = np.searchsorted((np.log1p(at[1:]) + np.log1p(at[:-1])) / 2, np.log1p(steps))
    begins = np.flatnonzero(np.diff(nearest, prepend=-1))
    sizes = np.diff(begins, append=len(steps))
    mean = lambda values: np.add.reduceat(values, begins, axis=-1) / sizes  # noqa: E731
    places, expected = np.round(mean(steps)).astype(int), next(iter(curves.values()))
    first = float(expected[:, 0].mean())
    distances, noise = {}, np.zeros(1)
    for name, curve in curves.items():
        theory = between(steps, at, bounded(curve, np.full(len(curve), first)))
        off = bounded(losses, np.full(len(losses), first)).mean(0) - theory.mean(0)
        noise = np.pad(np.diff(off, 2) ** 2 / 6, 1, "edge") if len(off) > 2 else 0 * off
        spreads = _spreads(mean(off), mean(theory), len(losses), (mean(noise) / sizes).sum())
        worst = int(np.abs(mean(off)).argmax())
        distances[name] = Distance(float(abs(mean(off)[worst])), int(places[worst]), *spreads)
    begun, started = mean(losses)[:, 0].mean(), mean(between(steps, at, expected))[:, 0]
    slack = 2 * first * np.sqrt(noise.max())
    return CurveComparison(
        replace(measured, steps=places, losses=mean(losses)),
        int((~within).sum()),
        at,
        curves,
        distances,
        run,
        float(begun / started.mean()),
        not started.min() - slack <= begun <= started.max() + slack,
    )


def _spreads(off, theory, runs, noise):
    """Distance in spreads over starts, and its level."""
    starts, centred = len(theory), theory - theory.mean(0)
    products = centred @ centred.T
    whole = np.trace(products)
    if starts < 2 or whole == 0:
        return None, None
    square = (off**2).sum() / (whole / (starts - 1) * (1 / runs + 1 / starts) + noise)
    freedom = whole**2 / (products**2).sum()
    return float(np.sqrt(square)), float(fdtrc(freedom, freedom * (starts - 1), square))
