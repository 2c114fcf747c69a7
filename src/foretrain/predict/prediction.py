"""Records of predictions: of a mode, of one network, of ranked candidates, and of the networks trained for comparison.

Times are in step x learning rate, for the loss mean over examples of half the squared error: at learning rate 0.1 the
time 20 is step 200. Losses are such means, in the square of the unit of the targets.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from foretrain.quantities.learning_curves.learning_time import crossing_time
from foretrain.quantities.learning_curves.plateaus import plateaus
from foretrain.report.answer import Finding
from foretrain.theory.gated.reduction import TOLERANCE, Reduction

# Part of the loss at the start by which an end must lie above the attainable loss to count as above it.
SHORT = 1e-6
DECOUPLED = "decoupled"  # law of the weights at the start that is the reduction's own


@dataclass(frozen=True)
class ModePrediction:
    """One mode on one path.

    Attributes:
        path: Name of the path, its edges joined by ``>``.
        mode: Number of the mode in the path's group, from 1, the strongest first.
        singular_value: S(p), how strongly the data drive it.
        input_variance: D(p, p).
        active: Pr(path), the fraction of examples on which the path's gate is open.
        half_learning_time: Time at which the network has learned half of what this path has to learn in the mode, in
            step x learning rate; infinite if never.
        share: Part of the mode that this path itself carries at the end.
        outcome: ``learned``; among paths that compete for the same examples ``wins``, ``shares`` or ``loses``; or
            ``not learned``.
        earliest, latest: First and last half-learning time of all draws, where weights are drawn; else None.
    """

    path: str
    mode: int
    singular_value: float
    input_variance: float
    active: float
    half_learning_time: float
    share: float
    outcome: str
    earliest: float | None = None
    latest: float | None = None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Loss curves of several networks whose weights were drawn from one law.

    Attributes:
        curves: Times and losses of every network, shape (time,) each; a network stays at its last loss.
    """

    curves: tuple[tuple[np.ndarray, np.ndarray], ...]

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return losses at these times, shape (network, time), interpolated without overshoot."""
        rows = []
        for seen, losses in self.curves:
            inside = np.minimum(times, seen[-1])
            rows.append(PchipInterpolator(seen, losses)(inside) if len(seen) > 1 else 0 * inside)
        return np.maximum(np.array(rows), 0.0)

    def time_to(self, loss: float) -> np.ndarray:
        """Return the first times at which the loss is at most `loss`, shape (network,); infinite where it never is."""
        return np.array([first_below(*curve, loss) for curve in self.curves])


@dataclass(frozen=True)
class Judged:
    """One number of the prediction, compared with trained networks.

    Attributes:
        quantity: Name of the number.
        predicted: Value of the exact flow, mean over draws.
        reduced: Value of the reduction.
        trained: Mean over the networks trained.
        off, off_low, off_high: Mean of trained minus predicted, with its 95% interval. Each network is compared with the
            mean of a group of draws of its own, so that the differences are independent.
        allowed: Largest difference that counts as agreement, fixed beforehand.
        verdict: ``agrees`` if the interval lies within what is allowed, ``differs`` if it lies outside, else ``open``,
            which more seeds settle.
        reduced_verdict: Verdict of the reduction.
    """

    quantity: str
    predicted: float
    reduced: float
    trained: float
    off: float
    off_low: float
    off_high: float
    allowed: float
    verdict: str
    reduced_verdict: str


@dataclass(frozen=True, eq=False)
class Trained:
    """Networks trained by plain gradient descent on all examples, from other draws of the law of the prediction.

    Attributes:
        networks: Loss curves, in step x learning rate.
        learning_rate: Learning rate of the descent.
        steps: Number of steps.
        judged: Numbers of the prediction, each compared with the networks.
    """

    networks: Ensemble
    learning_rate: float
    steps: int
    judged: tuple[Judged, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Finding):
    """Expected learning of one network: by the reduction, or from random weights by the exact flow of the statistics.

    At a prompt it shows in a few lines; ``print`` shows its tables, `answer` is all that is said of it.

    Attributes:
        label: Name of the candidate.
        init_scale: Strength of every edge and mode at the start, the largest where they differ, or the scale of the law of
            random weights.
        modes: Every driven mode of every trained path, those learned first in front.
        times: Shape (time,), float64, in step x learning rate.
        loss: Expected loss, shape (time,), never negative; of several draws their median, as all numbers below.
        initial_loss, final_loss: Loss at time 0 and when all is learned.
        learning_time: First time at which half of the drop from initial to final loss is done; 0 if there is none.
        residual: Off-diagonal mass of the statistics that the reduction leaves out, relative to the whole.
        smallest_curvature: Smallest eigenvalue of the Hessian of the whole network's loss at the end of the reduction,
            also off the weights that the reduction knows; 0 if none is negative. Where the residual is not zero, that
            of a network on the diagonal part of the statistics.
        stable: True if the end is stable for the whole network. False at a saddle, which small random weights leave at a
            rate of about ``-smallest_curvature`` (later where it is flat); None where the residual is not zero.
        attainable_loss: Least loss of any weights of this network on these data.
        attainable_is_bound: True if hidden banks may be too narrow to reach it.
        reduction: The reduced network.
        horizon: Time up to which modes were followed.
        history: Times and losses up to the horizon, evenly spaced in log time, shape (2, time).
        law: Law of the weights at the start: ``decoupled``, the reduction's own, or one of random weights.
        drawn: Loss of every draw where weights are random, else None.
        reduced: Prediction of the reduction where weights are random, at the same times and from the decoupled weights that
            they grow into, else None. `residual`, `smallest_curvature` and `stable` then describe the end of the reduction.
        drift: Change of the quantities that the flow conserves, relative to squared weights; 0 for the reduction.
        finished: True if every draw came down to the attainable loss.
        curvature: Largest curvature of the loss at the end: descent needs a learning rate below 2 / it.
        trained: Networks trained for comparison, or None.
        edge_strengths: Strength of each edge at the start where they were wanted unequal, or None.
    """

    label: str
    init_scale: float
    modes: tuple[ModePrediction, ...]
    times: np.ndarray
    loss: np.ndarray
    initial_loss: float
    final_loss: float
    learning_time: float
    residual: float
    smallest_curvature: float
    stable: bool | None
    attainable_loss: float
    attainable_is_bound: bool
    reduction: Reduction
    horizon: float
    history: np.ndarray
    law: str = DECOUPLED
    drawn: Ensemble | None = None
    reduced: "Prediction | None" = None
    drift: float = 0.0
    finished: bool = True
    curvature: float = math.nan
    trained: Trained | None = None
    edge_strengths: dict[str, float] | None = None

    @property
    def exact(self) -> bool:
        """True if the residual is rounding."""
        return self.residual <= TOLERANCE

    @property
    def falls_short(self) -> bool:
        """True if the predicted end lies above what is attainable, by more than a millionth of the loss at the start."""
        most = max(self.initial_loss, self.final_loss)
        return self.final_loss - self.attainable_loss > SHORT * most

    def drop_levels(self) -> tuple[float, ...]:
        """Return the losses half way down each drop: between one plateau of the expected loss and the next, or the end."""
        times, losses = self.history
        above = losses - losses[-1]
        if above[0] <= 0:
            return ()
        # A drop below a thousandth of the loss is not timed.
        flats = plateaus(times, np.maximum(above, 0.0), floor=1e-3)
        levels = [above[0], *(flat.loss for flat in flats if flat.loss < 0.95 * above[0]), 0.0]
        return tuple(
            float(losses[-1] + (high + low) / 2) for high, low in itertools.pairwise(levels)
        )

    def time_to(self, loss: float) -> float:
        """Return the first time at which the expected loss is at most `loss`; infinite if it never is."""
        times, losses = self.history
        return first_below(times, losses, loss)

    def reduced_worst(self) -> tuple[float, float]:
        """Return the largest difference of the loss from that of the reduction, and its time, where weights are random."""
        assert self.reduced is not None
        times, losses = self.history
        off = np.abs(np.interp(times, *self.reduced.history) - losses)
        worst = int(np.argmax(off))
        return float(off[worst]), float(times[worst])


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Finding):
    """Candidate gatings of one task, the one expected to learn first in front.

    Attributes:
        predictions: One per candidate.
        target_loss: Loss that the candidates race to: half way from the start to the lowest final loss of all.
        learning_times: Time at which each reaches it, in step x learning rate, shape (candidate,); infinite for candidates
            that never do, which are ordered by their final loss.
    """

    predictions: tuple[Prediction, ...]
    target_loss: float
    learning_times: np.ndarray


def first_below(times: np.ndarray, losses: np.ndarray, target: float) -> float:
    """Return the first time at which the loss is at most `target`, interpolated linearly; infinite if it never is."""
    time = float(crossing_time(times, -losses, -target))
    return math.inf if math.isnan(time) else time
