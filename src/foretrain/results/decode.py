"""What is read from disk, decoded in one place: every JSON file of a folder of results, into typed and bounded entries.

A folder may come from somebody else, be cut short or altered. Whatever does not fit its type or its bounds is one line
that names the file. Entries that are not known are skipped, as a later version may have added them; another schema is
refused. Arrays in ``npz`` files are `foretrain.results.arrays`'s.
"""

import json
import math
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from foretrain.claims.claim import Claim, claim_from_dict
from foretrain.errors import StoreError

SCHEMA = 2
MOST_SEEDS = 10**7
MOST_RUNS = 10**8
MOST_LANES = 2**16
MOST_CHUNK = 8 * 2**20  # bytes of a chunk of the store once it is decoded
STRING_BYTES = 32  # taken as the size of a string when chunks are cut
MOST_MANIFEST, MOST_ROOT = 16 * 2**20, 4 * 2**20  # bytes of these files

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


class Seal(TypedDict, total=False):
    """Hashes of all that verdicts rest on, see `foretrain.provenance.seal.seal`."""

    predicts: str
    judges: str
    rows: str
    claims: dict[str, Annotated[list[str], Meta(min_length=2, max_length=2)]]
    commit: str


class Look(TypedDict):
    """One look at verdicts.

    Attributes:
        seeds: Number of seeds from which the claims were judged.
        at: ISO 8601 time.
        hash: Hash of the plan.
        seal: What the verdicts rested on.
        verdicts: Id of each claim to its verdict.
    """

    seeds: Count
    at: NotRequired[str]
    hash: NotRequired[str]
    seal: NotRequired[Seal]
    verdicts: NotRequired[dict[str, str]]


class Manifest(TypedDict, total=False):
    """``manifest.json``: what is computed in a folder.

    Attributes:
        schema: Version of this layout.
        plan: What was asked of the folder, all together; absent while nothing is.
        where: Path of a study of one's own.
        versions: Package to version.
        lanes: Name of a static signature to the lanes of each worker.
        seal: What verdicts rest on, before the first run.
        looks: The times at which the claims were judged.
        code: Hash of sources to what they are.
        data_dir: Where data that the study reads lie.
        history: What was done with the folder, in words.
    """

    schema: Schema
    plan: PlanEntries
    where: FilePath
    versions: dict[str, str]
    lanes: dict[str, Annotated[int, Meta(ge=1, le=MOST_LANES)]]
    seal: Seal
    looks: list[Look]
    code: dict[str, str | Count]
    data_dir: FilePath
    history: list[str]


class _Plans(Struct):
    schema: Schema = SCHEMA


class _ManifestHead(Struct):
    schema: Schema = SCHEMA
    plan: _Plans = msgspec.field(default_factory=_Plans)


_MANIFEST_HEAD = msgspec.json.Decoder(_ManifestHead)
_MANIFEST = msgspec.json.Decoder(Manifest)


def manifest(content: bytes, path: object) -> Manifest:
    """Decode a manifest, as a dictionary that holds known entries only.

    Args:
        content: The bytes of the file.
        path: The file, for messages.

    Raises:
        StoreError: it is truncated, altered, another program's or of another schema.
    """
    what = "a manifest"
    head = _attempt(_MANIFEST_HEAD, content)
    if head is not None:
        _refuse_other(head.schema, path)
        _refuse_other(head.plan.schema, path)
    entries = _decode(_MANIFEST, content, path, what)
    if not entries.keys() & {"plan", "versions", "lanes"}:
        raise StoreError(f"{path} is not a manifest of foretrain: it holds no plan.")
    plan = entries.get("plan")
    if plan is not None:
        total = math.prod(len(values) for values in plan["axes"].values()) * plan["seeds"]
        if total > MOST_RUNS:
            raise StoreError(
                f"{path} is not a manifest of foretrain: its plan has {total:.3g} runs."
            )
    return entries


# The summary


class StoredClaim(Struct, kw_only=True):
    """A claim as ``summary.json`` holds it, see `foretrain.claims.claim.Claim.as_dict`."""

    id: Name
    statement: str
    source: str
    predicted: Number
    measured: Number
    uncertainty: Ends | None
    allowed: Ends
    verdict: Literal["holds", "fails", "inconclusive"]
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


class _SummaryHead(Struct):
    schema: Schema = SCHEMA


class StoredSummary(Struct, kw_only=True):
    """The entries of ``summary.json``, see `foretrain.results.summary.Summary`."""

    schema: Schema
    study: Annotated[str, Meta(min_length=1, max_length=4096)]
    summary: str = ""
    source: str = ""
    config: Parameters = {}
    axes: Annotated[dict[Name, list[Value]], Meta(max_length=64)] = {}
    hash: str = ""
    seeds: Annotated[int, Meta(ge=0, le=MOST_SEEDS)] = 0
    root_seed: RootSeed = 0
    preset: str = ""
    versions: dict[str, str] = {}
    device: str = ""
    wall_time_s: Annotated[float, Meta(ge=0)] = 0.0
    created_at: str = ""
    runs: dict[Outcome, Count] = {}
    failures: dict[str, str] = {}
    codes: dict[str, Count] = {}
    problems: list[str] = []
    seal: Seal = {}
    looks: list[Look] = []
    remarks: list[str] = []
    history: list[str] = []
    command: str = ""
    citations: list[str]
    claims: list[StoredClaim]


_SUMMARY_HEAD = msgspec.json.Decoder(_SummaryHead)
_SUMMARY = msgspec.json.Decoder(StoredSummary)


def summary(content: bytes, path: object) -> tuple[dict[str, Any], tuple[Claim, ...]]:
    """Decode a summary: its entries but for ``schema`` and the claims, and the claims.

    Raises:
        StoreError: it is truncated, altered, another program's or of another schema.
    """
    what = "a summary"
    head = _attempt(_SUMMARY_HEAD, content)
    if head is not None:
        _refuse_other(head.schema, path)
    entries = msgspec.structs.asdict(_decode(_SUMMARY, content, path, what))
    del entries["schema"]
    return entries, tuple(_claim(claim) for claim in entries.pop("claims"))


def claims(entries: Sequence[dict], path: object) -> tuple[Claim, ...]:
    """Claims from plain values, such as the rows of a table, each a dictionary of the claim's fields.

    Args:
        entries: One dictionary per claim.
        path: Where they come from, for messages.

    Raises:
        StoreError: they are no claims.
    """
    stored = _convert(entries, list[StoredClaim], path, "a table of claims")
    return tuple(_claim(claim) for claim in stored)


def _claim(stored: StoredClaim) -> Claim:
    return claim_from_dict(msgspec.structs.asdict(stored))


# The store

FileName = Annotated[
    str, Meta(max_length=1000, pattern=r"^(?!/)(?!(.*/)?\.\.(/|$))[^\x00\\]+/zarr\.json$")
]
_NUMBERS = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "string",
]  # fmt: skip
_ITEM_BYTES = {"bool": 1, "string": STRING_BYTES}


class StoreAttributes(Struct, kw_only=True):
    """Attributes of the root of a store, see `foretrain.results.store.attributes`; the last three are its seal."""

    schema: Schema = SCHEMA
    config: str = "{}"
    hash: str = ""
    seeds: Annotated[int, Meta(ge=0, le=MOST_SEEDS)] = 0
    root_seed: RootSeed = 0
    versions: str = "{}"
    device: str = ""
    label_names: dict[str, list[str]] = {}
    metadata_sha256: dict[FileName, str]
    root_sha256: str


class _RootAttributesHead(Struct):
    schema: Schema = SCHEMA


class _RootHead(Struct):
    attributes: _RootAttributesHead = msgspec.field(default_factory=_RootAttributesHead)


class _Root(Struct):
    attributes: StoreAttributes
    node_type: Literal["group"]


class _ChunkShape(Struct):
    chunk_shape: Annotated[list[Annotated[int, Meta(ge=1, le=2**48)]], Meta(max_length=32)]


class _ChunkGrid(Struct):
    configuration: _ChunkShape


class _Codec(Struct):
    name: Literal["bytes", "vlen-utf8", "zstd", "crc32c"]


class ArrayNode(Struct, tag_field="node_type", tag="array"):
    """``zarr.json`` of an array."""

    shape: Annotated[list[Annotated[int, Meta(ge=0, le=2**48)]], Meta(max_length=32)]
    data_type: _NUMBERS
    chunk_grid: _ChunkGrid
    codecs: list[_Codec]

    @property
    def chunk(self) -> list[int]:
        """Lengths of a chunk."""
        return self.chunk_grid.configuration.chunk_shape

    @property
    def itemsize(self) -> int:
        """Bytes of a value; of a string, as many as are taken for it when chunks are cut."""
        known = _ITEM_BYTES.get(self.data_type)
        return known or int(re.sub(r"\D", "", self.data_type)) // 8

    @property
    def bytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * self.itemsize

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return math.prod(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))


class GroupNode(Struct, tag_field="node_type", tag="group"):
    """``zarr.json`` of a group."""


class Config(TypedDict, total=False):
    """The configuration in the attributes of a store: what of a plan is known of it."""

    schema: Schema
    study: str
    parameters: Parameters
    axes: Axes
    seeds: Seeds
    root_seed: RootSeed


_NODE = msgspec.json.Decoder(ArrayNode | GroupNode)
_CONFIG = msgspec.json.Decoder(Config)


def store_root(content: bytes) -> Any:
    """The metadata of the root of a store as plain values, of which nothing is checked yet.

    Raises:
        ValueError: it is truncated or no JSON.
    """
    try:
        root = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return root


def store_attributes(root: object, store: object) -> StoreAttributes:
    """The attributes of the root of a store.

    Raises:
        StoreError: the store is another program's, of another schema, or holds what no store holds.
    """
    try:
        head = msgspec.convert(root, _RootHead)
        _refuse_other(head.attributes.schema, store)
        return msgspec.convert(root, _Root).attributes
    except StoreError:
        raise
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{store} is not a store of foretrain, but of another program, or altered: {line(error)}."
        ) from None


def store_node(content: bytes) -> ArrayNode | GroupNode:
    """The metadata of an array or a group of a store.

    Raises:
        ValueError: it is truncated or altered, or no writer of foretrain makes such an array.
    """
    try:
        node = _NODE.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(node, ArrayNode):
        if len(node.shape) != len(node.chunk):
            raise ValueError("its chunks have other axes than itself")
        if math.prod(node.chunk) * node.itemsize > MOST_CHUNK:
            raise ValueError("its chunks are too large")
    return node


def config(text: str, path: object) -> dict[str, Any]:
    """The configuration that a store names; empty if it names none.

    Raises:
        StoreError: it is none.
    """
    _decode(_CONFIG, text.encode("utf-8", "replace"), path, "a store")
    return json.loads(text)


# Segments of the journal


class SegmentHeader(Struct):
    """The header of a segment.

    Attributes:
        notes: Number of a run within the segment to a sentence.
        code: Hash of the sources that made the runs; "" where it is not known.
    """

    notes: dict[Annotated[str, Meta(pattern=r"^[0-9]{1,9}$")], str]
    code: Annotated[str, Meta(max_length=128)] = ""


class _SegmentFormat(Struct):
    format: Schema


_SEGMENT_FORMAT = msgspec.json.Decoder(_SegmentFormat)
_SEGMENT = msgspec.json.Decoder(SegmentHeader)


def segment_header(content: bytes, known: int) -> SegmentHeader:
    """Decode the header of a segment of a format up to `known`.

    Raises:
        StoreError: it is no such header.
    """
    what = "a segment"
    found = _decode(_SEGMENT_FORMAT, content, "It", what).format
    if found > known:
        raise StoreError(f"It has format {found}, but this foretrain knows {known}.")
    return _decode(_SEGMENT, content, "It", what)


# Locks


class Holder(Struct, frozen=True):
    """Who holds a lock.

    Attributes:
        host: Name of the host.
        pid: Process id, as the process itself sees it.
        started: What tells the process from others that have or had its id; None if there is no such process.
        boot: Id of the start of the host's system; "" where there is none.
        namespace: In which world of process ids `pid` counts; "" where there is but one.
    """

    host: str
    pid: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    started: str | None
    boot: str = ""
    namespace: str = ""


_HOLDER = msgspec.json.Decoder(Holder)


def holder(content: bytes, path: object) -> Holder:
    """Decode a lock; raises `StoreError` if it is none."""
    return _decode(_HOLDER, content, path, "a lock")


# What all have in common


def line(error: Exception) -> str:
    """The text of an exception in one line of bounded length."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) < 300 else f"{text[:300]}..."


def _attempt(decoder, content):
    """What a decoder makes of the content; None if nothing, which the next decoder will say better."""
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError):
        return None


def _decode(decoder: msgspec.json.Decoder[T], content: bytes, path: object, what: str) -> T:
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise _unfit(path, what, error) from None


def _convert(values: Any, kind: Any, path: object, what: str) -> Any:
    try:
        return msgspec.convert(values, kind)
    except (ValueError, RecursionError) as error:
        raise _unfit(path, what, error) from None


def _unfit(path, what, error):
    return StoreError(f"{path} is truncated or not {what} of foretrain: {line(error)}.")


def _refuse_other(schema: int, path: object) -> None:
    if schema != SCHEMA:
        repair = "Try a newer foretrain." if schema > SCHEMA else "Train in a new folder."
        raise StoreError(
            f"{path} was written with schema {schema}, but this foretrain reads schema {SCHEMA}. {repair}"
        )
