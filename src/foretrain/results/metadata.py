"""The metadata of a store as it is read from disk: its root, its groups and arrays, each typed and bounded."""

import json
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct
from numcodecs.zstd import Zstd

from foretrain.errors import StoreError
from foretrain.provenance.reading import regular_file
from foretrain.results.decode import (
    MOST_SEEDS,
    SCHEMA,
    Axes,
    Parameters,
    RootSeed,
    Schema,
    Seeds,
    decoded,
    line,
    refuse_other_schema,
)

MOST_CHUNK = 8 * 2**20  # bytes of a chunk of the store once it is decoded
MOST_FILE = 4 * 2**20  # bytes of a file of metadata
_MOST_TEXT = 8 * MOST_CHUNK
_HEAD, _CRC = 18, 4  # bytes of the longest header of a frame, and of the checksum behind it
STRING_BYTES = 32  # taken as the size of a string when chunks are cut

FileName = Annotated[
    str, Meta(max_length=1000, pattern=r"^(?!/)(?!(.*/)?\.\.(/|$))[^\x00\\]+/zarr\.json$")
]
_NUMBERS = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "string",
]  # fmt: skip
_ITEM_BYTES = {"bool": 1, "string": STRING_BYTES}


class Attributes(Struct, kw_only=True):
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


class _Root(Struct):
    attributes: Attributes
    node_type: Literal["group"]


class _ChunkShape(Struct):
    chunk_shape: Annotated[list[Annotated[int, Meta(ge=1, le=2**48)]], Meta(max_length=32)]


class _ChunkGrid(Struct):
    configuration: _ChunkShape


class _Codec(Struct):
    name: str


class ArrayNode(Struct, tag_field="node_type", tag="array"):
    """``zarr.json`` of an array."""

    shape: Annotated[list[Annotated[int, Meta(ge=0, le=2**48)]], Meta(max_length=32)]
    data_type: _NUMBERS
    chunk_grid: _ChunkGrid
    chunk_key_encoding: dict[str, str | dict[str, str]]
    codecs: Annotated[list[_Codec], Meta(max_length=3)]

    @property
    def chunk(self) -> list[int]:
        """Lengths of a chunk."""
        return self.chunk_grid.configuration.chunk_shape

    @property
    def itemsize(self) -> int:
        """Bytes of a value; of a string, as many as are taken for it when chunks are cut."""
        return _ITEM_BYTES.get(self.data_type) or int(re.sub(r"\D", "", self.data_type)) // 8

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


def attributes(root: object, store: object) -> Attributes:
    """Return the attributes of the root of a store, given as plain values.

    Raises:
        StoreError: the store is another program's, of another schema, or holds what no store holds.
    """
    refuse_other_schema(root, store)
    try:
        return msgspec.convert(root, _Root).attributes
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{store} is not a store of foretrain, but of another program, or altered: {line(error)}."
        ) from None


def node(content: bytes) -> ArrayNode | GroupNode:
    """Return the metadata of an array or a group of a store.

    Raises:
        ValueError: it is truncated or altered, or no writer of foretrain makes such an array.
    """
    try:
        array = _NODE.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if isinstance(array, ArrayNode):
        if len(array.shape) != len(array.chunk):
            raise ValueError("its chunks have other axes than itself")
        values = "vlen-utf8" if array.data_type == "string" else "bytes"
        keys = {"name": "default", "configuration": {"separator": "/"}}
        codecs = [codec.name for codec in array.codecs]
        if codecs != [values, "zstd", "crc32c"] or array.chunk_key_encoding != keys:
            raise ValueError("its chunks are encoded otherwise than foretrain encodes them")
        if math.prod(array.chunk) * array.itemsize > MOST_CHUNK:
            raise ValueError("its chunks are too large")
    return array


def check_chunk(path: Path, array: ArrayNode) -> None:
    """Raise `ValueError` where a chunk would take more memory than its array allows, which only its first bytes are read for.

    Strings are decoded, up to 64 MiB: their number is within.
    """
    with regular_file(path) as (file, size):
        head = file.read(_HEAD)
        decoded, count = _content_size(head), math.prod(array.chunk)
        is_text = array.data_type == "string"
        most = _MOST_TEXT if is_text else count * array.itemsize
        if decoded > most or size > 2 * decoded + 1024:
            raise ValueError("a chunk is larger than its array allows")
        if is_text:
            try:
                content = Zstd().decode((head + file.read())[:-_CRC])
            except RuntimeError:
                raise ValueError("a chunk differs from its checksum") from None
            if int.from_bytes(content[:4], "little") != count:
                raise ValueError("a chunk holds another number of strings than its array")


def _content_size(head: bytes) -> int:
    """Bytes that a Zstandard frame decodes to, as its header says (RFC 8878, section 3.1.1.1)."""
    if head[:4] != b"\x28\xb5\x2f\xfd" or len(head) == 4:
        raise ValueError("a chunk differs from its checksum")
    is_single = head[4] >> 5 & 1
    begin = 6 - is_single + (0, 1, 2, 4)[head[4] & 3]
    length = (is_single, 2, 4, 8)[head[4] >> 6]
    if not length:
        raise ValueError("a chunk does not say how large it is")
    return int.from_bytes(head[begin : begin + length], "little") + 256 * (length == 2)


def config(text: str, path: object) -> dict[str, Any]:
    """Return the configuration that a store names; empty if it names none; raises `StoreError` where it is none."""
    decoded(_CONFIG, text.encode("utf-8", "replace"), path, "a store")
    return json.loads(text)
