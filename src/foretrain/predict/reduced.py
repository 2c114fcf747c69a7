"""The reduction's part of a prediction: modes from decoupled strengths, the end of training, and its stability.

Modes of the statistics evolve by the reduced equations (Saxe, Sodhani & Lewallen 2022, eq. 10). The reduced network ends at a
stationary point. The curvature of the whole network's loss says if that point is stable for the whole network, too.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from foretrain.errors import argument_error, finite_array, real
from foretrain.graph import Graph
from foretrain.predict.prediction import SHORT, ModePrediction, Prediction, first_below
from foretrain.tasks.statistics import Statistics
from foretrain.theory.gated import gated_landscape, reduced_dynamics
from foretrain.theory.gated.deep_linear import balanced_start
from foretrain.theory.gated.reduction import TOLERANCE, Reduction
from foretrain.theory.gated.start_signs import start_signs

# Modes with less than this part of the largest singular value may be learned after the horizon of a prediction.
_WEAKEST = 1e-4
# Correlations below this part of what they could be are rounding: float64 epsilon with room for many examples.
_ROUNDING = 1e-12
# The smallest and largest product of the weights along a path at the start, as parts of what it learns. Below, deep
# paths escape so late that float64 cannot tell times apart any more; above, squares overflow on long paths.
_SMALLEST_PRODUCT, _LARGEST_PRODUCT = 1e-100, 1e6
_LATEST_ESCAPE = 1e10
# Mean squares of inputs and targets whose own squares float64 holds with room to spare.
_LARGEST_POWER = 1e100
# The earliest and latest last time that is followed, as parts of the horizon.
_EARLIEST, _LATEST = 1e-15, 1e6
# Curvature below this part of the fastest rate is rounding of the integrated end.
_NO_CURVATURE = 1e-8
# Share of a mode that a path explains at the end, above which it has won and below which it has lost.
_WON, _LOST = 0.9, 0.1


def edge_strengths(
    graph: Graph, reduction: Reduction, init_scale: float | Mapping, imbalance: float
) -> dict[str, float]:
    """Return the strength of every edge of decoupled weights at time 0.

    Args:
        graph, reduction: The network.
        init_scale: Strength of all edges, or edge to strength.
        imbalance: Of edges that leave a hidden node less that of those that enter it, both squared.

    Raises:
        ArgumentError: An edge is missing or unknown, or an imbalance is given beside single edges or for other paths than
            those of two edges.
    """
    names = [edge.name for edge in graph.edges]
    single = isinstance(init_scale, Mapping)
    if imbalance and (single or {len(path.edges) for path in reduction.paths} != {2}):
        rule = "be 0 beside strengths of single edges, and on other paths than those of two edges"
        got, repair = f"is {imbalance:g}", "Try strengths of all edges as `init_scale`."
        raise argument_error("init_imbalance", rule, got, repair)
    if single:
        for odd in sorted(init_scale.keys() ^ set(names)):
            got = f"`{odd}` is missing" if odd in names else f"`{odd}` is none"
            raise argument_error("init_scale", "name every edge of the graph, and no other", got)
        return {name: real("init_scale", init_scale[name], above=0) for name in names}
    if not imbalance:
        return dict.fromkeys(names, init_scale)
    leaving, entering = (
        float(factor[0, 0]) for factor in balanced_start([[init_scale**2]], imbalance)
    )
    return {edge.name: leaving if edge.source in graph.hidden else entering for edge in graph.edges}


def reduced_prediction(
    label: str,
    statistics: Statistics,
    reduction: Reduction,
    scale: float,
    strengths: np.ndarray,
    times: ArrayLike | None,
) -> Prediction:
    """Return the prediction of the reduction from decoupled weights.

    Args:
        label: Name of the candidate.
        statistics: Correlations of the data.
        reduction: Reduced network of these statistics.
        scale: Scale that the user chose, for messages.
        strengths: Strength of every edge at time 0, shape (edge,), positive, the same in all modes.
        times: Times of the loss, or None for 201 times.

    Raises:
        ArgumentError: Float64 cannot follow the start or the times.
    """
    _, _, learned, length = _learned(reduction)
    # The largest weight that a path of equal edges learns; 1 if there is nothing to learn.
    natural = float((learned ** (1 / length)).max(initial=0.0)) or 1.0
    # The weakest edge of a path grows fastest: soon the path is as if it were as strong as the next.
    ordered = np.sort(np.append(strengths, np.inf)[reduction.path_edges])[:, :2]
    slowest = float(np.where(np.isinf(ordered), 0, ordered).max(axis=1).min())
    check_scale(scale, slowest, float(strengths.max()), reduction, natural)
    start = start_signs(reduction) * strengths[:, None]
    start = reduced_dynamics.decoupled_start(start, reduction)
    horizon = longest_time(reduction, slowest)
    if times is not None:
        times = check_times(times, horizon)
    # Nine decades in time with 0.7% between points, far less than a mode takes to rise.
    followed = np.concatenate([[0.0], np.geomspace(1e-9 * horizon, horizon, 3000)])
    until = horizon if times is None else max(horizon, times[-1])
    flow = reduced_dynamics.flow_until(start, until, reduction)
    followed = _refined(followed, flow(followed))
    states = flow(followed)
    losses = reduced_dynamics.loss(states, reduction)
    initial, final = float(losses[0]), float(losses[-1])
    if times is None:
        reached = first_below(followed, losses, final + 0.01 * (initial - final))
        times = shown_times(initial, final, reached, horizon)
    attainable = gated_landscape.attainable(statistics, reduction)
    falls_short = final - attainable.loss > SHORT * max(initial, final)
    curvature, stable = _stability(reduction, states[-1], natural, falls_short)
    # A bound that the prediction itself reaches is no mere bound.
    reached = reduction.residual <= TOLERANCE and not falls_short
    return Prediction(
        label=label,
        init_scale=float(strengths.max()),
        modes=_modes(reduction, followed, states),
        times=times,
        loss=reduced_dynamics.loss(flow(times), reduction),
        initial_loss=initial,
        final_loss=final,
        learning_time=first_below(followed, losses, (initial + final) / 2),
        residual=reduction.residual,
        smallest_curvature=curvature,
        stable=stable,
        attainable_loss=attainable.loss,
        attainable_is_bound=attainable.is_bound and not reached,
        reduction=reduction,
        horizon=horizon,
        history=np.stack([followed, losses]),
    )


def shown_times(initial: float, final: float, reached: float, horizon: float) -> np.ndarray:
    """Return 201 times to a quarter beyond the point where all but 1% is learned, so that a picture shows a flat end."""
    learns = initial - final > _ROUNDING * initial
    return np.linspace(0, min(1.25 * reached, horizon) if learns else horizon, 201)


def check_size(statistics: Statistics) -> None:
    """Raise `ArgumentError` where squares of data leave the range of float64."""
    traces = [float(np.trace(statistics.inputs[p, p])) for p in statistics.target_input]
    power = sum(statistics.target_power.values())
    for what, value in (*(("gated inputs", trace) for trace in traces), ("targets", power)):
        if value and not 1 / _LARGEST_POWER <= value <= _LARGEST_POWER:
            rule = f"have mean squares between {1 / _LARGEST_POWER:g} and {_LARGEST_POWER:g}"
            raise argument_error("data", rule, f"that of the {what} is {value:g}")


def _learned(reduction: Reduction) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return S, D and a = S / D of the driven modes of every path, and the path's number of edges: shape (driven,) each."""
    own = reduction.input_variances[reduction.pairs[:, 0] == reduction.pairs[:, 1]]
    strengths = np.abs(reduction.singular_values)
    power = reduction.target_power * np.abs(reduction.input_variances).max()
    least = max(_WEAKEST * strengths.max(), _ROUNDING * math.sqrt(power))
    path, mode = np.nonzero(strengths[reduction.bundle_of_path] > least)
    bundle = reduction.bundle_of_path[path]
    length = np.array([len(path.edges) for path in reduction.paths])[path]
    strength, variance = strengths[bundle, mode], own[bundle, mode]
    return strength, variance, strength / variance, length


def check_scale(
    scale: float, least: float, most: float, reduction: Reduction, natural: float
) -> None:
    """Raise `ArgumentError` where strengths that come from this scale are more than float64 can follow."""
    longest = max(len(path.edges) for path in reduction.paths)
    smallest = _SMALLEST_PRODUCT ** (1 / max(longest, 2))
    if longest > 2:
        smallest = max(smallest, _LATEST_ESCAPE ** (-1 / (longest - 2)))
    low = smallest * natural * (scale / least)
    high = _LARGEST_PRODUCT ** (1 / max(longest, 2)) * natural * (scale / most)
    if not low <= scale <= high:
        rule = f"be between {low:.3g} and {high:.3g} for this graph and data"
        got = f"is {scale:g}"
        raise argument_error("init_scale", rule, got, f"Weights grow to about {natural:.3g}.")


def check_times(times: ArrayLike, horizon: float) -> np.ndarray:
    """Return times as an array that ascends from zero on and ends where float64 can follow, or raise."""
    times = finite_array("times", times, ndim=1).astype(float)
    if times.size == 0 or times[0] < 0 or np.any(np.diff(times) <= 0):
        got = f"is {times[:3]} .." if times.size > 3 else f"is {times}"
        raise argument_error("times", "ascend from a time that is not negative", got)
    low, high = _EARLIEST * horizon, _LATEST * horizon
    if times[-1] > 0 and not low <= times[-1] <= high:
        rule = f"end between {low:.3g} and {high:.3g} for this graph and data"
        raise argument_error("times", rule, f"ends at {times[-1]:g}")
    return times


def _refined(times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return times with twenty more wherever a strength changes by a hundredth of the largest: deep modes rise at once."""
    change = np.abs(np.diff(states, axis=0)).max(axis=(1, 2))
    steep = np.flatnonzero(change > 0.01 * np.abs(states).max())
    between = np.linspace(times[steep], times[steep + 1], 22)[1:-1]
    return np.unique(np.concatenate([times, between.ravel()]))


def _stability(
    reduction: Reduction, end: np.ndarray, natural: float, falls_short: bool
) -> tuple[float, bool | None]:
    """Return the smallest curvature at the end, and True if no direction that lowers the loss leaves it within the horizon."""
    exact = reduction.residual <= TOLERANCE
    if not _learned(reduction)[0].size:
        return 0.0, True if exact else None
    strongest = np.abs(reduction.singular_values).max()
    lengths = [len(path.edges) for path in reduction.paths]
    rate = strongest * max(natural ** (length - 2) for length in lengths)
    end = _settled(reduction, end)
    curvature = gated_landscape.smallest_curvature(end, reduction)
    if curvature > -_NO_CURVATURE * rate:
        curvature = 0.0
    flat = gated_landscape.leads_down_flat(end, reduction, _WEAKEST * strongest)
    if (curvature < -_WEAKEST * rate or flat) and (falls_short or not exact):
        return curvature, False
    return curvature, True if exact else None


def _settled(reduction: Reduction, end: np.ndarray) -> np.ndarray:
    """Return the end with undriven modes at zero: such modes decay by a power of time and never arrive."""
    settled = end.copy()
    driven = np.abs(reduction.singular_values)
    driven = driven > _WEAKEST * driven.max()
    for number, group in enumerate(reduction.groups):
        rows = [edge.name in group.edges for edge in reduction.graph.edges]
        settled[np.ix_(rows, ~driven[reduction.group_of_bundle == number].any(axis=0))] = 0
    return settled


def longest_time(reduction: Reduction, init_scale: float) -> float:
    """Return the time by which every mode that is not very weak has been learned if no other path competes with it.

    A path of L edges that is to learn a = S / D escapes from strength b in a time of about (1 + |log b|) / S for L = 2
    and 1 / (S b^(L-2)) for more, with b at most a^(1/L), and ends at the rate L D a^(2 - 2/L). A hundred times that
    leaves room for competition. Where there is nothing to learn, the time in which inputs decay.
    """
    strength, variance, learned, length = _learned(reduction)
    if not strength.size:
        return float(1 / np.abs(reduction.input_variances).max())
    own = learned ** (1 / length)
    escape = (1 + np.abs(np.log(init_scale / own))) / (
        strength * np.minimum(init_scale, own) ** np.maximum(length - 2, 0)
    )
    return float(100 * (escape + 1 / (length * variance * own ** (2 * length - 2))).max())


def _modes(
    reduction: Reduction, times: np.ndarray, states: np.ndarray
) -> tuple[ModePrediction, ...]:
    halves = reduced_dynamics.half_learning_times(states, times, reduction)
    end = np.concatenate([states[-1], np.ones((1, states.shape[2]))])
    carried = np.prod(end[reduction.path_edges], axis=1)
    strengths = reduced_dynamics.mode_strengths(states[-1], reduction)
    total = reduced_dynamics.explained(strengths, reduction)
    own = reduction.input_variances[reduction.pairs[:, 0] == reduction.pairs[:, 1]]
    return mode_rows(reduction, halves, total, carried * own[reduction.bundle_of_path])


def mode_rows(
    reduction: Reduction, halves: np.ndarray, total: np.ndarray, carried: np.ndarray
) -> tuple[ModePrediction, ...]:
    """Return records of every driven mode, those learned first in front.

    Args:
        halves: When half of a mode is learned, shape (path, mode), or (network, path, mode) for several networks.
        total: What is explained of S(p) at the end, shape (bundle, mode).
        carried: What the path itself explains of it, shape (path, mode).
    """
    several = halves if halves.ndim == 3 else None
    halves = halves if several is None else np.median(halves, axis=0)
    rivals = np.zeros(carried.shape, dtype=int)
    for (j, p), variance in zip(reduction.pairs, reduction.input_variances, strict=True):
        receivers = np.flatnonzero(reduction.bundle_of_path == p)
        coupled = np.abs(variance) > _WEAKEST * np.abs(reduction.input_variances).max()
        rivals[receivers] += coupled * np.count_nonzero(reduction.bundle_of_path == j)
    least = _ROUNDING * math.sqrt(reduction.target_power * np.abs(reduction.input_variances).max())
    rows = []
    for path, mode in np.ndindex(carried.shape):
        bundle = reduction.bundle_of_path[path]
        needed = reduction.singular_values[bundle, mode]
        if abs(needed) <= max(_WEAKEST * np.abs(reduction.singular_values).max(), least):
            continue
        pair = np.flatnonzero((reduction.pairs == bundle).all(axis=1))[0]
        share = float(carried[path, mode] / needed)
        learned = total[bundle, mode] / needed >= 0.5
        spread = None if several is None else several[:, path, mode]
        rows.append(
            ModePrediction(
                path=reduction.paths[path].name,
                mode=int(mode) + 1,
                singular_value=float(needed),
                input_variance=float(reduction.input_variances[pair, mode]),
                active=float(reduction.active[bundle]),
                half_learning_time=float(halves[path, mode]),
                share=share,
                outcome=_outcome(bool(learned), bool(rivals[path, mode] > 1), share),
                earliest=None if spread is None else float(spread.min()),
                latest=None if spread is None else float(spread.max()),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.half_learning_time))


def _outcome(learned: bool, contested: bool, share: float) -> str:
    if not learned:
        return "not learned"
    if not contested:
        return "learned"
    return "wins" if share >= _WON else "loses" if share <= _LOST else "shares"
