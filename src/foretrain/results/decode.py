"""The one place that decodes what is read from disk: every JSON file of a folder of results, into typed and bounded entries.

A folder may come from somebody else, be cut short or altered. Whatever does not fit its type or its bounds is one line
that names the file. Entries that are not known are skipped, as a later version may have added them; another schema is
refused. Arrays in ``npz`` files are `foretrain.results.arrays`'s.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from foretrain.claims.claim import Claim, as_it_follows, claim_from_dict
from foretrain.errors import StoreError

SCHEMA = 2
MOST_SEEDS = 10**7
MOST_RUNS = 10**8
MOST_LANES = 2**16
MOST_MANIFEST, MOST_SUMMARY = 16 * 2**20, 64 * 2**20  # bytes of the files

T = TypeVar("T")

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Scalar = bool | Whole | float | str
Value = Scalar | list[Scalar | None] | None
Name = Annotated[str, Meta(min_length=1, max_length=1000)]
FilePath = Annotated[str, Meta(max_length=4096, pattern=r"^[^\x00]*$")]
Parameters = Annotated[dict[Name, Value], Meta(max_length=10_000)]
Axis = Annotated[list[Value], Meta(min_length=1, max_length=10**6)]
Axes = Annotated[dict[Name, Axis], Meta(max_length=64)]
Seeds = Annotated[int, Meta(ge=1, le=MOST_SEEDS)]
RootSeed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Schema = Annotated[int, Meta(ge=1, le=10**6)]
# `OUTCOMES` and "missing"; a test holds that they are.
Outcome = Literal[
    "missing", "running", "converged", "diverged", "stalled", "out_of_steps", "failed", "computed"
]
# Name of a file to the SHA-256 of its content, "" where it was not there.
Digests = Annotated[dict[FilePath, Annotated[str, Meta(max_length=128)]], Meta(max_length=10**6)]
Number = float | None  # None stands for what is not finite
Ends = tuple[Number, Number]


# The manifest


class PlanEntries(TypedDict):
    """The plan in a manifest, see `foretrain.plans.plan.Plan.as_dict`."""

    schema: Schema
    study: Annotated[str, Meta(min_length=1, max_length=4096)]
    parameters: Parameters
    axes: Axes
    seeds: Seeds
    root_seed: RootSeed
    revision: NotRequired[Count]
    preset: NotRequired[str]
    where: NotRequired[FilePath]
    data: NotRequired[Digests]


class Seal(TypedDict, total=False):
    """Hashes of all that verdicts rest on, see `foretrain.provenance.seal.seal`."""

    predicts: str
    judges: str
    rows: str
    claims: dict[str, Annotated[list[str], Meta(min_length=2, max_length=2)]]
    commit: str


class Look(TypedDict):
    """One look at verdicts."""

    seeds: Count  # number of seeds from which the claims were judged
    at: NotRequired[str]  # ISO 8601 time
    hash: NotRequired[str]  # hash of the plan
    seal: NotRequired[Seal]  # what the verdicts rested on
    verdicts: NotRequired[dict[str, str]]  # id of each claim to its verdict
    chain: NotRequired[str]  # hash over the look before it and itself, see `foretrain.results.root`


class Manifest(TypedDict, total=False):
    """``manifest.json``: what is computed in a folder."""

    schema: Schema  # version of this layout
    plan: PlanEntries  # what was asked of the folder, all together; absent while nothing is
    where: FilePath  # path of a study of one's own
    versions: dict[str, str]  # package to version
    # Name of a static signature to the lanes of each worker.
    lanes: dict[str, Annotated[int, Meta(ge=1, le=MOST_LANES)]]
    seconds: Annotated[float, Meta(ge=0)]  # of training, of all sessions so far
    seal: Seal  # what verdicts rest on, before the first run
    looks: list[Look]  # the times at which the claims were judged
    code: dict[str, str | Count]  # hash of sources to what they are
    reads: list[FilePath]  # what else the study has read, see `foretrain.engine.noticed`
    data_dir: FilePath  # where data that the study reads lie
    history: list[str]  # what was done with the folder, in words


class _Head(Struct):
    schema: int = SCHEMA
    plan: "_Head | None" = None
    attributes: "_Head | None" = None


_HEAD = msgspec.json.Decoder(_Head)
_MANIFEST = msgspec.json.Decoder(Manifest)


def manifest(content: bytes, path: object) -> Manifest:
    """Decode a manifest, as a dictionary that holds known entries only.

    Raises:
        StoreError: it is truncated, altered, another program's or of another schema.
    """
    refuse_other_schema(content, path)
    entries = decoded(_MANIFEST, content, path, "a manifest")
    if not entries.keys() & {"plan", "versions", "lanes"}:
        raise StoreError(f"{path} is not a manifest of foretrain: it holds no plan.")
    plan = entries.get("plan")
    if plan is not None:
        total = math.prod(len(values) for values in plan["axes"].values()) * plan["seeds"]
        if total > MOST_RUNS:
            raise StoreError(f"{path} is not a manifest of foretrain: it plans {total:.3g} runs.")
    return entries


# Claims


class StoredClaim(Struct, kw_only=True):
    """A claim as ``summary.json`` holds it, see `entries`."""

    id: Name
    statement: str
    source: str
    predicted: Number
    measured: Number | Literal["inf", "-inf"]
    uncertainty: Ends | None
    allowed: Ends
    verdict: Literal["holds", "fails", "inconclusive", "not claimed"]
    seeds: Count
    cell: dict[Name, Scalar] = {}
    left_out: Count = 0
    reason: str = ""
    method: str = ""
    why: str = ""
    among: str = ""
    corrects: str = ""
    scale: str = ""
    along: dict[Name, tuple[Scalar, Scalar]] = {}
    unit: str = "1"
    note: str = ""
    rank: Literal["headline", "detail", "control"] = "detail"
    reads: str = ""
    size: dict[Name, tuple[str, str]] | None = None


def entries(claim: Claim) -> dict[str, Any]:
    """A claim as JSON-ready values, as `Claim.as_dict` has it but for a measured value that is infinite, which is a text."""
    measured = {"measured": str(claim.measured)} if math.isinf(claim.measured) else {}
    return claim.as_dict() | measured


def claims(rows: Sequence[Any], path: object) -> tuple[Claim, ...]:
    """Claims from plain values, such as the rows of a table, each a dictionary of the claim's fields.

    Their verdicts are those that follow from their numbers, see `foretrain.claims.claim.follows`.

    Raises:
        StoreError: they are no claims.
    """
    try:
        stored = msgspec.convert(rows, list[StoredClaim])
    except (ValueError, RecursionError) as error:
        raise _unfit(path, "a table of claims", error) from None
    return tuple(as_it_follows(claim_from_dict(msgspec.structs.asdict(row))) for row in stored)


# Segments of the journal


class SegmentHeader(Struct):
    """The header of a segment."""

    format: Schema
    # Number of a run within the segment to a sentence.
    notes: dict[Annotated[str, Meta(pattern=r"^[0-9]{1,9}$")], str]
    # Hash of the sources that made the runs; "" where it is not known.
    code: Annotated[str, Meta(max_length=128)] = ""
    # Backend of JAX on which they were made, such as "cpu"; "" where it is not known.
    backend: Annotated[str, Meta(max_length=128)] = ""


_SEGMENT = msgspec.json.Decoder(SegmentHeader)


def segment_header(content: bytes, known: int) -> SegmentHeader:
    """Decode the header of a segment of a format up to `known`; raises `StoreError` where it is no such header."""
    header = decoded(_SEGMENT, content, "It", "a segment")
    if header.format > known:
        raise StoreError(f"It has format {header.format}, but this foretrain knows {known}.")
    return header


# Locks


class Holder(Struct, frozen=True):
    """Holder of a lock."""

    host: str  # name of the host
    pid: Annotated[int, Meta(ge=1, le=2**31 - 1)]  # process id, as the process itself sees it
    # What tells the process from others that have or had its id; None if there is no such process.
    started: str | None
    boot: str = ""  # id of the start of the host's system; "" where there is none
    namespace: str = ""  # in which world of process ids `pid` counts; "" where there is but one
    machine: str = ""  # id of the installation of the host's system; "" where there is none


HOLDER = msgspec.json.Decoder(Holder)


# What all have in common


def line(error: Exception) -> str:
    """The text of an exception in one line of bounded length."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) < 300 else f"{text[:300]}..."


def refuse_other_schema(content: object, path: object) -> None:
    """Raise `StoreError` where a file, or its values, names another schema: in itself, its plan or its attributes."""
    try:
        known = isinstance(content, bytes)
        head = _HEAD.decode(content) if known else msgspec.convert(content, _Head)
    except (ValueError, RecursionError):  # which the next decoder says better
        return
    for part in (head, head.plan, head.attributes):
        if part is not None and part.schema != SCHEMA:
            repair = "Try a newer foretrain." if part.schema > SCHEMA else "Train in a new folder."
            raise StoreError(
                f"{path} was written with schema {part.schema}, but this foretrain reads schema {SCHEMA}. {repair}"
            )


def decoded(decoder: msgspec.json.Decoder[T], content: bytes, path: object, what: str) -> T:
    """Decode a file, or raise `StoreError` with one line that says that it is not `what` it should be."""
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise _unfit(path, what, error) from None


def _unfit(path, what, error):
    return StoreError(f"{path} is truncated or not {what} of foretrain: {line(error)}.")
