"""Runs under way, on disk: one file per worker, replaced as a whole, that only ever saves time.

A checkpoint that is damaged or does not fit the program is not used, and its runs begin anew.
"""

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from foretrain.provenance.reading import read_file
from foretrain.results import arrays
from foretrain.results.files import disk_errors, write_atomic, written_at

FOLDER = "checkpoints"
_DAMAGE = (ValueError, KeyError, OSError)


@dataclass(frozen=True)
class InFlight:
    """A run that is under way, apart from any lane."""

    identity: str  # identity of the run
    step: int  # steps taken
    # Leaves of the program's state in tree order, as NumPy arrays (of a random key its data).
    state: tuple[np.ndarray | np.generic, ...]
    # What was observed so far, name to array of shape (observation, ...).
    curves: dict[str, np.ndarray]


def write(folder: Path, worker: str, runs: Sequence[InFlight]) -> Path:
    """Replace the checkpoint of a worker by at least one run, all of one program; raises `FolderError` if refused."""
    first = runs[0]
    content = {
        "identity": np.array([run.identity.encode() for run in runs], np.bytes_),
        "step": np.array([run.step for run in runs], np.int64),
        "observations": np.array([len(next(iter(run.curves.values()), ())) for run in runs], int),
    }
    for leaf in range(len(first.state)):
        content[f"state/{leaf}"] = np.ascontiguousarray(np.stack([run.state[leaf] for run in runs]))
    for name in first.curves:
        content[f"curves/{name}"] = np.concatenate([run.curves[name] for run in runs])
    buffer = io.BytesIO()
    np.savez(buffer, **content)
    path = Path(folder) / FOLDER / f"{worker}.npz"
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomic(path, buffer.getvalue())


def find(folder: Path) -> dict[str, str]:
    """Identity of every run with a checkpoint to the name of its file, the newest where there are several."""
    files = {}
    for path in sorted((Path(folder) / FOLDER).glob("[!.]*.npz"), key=written_at):
        with contextlib.suppress(*_DAMAGE):
            files |= dict.fromkeys(_identities(arrays.member(path, "identity")), path.name)
    return files


def read(folder: Path, files: Mapping[str, str | None]) -> dict[str, InFlight]:
    """Read the checkpoints of runs: identity to the name of the file, None for a run that has none.

    Of a file that is damaged anywhere, which the CRC of each member tells, no run is read.
    """
    saved = {}
    for file in {*files.values()} - {None}:
        wanted = {name for name, place in files.items() if place == file}
        with contextlib.suppress(*_DAMAGE):
            content = read_file(Path(folder) / FOLDER / str(file), None)
            saved |= _decode(arrays.members(content, checked=False), wanted)
    return saved


def _decode(members, wanted) -> dict[str, InFlight]:
    """The wanted runs of a checkpoint's members; raises ValueError or KeyError if they do not fit each other."""
    identities = _identities(members["identity"])
    step, observations = members["step"], members["observations"]
    leaves = sum(name.startswith("state/") for name in members)
    states = [members[f"state/{leaf}"] for leaf in range(leaves)]
    curves = {n.removeprefix("curves/"): v for n, v in members.items() if n.startswith("curves/")}
    for values in (step, observations):
        fits = values.shape == (len(identities),) and values.dtype == np.int64
        if not fits or values.min(initial=0) < 0 or values.max(initial=0) > 2**40:
            raise ValueError("a count is missing, negative, too large or of another kind")
    ends = np.cumsum(observations).tolist()
    wanted_lengths = [(leaf, len(identities)) for leaf in states]
    wanted_lengths += [(values, ends[-1]) for values in curves.values()]
    if any(values.ndim < 1 or len(values) != length for values, length in wanted_lengths):
        raise ValueError("a leaf or a curve has another length than the runs say")
    begins = [0, *ends]
    return {
        identity: InFlight(
            identity,
            int(step[row]),
            tuple(leaf[row] for leaf in states),
            {name: values[begins[row] : ends[row]] for name, values in curves.items()},
        )
        for row, identity in enumerate(identities)
        if identity in wanted
    }


def _identities(values) -> list[str]:
    if values.ndim != 1 or values.dtype.kind != "S" or not len(values):
        raise ValueError("it holds no identities")
    return values.astype(str).tolist()
