"""What the flow from a run's own start says of its loss, its modes and what lies outside of the target; is it so?"""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import MOST, POSITIVE
from foretrain.studies.s_curves.study import LARGE_SCALE
from foretrain.studies.s_curves.theory import FLOW_SEEDS
from foretrain.theory import factorization_flow
from foretrain.training.factorization import THREAD, components, learning_rate

THEORY = "docs/theory/s-curves.md"
SEEDS: dict[str, Any] = {"among": f"the first {FLOW_SEEDS} seeds"}


def descends(cell) -> bool:
    """Whether descent trains, with a loss that is, or nearly is, the squared error."""
    p = cell.parameters
    return p.optimizer in ("sgd", "sgd_decay") and p.target_scale < LARGE_SCALE


def squared(cell) -> bool:
    """The same with the squared error itself."""
    return descends(cell) and cell.parameters.loss_function == "mse"


def few(cell) -> bool:
    """Squared error, without decay, of few components beside the dimension."""
    p = cell.parameters
    return squared(cell) and p.optimizer == "sgd" and 10 * components(p) <= p.dimension


def known(cell, name: str, *dims: str) -> np.ndarray:
    """What is predicted of the first seeds, shape (seed, *dims)."""
    return cell.theory[name].transpose("seed", *dims).values[:FLOW_SEEDS]


def trained(cell, name: str, *dims: str) -> np.ndarray:
    """What became of the same seeds."""
    return cell.simulation[name].transpose("seed", *dims).values[:FLOW_SEEDS]


def _apart(measured, predicted, every) -> np.ndarray:
    """Largest difference of two curves in steps of the steepest fall that is predicted, per seed; nan where one has none."""
    steepest = -np.diff(predicted, axis=1).min(1, initial=-1e-12) / every
    gap = np.abs(measured - predicted)
    there = np.isfinite(gap).any(1)
    return np.where(there, np.nanmax(np.where(there[:, None], gap, 0), 1) / steepest, np.nan)


def _losses(cell):
    return trained(cell, "relative_loss", "step"), known(cell, "flow_loss", "step")


def flow_start(cell):
    measured, predicted = _losses(cell)
    every = cell.parameters.observe_every
    return _apart(measured, np.roll(predicted, 1, 0), every) - _apart(measured, predicted, every)


def half_steps(cell) -> np.ndarray:
    """Step at which each mode followed first has half of the target's strength, shape (seed, mode); nan where it has not."""
    step, strengths = (
        cell.simulation["step"].values,
        trained(cell, "mode_strengths", "step", "mode"),
    )
    whole = np.ones(strengths.shape[2])
    return np.array([factorization_flow.half_steps(step, run, whole) for run in strengths])


def _plain(cell) -> bool:
    return squared(cell) and cell.parameters.optimizer == "sgd"


def _concordant(measured, predicted) -> np.ndarray:
    """Share of the pairs of modes in the order predicted, per seed; nan where no two modes are known to differ."""
    first, second = np.triu_indices(measured.shape[1], 1)
    found = np.sign(measured[:, first] - measured[:, second])
    expected = np.sign(predicted[:, first] - predicted[:, second])
    kept = np.isfinite(found) & np.isfinite(expected) & (found != 0)
    count = kept.sum(1)
    return np.where(count > 0, ((found == expected) & kept).sum(1) / np.maximum(count, 1), np.nan)


ORDER: dict[str, Any] = {
    "near": 1,
    "inside": (0.9, np.inf),
    "why": "Nine pairs of modes in ten: those learned within a few steps of each other may change places.",
    "where": lambda cell: _plain(cell) and cell.parameters.rank > 1,
    "note": "Share of the pairs among the ten first modes of the target that are half learned in the order predicted.",
}


def mode_order_by_strength(cell):
    found = half_steps(cell)
    return _concordant(found, np.broadcast_to(np.arange(found.shape[1]), found.shape))


def _log_ratio(cell, name):
    """Mean over modes of the log ratio of measured and predicted half steps, per seed; nan where none is known."""
    measured = half_steps(cell)
    predicted = known(cell, name, "mode")[:, : measured.shape[1]]  # a cell may have fewer modes
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(measured / predicted)
    kept = np.isfinite(ratios)
    total = np.where(kept, ratios, 0.0).sum(1)
    return np.where(kept.any(1), total / np.maximum(kept.sum(1), 1), np.nan)


def _on_plateau(cell):
    """Per seed the place, among stored steps, of half of the time to the first half of a mode, as predicted."""
    halves = known(cell, "flow_half_step", "mode")
    known_ones = np.isfinite(halves).any(1)
    first = np.min(np.where(np.isfinite(halves), halves, np.inf), 1)
    return np.where(
        known_ones, np.searchsorted(cell.simulation["step"].values, first / 2), 0
    ), known_ones


def _changes(cell, name):
    """A curve on the plateau over its first value, and the time there, per seed."""
    curve, (place, there) = trained(cell, name, "step"), _on_plateau(cell)
    place = np.minimum(place, curve.shape[1] - 1)
    time = cell.simulation["step"].values[place] * learning_rate(cell.parameters)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.take_along_axis(curve, place[:, None], 1)[:, 0] / curve[:, 0]
    return np.where(there, change, np.nan), time


def irrelevant_decays(cell):
    outside, inside = _changes(cell, "outside")[0], _changes(cell, "inside")[0]
    there = np.isfinite(outside) & np.isfinite(inside)
    return np.where(there, (outside <= 0.5) & (inside > 1), np.nan)


def outside_decays(cell):
    change, time = _changes(cell, "outside")
    return change * (1 + 4 * cell.parameters.init_scale**2 * time)


CLAIMS = [
    claim(
        "flow-loss",
        "At every rank the loss follows the gradient flow from the run's own start to within half a step of descent.",
        lambda c: _apart(*_losses(c), c.p.observe_every),
        source=THEORY,
        **SEEDS,
        near=0,
        inside=(0, 0.5),
        why="A step of descent takes the slope of its beginning, that of the flow its middle: half a step between them.",
        where=descends,
        note="Largest difference of the losses over the steepest fall in a step that is predicted.",
        rank="headline",
    ),
    claim(
        "flow-start",
        "The flow from the start of another seed predicts the loss of a run less well than the flow from its own "
        "start.",
        flow_start,
        source=THEORY,
        **SEEDS,
        inside=POSITIVE,
        why="Further: by whatever the seeds establish.",
        where=descends,
        note="The same with the prediction for the next seed, minus that with its own.",
        rank="control",
    ),
    claim(
        "mode-order",
        "The modes of the target are learned in the order that the flow from the start predicts.",
        lambda c: _concordant(half_steps(c), known(c, "flow_half_step", "mode")),
        source=THEORY,
        **SEEDS,
        **ORDER,
        rank="headline",
    ),
    claim(
        "mode-order-by-strength",
        "Modes of the target are learned in the order of their strength, whatever the start.",
        mode_order_by_strength,
        source=THEORY,
        **SEEDS,
        **ORDER,
    ),
    claim(
        "typical-times",
        "Modes of the target are half learned at the time of a typical start, for every rank and strength.",
        lambda c: _log_ratio(c, "typical_half_step"),
        source=THEORY,
        **SEEDS,
        near=0,
        inside=(-0.1, 0.1),
        why="A tenth of the time: it is the logarithm of the start, whose spread over modes averages out.",
        where=few,
        statistic="median",
        note="Mean over modes of the log ratio of the step at which half is learned to the typical one.",
    ),
    claim(
        "irrelevant-decays",
        "On the plateau the factors outside of the target's span decay fast while the factors inside it slowly grow.",
        irrelevant_decays,
        source=THREAD,
        inside=MOST,
        why="To a half at least, and growth at all, in a majority of runs: it is said of the typical one.",
        statistic="fraction",
        where=few,
        note="Fraction of runs in which, half way to the first half of a mode, the squared length outside is at most half "
        "of what it was and that inside is larger than it was.",
        **SEEDS,
    ),
    claim(
        "outside-decays",
        "At any low rank the squared length outside of the target's span falls as 1/(1 + 4 sigma^2 t).",
        outside_decays,
        source=THEORY,
        **SEEDS,
        near=1,
        inside=(0.8, 1.25),
        why="Components lean on each other by sqrt(k/n), at most .3, in second order; a step of descent adds a twentieth.",
        where=few,
        note="Squared length half way to the first half of a mode, over that at the start, times 1 + 4 sigma^2 t.",
    ),
]
