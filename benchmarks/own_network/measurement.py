"""A drawn network before and after training: what the kernel says of it, or which causes its gap is taken apart into."""

import numpy as np

from foretrain.claims.interval import interval
from foretrain.explain.kernel.kernel_prediction import kernel_prediction
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import described
from foretrain.explain.shares import bounded, gap_shares, lost
from foretrain.explain.simulated import (
    Simulation,
    corners,
    enough_substeps,
    run_corner,
    simulator_of,
)
from foretrain.study import generator

from .networks import drawn
from .planted import planted
from .study import CAUSES

SAID = {"will do": 0, "cannot be said": 1, "not to be trusted": 2, "diverges": 3}


def measure(p, seed):
    """Causes of a planted network, or what is said of any one."""
    if p.kind == "drawn":
        return prediction_and_miss(drawn(generator(seed, "network")), p.starts)
    causes = () if p.plant == "nothing" else tuple(p.plant.split(", "))

    def network(without=""):
        return planted(causes, generator(seed, "network"), without)

    simulator = simulator_for(network(), p.starts)
    arrays = blamed(simulator, p.group)
    worth = np.zeros(len(CAUSES))
    if len(causes) > 1:
        for cause in causes:
            worth[CAUSES.index(cause)] = change_without(simulator, network(cause), p.starts)
    return arrays | {"worth": worth}


def simulator_for(network, number, times=None):
    """The simulator of a network from some starts."""
    training = described(network.apply, network.init, network.x, network.y, **network.options)
    return simulator_of(training, number, times)


def kernel(simulator, start):
    """The kernel of one start."""
    import jax

    weights = jax.tree.map(lambda leaf: leaf[start], simulator.starts)
    return Kernel(simulator.training, weights)


def run_of(simulator):
    """Training losses of the network itself, shape (start, time)."""
    return simulator.run(run_corner(simulator.training)).train


def prediction_and_miss(network, number):
    """The verdict before training, and by how much the predicted curves miss."""
    simulator = simulator_for(network, number)
    kernels = [kernel(simulator, start) for start in range(number)]
    prediction, _ = kernel_prediction(kernels, simulator.rows, simulator.at)
    run = run_of(simulator)
    arrays = {"said": SAID[prediction.verdict], "correction": np.nan, "miss_along": np.nan}
    if prediction.correction is not None:
        arrays["correction"] = prediction.correction.measured
        arrays["miss_along"] = largest_difference(prediction.along, run)
    return arrays | {"miss": largest_difference(prediction.train, run)}


def largest_difference(curves, run):
    """The largest difference of curves (start, time) from a run over its loss at the start, mean over starts."""
    first = run[:, 0]
    return float(np.abs(bounded(curves, first) - bounded(run, first)).max(1).mean())


def blamed(simulator, group):
    """The gap, its shares, and how often intervals of groups of starts contain the mean of the others."""
    training = simulator.training
    substeps = enough_substeps(simulator.train, kernel(simulator, 0).edge)
    request = [Simulation(item, 1 if item.step else substeps) for item in corners(training)]
    losses = {item.corner: curves.train for item, curves in simulator.train(request).items()}
    kept = ~lost(losses[run_corner(training)])
    shares = gap_shares(training, {corner: curve[kept] for corner, curve in losses.items()})
    share, covered = np.zeros(len(CAUSES)), np.full(len(CAUSES), np.nan)
    for cause in shares.causes:
        at = CAUSES.index(cause.name)
        share[at] = cause.share.measured
        covered[at] = coverage(cause.each, group)
    return {"gap": shares.range.measured, "share": share, "covered": covered}


def coverage(values, group):
    """Of disjoint groups, the fraction whose interval contains the mean of all others."""
    groups = values[: len(values) // group * group].reshape(-1, group)
    hits = []
    for number, members in enumerate(groups):
        ends, truth = interval(members), np.delete(groups, number, 0).mean()
        hits.append(ends.low <= truth <= ends.high)
    return float(np.mean(hits))


def change_without(simulator, network, number):
    """By what the run changes in a network without one of its causes, at the same times."""
    steps = simulator.training.steps
    times = np.round(simulator.at * (network.options["steps"] / steps)).astype(int)
    return largest_difference(run_of(simulator_for(network, number, times)), run_of(simulator))
