"""A drawn network before and after training: what the kernel says of it, or which causes its gap is taken apart into."""

import numpy as np

from foretrain.claims.interval import interval
from foretrain.explain.shares import bounded, lost
from foretrain.study import generator

from .networks import drawn
from .planted import planted
from .study import CAUSES

SAID = {"will do": 0, "cannot be said": 1, "not to be trusted": 2, "diverges": 3}


def measure(p, seed):
    """Causes of a planted network, or what is said of any one."""
    if p.kind == "drawn":
        return told(drawn(generator(seed, "network")), p.starts)
    causes = () if p.plant == "nothing" else tuple(p.plant.split(", "))

    def made(without=""):
        return planted(causes, generator(seed, "network"), without)

    training, simulator, kernels = prepared(made(), p.starts)
    found = blamed(training, simulator, kernels, p.group)
    worth = np.zeros(len(CAUSES))
    if len(causes) > 1:
        for cause in causes:
            worth[CAUSES.index(cause)] = changed(simulator, made(cause), p.starts)
    return found | {"worth": worth}


def prepared(network, number, times=None):
    """The training of a network, what simulates it, and its kernels, from some starts."""
    import jax

    from foretrain.explain.kernel.kernel_recursion import Kernel
    from foretrain.explain.own_network import batches, described, starts
    from foretrain.explain.simulated import Simulator, log_spaced

    training = described(network.apply, network.init, network.x, network.y, **network.options)
    with jax.enable_x64(True):
        weights = jax.tree.map(np.asarray, starts(training, number))
    at = log_spaced(training.steps) if times is None else times
    simulator = Simulator(training, weights, batches(training, number), at)
    kernels = [Kernel(training, jax.tree.map(lambda x, k=k: x[k], weights)) for k in range(number)]
    return training, simulator, kernels


def run_of(simulator):
    """Training losses of the network itself, shape (start, time)."""
    from foretrain.explain.simulated import run_corner

    return simulator.run(run_corner(simulator.training)).train


def told(network, number):
    """What is said before training, and by how much the predicted curves miss."""
    from foretrain.explain.kernel.kernel_forecast import kernel_forecast

    _, simulator, kernels = prepared(network, number)
    forecast, _ = kernel_forecast(kernels, simulator.rows, simulator.at)
    run = run_of(simulator)
    found = {"said": SAID[forecast.verdict], "correction": np.nan, "miss_along": np.nan}
    if forecast.correction is not None:
        found["correction"] = forecast.correction.measured
        found["miss_along"] = apart(forecast.along, run)
    return found | {"miss": apart(forecast.train, run)}


def apart(here, there):
    """The largest difference of two sets of curves (start, time) over the loss at the start, mean over starts."""
    first = there[:, 0]
    return float(np.abs(bounded(here, first) - bounded(there, first)).max(1).mean())


def blamed(training, simulator, kernels, group):
    """The gap, its shares, and how often intervals of groups of starts contain the mean of the others."""
    from foretrain.explain.explain import gap_apart
    from foretrain.explain.simulated import corners, enough_substeps

    substeps = enough_substeps(simulator, kernels[0].edge)
    curves = {one: simulator.run(one, substeps).train for one in corners(training)}
    kept = ~lost(run_of(simulator))
    curves = {one: curve[kept] for one, curve in curves.items()}
    whole = gap_apart(training, curves)
    share, covered = np.zeros(len(CAUSES)), np.full(len(CAUSES), np.nan)
    for cause in whole.causes:
        at = CAUSES.index(cause.name)
        share[at] = cause.share.measured
        covered[at] = coverage(cause.each, group)
    return {"gap": whole.range.measured, "share": share, "covered": covered}


def coverage(values, group):
    """Of disjoint groups, the fraction whose interval contains the mean of all others."""
    groups = values[: len(values) // group * group].reshape(-1, group)
    hits = []
    for number, one in enumerate(groups):
        found, truth = interval(one), np.delete(groups, number, 0).mean()
        hits.append(found.low <= truth <= found.high)
    return float(np.mean(hits))


def changed(simulator, network, number):
    """By what the run changes in a network without one of its causes, at the same times."""
    whole = simulator.training
    times = np.round(simulator.at * (network.options["steps"] / whole.steps)).astype(int)
    _, other, _ = prepared(network, number, times)
    return apart(run_of(other), run_of(simulator))
