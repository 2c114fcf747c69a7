"""Arrays of uncompressed ``npz`` files, as views of the file's bytes that can never be larger than the file.

What `numpy.load` gives, at a fifth of its cost for small files, and without its trust: nothing is allocated that a header
asks for, nothing is evaluated, and an array has one of a few dtypes.
"""

import functools
import io
import math
import re
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

MAGIC = b"\x93NUMPY\x01\x00"
MOST_AXES = 32
NUMBERS = frozenset(
    ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
)
# As numpy.lib.format writes it, in C order; bytes of fixed length stand for identities.
_HEADER = re.compile(
    rb"\{'descr': '[<|](\w{2,6})', 'fortran_order': False, 'shape': \(((?:\d{1,15}, ?){0,32}(?:\d{1,15})?)\), \} *\n"
)
_BYTES = re.compile(r"S[1-9]\d{0,3}")
# What zipfile raises of altered bytes: NotImplementedError where they name a version or a compression that it lacks.
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, struct.error, OverflowError, EOFError)


def storable(dtype: np.dtype) -> bool:
    """Say if numbers of a dtype can be stored."""
    return dtype.str[1:] in NUMBERS and dtype.isnative


def members(content: bytes, *, checked: bool) -> dict[str, np.ndarray]:
    """Return every array of an ``npz`` file by name.

    Args:
        content: The bytes of the file.
        checked: If the bytes are known to be as they were written. Otherwise the CRC of each member is compared.

    Returns:
        Read-only views of `content`.

    Raises:
        ValueError: the file is torn, altered, or holds what no file of foretrain holds.
    """
    values, whole = {}, memoryview(content)
    try:
        entries = zipfile.ZipFile(io.BytesIO(content)).infolist()
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.header_offset < 0:
                raise ValueError(f"its member `{entry.filename}` is not stored as it is")
            # A zip entry has 30 bytes, the last four of which are the lengths of its name and of an extra field.
            length, extra = struct.unpack_from("<HH", content, entry.header_offset + 26)
            start = entry.header_offset + 30
            if whole[start : start + length] != entry.orig_filename.encode():
                raise ValueError(f"its member `{entry.filename}` has two names")
            start += length + extra
            data = whole[start : start + entry.file_size]
            if not checked and zlib.crc32(data) != entry.CRC:
                raise ValueError(f"its member `{entry.filename}` differs from its checksum")
            values[entry.filename.removesuffix(".npy")] = array(data)
    except _DAMAGE as error:
        raise ValueError(f"it is no npz file ({error})") from error
    return values


def member(path: Path, name: str) -> np.ndarray:
    """Read one array of an ``npz`` file, and nothing else of the file.

    Raises:
        ValueError: the file or the array is torn or altered.
        OSError: it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo(f"{name}.npy")
            if entry.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"its member `{name}` is not stored as it is")
            return array(archive.read(entry))
    except (*_DAMAGE, KeyError, RuntimeError) as error:
        raise ValueError(f"it is no npz file with `{name}` ({error})") from error


def array(content: bytes | memoryview) -> np.ndarray:
    """Return the array of an ``npy`` file, as a read-only view of its bytes; raises `ValueError` if it is none."""
    if bytes(content[:8]) != MAGIC or len(content) < 10:
        raise ValueError("a member is no npy file of version 1")
    # A version 1 npy file has a magic of 8 bytes, the length of its header in 2, the header and the values.
    begin = 10 + int.from_bytes(content[8:10], "little")
    shape, dtype = _header(bytes(content[10:begin]))
    count = math.prod(shape)
    if begin + count * dtype.itemsize != len(content):
        raise ValueError("a member is shorter or longer than its shape")
    return np.frombuffer(content, dtype, count, begin).reshape(shape)


@functools.lru_cache(maxsize=4096)
def _header(header: bytes) -> tuple[tuple[int, ...], np.dtype]:
    match = _HEADER.fullmatch(header)
    if not match:
        raise ValueError("a member has another header than foretrain writes")
    kind = match[1].decode()
    if kind not in NUMBERS and not _BYTES.fullmatch(kind):
        raise ValueError(f"a member has dtype {kind}")
    shape = tuple(int(length) for length in match[2].replace(b",", b" ").split())
    if len(shape) > MOST_AXES:
        raise ValueError(f"a member has {len(shape)} axes")
    return shape, np.dtype(kind)
