"""Studies of one's own that were named before: opening a result runs no code but foretrain's and theirs.

The folder of a result says where its study is. That is no reason to run it: the folder may come from anybody. A study runs
where the command line or Python names it, or where the same files at the same place were named before, by this user on
this machine.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import NoReturn

from foretrain.machine import cache_folder
from foretrain.plans.study import Study
from foretrain.provenance.reading import blocks

_ENDINGS = all_suffixes()
_MOST_NAMES = 200_000  # of files and folders, which are looked through in a second


def remember(study: Study) -> None:
    """Note that this user named a study of one's own; nothing where nothing can be written."""
    if not study.where:
        return
    with contextlib.suppress(OSError):
        note = _note(study)
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        note.touch()


def is_known(study: Study) -> bool:
    """Return whether this user has named the study before, with the files that it has now."""
    with contextlib.suppress(OSError):
        return _note(study).exists()
    return False


def _note(study: Study) -> Path:
    """File whose presence says that a study was named, after a hash of place and content of all that it may import."""
    digest = hashlib.sha256()
    for file in sorted(_files(Path(study.where))):
        content = hashlib.sha256()
        for block in blocks(file):
            content.update(block)
        digest.update(b"%s\0%s" % (os.fsencode(file), content.digest()))
    return cache_folder() / "named" / digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    """All that Python may import from the folder of a study: sources, bytecode and libraries, in folders there too.

    Raises `OSError` where a folder cannot be read, or they are too many to be looked through.
    """
    top, names = place if place.is_dir() else place.parent, 0
    for folder, inner, files in os.walk(top, onerror=_refuse, followlinks=True):
        inner[:] = [name for name in inner if "." not in name]  # any other name can be imported
        names += len(inner) + len(files)
        if names > _MOST_NAMES:
            raise OSError(f"{top} holds too many files")
        for name in files:
            if any(name.endswith(e) and "." not in name.removesuffix(e) for e in _ENDINGS):
                yield Path(folder, name)


def _refuse(error: OSError) -> NoReturn:
    raise error
