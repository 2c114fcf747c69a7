"""A segment: finished runs in one ``npz`` file without pickled content, and how it is written and read.

Arrays of different length lie end to end (`Column`), so that a segment costs a few milliseconds whether it holds one run or
hundreds. The comment at the end of the file is the SHA-256 of all bytes before it.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foretrain.errors import StoreError
from foretrain.provenance.reading import blocks
from foretrain.results import arrays, decode
from foretrain.vocabulary import OUTCOMES

_FORMAT = 1
_DIGEST = 64  # length of a SHA-256 in hex digits
_KINDS = ("curves", "finals")
_LONGEST = 2**40  # of an axis
_ALTERED = "It is torn, altered or not a segment of foretrain"


@dataclass(frozen=True)
class FinishedRun:
    """One run that has ended, as the sweep engine hands it over and as it is read back, to the bit."""

    identity: str  # hash of parameters and seed; ASCII without trailing NULs
    outcome: int  # number of the outcome in `foretrain.vocabulary.OUTCOMES`
    steps_taken: int  # steps after which the run ended
    steps: np.ndarray  # step numbers of the observations, int, shape (observation,)
    # Name to what was observed, each of shape (observation, ...).
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    # Name to what was kept once at the end, of any shape.
    finals: dict[str, np.ndarray] = field(default_factory=dict)
    note: str = ""  # A sentence for the reader, such as why a run failed


@dataclass(frozen=True)
class Column:
    """One variable of a segment: the arrays of those runs that have it, end to end."""

    name: str  # name of the variable
    kind: str  # "curves" or "finals"
    runs: np.ndarray  # numbers of the runs within the segment, ascending, shape (holder,)
    # Shape of each array, (holder, axis); of a curve the first axis is the observation.
    shapes: np.ndarray
    values: np.ndarray  # all values, flat


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
    backend: str = ""


def refuse_altered(path: Path) -> None:
    """Raise `StoreError` where the checksum of a segment differs; no more than a block of the file is in memory."""
    digest = hashlib.sha256()
    for block in blocks(path, end=_DIGEST):
        digest.update(block)
    if digest.hexdigest().encode() != b"".join(blocks(path, -_DIGEST)):
        raise StoreError(f"{_ALTERED}: the checksum differs.")


def parse(name: str, content: bytes) -> Segment:
    """Decode a segment; its arrays are views of `content`.

    Raises:
        StoreError: it is torn, altered, of a newer format or not foretrain's; every count and index has been checked.
    """
    if hashlib.sha256(memoryview(content)[:-_DIGEST]).hexdigest().encode() != content[-_DIGEST:]:
        raise StoreError(f"{_ALTERED}: the checksum differs.")
    try:
        members = arrays.members(content, checked=True)
        header = decode.segment_header(_flat(members, "header", "u1").tobytes(), _FORMAT)
        return _segment(name, header, members)
    except StoreError:
        raise
    except ValueError as error:
        raise StoreError(f"{_ALTERED}: {decode.line(error)}.") from error


def _flat(members, name, dtype, length=None):
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
        backend=header.backend,
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
    runs, shapes = column.runs, column.shapes
    ascending = len(runs) and runs[0] >= 0 and (runs[1:] > runs[:-1]).all()
    if not ascending or runs[-1] >= len(observations):
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
    return shapes.shape[1] > 0 and bool((shapes[:, 0] == observations[runs]).all())


def encode(runs: Sequence[FinishedRun], code: str, backend: str) -> bytes:
    """Return the bytes of a segment; raises `ValueError` where a run cannot be stored."""
    for run in runs:
        for name, curve in run.curves.items():
            if np.ndim(curve) < 1 or len(curve) != len(run.steps):
                must = f"must have {len(run.steps)} observations"
                raise ValueError(f"Curve `{name}` {must}, but has shape {np.shape(curve)}.")
    notes = {
        number: run.note.encode("utf-8", "replace").decode()
        for number, run in enumerate(runs)
        if run.note
    }
    content = {"format": _FORMAT, "notes": notes} | ({"code": code} if code else {})
    content |= {"backend": backend} if backend else {}
    members = {
        "header": np.frombuffer(json.dumps(content).encode(), np.uint8),
        "identity": np.array([run.identity.encode("ascii") for run in runs], np.bytes_),
        "outcome": np.array([run.outcome for run in runs], np.int8),
        "steps_taken": np.array([run.steps_taken for run in runs], np.int64),
        "observations": np.array([len(run.steps) for run in runs], np.int64),
        "steps": np.concatenate([run.steps for run in runs]).astype(np.int64),
    }
    for kind in _KINDS:
        for name in dict.fromkeys(name for run in runs for name in getattr(run, kind)):
            holders = [number for number, run in enumerate(runs) if name in getattr(run, kind)]
            values = [np.asarray(getattr(runs[number], kind)[name]) for number in holders]
            must = f"Variable `{name}` must"
            if len({value.ndim for value in values}) > 1:
                raise ValueError(f"{must} have the same number of axes in all runs.")
            if not all(arrays.storable(value.dtype) for value in values):
                raise ValueError(f"{must} hold numbers, but has dtype {values[0].dtype}.")
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


def runs_of(segment: Segment) -> Iterator[FinishedRun]:
    """Return the runs of a segment one by one."""
    steps = np.split(segment.steps, np.cumsum(segment.observations)[:-1])
    values = {kind: [{} for _ in segment.identities] for kind in _KINDS}
    for column in segment.columns:
        parts = np.split(column.values, np.cumsum(column.shapes.prod(axis=1, dtype=np.int64))[:-1])
        for number, shape, part in zip(column.runs, column.shapes, parts, strict=True):
            values[column.kind][number][column.name] = part.reshape(shape)
    for number, identity in enumerate(segment.identities):
        yield FinishedRun(
            identity=identity,
            outcome=int(segment.outcomes[number]),
            steps_taken=int(segment.steps_taken[number]),
            steps=steps[number],
            curves=values["curves"][number],
            finals=values["finals"][number],
            note=segment.notes.get(number, ""),
        )
