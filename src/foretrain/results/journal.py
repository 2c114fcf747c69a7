"""The journal: finished runs, appended as immutable segments, durable on return.

A segment that is torn, altered or not foretrain's is noticed, listed, and its runs count as not done. A run is done if and
only if a valid segment holds it. A run held twice counts once: the first segment by name wins.
"""

import contextlib
import errno
import functools
import hashlib
import os
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from foretrain.errors import StoreError
from foretrain.provenance.reading import read_file
from foretrain.results.files import disk_errors, unreadable, write_atomic
from foretrain.results.segment import (
    Column,
    FinishedRun,
    Segment,
    encode,
    parse,
    refuse_altered,
    runs_of,
)

FOLDER = "journal"
_LARGE = 2**26  # bytes of a segment that is checked before it is in memory
_MOST = 2**36  # bytes of a segment: to check one of 8 TB of nothing would take hours
# A segment that another process has just replaced, or what no segment is, such as a folder or a pipe.
_NO_SEGMENT = {errno.ENOENT, errno.EINVAL, errno.EISDIR, errno.ENXIO, errno.ELOOP}


@dataclass(frozen=True)
class Outline:
    """A `Segment` without its values: all that is needed to know how large a result becomes."""

    name: str  # name of the file
    identities: list[str]  # identities of the runs
    observations: np.ndarray  # number of observations of each run, shape (run,)
    # Step numbers of the longest run if those of all others are its first, else of all runs, end to end.
    steps: np.ndarray
    shared: bool  # which of the two
    # The variables without values; shapes of curves are those of one observation.
    columns: tuple[Column, ...]

    def steps_of(self, wanted: np.ndarray) -> np.ndarray:
        """The distinct step numbers of some runs; `wanted` is a mask of shape (run,)."""
        if self.shared:
            return np.unique(self.steps[: self.observations[wanted].max(initial=0)])
        return np.unique(self.steps[wanted.repeat(self.observations)])


@dataclass(frozen=True)
class Scan:
    """Content of a journal, from one reading of it."""

    identities: list[str]  # runs that are done, each once, in the order of the segments
    outcomes: np.ndarray  # their outcomes, int8, shape (run,)
    notes: dict[str, str]  # identity to note, of those that have one
    damaged: dict[str, str]  # name of each segment that cannot be used, to the reason
    # Every other segment without its values, by name, for `foretrain.results.folding.fold_all`.
    outlines: tuple[Outline, ...] = ()
    # Identity of each run to the hash of the sources that made it; "" where it was not recorded.
    makers: dict[str, str] = field(default_factory=dict)
    # Backend of JAX to the number of runs that were made on it; "" where it was not recorded.
    backends: dict[str, int] = field(default_factory=dict)

    @property
    def codes(self) -> dict[str, int]:
        """Hash of sources to the number of runs that they made."""
        return dict(Counter(self.makers.values()))


class Writer:
    """Appends segments ``journal/<worker>-<number>.npz``. One writer per worker name at a time.

    Args:
        folder: The folder of results; ``journal/`` is made in it.
        worker: Letters, digits, ``-``, ``_`` and ``.``; unique among the processes that write to the folder at once.
        code: Hash of the sources that make the runs, at most 128 characters; "" is not recorded.
        backend: Backend of JAX on which they are made, such as "cpu"; "" is not recorded.

    Raises:
        FolderError: the folder cannot be made.
    """

    def __init__(self, folder: Path, worker: str, code: str = "", backend: str = ""):
        self._folder, self._worker = Path(folder) / FOLDER, worker
        self._code, self._backend = code, backend
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        for left_over in self._folder.glob(f".{worker}-*.npz.*.tmp"):
            with contextlib.suppress(OSError):
                left_over.unlink()
        numbers = re.compile(re.escape(worker) + r"-(\d+)\.npz")
        names = (numbers.fullmatch(path.name) for path in self._folder.glob(f"{worker}-*.npz"))
        self._next = 1 + max((int(name[1]) for name in names if name), default=0)

    def append(self, runs: Sequence[FinishedRun]) -> Path:
        """Write the runs as one segment, durable on return: a millisecond, 3 us per run, one file.

        Variables may be missing in some runs and differ in shape between runs. Where their dtypes differ, the segment
        holds the common one (float32 beside float64 becomes float64).

        Raises:
            FolderError: the disk is full or refuses the file. No part of the segment is left.
        """
        path = self._folder / f"{self._worker}-{self._next:08d}.npz"
        write_atomic(path, encode(runs, self._code, self._backend))
        self._next += 1
        return path


def scan(folder: Path) -> Scan:
    """List the runs that are done. Reads and checks every byte of the journal, but unpacks no variable."""
    outcomes: dict[str, int] = {}
    makers: dict[str, str] = {}
    notes, damaged, outlines, known = {}, {}, [], {}
    backends: Counter[str] = Counter()
    for segment in segments(folder, damaged):
        for number, note in segment.notes.items():
            if segment.identities[number] not in outcomes:
                notes[segment.identities[number]] = note
        before = len(outcomes)
        for identity, outcome in zip(segment.identities, segment.outcomes.tolist(), strict=True):
            outcomes.setdefault(identity, outcome)
            makers.setdefault(identity, segment.code)
        backends[segment.backend] += len(outcomes) - before
        outlines.append(_outline(segment, known))
    return Scan(
        identities=list(outcomes),
        outcomes=np.array(list(outcomes.values()), np.int8),
        notes=notes,
        damaged=damaged,
        outlines=tuple(outlines),
        makers=makers,
        backends=dict(+backends),
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
        kept = [run for run in runs_of(segment) if run.identity not in identities]
        with disk_errors(path):
            if kept:
                Writer(folder, f"{path.stem}-kept", segment.code, segment.backend).append(kept)
            path.unlink()


def bring(folder: Path, other: Path, name: str) -> None:
    """Take a segment of another folder's journal into a folder: linked, or copied where the disk has no links."""
    # Two folders may both have a segment of this name.
    origin = hashlib.sha256(other.name.encode()).hexdigest()[:8]
    source, target = other / FOLDER / name, folder / FOLDER / f"taken-{origin}-{name}"
    if not target.exists():
        with disk_errors(target):
            target.parent.mkdir(exist_ok=True)
            try:
                os.link(source, target)
            except OSError:
                write_atomic(target, read_file(source, None))


def segments(
    folder: Path,
    # Is given the name of each segment that cannot be used, and the reason.
    damaged: dict[str, str] | None = None,
    only: Container[str] | None = None,  # names of the segments to read; all by default
) -> Iterator[Segment]:
    """Yield every valid segment by name, by column.

    Raises:
        FolderError: the journal or a segment is there and cannot be read: its runs are not known, and not to be done again.
    """
    journal = Path(folder) / FOLDER
    try:
        names = sorted(os.listdir(journal))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unreadable(journal, error) from error
    for path in (journal / name for name in names if name.endswith(".npz")):
        if path.name.startswith(".") or (only is not None and path.name not in only):
            continue
        try:
            yield _read(path)
        except StoreError as error:
            if damaged is not None:
                damaged[path.name] = str(error)


def _read(path) -> Segment:
    try:
        if _LARGE < path.stat().st_size <= _MOST:
            refuse_altered(path)
        content = read_file(path, _MOST)
    except OSError as error:
        if error.errno in _NO_SEGMENT:
            raise StoreError(f"Cannot read it: {error.strerror or error}.") from error
        raise unreadable(path, error) from error
    return parse(path.name, content)


def _outline(segment, known) -> Outline:
    """A segment without its values. `known` holds step numbers met before, so that equal ones are kept once."""
    counts = segment.observations.copy()
    longest = int(counts.argmax())
    begin = int(counts[:longest].sum())
    steps = segment.steps[begin : begin + counts[longest]]
    entries = np.arange(len(segment.steps)) - (np.cumsum(counts) - counts).repeat(counts)
    shared = bool((segment.steps == steps[entries]).all())
    content = (steps if shared else segment.steps).tobytes()
    steps = known.setdefault(content, np.frombuffer(content, np.int64))
    columns = tuple(_column_outline(column, len(counts)) for column in segment.columns)
    return Outline(segment.name, segment.identities, counts, steps, shared, columns)


def _column_outline(column, runs) -> Column:
    shapes = column.shapes[:, int(column.kind == "curves") :]
    equal = len(shapes) and (shapes == shapes[0]).all()
    shapes = np.broadcast_to(shapes[0].copy(), shapes.shape) if equal else shapes.copy()
    holders = _numbers(runs) if len(column.runs) == runs else column.runs.copy()
    return replace(column, runs=holders, shapes=shapes, values=np.empty(0, column.values.dtype))


@functools.cache
def _numbers(count: int) -> np.ndarray:
    return np.arange(count)
