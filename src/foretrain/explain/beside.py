r"""Runs made elsewhere beside curves of a theory: how far, in losses and in spreads over starts.

With n starts of a theory and k measured runs, the distance in spreads is

    sqrt( sum_t (mean of the runs - mean of the starts)^2 / sum_t s^2(t) (1/k + 1/n) ),

s^2 the variance over starts. Its square is a ratio whose parts have the same mean where the runs are further starts of that
theory, whatever the curves are and however their times depend on each other. How far single starts are is told by each of them
beside the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.elsewhere.curves import Measured
from foretrain.errors import argument_error
from foretrain.explain.shares import bounded
from foretrain.words import count, number

_SAME_START = 0.02  # of the loss at the first step, within which measured and expected are alike


@dataclass(frozen=True)
class Distance:
    """How far measured runs are from a theory.

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


@dataclass(frozen=True, eq=False)
class Beside:
    """Measured runs beside theories.

    Attributes:
        measured: The runs, at the steps that are compared: about evenly spaced in log time.
        beyond: Number of their steps after the last one that was predicted, which are not compared.
        at: Steps of the theories' curves, shape (time,).
        curves: Losses of every theory, shape (start, time).
        distances: One per theory.
        run: The theory that is the training itself, where it was trained.
        ratio: Measured loss at the first step over that of the first theory there.
        outside: True if the measured loss there is none that a start has.
    """

    measured: Measured
    beyond: int
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

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "runs": list(self.measured.names),
            "steps": self.measured.steps.tolist(),
            "distances": {name: vars(one) for name, one in self.distances.items()},
            "nearest": self.nearest,
            "ratio_at_first_step": self.ratio,
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """The distances as a table, a heading first."""
        table = [("", "miss", "in spreads over starts")]
        for name, one in self.distances.items():
            far = "" if one.spreads is None else number(one.spreads, 2)
            if one.farthest is not None:
                far += f" (a start: up to {number(one.farthest, 2)})"
            table.append((name, f"{number(one.miss, 2)} at step {one.step}", far))
        return table

    def lines(self) -> list[str]:
        """What can be said of the runs, in sentences."""
        runs, steps = self.measured.names, self.measured.steps
        lines = [
            f"Measured: {count(len(runs), 'run')}, compared at {count(len(steps), 'step')} from {steps[0]} to {steps[-1]}"
            + (f"; {self.beyond} later ones have no prediction." if self.beyond else ".")
        ]
        if self.measured.dropped:
            some = count(self.measured.dropped, "step")
            lines.append(f"Left out: {some} at which only some runs have a loss.")
        starts = len(next(iter(self.curves.values())))
        if self.outside and abs(self.ratio - 1) > _SAME_START:
            lines.append(
                f"At step {steps[0]} the measured loss is {number(self.ratio, 3)} times the expected one, "
                f"outside those of all {count(starts, 'start')}: "
                "is it the same loss (the mean over examples; of half the squared error), of the same examples and start?"
            )
        one = self.distances[self.run or self.nearest]
        if self.run is not None and self._diverges_alone(self.run):
            lines.append(
                "The measured losses are those of another training than the one described: they diverge, and no start does."
            )
        elif self.run is not None and one.spreads is not None and one.farthest is not None:
            verdict = (
                "The measured losses can be those of such starts"
                if one.spreads <= one.farthest
                else "The measured losses are those of another training than the one described"
            )
            lines.append(
                f"{verdict}: they are {number(one.spreads, 2)} spreads from the starts, of which the farthest is "
                f"{number(one.farthest, 2)} from the others."
            )
        others = {name: one.miss for name, one in self.distances.items() if name != self.run}
        if others:
            name = min(others, key=lambda other: others[other])
            lines.append(
                f"Nearest to it is `{name}`, off by up to {number(others[name], 2)} of the loss at the start."
            )
        return lines

    def _diverges_alone(self, theory):
        starts = self.curves[theory]
        bounded_starts = (starts < 2 * starts[:, 0].mean()).all()  # False where one is not a number
        return bool(bounded_starts) and not np.isfinite(self.measured.losses).all()


def beside(
    measured: Measured, at: np.ndarray, curves: Mapping[str, np.ndarray], run: str | None = None
) -> Beside:
    """Lay measured runs beside theories.

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
        repair = "Is another column the loss? `--loss-column` names it."
        raise argument_error(
            "measured",
            "hold losses of at least 0, as all expected ones are",
            f"has {lowest}",
            repair,
        )
    points = Measured(measured.names, steps[chosen], losses, measured.dropped)
    expected = next(iter(curves.values()))
    first = float(expected[:, 0].mean())
    started = _at(points.steps[:1], at, expected)
    return Beside(
        points,
        int((~within).sum()),
        at,
        curves,
        {name: _distance(points, at, losses, first) for name, losses in curves.items()},
        run,
        float(losses[:, 0].mean() / started.mean()),
        not started.min() <= losses[:, 0].mean() <= started.max(),
    )


def _at(steps, at, losses):
    """Curves (start, time) at other steps."""
    return np.stack([np.interp(np.log1p(steps), np.log1p(at), one) for one in losses])


def _distance(measured, at, losses, first):
    theory = _at(measured.steps, at, bounded(losses, np.full(len(losses), first)))
    runs = bounded(measured.losses, np.full(len(measured.losses), first))
    off = np.abs(runs.mean(0) - theory.mean(0))
    worst = int(off.argmax())
    farthest = None
    if len(theory) > 2:
        alone = [_spreads(one[None], np.delete(theory, k, 0)) for k, one in enumerate(theory)]
        farthest = max((one for one in alone if one is not None), default=None)
    return Distance(float(off[worst]), int(measured.steps[worst]), _spreads(runs, theory), farthest)


def _spreads(runs, theory):
    if len(theory) < 2:
        return None
    spread = theory.var(0, ddof=1).sum() * (1 / len(runs) + 1 / len(theory))
    off = ((runs.mean(0) - theory.mean(0)) ** 2).sum()
    return float(np.sqrt(off / spread)) if spread > 0 else None
