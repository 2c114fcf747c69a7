"""What is said of a network before it is trained: records of modes, of one network, of ranked candidates.

Times are in step x learning rate, for the loss mean over examples of half the squared error: at learning rate 0.1 the
time 20 is step 200. Losses are such means, in the square of the unit of the targets.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np

from foretrain.theory.reduction import TOLERANCE, Reduction

# Part of the loss at the start by which an end must lie above the attainable loss to count as above it.
SHORT = 1e-6


@dataclass(frozen=True)
class ModeForecast:
    """What becomes of one mode on one path.

    Attributes:
        path: Name of the path, its edges joined by ``>``.
        mode: Number of the mode in the path's group, from 1, the strongest first.
        singular_value: S(p), how strongly the data drive it.
        input_variance: D(p, p).
        active: Pr(path), the fraction of examples on which the path's gate is open.
        half_learning_time: When the network has learned half of what this path has to learn in the mode, in
            step x learning rate; infinite if never.
        share: Part of that which this path itself carries at the end.
        outcome: ``learned``; among paths that compete for the same examples ``wins``, ``shares`` or ``loses``; or
            ``not learned``.
    """

    path: str
    mode: int
    singular_value: float
    input_variance: float
    active: float
    half_learning_time: float
    share: float
    outcome: str


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """What the reduction expects of one network.

    In a notebook it shows in a few lines; ``print`` shows its tables.

    Attributes:
        label: Name of the candidate.
        init_scale: Strength of every edge and mode at the start.
        modes: Every driven mode of every trained path, those learned first in front.
        times: Shape (time,), float64, in step x learning rate.
        loss: Expected loss at the times, shape (time,), never negative.
        initial_loss, final_loss: Loss at time 0 and when all is learned.
        learning_time: First time at which half of the drop from initial to final loss is done; 0 if there is none.
        residual: Off-diagonal mass of the statistics that the reduction leaves out, relative to the whole: zero up to
            rounding where it is exact for decoupled starts.
        smallest_curvature: Smallest eigenvalue of the Hessian of the whole network's loss at the end of the reduction,
            also off the weights that the reduction knows; 0 if none is negative. Where the residual is not zero, that
            of a network on the diagonal part of the statistics.
        stable: Whether the end is stable for the whole network. False at a saddle, which small random weights leave,
            at a rate of about ``-smallest_curvature`` (or later, where the saddle is flat and the paths have three edges
            or more); None where the residual is not zero, so that the end is a fixed point of the reduction alone.
        attainable_loss: Least loss of any weights of this network on these data.
        attainable_is_bound: Whether hidden banks may be too narrow to reach it: then nothing is below, and perhaps
            nothing reaches it.
        reduction: The reduced network.
        horizon: Time up to which modes were followed.
        history: Times and losses up to the horizon, evenly spaced in log time, shape (2, time).
    """

    label: str
    init_scale: float
    modes: tuple[ModeForecast, ...]
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

    @property
    def exact(self) -> bool:
        """Whether the residual is rounding."""
        return self.residual <= TOLERANCE

    @property
    def falls_short(self) -> bool:
        """Whether the predicted end lies above what is attainable, by more than a millionth of the loss at the start."""
        most = max(self.initial_loss, self.final_loss)
        return self.final_loss - self.attainable_loss > SHORT * most

    def time_to(self, loss: float) -> float:
        """First time at which the expected loss is at most `loss`; infinite if it never is."""
        times, losses = self.history
        return first_below(times, losses, loss)

    def as_dict(self) -> dict:
        """All but the reduction as JSON-ready values; infinite times become None."""
        return {
            "label": self.label,
            "init_scale": self.init_scale,
            "residual": self.residual,
            "stable": self.stable,
            "smallest_curvature": self.smallest_curvature,
            "attainable_loss": self.attainable_loss,
            "attainable_is_bound": self.attainable_is_bound,
            "initial_loss": self.initial_loss,
            "final_loss": self.final_loss,
            "learning_time": _json(self.learning_time),
            "horizon": self.horizon,
            "time_unit": "step x learning rate",
            "modes": [{k: _json(v) for k, v in asdict(mode).items()} for mode in self.modes],
            "times": self.times.tolist(),
            "loss": self.loss.tolist(),
        }

    def __repr__(self) -> str:
        from foretrain.forecast.text import prediction_summary

        return prediction_summary(self)

    def __str__(self) -> str:
        from foretrain.forecast.text import prediction_text

        return prediction_text(self)


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Candidate gatings of one task, the one expected to learn first in front.

    Attributes:
        predictions: One per candidate.
        target_loss: Loss that the candidates race to: half way from the start to the lowest final loss of all.
        learning_times: When each reaches it, in step x learning rate, shape (candidate,); infinite for those that
            never do, which are ordered by their final loss.
    """

    predictions: tuple[Prediction, ...]
    target_loss: float
    learning_times: np.ndarray

    def as_dict(self) -> dict:
        """JSON-ready values."""
        return {
            "target_loss": self.target_loss,
            "learning_times": [_json(time) for time in self.learning_times],
            "candidates": [prediction.as_dict() for prediction in self.predictions],
        }

    def __repr__(self) -> str:
        from foretrain.forecast.text import ranking_summary

        return ranking_summary(self)

    def __str__(self) -> str:
        from foretrain.forecast.text import ranking_text

        return ranking_text(self)


def first_below(times: np.ndarray, losses: np.ndarray, target: float) -> float:
    """First time at which the loss is at most `target`, interpolated linearly; infinite if it never is.

    Args:
        times: Ascending, shape (time,).
        losses: At the times, shape (time,).
        target: Loss to reach.
    """
    below = np.flatnonzero(losses <= target)
    if not below.size:
        return math.inf
    at = below[0]
    if at == 0:
        return float(times[0])
    part = (losses[at - 1] - target) / (losses[at - 1] - losses[at])
    return float(times[at - 1] + part * (times[at] - times[at - 1]))


def _json(value):
    return None if isinstance(value, float) and not math.isfinite(value) else value
