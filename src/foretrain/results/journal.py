"""The journal: finished runs, appended as immutable segments, durable on return.

A segment is an ``npz`` file without pickled content. Arrays of different length lie end to end (`Column`), so that a
segment costs a few milliseconds whether it holds one run or hundreds. The comment at the end of the file is
the SHA-256 of all bytes before it: a segment that is torn, altered or not foretrain's is noticed, listed, and its runs
count as not done. A run is done if and only if a valid segment holds it. A run held twice counts once: the first
segment by name wins.
"""

import contextlib
import functools
import hashlib
import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foretrain.errors import FolderError, StoreError
from foretrain.results.files import refused, write_atomic

FOLDER = "journal"
_FORMAT = 1
_DIGEST = 64  # length of a SHA-256 in hex digits
_KINDS = ("curves", "finals")


@dataclass(frozen=True)
class FinishedRun:
    """One run that has ended, as the sweep engine hands it over and as it is read back, to the bit.

    Attributes:
        identity: Hash of parameters and seed; ASCII without trailing NULs.
        outcome: Number of the outcome, -128..127.
        steps_taken: Steps after which the run ended.
        steps: Step numbers of the observations, int, shape (observation,).
        curves: Name to what was observed, each of shape (observation, ...).
        finals: Name to what was kept once at the end, of any shape.
        note: A sentence for the reader, such as why a run failed.
    """

    identity: str
    outcome: int
    steps_taken: int
    steps: np.ndarray
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    finals: dict[str, np.ndarray] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Column:
    """One variable of a segment: the arrays of those runs that have it, end to end.

    Attributes:
        name: Name of the variable.
        kind: "curves" or "finals".
        runs: Numbers of the runs within the segment, ascending, shape (holder,).
        shapes: Shape of each array, (holder, axis); of a curve the first axis is the observation.
        values: All values, flat.
    """

    name: str
    kind: str
    runs: np.ndarray
    shapes: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Segment:
    """The runs of one file, by column. `observations` counts the entries of each run in the flat `steps`."""

    name: str
    identities: list[str]
    outcomes: np.ndarray
    steps_taken: np.ndarray
    observations: np.ndarray
    steps: np.ndarray
    columns: tuple[Column, ...]
    notes: dict[int, str]


@dataclass(frozen=True)
class Scan:
    """What a journal holds.

    Attributes:
        identities: Runs that are done, each once, in the order of the segments.
        outcomes: Their outcomes, int8, shape (run,).
        notes: Identity to note, of those that have one.
        damaged: Name of each segment that cannot be used, to the reason.
    """

    identities: list[str]
    outcomes: np.ndarray
    notes: dict[str, str]
    damaged: dict[str, str]


class Writer:
    """Appends segments ``journal/<worker>-<number>.npz``. One writer per worker name at a time.

    Args:
        folder: The folder of results; ``journal/`` is made in it.
        worker: Letters, digits, ``-``, ``_`` and ``.``; unique among the processes that write to the folder at once.

    Raises:
        FolderError: the folder cannot be made.
    """

    def __init__(self, folder: Path, worker: str):
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", worker):
            raise ValueError(f"A worker's name must be usable in a file name, but is {worker!r}.")
        self._folder, self._worker = Path(folder) / FOLDER, worker
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused(self._folder, error) from error
        for left_over in self._folder.glob(f".{worker}-*.npz.*.tmp"):
            with contextlib.suppress(OSError):
                left_over.unlink()
        numbers = re.compile(re.escape(worker) + r"-(\d+)\.npz")
        found = (numbers.fullmatch(path.name) for path in self._folder.glob(f"{worker}-*.npz"))
        self._next = 1 + max((int(match[1]) for match in found if match), default=0)

    def append(self, runs: Sequence[FinishedRun]) -> Path:
        """Write the runs as one segment, durable on return: a millisecond, 3 us per run, one file.

        Variables may be missing in some runs and differ in shape between runs. Where their dtypes differ, the segment
        holds the common one (float32 beside float64 becomes float64).

        Raises:
            FolderError: the disk is full or refuses the file. No part of the segment is left.
        """
        path = self._folder / f"{self._worker}-{self._next:08d}.npz"
        write_atomic(path, _encode(runs))
        self._next += 1
        return path


def scan(folder: Path) -> Scan:
    """List the runs that are done. Reads and checks every byte of the journal, but unpacks no variable."""
    found: dict[str, int] = {}
    notes, damaged = {}, {}
    for _, header, members in _valid(folder, damaged):
        identities = _identities(members)
        for number, note in header["notes"].items():
            if identities[int(number)] not in found:
                notes[identities[int(number)]] = note
        for identity, outcome in zip(identities, members["outcome"].tolist(), strict=True):
            found.setdefault(identity, outcome)
    return Scan(list(found), np.array(list(found.values()), np.int8), notes, damaged)


def forget(folder: Path, identities: Container[str]) -> None:
    """Take runs out of the journal, so that they count as not done; the shard's lock must be held.

    A segment that holds one is written again without it before it is removed: killed in between, nothing is lost.

    Raises:
        FolderError: the folder refuses it.
    """
    for segment in segments(folder):
        if not any(name in identities for name in segment.identities):
            continue
        path = Path(folder) / FOLDER / segment.name
        kept = [run for run in _runs(segment) if run.identity not in identities]
        try:
            if kept:
                Writer(folder, f"{path.stem}-kept").append(kept)
            path.unlink()
        except FolderError:
            raise
        except OSError as error:
            raise refused(path, error) from error


def segments(folder: Path, damaged: dict[str, str] | None = None) -> Iterator[Segment]:
    """Every valid segment by name, by column. The others are entered into `damaged`, name to reason."""
    for path, header, members in _valid(folder, {} if damaged is None else damaged):
        yield _segment(path.name, header, members)


def read(folder: Path) -> Iterator[FinishedRun]:
    """Every run that is done, once, in the order of the segments. `segments` is the fast way for many runs."""
    seen = set()
    for segment in segments(folder):
        for run in _runs(segment):
            if run.identity not in seen:
                seen.add(run.identity)
                yield run


def _valid(folder, damaged):
    """Each valid segment as (path, header, members)."""
    for path in sorted((Path(folder) / FOLDER).glob("*.npz")):
        if path.name.startswith("."):
            continue
        try:
            header, members = _open(path)
        except StoreError as error:
            damaged[path.name] = str(error)
        else:
            yield path, header, members


def _open(path):
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"Cannot read it: {error.strerror or error}.") from error
    whole = memoryview(content)
    if hashlib.sha256(whole[:-_DIGEST]).hexdigest().encode() != content[-_DIGEST:]:
        raise StoreError("It is torn, altered or not a segment of foretrain: the checksum differs.")
    members = _members(content)
    header = json.loads(members["header"].tobytes())
    if header["format"] != _FORMAT:
        raise StoreError(f"It has format {header['format']}, but this foretrain knows {_FORMAT}.")
    return header, members


def _members(content):
    """The arrays of an uncompressed npz file, as read-only views of its bytes.

    What `numpy.load` gives, at a fifth of its cost for small files: the checksum has been verified already, and array
    headers repeat from segment to segment.
    """
    members = {}
    for entry in zipfile.ZipFile(io.BytesIO(content)).infolist():
        # A zip entry has 30 bytes, the last four of which are the lengths of its name and of an extra field.
        name_length, extra_length = struct.unpack_from("<HH", content, entry.header_offset + 26)
        start = entry.header_offset + 30 + name_length + extra_length
        # A version 1 npy file has a magic of 8 bytes, the length of its header in 2, the header and the values.
        end = start + 10 + struct.unpack_from("<H", content, start + 8)[0]
        shape, dtype = _array_header(content[start + 8 : end])
        values = np.frombuffer(content, dtype, math.prod(shape), end)
        members[entry.filename.removesuffix(".npy")] = values.reshape(shape)
    return members


@functools.lru_cache(maxsize=4096)
def _array_header(header):
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(header))
    assert not fortran_order, "segments hold arrays in C order"
    return shape, dtype


def _identities(members):
    return members["identity"].astype(str).tolist()


def _encode(runs) -> bytes:
    if not runs:
        raise ValueError("A segment must hold at least one run, but there is none.")
    for run in runs:
        _check(run)
    steps = np.concatenate([run.steps for run in runs]).astype(np.int64)
    notes = {number: run.note for number, run in enumerate(runs) if run.note}
    header = json.dumps({"format": _FORMAT, "notes": notes}).encode()
    arrays = {
        "header": np.frombuffer(header, np.uint8),
        "identity": np.array([run.identity.encode("ascii") for run in runs], np.bytes_),
        "outcome": np.array([run.outcome for run in runs], np.int8),
        "steps_taken": np.array([run.steps_taken for run in runs], np.int64),
        "observations": np.array([len(run.steps) for run in runs], np.int64),
        "steps": steps,
    }
    for kind in _KINDS:
        for name in dict.fromkeys(name for run in runs for name in getattr(run, kind)):
            holders = [number for number, run in enumerate(runs) if name in getattr(run, kind)]
            values = [np.asarray(getattr(runs[number], kind)[name]) for number in holders]
            if len({value.ndim for value in values}) > 1:
                raise ValueError(
                    f"Variable `{name}` must have the same number of axes in all runs."
                )
            if any(value.dtype.kind not in "biufc" for value in values):
                raise ValueError(
                    f"Variable `{name}` must hold numbers, but has dtype {values[0].dtype}."
                )
            shapes = np.array([value.shape for value in values], np.int64)
            arrays[f"{kind}/{name}"] = np.concatenate([value.ravel() for value in values])
            # One row per holder: its number among the runs, then the shape of its array.
            arrays[f"{kind}/{name}/index"] = np.column_stack(
                [holders, shapes.reshape(len(holders), -1)]
            ).astype(np.int64)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    # The last two bytes of a zip file are the length of its comment, which becomes the checksum.
    content = buffer.getvalue()[:-2] + _DIGEST.to_bytes(2, "little")
    return content + hashlib.sha256(content).hexdigest().encode()


def _check(run):
    if np.ndim(run.steps) != 1:
        raise ValueError(f"`steps` must have one axis, but has shape {np.shape(run.steps)}.")
    for name, curve in run.curves.items():
        if np.ndim(curve) < 1 or len(curve) != len(run.steps):
            raise ValueError(
                f"Curve `{name}` must have {len(run.steps)} observations, but has shape {np.shape(curve)}."
            )


def _segment(name, header, members) -> Segment:
    columns = []
    for key in members:
        kind, _, variable = key.partition("/")
        if variable and not variable.endswith("/index"):
            index = members[f"{key}/index"]
            columns.append(Column(variable, kind, index[:, 0], index[:, 1:], members[key]))
    return Segment(
        name=name,
        identities=_identities(members),
        outcomes=members["outcome"],
        steps_taken=members["steps_taken"],
        observations=members["observations"],
        steps=members["steps"],
        columns=tuple(columns),
        notes={int(number): note for number, note in header["notes"].items()},
    )


def _runs(segment) -> Iterator[FinishedRun]:
    steps = np.split(segment.steps, np.cumsum(segment.observations)[:-1])
    held = {kind: [{} for _ in segment.identities] for kind in _KINDS}
    for column in segment.columns:
        ends = np.cumsum(column.shapes.prod(axis=1, dtype=np.int64))
        parts = np.split(column.values, ends[:-1])
        for number, shape, part in zip(column.runs, column.shapes, parts, strict=True):
            held[column.kind][number][column.name] = part.reshape(shape)
    for number, identity in enumerate(segment.identities):
        yield FinishedRun(
            identity=identity,
            outcome=int(segment.outcomes[number]),
            steps_taken=int(segment.steps_taken[number]),
            steps=steps[number],
            curves=held["curves"][number],
            finals=held["finals"][number],
            note=segment.notes.get(number, ""),
        )
