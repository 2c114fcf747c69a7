"""Prediction from small random weights: the exact flow of the statistics, from several draws of their law."""

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from foretrain.errors import argument_error, one_of
from foretrain.networks import gated
from foretrain.predict.prediction import Ensemble, Prediction, first_below
from foretrain.predict.reduced import mode_rows, shown_times
from foretrain.streams import Seed, generator
from foretrain.tasks.statistics import Statistics
from foretrain.theory.gated import exact_flow
from foretrain.theory.gated.reduction import Reduction
from foretrain.words import duration

# Part of the loss at the start that may be left above the attainable loss when a flow is at its end.
_ENOUGH = 1e-7
DRAWS = 4  # for every network that would be trained
_MOST = 40_000  # evaluations of the gradient for one network
_SLOWEST = 1e12  # multiplications in one evaluation, some hundred seconds


def growing_strengths(reduction: Reduction, law: str, scale: float) -> np.ndarray:
    """Return the strength of the decoupled weights that random weights grow into, shape (edge,).

    Around zero the sum q = (W_in v + W_out^T u) / 2 of a mode grows through a bank between inputs and outputs, and the
    difference decays; |q|^2 has the mean (E|W_in v|^2 + E|W_out^T u|^2) / 4: N sigma^2 / 2 for N units and normal
    entries. The mean over a bank's edges stands in for what they share, and on paths of three or more edges for a law
    that is not known.
    """
    one_of("init_law", law, gated.INITIAL_LAWS)
    graph, bank = reduction.graph, {}
    for node in graph.hidden:
        lengths = [_unit_square(law, *graph.shape[e.name], axis=0) for e in graph.incoming[node]]
        lengths += [_unit_square(law, *graph.shape[e.name], axis=1) for e in graph.outgoing[node]]
        bank[node] = math.sqrt(sum(lengths) / len(lengths) / 2)
    strengths = []
    for edge in graph.edges:
        ends = [bank[node] for node in (edge.source, edge.target) if node in bank]
        target, source = graph.shape[edge.name]
        direct = math.sqrt(_unit_square(law, target, source, axis=0) / target)
        strengths.append(math.prod(ends) ** (1 / len(ends)) if ends else direct)
    return scale * np.array(strengths)


def _unit_square(law: str, target: int, source: int, *, axis: int) -> float:
    """Return E|W v|^2 (axis 0) or E|W^T u|^2 (axis 1) for a unit vector and scale 1."""
    arriving, leaving = (target, source) if axis == 0 else (source, target)
    if law == "orthogonal":
        return min(arriving, leaving) / leaving
    return arriving * (1.0 if law == "normal" else 2 / (target + source))


def expected_from_random(
    reduced: Prediction,
    statistics: Statistics,
    law: str,
    scale: float,
    draws: int,
    times: np.ndarray | None,
    tell: Callable[[str], None] | None = None,
) -> Prediction:
    """Return the prediction of the exact flow from random weights, with that of the reduction for comparison.

    Args:
        reduced: Prediction of the reduction, from `growing_strengths`.
        statistics: Correlations of the data.
        law, scale: Law of the weights at the start and its scale.
        draws: Number of starts that are followed.
        times: Times of the loss; by default 201 times until the slowest draw has learned all but 1%.
        tell: Receives a line on the cost before the flow begins.

    Raises:
        ArgumentError: A gradient takes more than 10^12 multiplications.
    """
    reduction = reduced.reduction
    ends = exact_flow.outputs(statistics)
    bundles = [p for group in reduction.groups for p in group.bundles]
    frames, modes = {}, reduction.singular_values.shape[1]
    for p, group in zip(bundles, reduction.group_of_bundle, strict=True):
        bundle, bases = statistics.bundles[p], reduction.groups[group].frames
        left, right = bases[bundle.target], bases[bundle.source]
        more = ((0, 0), (0, modes - left.shape[1]))
        frames[p] = np.pad(left, more), np.pad(right, more)
    streams = [generator(Seed(0, seed), "prediction") for seed in range(draws)]
    starts = [gated.initial_weights(reduction.graph, s, law=law, init_scale=scale) for s in streams]
    horizon = max(reduced.horizon, 0.0 if times is None else float(times[-1]))
    _state_cost(statistics, starts[0], draws, tell)
    flows = []
    for weights in starts:
        initial = exact_flow.loss(gated.bundle_products(statistics, weights), ends)
        flows.append(
            exact_flow.flow_until(
                weights,
                horizon,
                statistics,
                ends=ends,
                frames=frames,
                enough=reduced.attainable_loss + _ENOUGH * initial,
                at_least=0.0 if times is None else float(times[-1]),
                settle_after=horizon / 20,  # five times the slowest mode's own time
                most=_MOST,
            )
        )
    drawn = Ensemble(tuple((flow.times, flow.loss) for flow in flows))
    initial, final = (float(np.median([flow.loss[at] for flow in flows])) for at in (0, -1))
    longest = float(max(flow.times[-1] for flow in flows))
    if times is None:
        left = [first_below(t, at, at[-1] + 0.01 * (at[0] - at[-1])) for t, at in drawn.curves]
        times = shown_times(initial, final, max(left), longest)
    seen = np.concatenate([[0.0], np.geomspace(1e-9 * longest, longest, 3000)])
    halves = [_half_times(reduction, flow) for flow in flows]
    total, carried = _end(statistics, reduction, bundles, frames, flows)
    loss = np.median(drawn.at(times), axis=0)
    drops = [first_below(t, at, (at[0] + at[-1]) / 2) for t, at in drawn.curves]
    return replace(
        reduced,
        law=law,
        init_scale=scale,
        modes=mode_rows(reduction, np.array(halves), total, carried),
        times=times,
        loss=loss,
        initial_loss=initial,
        final_loss=final,
        learning_time=float(np.median(drops)),
        horizon=longest,
        history=np.stack([seen, np.median(drawn.at(seen), axis=0)]),
        drawn=drawn,
        drift=max(flow.drift for flow in flows),
        finished=all(flow.finished for flow in flows),
        curvature=max(exact_flow.largest_curvature(flow.weights, statistics) for flow in flows),
        reduced=replace(reduced, times=times, loss=np.interp(times, *reduced.history)),
    )


def _state_cost(statistics: Statistics, weights, draws: int, tell) -> None:
    small = exact_flow.compressed(weights, statistics)
    each = exact_flow.multiplications(small, statistics)
    if each > _SLOWEST:
        rule = f"need at most {_SLOWEST:g} multiplications for one evaluation of the exact flow"
        got = f"needs {each:.3g}"
        raise argument_error("graph", rule, got, "Try init_law decoupled, or fewer units.")
    if tell is None:
        return
    begun = time.perf_counter()
    gated.statistics_gradient(statistics, small)
    took = time.perf_counter() - begun
    modes = sum(statistics.graph.width[name] for name in statistics.graph.inputs)
    modes_out = sum(statistics.graph.width[name] for name in statistics.graph.outputs)
    numbers = sum(w.size for w in small.values())
    tell(
        f"Exact flow: {len(small)} edges, {modes} modes in and {modes_out} out, {numbers} weights after compression, "
        f"{each:.2g} multiplications an evaluation; from about 1500 to at most {_MOST} of these for each of {draws} draws: "
        f"{duration(1500 * draws * took)} to {duration(_MOST * draws * took)}."
    )


def _half_times(reduction: Reduction, flow: exact_flow.Trajectory) -> np.ndarray:
    """Return the times at which half of S(p) is explained, shape (path, mode), as `half_learning_times` of a reduction."""
    values = reduction.singular_values
    halves = np.full(values.shape, np.nan)
    least = 1e-12 * np.abs(values).max()
    for bundle, mode in zip(*np.nonzero(np.abs(values) > least), strict=True):
        left = 1 - flow.explained[:, bundle, mode] / values[bundle, mode]
        halves[bundle, mode] = first_below(flow.times, left, 0.5)
    return halves[reduction.bundle_of_path]


def _end(statistics, reduction: Reduction, bundles, frames, flows):
    """Return the explained part of S(p) at the end, (bundle, mode), and each path's own, (path, mode): means over draws."""
    carried = np.zeros((len(reduction.paths), reduction.singular_values.shape[1]))
    for row, (path, number) in enumerate(
        zip(reduction.paths, reduction.bundle_of_path, strict=True)
    ):
        p = bundles[number]
        left, right = frames[p]
        for flow in flows:
            own = gated.path_product(path, flow.weights) @ statistics.input_pair(p, p)
            carried[row] += np.sum((left.T @ own) * right.T, axis=1) / len(flows)
    return np.mean([flow.explained[-1] for flow in flows], axis=0), carried
