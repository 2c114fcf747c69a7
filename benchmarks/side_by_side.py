"""Two sweeps at once against one of them alone: whether each has cores of its own.

``python benchmarks/side_by_side.py`` runs one sweep with half of the usable cores, then two of them at once, in turns, and
prints the seconds of each and the medians of their ratios. With a core for every worker the ratio is near 1; where all workers
sit on the same cores it is near 2. One sweep on the cores of two tells what the machine itself allows.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 200_000
OWN = """
import sys
from pathlib import Path
from foretrain.engine.sweep import execute
from foretrain.plans.plan import make_plan
folder, workers, seeds, steps = sys.argv[1], *map(int, sys.argv[2:])
plan = make_plan("one-mode", {"start": "random", "steps": steps, "observe_every": 1000}, seeds=seeds)
print(execute(plan, Path(folder), workers=workers).wall_time_s)
"""


def seconds(sweeps: int, workers: int, seeds: int, folder: Path) -> float:
    """Seconds that so many sweeps of so many workers take at once, the longest of them."""
    started = []
    for _ in range(sweeps):
        arguments = [tempfile.mkdtemp(dir=folder), workers, seeds, STEPS]
        command = [sys.executable, "-c", OWN, *map(str, arguments)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in started]
    assert not any(process.returncode for process in started)
    return max(map(float, outputs))


def measure(workers: int, seeds: int, turns: int) -> list[tuple[float, float]]:
    """Seconds of one sweep and of two at once, in turns; everything is compiled before the first."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FORETRAIN_CACHE_DIR"] = f"{folder}/cache"
        seconds(1, workers, seeds, Path(folder))
        return [
            (seconds(1, workers, seeds, Path(folder)), seconds(2, workers, seeds, Path(folder)))
            for _ in range(turns)
        ]


def main() -> None:
    from foretrain.machine import usable_cores

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=max(1, usable_cores() // 2))
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    began = time.monotonic()
    pairs = measure(options.workers, options.seeds, options.turns)
    print(
        f"\none-mode, {options.seeds} runs of {STEPS:,} steps, {options.workers} workers per sweep,"
    )
    print(f"{usable_cores()} usable cores\n")
    print("| one sweep, s | two at once, s | ratio |\n|---:|---:|---:|")
    for item, two in pairs:
        print(f"| {item:.1f} | {two:.1f} | {two / item:.2f} |")
    ratio = statistics.median(two / item for item, two in pairs)
    print(f"\nMedian of the ratio: {ratio:.2f}; {time.monotonic() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
