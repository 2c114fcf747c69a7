"""Runs under way, on disk: one file per worker, replaced as a whole, that only ever saves time.

A checkpoint that is damaged or does not fit the program is not used, and its runs begin anew.
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
_DAMAGE = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)


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
    """Replace the checkpoint of a worker; raises `FolderError` if the disk refuses it.

    Args:
        folder: The folder of results.
        worker: Name of the worker.
        runs: At least one run; all of one program, so that their states have the same shapes.
    """
    first = runs[0]
    arrays = {
        "identity": np.array([run.identity.encode() for run in runs], np.bytes_),
        "step": np.array([run.step for run in runs], np.int64),
        "observations": np.array([_observations(run) for run in runs], np.int64),
    }
    for leaf in range(len(first.state)):
        arrays[f"state/{leaf}"] = np.stack([run.state[leaf] for run in runs])
    for name in first.curves:
        arrays[f"curves/{name}"] = np.concatenate([run.curves[name] for run in runs])
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
    for path in sorted((Path(folder) / FOLDER).glob("[!.]*.npz"), key=_written_at):
        try:
            with np.load(path, allow_pickle=False) as members:
                identities = members["identity"].astype(str).tolist()
        except _DAMAGE:
            continue
        found.update(dict.fromkeys(identities, path.name))
    return found


def read(folder: Path, file: str, identities: Sequence[str]) -> dict[str, InFlight]:
    """Those of the runs that the file holds; none if it is damaged anywhere, which the CRC of each member tells."""
    try:
        with np.load(Path(folder) / FOLDER / file, allow_pickle=False) as members:
            arrays = {name: members[name] for name in members.files}
        held = arrays["identity"].astype(str).tolist()
        steps, ends = arrays["step"].tolist(), np.cumsum(arrays["observations"]).tolist()
        leaves = sum(name.startswith("state/") for name in arrays)
        states = [arrays[f"state/{leaf}"] for leaf in range(leaves)]
    except _DAMAGE:
        return {}
    curves = {n.removeprefix("curves/"): v for n, v in arrays.items() if n.startswith("curves/")}
    wanted, begins = set(identities), [0, *ends]
    return {
        identity: InFlight(
            identity,
            steps[row],
            tuple(leaf[row] for leaf in states),
            {name: values[begins[row] : ends[row]] for name, values in curves.items()},
        )
        for row, identity in enumerate(held)
        if identity in wanted
    }


def remove(folder: Path, prefix: str) -> None:
    """Delete the checkpoints of all workers whose name begins so."""
    for path in (Path(folder) / FOLDER).glob(f"{prefix}*.npz"):
        path.unlink(missing_ok=True)


def _written_at(path):
    try:
        return path.stat().st_mtime_ns
    except OSError:  # its shard has just ended
        return 0


def _observations(run):
    return len(next(iter(run.curves.values()), ()))
