"""The manifest of a folder of results: what is computed there, and whether the folder is ours to write to."""

import json
import os
import tempfile
from pathlib import Path

from foretrain.errors import FolderError, StoreError
from foretrain.results.files import refused, write_json

FILE = "manifest.json"
# What a process may have made before the manifest is written: another shard may claim the folder at that moment.
_EARLY = {"journal", "checkpoints"}


def read_manifest(folder: Path) -> dict | None:
    """The manifest, or None if the folder has none or does not exist.

    Raises:
        StoreError: the file is there but is truncated or not a JSON object.
        FolderError: it cannot be read.
    """
    path = Path(folder) / FILE
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise StoreError(f"{path} is truncated or altered: {error}.") from error
    except OSError as error:
        raise FolderError(f"Cannot read {path}: {error.strerror or error}.") from error
    if not isinstance(content, dict):
        raise StoreError(f"{path} is not a manifest of foretrain: it holds no JSON object.")
    return content


def write_manifest(folder: Path, content: dict) -> Path:
    """Write the manifest atomically; raises `FolderError` if the disk refuses it."""
    return write_json(Path(folder) / FILE, content)


def claim_folder(path: Path) -> Path:
    """Make the folder of results, or make sure that the one that is there can be used.

    Returns:
        The folder, as a `Path`.

    Raises:
        FolderError: a file stands in its place, it cannot be written to, or it holds something that is not foretrain's.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(p for p in (folder, *folder.parents) if p.exists())
        raise FolderError(
            f"Argument `out` must be a folder, but {file} is a file. Try another name."
        ) from None
    except OSError as error:
        raise refused(folder, error) from error
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".claim-", suffix=".tmp"):
            pass
        entries = sorted(os.listdir(folder))
    except OSError as error:
        raise FolderError(
            f"Argument `out` must be a folder that can be written to, but {folder} is not: "
            f"{error.strerror or error}."
        ) from error
    if FILE not in entries:
        foreign = [name for name in entries if not _ours(name)]
        if foreign:
            raise FolderError(
                f"Argument `out` must be a new folder or one of foretrain's, but {folder} holds `{foreign[0]}` "
                f"and no {FILE}. Try another folder."
            )
    return folder


def _ours(name):
    return name in _EARLY or name.endswith(".lock") or (name[0] == "." and name.endswith(".tmp"))
