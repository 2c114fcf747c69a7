"""Arrays from .npz and .npy files made by anyone: nothing is executed, and no header is believed before it is checked."""

import math
import os
import zipfile
from collections.abc import Callable
from os import PathLike
from typing import IO, TypeVar

import numpy as np

from foretrain.errors import StoreError

PACKED = 1032  # deflate, of gzip and zip, packs at most so many bytes into one
_MAGIC = b"\x93NUMPY"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_Content = TypeVar("_Content")


class _Refused(Exception):
    """A file is not what it must be; the text says why."""


def read_npz(path: str | PathLike) -> dict[str, np.ndarray]:
    """All arrays of an .npz file by name.

    Raises:
        StoreError: the file is missing, is no .npz file, is truncated, holds pickled objects or claims more than it holds.
    """
    return _reported(path, _archive)


def read_npy(path: str | PathLike) -> np.ndarray:
    """The array of an .npy file; raises `StoreError` as `read_npz` does."""
    return _reported(path, _array)


def _reported(path, read: Callable[[IO[bytes], int], _Content]) -> _Content:
    """The result of `read` on the open file and its number of bytes; any failure in one line."""
    try:
        with open(path, "rb") as file:
            return read(file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise StoreError(f"`{path}` does not exist.") from None
    except _Refused as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or "it is truncated, altered or of another kind"
    except Exception:  # zipfile, zlib and NumPy's headers raise many kinds on a foreign file
        reason = "it is truncated, altered or of another kind"
    raise StoreError(f"`{path}` cannot be read: {reason}.") from None


def _archive(file, size) -> dict[str, np.ndarray]:
    start = file.read(len(_MAGIC))
    if start == _MAGIC:
        raise _Refused("it is a single array, not an npz file")
    if start and not start.startswith(b"PK"):
        raise _Refused("it is not an npz file, or holds pickled objects, which are never loaded")
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        claimed = sum(member.file_size for member in members)
        if claimed > PACKED * size:
            raise _Refused(f"its {size} bytes cannot hold the {claimed} that it claims")
        arrays = {}
        for member in members:
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = _array(content, member.file_size)
        return arrays


def _array(file, size) -> np.ndarray:
    """The array in an open file of so many bytes."""
    version = np.lib.format.read_magic(file)
    shape, fortran_order, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise _Refused("it holds pickled objects, which are never loaded")
    claimed, remaining = math.prod(shape) * dtype.itemsize, size - file.tell()
    if claimed != remaining:
        raise _Refused(f"an array has {remaining} bytes where its header claims {claimed}")
    content = np.frombuffer(file.read(claimed), dtype)
    return content.reshape(shape, order="F" if fortran_order else "C")
