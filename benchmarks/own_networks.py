"""When does the kernel at the start describe a training, told before it? Drawn networks, trained beside what is said.

    python benchmarks/own_networks.py [number] [first seed]

Each line is a network: by what the kernel along the way changes the curve, what is said of it, the miss of the predicted curve
over the loss at the start, and its largest relative error; below, how often each verdict was right.
"""

import sys

import numpy as np

from foretrain.explain.kernel.kernel_forecast import NEAR, WILL_DO, WILL_NOT, kernel_forecast
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import batches, described, starts
from foretrain.explain.shares import bounded, lost
from foretrain.explain.simulated import Corner, Simulator, log_spaced
from foretrain.studies.own_network.networks import drawn

STARTS = 2


def judged(seed):
    """Correction, verdict, miss and relative error of one drawn network; None if it diverges itself."""
    import jax

    made = drawn(np.random.default_rng([3, seed]))
    training = described(made.apply, made.init, made.x, made.y, **made.options)
    with jax.enable_x64(True):
        weights = jax.tree.map(np.asarray, starts(training, STARTS))
    rows, at = batches(training, STARTS), log_spaced(training.steps)
    kernels = [Kernel(training, jax.tree.map(lambda x, k=k: x[k], weights)) for k in range(STARTS)]
    forecast, _ = kernel_forecast(kernels, rows, at)
    run = Simulator(training, weights, rows, at).run(Corner(True, True, True, True)).train
    if lost(run).any():
        return None, made.words
    first = run[:, 0]
    miss = np.abs(bounded(forecast.train, first) - bounded(run, first)).max(1).mean()
    relative = (np.abs(forecast.train - run) / run).max(1).mean()
    correction = np.nan if forecast.correction is None else forecast.correction.measured
    return (correction, forecast.verdict, miss, relative), made.words


def main(number=40, first=0):
    rows = []
    for seed in range(first, first + number):
        found, words = judged(seed)
        if found is None:
            print(f"{seed:3} diverges: {words}", flush=True)
            continue
        correction, verdict, miss, relative = found
        rows.append(found)
        line = f"{seed:3} correction {correction:5.3f} {verdict:17} miss {miss:.3f} relative {relative:8.3f}"
        print(f"{line}  {words}", flush=True)
    for name in ("will do", "cannot be said", "not to be trusted", "diverges"):
        misses = np.array([row[2] for row in rows if row[1] == name])
        if misses.size:
            near = int((misses < NEAR).sum())
            print(f"{name}: {misses.size} of {len(rows)}, of which {near} miss by less than {NEAR}")
    print(f"thresholds {WILL_DO}, {WILL_NOT}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
