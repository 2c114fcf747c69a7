"""A network of the user's own: predicted by its kernel, trained, and compared with theory assumption by assumption.

The kernel at the start predicts without training. Then the network is trained from several starts, with every set of four
assumptions kept and given up: that layers do not learn together, that gates do not move, that steps are small, that a step
sees all examples. Shapley's value of each says what part of the gap between theory and run it is to blame for.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from os import PathLike
from pathlib import Path
from subprocess import Popen
from typing import Any

import jax
import numpy as np

from foretrain.elsewhere.measured import Measured
from foretrain.errors import ForetrainError, integer, known_options
from foretrain.explain.beside import beside
from foretrain.explain.explain_cost import cost, cost_words
from foretrain.explain.explanation import Checks, Explanation
from foretrain.explain.explanation_text import corner_words, forecast_words, miss_words
from foretrain.explain.further import further
from foretrain.explain.kernel.kernel_forecast import kernel_forecast
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import (
    Training,
    batches,
    described,
    starts,
    whole_number,
)
from foretrain.explain.regime import regime
from foretrain.explain.second_core import WORTH_S, in_turn
from foretrain.explain.shares import Shares, lost, taken_apart
from foretrain.explain.simulated import (
    Corner,
    Simulator,
    corners,
    enough_substeps,
    log_spaced,
    run_corner,
)
from foretrain.explain.stored_curves import store_folder
from foretrain.explain.weights_over_time import moments, read_weights
from foretrain.words import duration

PREDICTED = "the prediction of the kernel at the start"


def explain(
    apply: Callable,
    init: Callable,
    x,
    y,
    *,
    seeds: int | str = 16,
    from_zero: bool = False,
    tell: Callable[[str], object] | None = None,
    measured: Measured | None = None,
    weights: str | PathLike | None = None,
    out: Path | None = None,
    **described_by: Any,
) -> Explanation:
    """Predict a network before training, train it, and say which assumption of theory its deviation is due to.

    Args:
        apply: ``apply(weights, x)``: outputs, examples first; pure, in JAX, without loops (scan, while, cond).
        init: ``init(key)``: weights as a pytree of floating arrays.
        x: Training inputs, examples first.
        y: Targets, as the loss reads them.
        **described_by: `rate`, `steps` and all else that `foretrain.explain.own_network.described` takes. Adam's steps have
            no flow: its step's size is not taken apart, and nothing is predicted before training.
        seeds, from_zero, tell, measured, weights, out: As of `explained`, which says what is raised and what it costs.
    """
    known_options("foretrain.explain", described_by, explain, described)
    training = described(apply, init, x, y, **described_by)
    return explained(
        training,
        seeds=seeds,
        from_zero=from_zero,
        tell=tell,
        measured=measured,
        weights=weights,
        out=out,
    )


def explained(
    training: Training,
    *,
    seeds: int | str = 16,
    from_zero: bool = False,
    tell: Callable[[str], object] | None = None,
    measured: Measured | None = None,
    weights: str | PathLike | None = None,
    out: Path | None = None,
    second: Callable[[Path, int, int], Popen] | None = None,
) -> Explanation:
    """Predict a training, run it, and say which assumption of theory its deviation is due to; all in float64.

    Args:
        training: As `foretrain.explain.own_network.described` describes it.
        seeds: Number of starts, each with minibatches of its own.
        from_zero: Compare with a theory whose network begins at zero: the output at the start, which finite width makes
            random, becomes a cause. Twice as many corners.
        tell: Called with a line of the cost before anything is computed, when the prediction stands, and after every corner.
        measured: Runs of this training made elsewhere, see `foretrain.elsewhere.measured.read_measured`; they are laid beside
            the prediction before training, and beside everything after it.
        weights: Folder of their weights over time, see `foretrain.explain.weights_over_time.read_weights`.
        out: Folder in which the curves of every corner are stored as soon as they are known; those that another call of the
            same training has stored there are not trained again.
        second: Starts another process that trains corners and stores their curves, given their folder, the number of starts
            and the substeps; called where all take a minute or more, and `out` is given.

    Raises:
        ArgumentError: `seeds` breaks its rule, the starts do not differ, `measured` has no two steps of the training, or
            `weights` are not those of its network.
        ForetrainError: A function of the user raises, or has an operation that cannot be held to first order; the text has
            the line. Or the network diverges from every start, or its flow is too stiff.
        TooLarge: The kernel does not fit.
        FolderError: `out` cannot be written.

    Cost: for each of up to 16 corners seeds x steps gradients, of small steps four times the substeps as many; and three
        kernels a start, of four of them three more, as many gradients each as there are outputs.
    """
    began = time.monotonic()
    number = integer("seeds", whole_number(seeds), minimum=1, maximum=1000)
    folder = None if out is None else store_folder(out)
    simulator = simulator_of(training, number, folder)
    drawn, rows, at = simulator.starts, simulator.rows, simulator.at
    expected = None if tell is None else cost(training, drawn)
    tell = tell or (lambda line: None)
    asked, run = corners(training, from_zero=from_zero), run_corner(training)
    if expected is not None:
        tell(cost_words(expected, training, drawn, asked, 1))
    kernels = [Kernel(training, _one(drawn, k)) for k in range(number)]
    forecast, twins = (None, None) if training.adaptive else kernel_forecast(kernels, rows, at)
    if forecast is not None:
        tell(f"Said before training: {forecast_words(forecast)}")
        if measured is not None and not forecast.diverging:
            for line in beside(measured, at, {PREDICTED: forecast.train}).lines():
                tell(line)
    stored = () if weights is None else moments(training, read_weights(training, weights))
    kept = np.flatnonzero(~lost(simulator.run(run).train))
    if not kept.size:
        raise ForetrainError("The network itself diverges from every start: try a smaller `rate`.")
    substeps = 1 if forecast is None else enough_substeps(simulator, forecast.edge.measured)
    if expected is not None and substeps > 1:
        tell(cost_words(expected, training, drawn, asked, substeps))
    size = sum(leaf[0].size for leaf in jax.tree.leaves(drawn))
    long = expected is not None and expected.all(training, number, asked, substeps) >= WORTH_S
    process = second(folder, number, substeps) if second and folder and long else None
    if process is not None:
        tell("A second process trains corners from the last one on, with as much memory.")
    curves = {}
    with closing(in_turn(simulator, asked, substeps, process)) as turns:
        for place, one in enumerate(turns):
            here = time.monotonic()
            curves[one] = simulator.run(one, substeps)
            miss = miss_words(curves[one].train, simulator.run(run).train)
            away = miss if miss == "diverges" else f"{miss} from the run"
            said = "the run itself" if one == run else f"{corner_words(training, one)}: {away}"
            took = duration(time.monotonic() - here)
            tell(f"{place + 1} of {len(asked)} corners, {said}, {took}")
    train = {one: curves[one].train for one in asked}
    tests = {one: losses for one in asked if (losses := curves[one].test) is not None}
    test = tests or None
    ends = [_one(curves[run].weights, k) for k in kept]
    here = regime([kernels[k] for k in kept], ends, twins and [twins[k] for k in kept])
    return Explanation(
        training=training,
        weights=size,
        at=at,
        train=train,
        test=test,
        forecast=forecast,
        regime=here,
        further=further(simulator, forecast, here, substeps),
        shares=gap_apart(training, train),
        test_shares=None if test is None else gap_apart(training, test),
        checks=_checks(simulator, kernels, forecast, train),
        substeps=substeps,
        seconds=time.monotonic() - began,
        single=simulator.large and forecast is not None,
        measured=measured,
        moments=stored,
    )


def simulator_of(training: Training, number: int, folder: Path | None) -> Simulator:
    """The simulator of so many starts, with its folder of curves."""
    with jax.enable_x64(True):
        drawn = jax.tree.map(np.asarray, starts(training, number))
    return Simulator(training, drawn, batches(training, number), log_spaced(training.steps), folder)


def _one(stacked, at):
    return jax.tree.map(lambda leaf: leaf[at], stacked)


def gap_apart(training: Training, curves: Mapping[Corner, np.ndarray]) -> Shares:
    """The gap taken apart, by those of the assumptions that the training gives up; `curves` are losses (start, time)."""
    fields = [at for at, name in enumerate(Corner._fields) if len({one[at] for one in curves}) > 1]
    names = [Corner._fields[at] for at in fields]
    game = {
        frozenset(name for at, name in zip(fields, names, strict=True) if corner[at]): losses
        for corner, losses in curves.items()
    }
    return taken_apart(game, names, curves[run_corner(training)][:, 0])


def _checks(simulator, kernels, forecast, train):
    training = simulator.training
    first = train[run_corner(training)][:, :1]

    def worst(here, there):
        off = np.abs(here - there) / np.maximum(first[: len(here)], np.abs(there))
        return float(off[np.isfinite(off)].max())

    run = simulator.run(run_corner(training)).train
    plain = worst(run[:1], simulator.plain[None])
    if forecast is None:
        return Checks(None, None, plain)
    closed = recursion = None
    if training.loss_name == "squared":
        flows = np.stack([kernel.flow(simulator.at) for kernel in kernels])
        closed = worst(train[Corner()], flows)
    if not forecast.diverging:
        here = train[Corner(step=True, batches=training.in_batches)]
        recursion = worst(here, forecast.train)
    return Checks(closed, recursion, plain)
