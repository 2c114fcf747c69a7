"""Cost of the bookkeeping of results: appending, scanning, folding, storing and opening a million runs.

python benchmarks/results.py [runs] [runs per segment ...]

The number of runs is a multiple of a thousand.

Each run has an outcome and two numbers; every value is compared with what was put in. Peak memory is that of the whole
process, which also holds the runs' identities.
"""

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from foretrain.results.folding import Layout, fold_all
from foretrain.results.journal import Writer, scan
from foretrain.results.result import make_tree, open_result
from foretrain.results.segment import FinishedRun
from foretrain.results.store import begin_tree
from foretrain.vocabulary import declare

SEEDS, WIDTHS = 10, 100
declare(final_loss="Loss at the end of the run.")
declare(unit="step × learning rate", learning_time="Time of half the final loss.")


def measure(runs, per_segment, folder):
    """Rows of (what, seconds, note) for one journal."""
    identities = [f"{number * 2654435761:032x}" for number in range(runs)]
    rows, each, writer, steps = [], [], Writer(folder, "worker-0"), np.zeros(0, int)
    for start in range(0, runs, per_segment):
        batch = [
            FinishedRun(
                identities[number],
                1,
                100,
                steps,
                {},
                {"final_loss": np.array(number, "f4"), "learning_time": np.array(2 * number, "f4")},
            )
            for number in range(start, min(runs, start + per_segment))
        ]
        began = time.perf_counter()
        writer.append(batch)
        each.append(time.perf_counter() - began)
    rows.append(
        ("append all", sum(each), f"{1e3 * np.median(each):.2f} ms each, {len(each)} segments")
    )

    began = time.perf_counter()
    outcome = scan(folder)
    rows.append(("scan", time.perf_counter() - began, ""))
    assert outcome.identities == identities

    cells = runs // SEEDS // WIDTHS
    axes = {"init_scale": tuple(np.linspace(0.1, 1, cells)), "width": tuple(range(WIDTHS))}
    grid = np.ndindex(cells, WIDTHS, SEEDS)
    layout = Layout(axes, SEEDS, zip(grid, identities, strict=True), ("running", "converged"))
    began = time.perf_counter()
    dataset = fold_all(folder, {"": layout})[""]
    rows.append(("fold", time.perf_counter() - began, f"{dataset.nbytes / 1e6:.0f} MB"))
    assert (dataset.final_loss.values.ravel() == np.arange(runs, dtype=np.float32)).all()

    began = time.perf_counter()
    store = begin_tree(folder, make_tree(simulation=dataset))()
    files = [path for path in store.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    rows.append(("store", time.perf_counter() - began, f"{len(files)} files, {size:.1f} MB"))

    began = time.perf_counter()
    result = open_result(folder)
    rows.append(("open", time.perf_counter() - began, ""))
    assert result.simulation.identical(dataset[sorted(dataset.data_vars)])
    return rows


def main(runs=10**6, *sizes):
    print("| runs | per segment | what | seconds | note |\n|---|---|---|---|---|")
    for per_segment in sizes or (100, 1000):
        folder = Path(tempfile.mkdtemp(prefix="foretrain-"))
        try:
            for what, seconds, note in measure(runs, per_segment, folder):
                print(f"| {runs} | {per_segment} | {what} | {seconds:.2f} | {note} |", flush=True)
        finally:
            shutil.rmtree(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"\nPeak memory of the process: {peak:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
