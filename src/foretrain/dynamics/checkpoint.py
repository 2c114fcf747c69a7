"""Runs under way, on disk: one file per worker, replaced as a whole, that only ever saves time.

A checkpoint that is damaged or does not fit the program is not used, and its run begins anew.
"""

import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foretrain.results.files import refused, write_atomic

FOLDER = "checkpoints"


@dataclass(frozen=True)
class InFlight:
    """A run that is under way, apart from any lane.

    Attributes:
        identity: Identity of the run.
        step: Steps taken.
        state: Leaves of the program's state in tree order, as NumPy arrays (of a random key its data).
        curves: What was observed so far, name to array of shape (observation, ...).
    """

    identity: str
    step: int
    state: tuple[np.ndarray, ...]
    curves: dict[str, np.ndarray]


def write(folder: Path, worker: str, runs: Sequence[InFlight]) -> Path:
    """Replace the checkpoint of a worker; raises `FolderError` if the disk refuses it."""
    arrays = {
        "identity": np.array([run.identity.encode() for run in runs], np.bytes_),
        "step": np.array([run.step for run in runs], np.int64),
    }
    for number, run in enumerate(runs):
        for leaf, value in enumerate(run.state):
            arrays[f"{number}/state/{leaf}"] = value
        for name, value in run.curves.items():
            arrays[f"{number}/curves/{name}"] = value
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path = Path(folder) / FOLDER / f"{worker}.npz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(path, error) from error
    return write_atomic(path, buffer.getvalue())


def find(folder: Path) -> dict[str, str]:
    """Identity of every run with a checkpoint to the name of its file, the newest where there are several."""
    found = {}
    paths = (Path(folder) / FOLDER).glob("[!.]*.npz")
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns):
        members = _open(path)
        if members is not None:
            with members:
                found.update(dict.fromkeys(members["identity"].astype(str).tolist(), path.name))
    return found


def read(folder: Path, file: str, identities: Sequence[str]) -> dict[str, InFlight]:
    """Those of the runs that the file holds whole."""
    members = _open(Path(folder) / FOLDER / file)
    if members is None:
        return {}
    runs = {}
    with members:
        numbers = {name: n for n, name in enumerate(members["identity"].astype(str).tolist())}
        steps = members["step"]
        for identity in set(identities) & set(numbers):
            run = _read_run(members, numbers[identity], identity, int(steps[numbers[identity]]))
            if run is not None:
                runs[identity] = run
    return runs


def remove(folder: Path, prefix: str) -> None:
    """Delete the checkpoints of all workers whose name begins so."""
    for path in (Path(folder) / FOLDER).glob(f"{prefix}*.npz"):
        path.unlink(missing_ok=True)


def _read_run(members, number, identity, step):
    state, curves = {}, {}
    try:
        for key in members.files:
            head, _, tail = key.partition("/")
            if head == str(number):
                kind, _, name = tail.partition("/")
                (state if kind == "state" else curves)[name] = members[key]
    except (ValueError, OSError, zipfile.BadZipFile, zlib.error):
        return None
    leaves = tuple(state[str(leaf)] for leaf in range(len(state)))
    return InFlight(identity, step, leaves, curves)


def _open(path):
    """The members of a file, or None if it cannot be used; each is checked by its CRC when it is read."""
    try:
        members = np.load(path, allow_pickle=False)
        members["identity"], members["step"]
    except (ValueError, KeyError, OSError, zipfile.BadZipFile, zlib.error):
        return None
    return members
