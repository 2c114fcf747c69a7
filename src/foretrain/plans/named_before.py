"""Studies of one's own that were named before: opening a result runs no code but foretrain's and theirs.

The folder of a result says where its study is. That is no reason to run it: the folder may come from anybody. A study runs
where the command line or Python names it, or where the same files at the same place were named before, by this user on
this machine.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from foretrain.machine import cache_folder
from foretrain.plans.study import Study


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
    for file in sorted(set(_files(Path(study.where)))):
        content = file.read_bytes()
        digest.update(f"{file} {len(content)} ".encode() + content)
    return cache_folder() / "named" / digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    """Python files of a study, those beside it, and those of packages there."""
    folder = place if place.is_dir() else place.parent
    yield from folder.glob("*.py")
    for package in folder.glob("*/__init__.py"):
        yield from package.parent.rglob("*.py")
