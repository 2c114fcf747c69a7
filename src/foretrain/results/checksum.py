"""The checksum of a store: of what its files end with, which is fast for large stores too, or of every byte."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from foretrain.provenance.reading import blocks
from foretrain.results.files import unreadable

NAME = "results.zarr"
_TAIL = 4  # bytes of the CRC-32C with which every chunk ends


def checksum(folder: Path, *, whole: bool = False) -> str:
    """Hash (64 hex digits) of names, sizes and checksums of all chunks and of all metadata; "" where there is no store.

    With `whole` of every byte, at some 500 MB/s: whoever alters values may keep the checksum with which a chunk ends.

    Raises:
        FolderError: a part of the store cannot be read.
    """
    store = folder / NAME
    try:
        if not store.is_dir():
            return ""
        digest = hashlib.sha256()
        for file in sorted(_files(store)):
            name, size = file.relative_to(store).as_posix(), file.stat().st_size
            digest.update(f"{name} {size} ".encode())
            for block in blocks(file, 0 if whole or file.suffix == ".json" else -_TAIL):
                digest.update(block)
        return digest.hexdigest()
    except OSError as error:
        raise unreadable(store, error) from error


def _files(store: Path) -> Iterator[Path]:
    """All files below a folder; one that cannot be listed raises."""

    def refuse(error: OSError) -> NoReturn:
        raise error

    for folder, _, names in os.walk(store, onerror=refuse):
        yield from (path for name in names if (path := Path(folder, name)).is_file())
