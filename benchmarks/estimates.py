"""Time and memory as they are told before a run, and as they are then taken, of ten presets.

``python benchmarks/estimates.py [--workers N] [STUDY[:PRESET] ...]`` prints a table. Each preset is told by a trial and then
run in a process of its own. Core seconds are those that all its processes have worked, which hardly depend on what else the
machine does; seconds on a clock are to be compared on idle cores only.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from foretrain.laboratory.conduct import run
from foretrain.laboratory.outlook import outlook
from foretrain.plans.plan import make_plan, runs

PRESETS = (
    "one-mode",
    "xor",
    "context",
    "adiabatic-limit",
    "mask-spectrum",
    "rank-one",
    "routing",
    "initialization",
    "ridge-grokking",
    "degeneracy-over-training",
)
_TAKEN = "import sys; from estimates import take; take(*sys.argv[1:])"


def take(study: str, preset: str, workers: str) -> None:
    """Run a preset in a new folder and print its core seconds, seconds and bytes of the largest worker as JSON."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run(study, preset=preset, out=Path(folder) / "a", workers=int(workers), quiet=True)
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    core_s = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    print(json.dumps([core_s, time.monotonic() - began, 1024 * usages[1].ru_maxrss]))


def main(words: list[str] | None = None) -> list[float]:
    """Print a row for each preset; return the ratios of core seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="*", default=PRESETS, metavar="STUDY[:PRESET]")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args(words)
    print(
        "| preset | core seconds, told | taken | ratio | seconds, told | taken | a worker, told | taken |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    ratios = []
    for name in arguments.presets:
        study, _, preset = name.partition(":")
        plan = make_plan(study, {}, preset=preset or "quick")
        cost = outlook(plan, list(runs(plan)), arguments.workers)
        command = [sys.executable, "-c", _TAKEN, study, plan.preset, str(arguments.workers)]
        here = Path(__file__).parent
        answer = subprocess.run(
            command, cwd=here, capture_output=True, text=True, check=True
        ).stdout
        core_s, seconds, size = json.loads(answer.splitlines()[-1])
        ratios.append(cost.core_s / core_s)
        print(
            f"| {name} | {cost.core_s:.3g} | {core_s:.3g} | {ratios[-1]:.2g} | {cost.seconds:.3g} | {seconds:.3g} "
            f"| {cost.worker / 1e6:.0f} MB | {size / 1e6:.0f} MB |",
            flush=True,
        )
    return ratios


if __name__ == "__main__":
    main()
