"""A network of the user's own: predicted by its kernel, trained, and compared with theory assumption by assumption.

The kernel at the start predicts without training. Then the network is trained from several starts, with every set of four
assumptions kept and given up: that layers do not learn together, that gates do not move, that steps are small, that a step
sees all examples. Shapley's value of each says what part of the gap between theory and run it is to blame for.
"""

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from foretrain.elsewhere.curves import Measured
from foretrain.errors import ForetrainError, argument_error, integer, known_options, path_argument
from foretrain.explain.corner_runs import CornerRuns
from foretrain.explain.curve_comparison import curve_comparison
from foretrain.explain.curve_comparison_words import sentences
from foretrain.explain.explanation import Checks, Explanation
from foretrain.explain.explanation_words import prediction_words
from foretrain.explain.kernel.kernel_prediction import KernelPrediction, kernel_prediction
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import Training, described, start_of
from foretrain.explain.regime import Regime, regime
from foretrain.explain.shares import Shares, lost, shapley_shares
from foretrain.explain.simulated import (
    Corner,
    Curves,
    Simulation,
    Simulator,
    Train,
    compared,
    corners,
    enough_substeps,
    first_substeps,
    linear_corner,
    run_corner,
    simulator_of,
)
from foretrain.laboratory.conduct import part_of

PREDICTED = "the prediction of the kernel at the start"
_CORRECTED = 0.2  # of the edge: up to it the first order of the step is enough


def explain(
    apply: Callable,
    init: Callable,
    x,
    y,
    *,
    seeds: int = 16,
    from_zero: bool = False,
    tell: Callable[[str], object] | None = None,
    measured: Measured | None = None,
    out: str | PathLike | None = None,
    **described_by: Any,
) -> Explanation:
    """Predict a network before training, train it, and say which assumption of theory its deviation is due to.

    Args:
        apply: ``apply(weights, x)``: outputs, examples first; pure, in JAX, without loops (scan, while, cond).
        init: ``init(key)``: weights as a pytree of floating arrays.
        x: Training inputs, examples first.
        y: Targets, as the loss reads them.
        **described_by: `learning_rate`, `steps` and all else that `foretrain.explain.own_network.described` takes. Adam's
            steps have no flow: its step's size is not taken apart, and nothing is predicted before training.
        seeds, from_zero, tell, measured, out: As of `explained`, which says what is raised and what it costs.

    Example:
        >>> import foretrain, jax, numpy
        >>> x = numpy.random.default_rng(0).normal(size=(12, 4))
        >>> def apply(weights, x):
        ...     return x @ weights
        >>> def init(key):
        ...     return jax.random.normal(key, (4, 1))
        >>> explanation = foretrain.explain(
        ...     apply, init, x, x[:, :1], learning_rate=1e-4, steps=20, seeds=2)
        >>> explanation.prediction.verdict, explanation.regime.name
        ('will do', 'lazy')
    """
    known_options("foretrain.explain", described_by, explain, described)
    for name in ("learning_rate", "steps"):
        if name not in described_by:
            raise argument_error(name, "be given to foretrain.explain", "is not")
    training = described(apply, init, x, y, **described_by)
    explanation = explained(
        training, seeds=seeds, from_zero=from_zero, tell=tell, measured=measured, out=out
    )
    assert explanation is not None, "without shards all is trained"
    return explanation


def explained(
    training: Training,
    *,
    seeds: int = 16,
    from_zero: bool = False,
    tell: Callable[[str], object] | None = None,
    measured: Measured | None = None,
    out: str | PathLike | None = None,
    source: Callable[[], Training] | None = None,
    cores: Set[int] | None = None,
    shard: str | tuple[int, int] | None = None,
) -> Explanation | None:
    """Predict a training, run it, and say which assumption of theory its deviation is due to; all in float64.

    Args:
        training: As `foretrain.explain.own_network.described` describes it.
        seeds: Number of starts, each with minibatches of its own.
        from_zero: Compare with a theory whose network begins at zero: the output at the start, which finite width makes
            random, becomes a cause. Twice as many corners.
        tell: Called with lines when the prediction stands: it, and how long the training will take and how much memory;
            without it no progress is shown either.
        measured: Runs of this training made elsewhere, see `foretrain.elsewhere.curves.read_measured`; they are compared
            with the prediction before training, and with all curves after it.
        out: Folder of results, by default ``runs/explain-<hash>``. Every corner is a run of the engine: what the folder holds
            of this training is not trained again, also after a kill.
        source: Makes the training in a worker; by default it is sent there.
        cores: As of `foretrain.explain.corner_runs.CornerRuns`.
        shard: As of `foretrain.plans.options.Options`. The last part to finish trains what only its end tells is needed.

    Returns:
        The explanation, or None where runs of other shards are still missing.

    Raises:
        ArgumentError: `seeds` or `shard` breaks its rule, the starts do not differ, or `measured` has no two steps of the
            training.
        ForetrainError: A function of the user raises, or has an operation that cannot be held to first order; the text has
            the line. Or the network diverges from every start, or its flow is too stiff.
        TooLarge: The kernel of a single example does not fit.
        FolderError: `out` cannot be written, is in use, or holds another training.

    Cost: for each of up to 16 corners seeds x steps gradients, of small steps four times the substeps as many; three kernels
        a start, of four of them one more, as many gradients each as there are outputs; and of these two gradients a step.
    """
    began, began_s = time.monotonic(), time.process_time()
    number = integer("seeds", 1 if training.single else seeds, minimum=1, maximum=1000)
    part = part_of(shard)
    simulator = simulator_of(training, number)
    runs = CornerRuns(
        simulator,
        source or partial(replace, training),
        None if out is None else path_argument("out", out),
        cores,
        quiet=tell is None,
    )
    folder = runs.folder
    kernels = [Kernel(training, start_of(simulator.starts, k), number) for k in range(number)]
    prediction = twins = linear = None
    if not training.adaptive:
        if not kernels[0].whole:
            simulation = Simulation(linear_corner(training))
            train = runs.train if part == (1, 1) else simulator.train
            linear = train([simulation])[simulation]
        prediction, twins = kernel_prediction(kernels, simulator.rows, simulator.at, linear)
    wanted = corners(training, from_zero=from_zero)
    planned = _planned(simulator, wanted, prediction)
    if tell is not None:
        _tell_before(tell, prediction, measured, simulator.at)
        for line in runs.outlook(planned, time.process_time() - began_s, part[1]):
            tell(line)
    if part != (1, 1) and not runs.train_part(planned, part):
        return None
    run = Simulation(run_corner(training))
    ends = runs.train([run])[run]
    kept = np.flatnonzero(~lost(ends.train)).tolist()
    if not kept:
        raise ForetrainError(
            "The network itself diverges from every start: try a smaller `learning_rate`."
        )
    weights = [start_of(ends.weights, k) for k in kept]
    state = regime([kernels[k] for k in kept], weights, twins and [twins[k] for k in kept])
    substeps, curves, corrected = _trained(simulator, runs.train, wanted, prediction, state)
    train = {corner: curves[corner].train for corner in wanted}
    tests = {corner: losses for corner in wanted if (losses := curves[corner].test) is not None}
    return Explanation(
        training=training,
        weights=simulator.weights,
        at=simulator.at,
        train=train,
        test=tests or None,
        prediction=prediction,
        regime=state,
        corrected=corrected,
        shares=gap_shares(training, train),
        test_shares=gap_shares(training, tests) if tests else None,
        checks=_checks(simulator, kernels, prediction, train),
        substeps=substeps,
        seconds=time.monotonic() - began,
        folder=folder,
        single=simulator.large and prediction is not None,
        kernel_examples=len(kernels[0].part.x),
        measured=measured,
    )


def _tell_before(tell, prediction, measured, at):
    """Tell what can be said before training."""
    if prediction is None:
        return
    tell(f"Said before training: {prediction_words(prediction)}")
    if measured is not None and not prediction.diverging:
        for line in sentences(curve_comparison(measured, at, {PREDICTED: prediction.train})):
            tell(line)


def _planned(simulator, wanted, prediction) -> list[Simulation]:
    """The simulations of all corners, if the first number of substeps that is tried makes the flow."""
    if prediction is None:
        return [Simulation(corner) for corner in wanted]
    substeps = first_substeps(prediction.edge.measured)
    every = [Simulation(corner, 1 if corner.step else substeps) for corner in wanted]
    return list(dict.fromkeys([*every, *compared(substeps, few=simulator.large)]))


def _trained(
    simulator: Simulator,
    train: Train,
    wanted: Sequence[Corner],
    prediction: KernelPrediction | None,
    state: Regime,
) -> tuple[float, dict[Corner, Curves], np.ndarray | str]:
    """The number of substeps that makes the flow, the curves of all corners, and `Explanation.corrected`.

    Simulations are trained in as few calls as can be, for each starts workers.
    """
    every = [Simulation(corner) for corner in wanted if corner.step]
    substeps, flow = 1, []
    if prediction is not None:
        edge, few = prediction.edge.measured, simulator.large
        train([*every, *compared(first_substeps(edge), few=few)])
        substeps = enough_substeps(train, edge, few=few)
        every += [Simulation(corner, substeps) for corner in wanted if not corner.step]
    corrected = _uncorrected(simulator.training, prediction, state)
    if not corrected:
        flow = [Simulation(Corner(True, True), substeps, corrected=True)]
    curves = train([*every, *flow])
    if flow:
        losses = curves[flow[0]].train
        corrected = "it diverges" if lost(losses).any() else losses
    return substeps, {simulation.corner: curves[simulation] for simulation in every}, corrected


def _uncorrected(training: Training, prediction: KernelPrediction | None, regime: Regime) -> str:
    """The condition for the corrected flow that does not hold; empty where all do."""
    if training.optimizer != "sgd" or prediction is None:
        return "the steps are not those of plain descent"
    if training.in_batches:
        return "it says nothing of minibatches"
    share = max(regime.edge.measured, prediction.edge.measured)
    if not share <= _CORRECTED:
        return f"the rate times the sharpness over two comes to {share:.2g}, and may be {_CORRECTED} at most"
    return ""


def gap_shares(training: Training, curves: Mapping[Corner, np.ndarray]) -> Shares:
    """The gap taken apart, by those of the assumptions that the training gives up; `curves` are losses (start, time)."""
    names = [name for name in Corner._fields if len({getattr(c, name) for c in curves}) > 1]
    game = {
        frozenset(name for name in names if getattr(corner, name)): losses
        for corner, losses in curves.items()
    }
    return shapley_shares(game, names, curves[run_corner(training)][:, 0])


def _checks(simulator, kernels, prediction, train):
    training = simulator.training
    run = train[run_corner(training)]

    def worst(here, there):
        off = np.abs(here - there) / np.maximum(run[: len(here), :1], np.abs(there))
        return float(off[np.isfinite(off)].max())

    plain = worst(run[:1], simulator.plain[None])
    if prediction is None:
        return Checks(None, None, plain)
    closed = recursion = None
    whole = kernels[0].whole
    if whole and training.loss_name == "mse":
        flows = np.stack([kernel.flow(simulator.at) for kernel in kernels])
        closed = worst(train[Corner()], flows)
    if whole and not prediction.diverging:
        here = train[linear_corner(training)]
        recursion = worst(here, prediction.train)
    return Checks(closed, recursion, plain)
