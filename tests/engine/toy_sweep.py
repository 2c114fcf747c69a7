"""Sweeps of the toy study: in this process, and as a script that can be killed.

As a script: ``python toy_sweep.py FOLDER OPTIONS`` with the options of `sweep` as JSON.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np

from foretrain.engine.sweep import execute
from foretrain.errors import ForetrainError
from foretrain.plans.plan import make_plan
from foretrain.results import journal
from foretrain.results.segment import runs_of

TOY = Path(__file__).parent / "toy_study.py"


def toy_plan(seeds=4, root_seed=0, **parameters):
    return make_plan(TOY, parameters, seeds=seeds, root_seed=root_seed)


def sweep(folder, *, seeds=4, parameters=None, **options):
    return execute(toy_plan(seeds, **(parameters or {})), Path(folder), **options)


def start(folder, *, environment=None, **options):
    """Start the same in a process of its own, which `finish` ends."""
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), json.dumps(options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def finish(process, timeout=60):
    """Exit code, what `execute` gave or None, and standard error of a process that was started."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, json.loads(out) if out else None, err


def _state(pid):
    """State of a process and id of its parent; "X" where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "X", ""


def children(pid):
    numbers = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return sorted(item for item in numbers if _state(item)[1] == str(pid) and alive(item))


def alive(pid):
    return _state(pid)[0] not in "ZX"


def times_written(folder):
    """Identity to the number of times it stands in the journal of a folder."""
    return Counter(name for stored in journal.segments(Path(folder)) for name in stored.identities)


def by_identity(folder):
    """Every run of a folder's journal."""
    return {
        run.identity: run for segment in journal.segments(Path(folder)) for run in runs_of(segment)
    }


def disagreements(folder, other, already=()):
    """Differences of two folders of one sweep, a line for each run: lost, written twice, of other bytes.

    `already` holds the identities of runs that the first folder had before its sweep was gone on with.
    """
    (ours, theirs), written = map(by_identity, (folder, other)), times_written(folder)
    lines = [f"{name} is of no run of the other" for name in ours.keys() - theirs.keys()]
    for number, (name, right) in enumerate(theirs.items()):
        if written[name] != 1:
            lines.append(f"run {number} is written {written[name]} times")
        mine, whole = run_bits(ours.get(name, right)), run_bits(right)
        if names := [key for key in mine.keys() | whole.keys() if mine.get(key) != whole.get(key)]:
            when = "before" if name in already else "after"
            lines.append(f"run {number}, made {when} the kill, is another in {sorted(names)}")
    return [*lines, *(f"{name}: {why}" for name, why in journal.scan(Path(folder)).damaged.items())]


def run_bits(run):
    """All that a finished run holds, comparable, by name."""
    arrays = {"steps": np.asarray(run.steps), **run.curves, **run.finals}
    values = {name: (v.dtype.str, v.shape, v.tobytes()) for name, v in arrays.items()}
    return values | {"end": (run.outcome, run.steps_taken, run.note)}


if __name__ == "__main__":
    try:
        print(json.dumps(asdict(sweep(sys.argv[1], **json.loads(sys.argv[2])))))
    except ForetrainError as error:
        print(f"foretrain: {error}", file=sys.stderr)
        sys.exit(2)
