"""The manifest of a folder of results: what is computed there, and whether the folder is ours to write to."""

import contextlib
import copy
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from foretrain.errors import FolderError, path_argument
from foretrain.provenance.reading import read_file
from foretrain.results import decode
from foretrain.results.decode import Manifest
from foretrain.results.files import json_bytes, refused, unreadable, write_atomic
from foretrain.results.lock import lock
from foretrain.results.root import MANIFEST as FILE
from foretrain.results.root import sealed_manifest

# What a process may have made before the manifest is written: another shard may claim the folder at that moment.
_EARLY = re.compile(r"journal|checkpoints|\..*\.tmp|.*\.lock")
_WAIT_S = 30


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest, every entry of its type and within its bounds, or None if the folder has none or does not exist.

    Raises:
        StoreError: the file is there but is truncated, altered, another program's or a newer foretrain's.
        FolderError: it cannot be read.
    """
    path = Path(folder) / FILE
    try:
        content = read_file(path, decode.MOST_MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error
    return decode.manifest(content, path)


def write_manifest(folder: Path, content: Mapping[str, Any]) -> Path:
    """Write the manifest atomically, with the schema of today.

    Raises:
        FolderError: the disk refuses it.
        ValueError: it holds what `read_manifest` would not give back.
    """
    path = Path(folder) / FILE
    written = json_bytes({**content, "schema": decode.SCHEMA})
    whole = json.loads(written)
    if decode.manifest(written, path) != whole:
        raise ValueError("`foretrain.results.decode.Manifest` does not list what is to be written.")
    return write_atomic(path, json_bytes(sealed_manifest(whole)))


@contextlib.contextmanager
def edit_manifest(folder: Path) -> Iterator[Any]:
    """Hold the manifest, give its entries to the block, {} where there is none, and write what the block has changed.

    Raises:
        LockedError: the manifest is locked for longer than 30 seconds.
    """
    with lock(folder, "manifest", _WAIT_S):
        before = read_manifest(folder) or {}
        manifest = copy.deepcopy(before)
        yield manifest
        if manifest != before:
            write_manifest(folder, manifest)


def claim_folder(path: str | Path) -> Path:
    """Return the folder of results, made, or found to be one that can be used.

    Raises:
        ArgumentError: it is no path.
        FolderError: a file stands in its place, it cannot be written to, or it holds something that is not foretrain's.
        StoreError: it holds a manifest that is altered or another program's.
    """
    folder = path_argument("out", path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(p for p in (folder, *folder.parents) if p.exists())
        raise FolderError(
            f"Argument `out` must be a folder, but {file} is a file. Try another name."
        ) from None
    except OSError as error:
        raise refused(folder, error) from error
    check_writable(folder, "out")
    entries = sorted(os.listdir(folder))
    if FILE in entries:
        read_manifest(folder)  # refuses that of another program
    elif foreign := [name for name in entries if not _EARLY.fullmatch(name)]:
        raise FolderError(
            f"Argument `out` must be a new folder or one of foretrain's, but {folder} holds `{foreign[0]}` "
            f"and no {FILE}. Try another folder."
        )
    return folder


def check_writable(folder: Path, name: str) -> None:
    """Raise `FolderError`, which names the argument, where a folder cannot be listed or takes no files."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".claim-", suffix=".tmp"):
            os.listdir(folder)
        if (folder / "figures").is_symlink():  # whoever made it says where pictures are written
            raise OSError(0, "its `figures` is a link")
    except OSError as error:
        raise FolderError(
            f"Argument `{name}` must be a folder that can be written to, but {folder} is not: {error.strerror or error}."
        ) from error
