"""Records whose code has changed, renewed by the small runs of their study: equal bits show that no number has changed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from foretrain.engine.cores import CPU
from foretrain.engine.places import environment
from foretrain.errors import ForetrainError
from foretrain.machine import available_cores
from foretrain.registry.measure import command_of
from foretrain.registry.present import HASHES, changed, hashes, plan_of, study_of
from foretrain.registry.record import Record
from foretrain.registry.small import Checksums, presets_of

_PACKAGE = Path(__file__).parents[1]
_STATES = {(True, True): "differs", (False, True): "is new", (True, False): "is gone"}
_PARTS = {"makes": "of the runs", "predicts": "of the prediction", "judges": "the sentence"}


def renewable(record: Record, *, every: bool = False) -> bool:
    """Say if small runs can renew a record: a hash has changed that they decide, or the record has no checksums of them yet.

    With `every` also a record of which nothing has changed, which then gets the checksums of this machine.
    """
    if not (line := changed(record)):
        return every or not record.small
    return any(kind in record.small and text in line for kind, text in HASHES.items())


def small_checksums_now(name: str) -> Checksums:
    """Return the checksums of a study's small runs, from a process of its own that is pinned to one core.

    Cost: some seconds a small run.
    Raises `ForetrainError` where the study has no small run, or that was not made to its end.
    """
    if not presets_of(name):
        repair = "Try writing one into small.toml."
        raise ForetrainError(f"The study `{name}` has no small run. {repair}")
    paths = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {**os.environ, **environment(CPU), "JAX_PLATFORMS": CPU}
    own["PYTHONPATH"] = os.pathsep.join(paths)
    words = [sys.executable, "-m", "foretrain.registry.small", study_of(name).where or name, name]
    done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise ForetrainError(f"The small run of `{name}` was not made to its end: {reason}")
    return json.loads(done.stdout)


def small_runs(studies: Iterable[str]) -> Iterator[tuple[str, Checksums | str]]:
    """Yield each study with the checksums of its small runs, or with the line that says why there are none.

    Cost: some seconds a small run, on all cores that are free.
    """

    def of(study: str) -> tuple[str, Checksums | str]:
        try:
            return study, small_checksums_now(study)
        except ForetrainError as error:
            return study, str(error)

    with ThreadPoolExecutor(len(available_cores())) as pool:
        yield from pool.map(of, studies)


def renewed(record: Record, now: Checksums | str, commit: str) -> tuple[Record, list[str]]:
    """Return a record renewed by small runs, or as it was beside a line for each part of them that differs.

    Where nothing has changed since, the record takes over the checksums. `now` holds those of the small runs by the present
    code, of that commit, or says why there are none.
    """
    if isinstance(now, str):
        return record, [now]
    if not changed(record):
        return replace(record, small=now), []
    if lines := _differences(record, now):
        return record, lines
    plan = plan_of(record)
    values = {kind: text for kind, text in hashes(plan.study).items() if kind in record.small}
    values |= {"command": command_of(plan), "renewed": f"by its small run at {commit}"}
    return replace(record, **values), []


def _differences(record: Record, now: Checksums) -> list[str]:
    if record.small["machine"] != now["machine"]:
        return [
            "the stored small run is of another machine type, or of other packages, so that bits say nothing. Try foretrain "
            "registry check --renew, which runs all of it again."
        ]
    try:
        lines = [] if plan_of(record).hash == record.plan else ["its command makes other runs."]
    except ForetrainError as error:
        lines = [f"its command makes no runs: {error}"]
    for kind, what in _PARTS.items():
        if kind in record.small:
            before, after = record.small[kind], now[kind]
            for part in before | after:
                if before.get(part) != after.get(part):
                    lines.append(f"{what} `{part}` {_STATES[part in before, part in after]}.")
    return lines
