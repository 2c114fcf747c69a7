"""Cost of a sweep per run when the runs themselves cost nothing: time, memory and files of up to a million runs.

``python benchmarks/scaling.py`` runs the smallest study with ten steps per run on grids of growing size and prints a
table in Markdown. Each size is one process; a million runs take some minutes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(runs: int, workers: int) -> dict:
    """One sweep of that many runs in this process and its workers, then its folding and opening."""
    from foretrain.dynamics.program import OUTCOMES
    from foretrain.engine.sweep import execute
    from foretrain.plans.plan import grid, make_plan
    from foretrain.results.folding import Layout, fold_all
    from foretrain.results.manifest import read_manifest

    cells = round((runs / 100) ** 0.5)
    values = [0.5 + 0.5 * k / cells for k in range(cells)]
    plan = make_plan(
        "one-mode",
        {
            "start": "random",
            "steps": 10,
            "observe_every": 10,
            "precision": "float32",
            "singular_value": values,
            "init_scale": [0.1 * value for value in values],
        },
        seeds=runs // cells**2,
    )
    with tempfile.TemporaryDirectory() as folder:
        execution = execute(plan, Path(folder), workers=workers)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        began = time.perf_counter()
        again = execute(plan, Path(folder), workers=workers)
        resume_s = time.perf_counter() - began
        began = time.perf_counter()
        places = ((place, run.identity) for place, run in grid(plan))
        fold_all(Path(folder), {"": Layout(plan.axes, plan.seeds, places, OUTCOMES)})[""]
        fold_s = time.perf_counter() - began
        assert again.ran == 0
        return {
            "runs": execution.ran,
            "workers": workers,
            "lanes": max(read_manifest(Path(folder))["lanes"].values()),
            "seconds": round(execution.wall_time_s, 1),
            "runs per second": round(execution.ran / execution.wall_time_s),
            "memory of coordinator, MB": round(memory),
            "memory of a worker, MB": round(
                resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            ),
            "files": len(files),
            "MB on disk": round(sum(path.stat().st_size for path in files) / 1e6),
            "seconds to resume": round(resume_s, 1),
            "seconds to fold": round(fold_s, 1),
        }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    print(f"Load of the machine at the start: {os.getloadavg()[0]:.1f}\n")
    header = None
    for runs in options.runs:
        for workers in options.workers:
            command = [sys.executable, __file__, "--one", str(runs), str(workers)]
            row = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            if header is None:
                header = list(row)
                print("|", " | ".join(header), "|")
                print("|", " | ".join("---:" for _ in header), "|")
            print("|", " | ".join(f"{row[name]:,}" for name in header), "|", flush=True)


if __name__ == "__main__":
    main()
