"""Verdicts of `foretrain.explain` on a hundred networks before training, and how often each was right.

``python benchmarks/own_networks.py [--networks N] [--root N] [--out FILE]`` draws networks as the study `own_network` does,
from a seed that no threshold was read off, predicts each from four starts, or from eight, trains it, and counts. A call that
was cut off goes on with the lines that FILE holds. About eight seconds of a core for a network.
"""

import argparse
import json
from pathlib import Path

import jax
import numpy as np
from own_network import networks

from foretrain.claims.interval import interval
from foretrain.explain.kernel.kernel_prediction import NEAR, kernel_prediction, verdict
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import described, start_of
from foretrain.explain.shares import bounded
from foretrain.explain.simulated import run_corner, simulator_of
from foretrain.streams import Seed, generator

STARTS = 4
ROOT = 36
RIGHT = 0.95


def measured(seed: Seed) -> dict:
    """The corrections and misses of all starts of a network, over the loss at the start; no corrections where it diverges."""
    network = networks.drawn(generator(seed, "network"))
    training = described(network.apply, network.init, network.x, network.y, **network.options)
    prediction = None
    for number in (STARTS, 2 * STARTS):
        if prediction is None or prediction.narrow:
            simulator = simulator_of(training, number)
            kernels = [Kernel(training, start_of(simulator.starts, k)) for k in range(number)]
            rows, at = simulator.rows, simulator.at
            prediction, _ = kernel_prediction(kernels, rows, at, before=prediction)
    run = simulator.run(run_corner(training)).train
    row = {"words": network.words, "corrections": None, "misses": misses(prediction.train, run)}
    if prediction.along is not None:
        row["corrections"] = misses(prediction.along, prediction.train)
    return row


def misses(curves: np.ndarray, run: np.ndarray) -> list[float]:
    """The largest difference of the curve of every start from the run, over the run's loss at the start."""
    first = run[:, 0]
    return np.abs(bounded(curves, first) - bounded(run, first)).max(1).tolist()


def main(words: list[str] | None = None) -> dict[str, tuple[int, int]]:
    """Print and return of every verdict how often it was right, of how many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--root", type=int, default=ROOT)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args(words)
    out, rows = arguments.out, []
    if out is not None and out.exists():
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    for number in range(len(rows), arguments.networks):
        rows.append(measured(Seed(arguments.root, number)))
        jax.clear_caches()
        if out is not None:
            with out.open("a", encoding="utf-8") as file:
                print(json.dumps(rows[-1]), file=file)
    counts: dict[str, tuple[int, int]] = {}
    for row in rows[: arguments.networks]:
        text = "diverges"
        if row["corrections"] is not None:
            text = verdict(interval(np.array(row["corrections"])))
        near = np.mean(row["misses"]) < NEAR
        right, of = counts.get(text, (0, 0))
        counts[text] = right + (near == (text == "will do")), of + 1
    for text, (right, of) in sorted(counts.items()):
        came = "less than a tenth" if text == "will do" else "more than a tenth"
        print(
            f"{text}: {of} of {sum(n for _, n in counts.values())} networks; {right} missed by {came}"
        )
    return counts


if __name__ == "__main__":
    main()
