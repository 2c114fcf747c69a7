"""Prediction for a gated network before it is trained: who wins, what is learned when, and the loss.

``predict`` takes one graph with its data, ``rank`` several gatings of one task. From decoupled weights the reduction says
it (`foretrain.predict.reduced`), from random ones the exact flow of the statistics (`foretrain.predict.from_random`);
only where that is asked for are networks trained beside it (`foretrain.predict.training`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foretrain.errors import argument_error, file_argument, integer, one_of, real
from foretrain.graph import Graph, graph_from_dict, read_graph
from foretrain.networks.gated import INITIAL_LAWS
from foretrain.predict.from_random import DRAWS, expected_from_random, growing_strengths
from foretrain.predict.prediction import DECOUPLED, Prediction, Ranking
from foretrain.predict.reduced import check_size, edge_strengths, reduced_prediction
from foretrain.predict.training import train_beside
from foretrain.tasks.effective_samples import whiten
from foretrain.tasks.gated_data import GatedData, load_gated_data
from foretrain.tasks.statistics import gather_statistics
from foretrain.theory.gated.reduction import TOLERANCE, Reduction, ReductionError, find_reduction


def predict(
    graph: Graph | Mapping | str | PathLike,
    data: GatedData | str | PathLike,
    *,
    init_scale: float | str | Mapping[str, Any] = 0.01,
    init_imbalance: float | str = 0.0,
    init_law: str | None = None,
    times: ArrayLike | None = None,
    approximate: bool = False,
    train: bool = False,
    seeds: int = 5,
    learning_rate: float | str | None = None,
    label: str = "network",
    tell: Callable[[str], None] | None = None,
) -> Prediction:
    """Predict how a gated deep linear network will learn, from its graph and its data.

    Assumes squared error and full-batch gradient flow. Two predictions can be had:

    - The reduction, from weights that start decoupled with strength `init_scale` and the sign that lets a mode be
      learned. Small random weights grow into such a start where the end is stable (`Prediction.stable`), with an
      effective strength of their own for every mode: order and shape are predicted, and times as far as that strength
      is known. They depend on it by its logarithm on paths of two edges, as its inverse on paths of three, as its
      inverse square on paths of four.
    - The exact flow of the statistics, from several draws of random weights; for any data. `Prediction.reduced` holds the
      prediction of the reduction for comparison.

    Args:
        graph: A `Graph`, nested tables as `graph_from_dict` takes, or the path of a TOML file.
        data: A `GatedData`, or the path of an npz file of arrays ``x.<node>``, ``y.<node>``, ``gate.<edge or node>``.
        init_scale: For decoupled weights the strength of every edge in every mode at time 0. For random ones the
            standard deviation of normal entries, the factor of an orthogonal matrix, or the gain of Xavier's laws.
            Positive, and within what float64 can follow, which depends on graph and data. Text that spells a number is
            one. Of decoupled weights also edge to strength, all edges of the graph, or text such as ``in=1,out=0.01``.
        init_imbalance: Of decoupled weights on paths of two edges: square of the strength of every edge that leaves a
            hidden node, less that of every edge that enters it; their product is `init_scale` squared. Of either sign.
        init_law: ``decoupled``, ``normal``, ``orthogonal``, ``xavier_normal`` or ``xavier_uniform``. By default
            ``decoupled`` where edges start unequal, or `approximate` is set, or the statistics have an exact reduction and
            nothing is trained; else ``normal``.
        times: Times of the loss, ascending from zero on, shape (time,), in step x learning rate: 20 is step 200
            at learning rate 0.1. By default 201 times until all but 1% is learned.
        approximate: From decoupled weights, go on where the statistics cannot be diagonalised jointly; see
            `Prediction.residual`.
        train: Train the same graph on the examples from `seeds` other draws of the same law, by plain gradient descent,
            and judge the prediction by these networks.
        seeds: Number of networks trained, at least 2; four times as many draws are followed.
        learning_rate: Learning rate of the networks trained; by default 0.02 over the largest curvature.
        label: Name of the candidate.
        tell: Receives lines on the cost of flow and training before they begin.

    Returns:
        The prediction; all its times are in step x learning rate.

    Raises:
        ArgumentError: graph, data or an argument break their rules.
        StoreError: the data file cannot be read.
        ReductionError: `init_law` is ``decoupled``, the statistics cannot be diagonalised and `approximate` is false: it
            says whether whitening the inputs would do; or no path is ever open.

    Cost: that of `find_reduction` and of integrating the reduced flow: seconds at a thousand inputs. From random weights
    that of `foretrain.theory.gated.exact_flow.flow_until`, once a draw.

    Two inputs, a linear network of one hidden layer:

        >>> import numpy as np
        >>> import foretrain
        >>> from foretrain.tasks.gated_data import GatedData
        >>> nodes, edges = {"x": 2, "h": 8, "y": 2}, {"in": ["x", "h"], "out": ["h", "y"]}
        >>> graph = foretrain.graph.graph_from_dict({"nodes": nodes, "edges": edges})
        >>> data = GatedData(graph, {"x": np.eye(2)}, {"y": np.diag([2.0, 1.0])})
        >>> prediction = foretrain.predict(graph, data, init_scale=0.01)
        >>> [round(mode.half_learning_time, 1) for mode in prediction.modes]
        [5.0, 9.2]
        >>> prediction.stable, round(prediction.final_loss, 6)
        (True, 0.0)
    """
    if isinstance(init_scale, str) and "=" in init_scale:
        init_scale = {
            edge: value for edge, _, value in (p.rpartition("=") for p in init_scale.split(","))
        }
    imbalance = real("init_imbalance", init_imbalance)
    single = init_scale if isinstance(init_scale, Mapping) else None
    scale = real("init_scale", init_scale, above=0) if single is None else 1.0
    seeds = integer("seeds", seeds, minimum=2, maximum=1000)
    if init_law is not None:
        one_of("init_law", init_law, (DECOUPLED, *INITIAL_LAWS))
    if learning_rate is not None:
        learning_rate = real("learning_rate", learning_rate, above=0)
    unequal = single is not None or imbalance != 0
    decoupled = init_law == DECOUPLED or (init_law is None and (approximate or unequal))
    if train and decoupled:
        rule = "start from random weights with `train`"
        repair = "Leave out `approximate`, `init_imbalance` and strengths of single edges, too."
        raise argument_error("init_law", rule, "is decoupled", repair)
    if unequal and not decoupled:
        raise argument_error("init_law", "be decoupled where edges start unequal", f"is {init_law}")
    if not isinstance(graph, Graph):
        graph = graph_from_dict(graph) if isinstance(graph, Mapping) else read_graph(graph)
    if not isinstance(data, GatedData):
        data = load_gated_data(file_argument("data", data), graph)
    elif data.graph != graph:
        raise argument_error("data", "be made for `graph`", "is made for another graph")
    statistics = gather_statistics(data)
    check_size(statistics)
    reduction = find_reduction(statistics, approximate=True)
    exact = reduction.residual <= TOLERANCE
    if decoupled and not exact and not approximate:
        raise _no_reduction(data, reduction)
    if decoupled or (init_law is None and exact and not train):
        start = edge_strengths(graph, reduction, single or scale, imbalance)
        strengths = np.array([*start.values()])
        scale = scale if single is None else float(strengths.max())
        answer = reduced_prediction(label, statistics, reduction, scale, strengths, times)
        return replace(answer, edge_strengths=start) if unequal else answer
    law = init_law or "normal"
    strengths = growing_strengths(reduction, law, scale)
    reduced = reduced_prediction(label, statistics, reduction, scale, strengths, times)
    wanted = None if times is None else reduced.times
    prediction = expected_from_random(reduced, statistics, law, scale, DRAWS * seeds, wanted, tell)
    if train:
        prediction = train_beside(prediction, data, seeds, learning_rate, tell)
    return prediction


def rank(candidates: Mapping[str, tuple[Any, Any]], **options: Any) -> Ranking:
    """Rank candidate gatings of one task by how soon they are expected to learn it.

    Args:
        candidates: Name to (graph, data), each as `predict` takes them.
        **options: As of `predict`, for all candidates. If one of them has no exact reduction all are ranked by the exact
            flow from random weights.

    The ranking is by the time in step x learning rate at which the loss has fallen half way to the lowest final loss.

        >>> import foretrain
        >>> from foretrain.tasks.logic import contextual
        >>> gatings = {"by context": contextual(2), "always on": contextual(2, gating="always_on")}
        >>> ranking = foretrain.rank({name: (data.graph, data) for name, data in gatings.items()})
        >>> [prediction.label for prediction in ranking.predictions]
        ['by context', 'always on']
        >>> ranking.learning_times.round(1)
        array([25., inf])

    Raises:
        ArgumentError: there is no candidate, or they are not gatings of one task: their targets differ in power.
        ReductionError: as of `predict`; it names the candidate.
    """
    if not candidates:
        raise argument_error("candidates", "hold at least one candidate", "is empty")
    predictions = _all(candidates, options)
    laws = {prediction.law for prediction in predictions}
    if len(laws) > 1:
        predictions = _all(candidates, {**options, "init_law": max(laws - {DECOUPLED})})
    first = predictions[0]
    for other in predictions[1:]:
        powers = first.reduction.target_power, other.reduction.target_power
        # Float64 data summed in another order differ by rounding, another task by far more.
        if not math.isclose(*powers, rel_tol=1e-9):
            rule = f"be gatings of one task, with the mean |y|^2 = {powers[0]:g} of `{first.label}`"
            raise argument_error("candidates", rule, f"`{other.label}` has {powers[1]:g}")
    target = (first.initial_loss + min(prediction.final_loss for prediction in predictions)) / 2
    order = sorted(
        predictions, key=lambda prediction: (prediction.time_to(target), prediction.final_loss)
    )
    return Ranking(
        tuple(order), target, np.array([prediction.time_to(target) for prediction in order])
    )


def _all(candidates: Mapping[str, tuple[Any, Any]], options: Mapping[str, Any]) -> list[Prediction]:
    predictions = []
    for label, (graph, data) in candidates.items():
        try:
            predictions.append(predict(graph, data, label=label, **options))
        except ReductionError as error:
            raise ReductionError(f"Candidate `{label}`: {error}") from None
    return predictions


def _no_reduction(data: GatedData, reduction: Reduction) -> ReductionError:
    white = {name: x @ whiten(x) for name, x in data.inputs.items()}
    whitened = GatedData(data.graph, white, data.targets, data.gates)
    left = find_reduction(gather_statistics(whitened), approximate=True).residual
    if left <= TOLERANCE:
        repair = (
            "Correlations among the inputs turn the modes that targets ask for: train on whitened inputs "
            "(`x @ foretrain.tasks.effective_samples.whiten(x)`), which have an exact reduction, or set"
        )
    else:
        repair = f"Whitening the inputs does not repair it ({left:.3g} is left). Set"
    return ReductionError(
        f"The statistics cannot be diagonalised jointly: the relative off-diagonal mass is {reduction.residual:.3g}, "
        f"above the tolerance {TOLERANCE:g}. {repair} `approximate` to leave that part out, or another `init_law` than "
        "`decoupled`, which needs no reduction."
    )
