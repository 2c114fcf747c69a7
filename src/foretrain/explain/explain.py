"""A network of the user's own: predicted by its kernel, trained, and compared with theory assumption by assumption.

The kernel at the start predicts without training. Then the network is trained from several starts, with every set of four
assumptions kept and given up: that layers do not learn together, that gates do not move, that steps are small, that a step
sees all examples. Shapley's value of each says what part of the gap between theory and run it is to blame for.
"""

import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any

import jax
import numpy as np

from foretrain.claims.interval import interval
from foretrain.elsewhere.curves import Measured
from foretrain.engine.cache import program_cache
from foretrain.errors import ForetrainError, argument_error, integer, known_options, path_argument
from foretrain.explain.corner_runs import CornerRuns
from foretrain.explain.curve_comparison import curve_comparison
from foretrain.explain.curve_comparison_words import sentences
from foretrain.explain.explanation import Checks, Explanation
from foretrain.explain.explanation_words import prediction_words, screen
from foretrain.explain.kernel.kernel_prediction import kernel_prediction
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import Training, described, start_of
from foretrain.explain.regime import LAZY, RICH, Regime, regime
from foretrain.explain.shares import FLOOR, Shares, gap_shares, lost
from foretrain.explain.simulated import (
    Corner,
    Curves,
    Simulation,
    compared,
    corners,
    enough_substeps,
    first_substeps,
    linear_corner,
    run_corner,
    simulator_of,
)
from foretrain.laboratory.conduct import part_of
from foretrain.words import count

_FIRST, _MOST = 4, 16  # starts of a look, and of all by default
_CORRECTED = 0.2  # of the edge: up to it the first order of the step is enough


@program_cache()
def explain(
    apply: Callable,
    init: Callable,
    x,
    y,
    *,
    seeds: int | None = None,
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
        **described_by: `learning_rate`, `steps` and all else that `foretrain.explain.own_network.described` takes.
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


@program_cache()
def explained(
    training: Training,
    *,
    seeds: int | None = None,
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
        seeds: Number of starts, each with minibatches of its own. By default four, and then four more, up to 16, as long as an
            interval leaves open which cause is the first, whether the gap is above the floor, or what the regime is.
        from_zero: Compare with a theory whose network begins at zero: its output at the start is a cause. Twice the corners.
        tell: Called with lines: notes, the prediction, time and memory that training will take, smaller flow steps; after
            every start of a large network, or every four, the causes found so far. Without it no progress is shown either.
        measured: Runs of this training made elsewhere, see `foretrain.elsewhere.curves.read_measured`.
        out: Folder of results, by default ``runs/explain-<hash>``; what it holds of this training is not trained again.
        source: Makes the training in a worker; by default it is sent there.
        cores: As of `foretrain.explain.corner_runs.CornerRuns`.
        shard: As of `foretrain.plans.options.Options`. The last part to finish trains what only its end tells is needed.

    Returns:
        The explanation, or None where runs of other shards are still missing.

    Raises:
        ArgumentError: `seeds` or `shard` breaks its rule, the starts do not differ, or `measured` has no two steps of it.
        ForetrainError: A function of the user raises, or cannot be held to first order; the text has the line. Or the network
            diverges from every start, or its flow is too stiff.
        TooLarge: The kernel of a single example does not fit.
        FolderError: `out` cannot be written, is in use, or holds another training.

    Cost: for each of up to 16 corners starts x steps gradients, of small steps four times the substeps as many; three or four
        kernels a start, as many gradients each as there are outputs, and of four starts two gradients a step.
    """
    began, began_s = time.monotonic(), time.process_time()
    number = _MOST if seeds is None else integer("seeds", seeds, minimum=1, maximum=1000)
    simulator = simulator_of(training, 1 if training.single else number)
    runs = CornerRuns(
        simulator,
        source or partial(replace, training),
        None if out is None else path_argument("out", out),
        cores,
        quiet=tell is None,
    )
    folder, number, part = runs.folder, len(simulator.rows), part_of(shard)
    least = min(number, _FIRST if seeds is None else number)
    wanted = corners(training, from_zero=from_zero)
    starts = _Starts(runs, 1 if simulator.single(Corner()) else least, least)
    run, linear = Simulation(run_corner(training)), Simulation(linear_corner(training))
    kernels, prediction, twins, substeps = [], None, None, None
    if tell is not None:
        kernel = f"First the kernel is computed at {count(starts.number, 'start')} of the network."
        tell("\n".join([*training.notes, kernel]))
    while True:
        first = starts.known == 1
        for k in range(len(kernels), starts.number):
            kernels.append(Kernel(training, start_of(simulator.starts, k), number))
        if not training.adaptive:
            train = starts.train if part == (1, 1) else simulator.part((0, starts.number)).train
            curves = None if kernels[0].whole else train([linear])[linear]
            rows, before = simulator.rows[: starts.number], prediction
            prediction, twins = kernel_prediction(kernels, rows, simulator.at, curves, before)
            if prediction.narrow and number > _FIRST:
                starts.number = max(starts.number, min(number, 2 * _FIRST))
                continue
        planned = _planned(starts, wanted, prediction)
        if tell is not None and first:
            lines = [f"Said before training: {prediction_words(prediction)}"] if prediction else []
            if measured is not None and prediction is not None and not prediction.diverging:
                theory = {"the prediction of the kernel at the start": prediction.train}
                lines += sentences(curve_comparison(measured, simulator.at, theory))
            for line in lines + runs.outlook(planned, time.process_time() - began_s, part[1]):
                tell(line)
        if part != (1, 1) and first and not runs.train_part(planned, part):
            return None
        ends = starts.train([run])[run]
        kept = np.flatnonzero(~lost(ends.train)).tolist()
        if not kept:
            words = "The network itself diverges from every start: try a smaller `learning_rate`."
            raise ForetrainError(words)
        weights = [start_of(ends.weights, k) for k in kept]
        state = regime([kernels[k] for k in kept], weights, twins and [twins[k] for k in kept])
        substeps, curves, corrected = _trained(starts, wanted, prediction, state, substeps, tell)
        train = {corner: curves[corner].train for corner in wanted}
        tests = {corner: losses for corner in wanted if (losses := curves[corner].test) is not None}
        shares = gap_shares(training, train)
        if starts.number == number or _settled(shares, state):
            break
        starts.known, starts.number = starts.number, min(number, starts.number + _FIRST)
    return Explanation(
        training=training,
        weights=simulator.weights,
        at=simulator.at,
        train=train,
        test=tests or None,
        prediction=prediction,
        regime=state,
        corrected=corrected,
        shares=shares,
        test_shares=gap_shares(training, tests) if tests else None,
        checks=_checks(simulator, kernels, prediction, train),
        substeps=substeps,
        seconds=time.monotonic() - began,
        folder=folder,
        single=simulator.single(Corner()) and prediction is not None,
        kernel_examples=len(kernels[0].part.x),
        measured=measured,
    )


def _settled(shares: Shares, state: Regime) -> bool:
    """True if no interval leaves open which cause is the first, whether there is a gap, or what the regime is."""
    limits = [(shares.range, FLOOR), (state.movement, LAZY), (state.movement, RICH)]
    if len(each := [cause.each for cause in shares.causes]) > 1:
        limits.append((interval(each[0] - each[1]), 0.0))
    return not any(value.low < limit < value.high for value, limit in limits)


@dataclass
class _Starts:
    """The first so many starts of some runs; `together` of them are trained in one program. Of `known` ones all is told."""

    runs: CornerRuns
    together: int
    number: int
    known: int = 1

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Starts that are trained in one program, as of `Simulation`."""
        firsts = range(0, self.number, self.together)
        return [(first, min(self.together, self.number - first)) for first in firsts]

    def parts(self, simulations: Sequence[Simulation], blocks=None) -> list[Simulation]:
        """Simulations from the starts of each of all blocks, or of some."""
        return [s._replace(starts=b) for b in blocks or self.blocks for s in simulations]

    def train(self, simulations: Sequence[Simulation], blocks=None) -> dict[Simulation, Curves]:
        """Curves of simulations from the starts of all blocks, or of some."""
        parts = {s: self.parts([s], blocks) for s in simulations}
        curves = self.runs.train([part for each in parts.values() for part in each])
        join = partial(jax.tree.map, lambda *leaves: np.concatenate(leaves))
        return {s: join(*(curves[part] for part in each)) for s, each in parts.items()}


def _planned(starts, wanted, prediction) -> list[Simulation]:
    """The simulations of all corners, if the first number of substeps that is tried makes the flow."""
    substeps = first_substeps(prediction.edge.measured) if prediction else 1
    every = [Simulation(corner, 1 if corner.step else substeps) for corner in wanted]
    tried = [] if prediction is None else starts.parts(compared(substeps), starts.blocks[:1])
    return list(dict.fromkeys([*starts.parts(every), *tried]))


def _trained(starts, wanted, prediction, state, substeps, tell):
    """The number of substeps that makes the flow, by the first block, the curves of all corners, and those corrected."""
    every = [Simulation(corner) for corner in wanted if corner.step]
    training, blocks = starts.runs.simulator.training, starts.blocks
    if prediction is not None and substeps is None:
        first, ends = partial(starts.train, blocks=blocks[:1]), state.edge.measured
        edge = max(prediction.edge.measured, np.nan_to_num(ends, posinf=0))
        first([*every, *compared(first_substeps(edge))])
        substeps = enough_substeps(first, edge, tell)
    substeps = substeps or 1
    every += [Simulation(corner, substeps) for corner in wanted if not corner.step]
    if tell is not None and prediction and substeps > first_substeps(prediction.edge.measured):
        for line in starts.runs.outlook(starts.parts(every), 0, 1)[:1]:
            tell(f"With {substeps:g} small steps a step it takes longer. {line}")
    if tell is not None:
        for number in range(-(-starts.known // starts.together), len(blocks)):
            curves = starts.train(every, blocks[:number])
            tell(screen(training, {each.corner: curves[each].train for each in every}))
    corrected = _uncorrected(training, prediction, state)
    flow = [] if corrected else [Simulation(Corner(True, True), substeps, corrected=True)]
    curves = starts.train([*every, *flow])
    if flow:
        losses = curves[flow[0]].train
        corrected = "it diverges" if lost(losses).any() else losses
    return substeps, {simulation.corner: curves[simulation] for simulation in every}, corrected


def _uncorrected(training, prediction, regime):
    """The condition for the corrected flow that does not hold; empty where all do."""
    if training.optimizer != "sgd" or prediction is None:
        return "the steps are not those of plain descent"
    if training.in_batches:
        return "it says nothing of minibatches"
    share = max(regime.edge.measured, prediction.edge.measured)
    if not share <= _CORRECTED:
        return f"the rate times the sharpness over two comes to {share:.2g}, and may be {_CORRECTED} at most"
    return ""


def _checks(simulator, kernels, prediction, train):
    training, run = simulator.training, train[run_corner(simulator.training)]

    def worst(here, there):
        off = np.abs(here - there) / np.maximum(run[: len(here), :1], np.abs(there))
        return float(off[np.isfinite(off)].max())

    closed, recursion = None, None
    if prediction is not None and kernels[0].whole:
        if training.loss_name == "mse":
            flows = np.stack([kernel.flow(simulator.at) for kernel in kernels])
            closed = worst(train[Corner()], flows)
        if not prediction.diverging:
            recursion = worst(train[linear_corner(training)], prediction.train)
    return Checks(closed, recursion, worst(run[:1], simulator.plain[None]))
