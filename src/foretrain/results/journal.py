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
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foretrain.errors import FolderError, StoreError
from foretrain.results import arrays, decode
from foretrain.results.files import read_file, refused, write_atomic
from foretrain.vocabulary import OUTCOMES

FOLDER = "journal"
_FORMAT = 1
_DIGEST = 64  # length of a SHA-256 in hex digits
_KINDS = ("curves", "finals")
_LONGEST = 2**40  # of an axis


@dataclass(frozen=True)
class FinishedRun:
    """One run that has ended, as the sweep engine hands it over and as it is read back, to the bit.

    Attributes:
        identity: Hash of parameters and seed; ASCII without trailing NULs.
        outcome: Number of the outcome in `foretrain.vocabulary.OUTCOMES`.
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
    code: str = ""


@dataclass(frozen=True)
class ColumnOutline:
    """What a `Column` holds, without its values.

    Attributes:
        name: Name of the variable.
        kind: "curves" or "finals".
        dtype: Of the values.
        runs: Numbers of the runs that have it, or a slice over all of them.
        shapes: Shape of each array, (holder, axis), of a curve that of one observation.
    """

    name: str
    kind: str
    dtype: np.dtype
    runs: np.ndarray | slice
    shapes: np.ndarray


@dataclass(frozen=True)
class Outline:
    """What a `Segment` holds, without its values: all that is needed to know how large a result becomes.

    Attributes:
        name: Name of the file.
        identities: Identities of the runs.
        observations: Number of observations of each run, shape (run,).
        steps: Step numbers of the longest run if those of all others are its first, else of all runs, end to end.
        shared: Which of the two.
        columns: The variables.
    """

    name: str
    identities: list[str]
    observations: np.ndarray
    steps: np.ndarray
    shared: bool
    columns: tuple[ColumnOutline, ...]

    def steps_of(self, wanted: np.ndarray) -> np.ndarray:
        """The distinct step numbers of some runs; `wanted` is a mask of shape (run,)."""
        if self.shared:
            return np.unique(self.steps[: self.observations[wanted].max(initial=0)])
        return np.unique(self.steps[wanted.repeat(self.observations)])


@dataclass(frozen=True)
class Scan:
    """What a journal holds, from one reading of it.

    Attributes:
        identities: Runs that are done, each once, in the order of the segments.
        outcomes: Their outcomes, int8, shape (run,).
        notes: Identity to note, of those that have one.
        damaged: Name of each segment that cannot be used, to the reason.
        outlines: Every other segment without its values, by name, for `foretrain.results.folding.fold_all`.
        code_names: Hashes of the sources that made the runs.
        code_numbers: Which of them made each run, int32, shape (run,).
    """

    identities: list[str]
    outcomes: np.ndarray
    notes: dict[str, str]
    damaged: dict[str, str]
    outlines: tuple[Outline, ...] = ()
    code_names: tuple[str, ...] = ()
    code_numbers: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def codes(self) -> dict[str, int]:
        """Hash of sources to the number of runs that they made; "" where it was not recorded."""
        counts = Counter(self.code_numbers.tolist())
        return {name: counts[number] for number, name in enumerate(self.code_names)}

    def code_of(self, identity: str) -> str:
        """Hash of the sources that made a run, "" where it was not recorded; raises KeyError if the run is not done."""
        return self.code_names[self.code_numbers[self._places[identity]]]

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {identity: place for place, identity in enumerate(self.identities)}


class Writer:
    """Appends segments ``journal/<worker>-<number>.npz``. One writer per worker name at a time.

    Args:
        folder: The folder of results; ``journal/`` is made in it.
        worker: Letters, digits, ``-``, ``_`` and ``.``; unique among the processes that write to the folder at once.
        code: Hash of the sources that make the runs, at most 128 characters; "" is not recorded.

    Raises:
        FolderError: the folder cannot be made.
    """

    def __init__(self, folder: Path, worker: str, code: str = ""):
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", worker):
            raise ValueError(f"A worker's name must be usable in a file name, but is {worker!r}.")
        if len(code) > 128:
            raise ValueError(
                f"A hash of sources has at most 128 characters, but this has {len(code)}."
            )
        self._folder, self._worker, self._code = Path(folder) / FOLDER, worker, code
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
        write_atomic(path, _encode(runs, self._code))
        self._next += 1
        return path


def scan(folder: Path) -> Scan:
    """List the runs that are done. Reads and checks every byte of the journal, but unpacks no variable."""
    found: dict[str, int] = {}
    notes, damaged, outlines = {}, {}, []
    codes: dict[str, int] = {}
    numbers, known = [], {}
    for segment in segments(folder, damaged):
        code = codes.setdefault(segment.code, len(codes))
        for number, note in segment.notes.items():
            if segment.identities[number] not in found:
                notes[segment.identities[number]] = note
        before = len(found)
        for identity, outcome in zip(segment.identities, segment.outcomes.tolist(), strict=True):
            found.setdefault(identity, outcome)
        numbers.append(np.full(len(found) - before, code, np.int32))
        outlines.append(_outline(segment, known))
    return Scan(
        identities=list(found),
        outcomes=np.array(list(found.values()), np.int8),
        notes=notes,
        damaged=damaged,
        outlines=tuple(outlines),
        code_names=tuple(codes),
        code_numbers=np.concatenate([np.zeros(0, np.int32), *numbers]),
    )


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
                Writer(folder, f"{path.stem}-kept", segment.code).append(kept)
            path.unlink()
        except FolderError:
            raise
        except OSError as error:
            raise refused(path, error) from error


def segments(
    folder: Path,
    damaged: dict[str, str] | None = None,
    only: Container[str] | None = None,
) -> Iterator[Segment]:
    """Every valid segment by name, by column.

    Args:
        folder: The folder of results.
        damaged: Is given the name of each segment that cannot be used, and the reason.
        only: Names of the segments to read; all by default.
    """
    for path in sorted((Path(folder) / FOLDER).glob("*.npz")):
        if path.name.startswith(".") or (only is not None and path.name not in only):
            continue
        try:
            yield _read(path)
        except StoreError as error:
            if damaged is not None:
                damaged[path.name] = str(error)


def read(folder: Path) -> Iterator[FinishedRun]:
    """Every run that is done, once, in the order of the segments. `segments` is the fast way for many runs."""
    seen = set()
    for segment in segments(folder):
        for run in _runs(segment):
            if run.identity not in seen:
                seen.add(run.identity)
                yield run


def _read(path) -> Segment:
    try:
        content = read_file(path)
    except OSError as error:
        raise StoreError(f"Cannot read it: {error.strerror or error}.") from error
    return parse(path.name, content)


def parse(name: str, content: bytes) -> Segment:
    """Decode a segment; its arrays are views of `content`.

    Raises:
        StoreError: it is torn, altered, of a newer format or not foretrain's; every count and index has been checked.
    """
    altered = "It is torn, altered or not a segment of foretrain"
    if hashlib.sha256(memoryview(content)[:-_DIGEST]).hexdigest().encode() != content[-_DIGEST:]:
        raise StoreError(f"{altered}: the checksum differs.")
    try:
        members = arrays.members(content, checked=True)
        header = decode.segment_header(_flat(members, "header", "u1").tobytes(), _FORMAT)
        return _segment(name, header, members)
    except StoreError:
        raise
    except ValueError as error:
        raise StoreError(f"{altered}: {decode.line(error)}.") from error


def _flat(members, name, dtype, length=None):
    """A member that must be there with one axis, of this dtype and length."""
    values = members.get(name)
    if values is None or values.ndim != 1 or values.dtype.str[1:] != dtype:
        raise ValueError(f"its `{name}` is missing or of another kind")
    if length is not None and len(values) != length:
        raise ValueError(f"its `{name}` has another length than its runs")
    return values


def _segment(name, header, members) -> Segment:
    identity = members.get("identity")
    if identity is None or identity.ndim != 1 or identity.dtype.kind != "S" or not len(identity):
        raise ValueError("its `identity` is missing or of another kind")
    runs = len(identity)
    outcomes = _flat(members, "outcome", "i1", runs)
    steps_taken = _flat(members, "steps_taken", "i8", runs)
    observations = _flat(members, "observations", "i8", runs)
    steps = _flat(members, "steps", "i8")
    if outcomes.min() < 0 or outcomes.max() >= len(OUTCOMES):
        raise ValueError("it holds an outcome that is not known")
    if min(steps_taken.min(), observations.min(), steps.min(initial=0)) < 0:
        raise ValueError("it holds a negative number of steps")
    if observations.max() > len(steps) or observations.sum() != len(steps):
        raise ValueError("its `steps` are not those of its runs")
    notes = {int(number): note for number, note in header.notes.items()}
    if any(number >= runs for number in notes):
        raise ValueError("it holds a note on a run that it does not hold")
    return Segment(
        name=name,
        identities=identity.astype(str).tolist(),
        outcomes=outcomes,
        steps_taken=steps_taken,
        observations=observations,
        steps=steps,
        columns=tuple(_columns(members, observations)),
        notes=notes,
        code=header.code,
    )


def _columns(members, observations):
    for key, values in members.items():
        kind, _, variable = key.partition("/")
        if not variable or variable.endswith("/index"):
            continue
        index = members.get(f"{key}/index")
        if kind not in _KINDS or index is None or index.ndim != 2 or index.dtype.str[1:] != "i8":
            raise ValueError(f"its variable `{variable}` has no index")
        if values.ndim != 1 or not arrays.storable(values.dtype) or index.shape[1] < 1:
            raise ValueError(f"its variable `{variable}` holds no numbers")
        column = Column(variable, kind, index[:, 0], index[:, 1:], values)
        if not _fits(column, observations):
            raise ValueError(f"its variable `{variable}` has another size than its index says")
        yield column


def _fits(column, observations) -> bool:
    """Whether the arrays of a column are those of known runs and fill its values."""
    held, shapes = column.runs, column.shapes
    if (
        not len(held)
        or held[0] < 0
        or held[-1] >= len(observations)
        or (held[1:] <= held[:-1]).any()
    ):
        return False
    if shapes.shape[1] > arrays.MOST_AXES or shapes.min(initial=0) < 0:
        return False
    if shapes.max(initial=0) > _LONGEST:
        return False
    sizes = shapes.prod(axis=1, dtype=float)  # in floats, which do not overflow
    if not (sizes <= len(column.values)).all() or sizes.sum() != len(column.values):
        return False
    if column.kind == "finals":
        return True
    return shapes.shape[1] > 0 and bool((shapes[:, 0] == observations[held]).all())


def _outline(segment, known) -> Outline:
    """A segment without its values. `known` holds step numbers met before, so that equal ones are kept once."""
    counts = segment.observations.copy()
    longest = int(counts.argmax())
    begin = int(counts[:longest].sum())
    steps = segment.steps[begin : begin + counts[longest]]
    starts = np.cumsum(counts) - counts
    entries = np.arange(len(segment.steps)) - starts.repeat(counts)
    shared = bool((segment.steps == steps[entries]).all())
    content = (steps if shared else segment.steps).tobytes()
    steps = known.setdefault(content, np.frombuffer(content, np.int64))
    columns = tuple(_column_outline(column, len(counts)) for column in segment.columns)
    return Outline(segment.name, segment.identities, counts, steps, shared, columns)


def _column_outline(column, runs) -> ColumnOutline:
    shapes = column.shapes[:, int(column.kind == "curves") :]
    if len(shapes) and (shapes == shapes[0]).all():
        shapes = np.broadcast_to(shapes[0].copy(), shapes.shape)
    else:
        shapes = shapes.copy()
    held = slice(None) if len(column.runs) == runs else column.runs.copy()
    return ColumnOutline(column.name, column.kind, column.values.dtype, held, shapes)


def _encode(runs, code) -> bytes:
    if not runs:
        raise ValueError("A segment must hold at least one run, but there is none.")
    for run in runs:
        _check(run)
    steps = np.concatenate([run.steps for run in runs]).astype(np.int64)
    notes = {number: _text(run.note) for number, run in enumerate(runs) if run.note}
    content = {"format": _FORMAT, "notes": notes} | ({"code": code} if code else {})
    header = json.dumps(content).encode()
    members = {
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
            if not all(arrays.storable(value.dtype) for value in values):
                raise ValueError(
                    f"Variable `{name}` must hold numbers, but has dtype {values[0].dtype}."
                )
            shapes = np.array([value.shape for value in values], np.int64)
            members[f"{kind}/{name}"] = np.concatenate([value.ravel() for value in values])
            # One row per holder: its number among the runs, then the shape of its array.
            members[f"{kind}/{name}/index"] = np.column_stack(
                [holders, shapes.reshape(len(holders), -1)]
            ).astype(np.int64)
    buffer = io.BytesIO()
    np.savez(buffer, **members)
    # The last two bytes of a zip file are the length of its comment, which becomes the checksum.
    content = buffer.getvalue()[:-2] + _DIGEST.to_bytes(2, "little")
    return content + hashlib.sha256(content).hexdigest().encode()


def _text(note):
    """A note as UTF-8 can hold it; file names in messages may hold what it cannot."""
    return note.encode("utf-8", "replace").decode()


def _check(run):
    if not 0 <= run.outcome < len(OUTCOMES):
        raise ValueError(f"A run's outcome must be 0..{len(OUTCOMES) - 1}, but is {run.outcome}.")
    if run.steps_taken < 0 or np.min(run.steps, initial=0) < 0:
        raise ValueError("A run's steps must not be negative.")
    if np.ndim(run.steps) != 1:
        raise ValueError(f"`steps` must have one axis, but has shape {np.shape(run.steps)}.")
    for name, curve in run.curves.items():
        if np.ndim(curve) < 1 or len(curve) != len(run.steps):
            raise ValueError(
                f"Curve `{name}` must have {len(run.steps)} observations, but has shape {np.shape(curve)}."
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
