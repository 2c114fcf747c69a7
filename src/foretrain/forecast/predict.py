"""What the reduction expects of a gated network, before it is trained: who wins, what is learned when, and the loss.

``predict`` takes one graph with its data, ``rank`` several gatings of one task. Nothing is trained here: modes of the
statistics evolve by the reduced equations (Saxe, Sodhani & Lewallen 2022, eq. 10) from equal small strengths.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np

from foretrain.errors import argument_error, finite_array, real
from foretrain.graph import Graph, graph_from_dict, read_graph
from foretrain.tasks.gated_data import GatedData, load_gated_data
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory import reduced_dynamics
from foretrain.theory.reduction import TOLERANCE, Reduction, ReductionError, find_reduction
from foretrain.theory.start_signs import start_signs

# Modes with less than this part of the largest singular value may be learned after the horizon of a prediction.
_WEAKEST = 1e-4
# Correlations below this part of what they could be are rounding: float64 epsilon with room for many examples.
_ROUNDING = 1e-12
# Share of a mode that a path explains at the end, above which it has won and below which it has lost.
_WON, _LOST = 0.9, 0.1


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


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the reduction expects of one network.

    Attributes:
        label: Name of the candidate.
        init_scale: Strength of every edge and mode at the start.
        modes: Every driven mode of every trained path, those learned first in front.
        times: Shape (time,), float64, in step x learning rate.
        loss: Expected loss at the times, shape (time,).
        initial_loss, final_loss: Loss at time 0 and when all is learned.
        learning_time: First time at which half of the drop from initial to final loss is done; 0 if there is none.
        residual: Off-diagonal mass of the statistics that the reduction leaves out, relative to the whole: zero up to
            rounding where it is exact for decoupled starts.
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
    reduction: Reduction
    horizon: float
    history: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether the residual is rounding."""
        return self.residual <= TOLERANCE

    def time_to(self, loss: float) -> float:
        """First time at which the expected loss is at most `loss`; infinite if it never is."""
        times, losses = self.history
        return _first_below(times, losses, loss)

    def as_dict(self) -> dict:
        """All but the reduction as JSON-ready values; infinite times become None."""
        return {
            "label": self.label,
            "init_scale": self.init_scale,
            "residual": self.residual,
            "initial_loss": self.initial_loss,
            "final_loss": self.final_loss,
            "learning_time": _json(self.learning_time),
            "horizon": self.horizon,
            "time_unit": "step x learning rate",
            "modes": [{k: _json(v) for k, v in asdict(mode).items()} for mode in self.modes],
            "times": self.times.tolist(),
            "loss": self.loss.tolist(),
        }

    def __str__(self) -> str:
        from foretrain.forecast.text import prediction_text

        return prediction_text(self)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Candidate gatings of one task, the one expected to learn first in front.

    Attributes:
        predictions: One per candidate.
        target_loss: Loss that the candidates race to: half way from the start to the lowest final loss of all.
        learning_times: When each reaches it, shape (candidate,); infinite for those that never do, which are ordered
            by their final loss.
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

    def __str__(self) -> str:
        from foretrain.forecast.text import ranking_text

        return ranking_text(self)


def predict(
    graph: Graph | Mapping | str | PathLike,
    data: GatedData | str | PathLike,
    *,
    init_scale: float = 0.01,
    times: np.ndarray | None = None,
    approximate: bool = False,
    label: str = "network",
) -> Prediction:
    """Predict how a gated deep linear network will learn, from its graph and its data.

    Assumes: squared error, full-batch gradient flow, weights that start decoupled with strength `init_scale` and the
    sign that lets a mode be learned. A start from small random weights behaves alike with an effective strength of its
    own for every mode: its order and shape are predicted, its times shift by the logarithm of that strength.

    Args:
        graph: A `Graph`, nested tables as `graph_from_dict` takes, or the path of a TOML file.
        data: A `GatedData`, or the path of an npz file of arrays ``x.<node>``, ``y.<node>``, ``gate.<edge or node>``.
        init_scale: Strength of every edge in every mode at time 0, positive.
        times: Where the loss is wanted, ascending from zero on, shape (time,); by default 201 times until all but 1%
            is learned.
        approximate: Go on where the statistics cannot be diagonalised jointly; see `Prediction.residual`.
        label: Name of the candidate.

    Raises:
        ArgumentError: graph, data or an argument break their rules.
        StoreError: the data file cannot be read.
        ReductionError: the statistics cannot be diagonalised and `approximate` is false, or no path is ever open.

    Cost: that of `find_reduction` and of integrating the reduced flow: seconds at a thousand inputs.
    """
    init_scale = real("init_scale", init_scale, above=0)
    graph = _graph(graph)
    data = _data(data, graph)
    reduction = find_reduction(gather_statistics(data), approximate=approximate)
    start = reduced_dynamics.decoupled_start(reduction, init_scale * start_signs(reduction))
    horizon = _horizon(reduction, init_scale)
    # Nine decades in time with 0.7% between points, far less than a mode takes to rise.
    followed = np.concatenate([[0.0], np.geomspace(1e-9 * horizon, horizon, 3000)])
    states = reduced_dynamics.flow(reduction, start, followed)
    losses = reduced_dynamics.loss(reduction, states)
    initial, final = float(losses[0]), float(losses[-1])
    if times is None:
        # To the point where all but 1% is learned, and a quarter beyond, so that the end is seen to be flat.
        drop = initial - final
        until = 1.25 * _first_below(followed, losses, final + 0.01 * drop)
        learns = drop > _ROUNDING * initial
        times = np.linspace(0, min(until, horizon) if learns else horizon, 201)
    times = finite_array("times", times, ndim=1).astype(float)
    loss = reduced_dynamics.loss(reduction, reduced_dynamics.flow(reduction, start, times))
    return Prediction(
        label=label,
        init_scale=init_scale,
        modes=_forecast(reduction, followed, states),
        times=times,
        loss=loss,
        initial_loss=initial,
        final_loss=final,
        learning_time=_first_below(followed, losses, (initial + final) / 2),
        residual=reduction.residual,
        reduction=reduction,
        horizon=horizon,
        history=np.stack([followed, losses]),
    )


def rank(candidates: Mapping[str, tuple], **options) -> Ranking:
    """Rank candidate gatings of one task by how soon they are expected to learn it.

    Args:
        candidates: Name to (graph, data), each as `predict` takes them.
        **options: As of `predict`, for all candidates.

    Returns:
        The ranking.

    Raises:
        ArgumentError: there is no candidate, or they are not gatings of one task: their targets differ in power.
        ReductionError: as of `predict`; it names the candidate.
    """
    if not candidates:
        raise argument_error("candidates", "hold at least one candidate", "is empty")
    predictions = []
    for label, (graph, data) in candidates.items():
        try:
            predictions.append(predict(graph, data, label=label, **options))
        except ReductionError as error:
            raise ReductionError(f"Candidate `{label}`: {error}") from None
    first = predictions[0]
    for other in predictions[1:]:
        powers = first.reduction.target_power, other.reduction.target_power
        # Float64 data summed in another order differ by rounding, another task by far more.
        if not math.isclose(*powers, rel_tol=1e-9):
            rule = f"be gatings of one task, with the mean |y|^2 = {powers[0]:g} of `{first.label}`"
            raise argument_error("candidates", rule, f"`{other.label}` has {powers[1]:g}")
    target = (first.initial_loss + min(one.final_loss for one in predictions)) / 2
    order = sorted(predictions, key=lambda one: (one.time_to(target), one.final_loss))
    return Ranking(tuple(order), target, np.array([one.time_to(target) for one in order]))


def _graph(graph) -> Graph:
    if isinstance(graph, Graph):
        return graph
    return graph_from_dict(graph) if isinstance(graph, Mapping) else read_graph(graph)


def _data(data, graph) -> GatedData:
    if isinstance(data, GatedData):
        if data.graph != graph:
            raise argument_error("data", "be made for `graph`", "is made for another graph")
        return data
    return load_gated_data(data, graph)


def _horizon(reduction: Reduction, init_scale: float) -> float:
    """Time by which every mode that is not very weak has been learned if no other path is in its way.

    A path of L edges escapes from strength b in a time of at most b^(2-L) (1 + |log b|) / S, and approaches its end at
    a rate of at least the smaller of S and D; a hundred times that leaves room for competition. Where there is nothing to
    learn, the time in which inputs decay.
    """
    strengths = np.abs(reduction.singular_values)
    variances = np.abs(reduction.input_variances)
    if strengths.max() <= _ROUNDING * math.sqrt(reduction.target_power * variances.max()):
        return 1 / variances.max()
    driven = strengths > _WEAKEST * strengths.max()
    longest = max(len(path.edges) for path in reduction.paths)
    own = reduction.input_variances[reduction.pairs[:, 0] == reduction.pairs[:, 1]]
    slowest = min(strengths[driven].min(), own[driven].min())
    escape = min(init_scale, 1.0) ** min(2 - longest, 0) * (1 + abs(math.log(init_scale)))
    return 100 * escape / slowest


def _forecast(reduction: Reduction, times, states) -> tuple[ModeForecast, ...]:
    halves = reduced_dynamics.half_learning_times(reduction, times, states)
    end = np.concatenate([states[-1], np.ones((1, states.shape[2]))])
    carried = np.prod(end[reduction.path_edges], axis=1)
    total = np.zeros_like(carried)  # what the paths coupled to a path explain of its mode
    own = np.zeros_like(carried)
    rivals = np.zeros(carried.shape, dtype=int)
    strengths = np.abs(reduction.singular_values)
    for (j, p), variance in zip(reduction.pairs, reduction.input_variances, strict=True):
        receivers = np.flatnonzero(reduction.bundle_of_path == p)
        givers = np.flatnonzero(reduction.bundle_of_path == j)
        total[receivers] += carried[givers].sum(axis=0) * variance
        coupled = np.abs(variance) > _WEAKEST * np.abs(reduction.input_variances).max()
        rivals[receivers] += coupled * len(givers)
        if j == p:
            own[receivers] = carried[receivers] * variance
    least = _ROUNDING * math.sqrt(reduction.target_power * np.abs(reduction.input_variances).max())
    rows = []
    for path, mode in np.ndindex(carried.shape):
        bundle = reduction.bundle_of_path[path]
        needed = reduction.singular_values[bundle, mode]
        if abs(needed) <= max(_WEAKEST * strengths.max(), least):
            continue
        pair = np.flatnonzero((reduction.pairs == bundle).all(axis=1))[0]
        share = float(own[path, mode] / needed)
        learned = total[path, mode] / needed >= 0.5
        contested = rivals[path, mode] > 1
        rows.append(
            ModeForecast(
                path=reduction.paths[path].name,
                mode=int(mode) + 1,
                singular_value=float(needed),
                input_variance=float(reduction.input_variances[pair, mode]),
                active=float(reduction.active[bundle]),
                half_learning_time=float(halves[path, mode]),
                share=share,
                outcome=_outcome(learned, contested, share),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.half_learning_time))


def _outcome(learned, contested, share) -> str:
    if not learned:
        return "not learned"
    if not contested:
        return "learned"
    return "wins" if share >= _WON else "loses" if share <= _LOST else "shares"


def _first_below(times, losses, target) -> float:
    """First time at which the loss is at most `target`, interpolated linearly; infinite if it never is."""
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
