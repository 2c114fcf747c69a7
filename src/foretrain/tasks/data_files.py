"""Files of data that a study reads: found by their names, known by what they hold.

The content of such a file is part of the identity of every run that reads it, see `reads` in `foretrain.plans.study`.
"""

import functools
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from foretrain.errors import argument_error, path_argument

VARIABLE = "FORETRAIN_DATA_DIR"


@dataclass(frozen=True)
class DataFile(os.PathLike):
    """A file of data; ``open``, ``numpy.load`` and `pathlib.Path` take it as a path."""

    name: str  # the path that the study knows it by
    others: tuple[str, ...] = ()  # paths at which it may lie instead
    optional: bool = False  # may be absent

    @property
    def path(self) -> Path | None:
        """Path of the file: below the folder of data, else as its name says; None if no such file exists."""
        folders = dict.fromkeys((os.environ.get(VARIABLE, ""), ""))
        places = [Path(folder) / n for folder in folders for n in (self.name, *self.others)]
        return next((place for place in places if place.is_file()), None)

    def __fspath__(self) -> str:
        """The path; raises `ArgumentError` where the file is not there."""
        if self.path is None:
            repair = f"Try its whole path, or name its folder by --data-dir or {VARIABLE}."
            raise argument_error("data", "name a file that is there", f"is `{self.name}`", repair)
        return str(self.path)

    @property
    def digest(self) -> str:
        """SHA-256 (64 hex digits) of the content; "" of an optional file that is not there.

        Raises:
            ArgumentError: the file is not there, or cannot be read.

        Cost: one reading of the file, again only when it has changed.
        """
        if self.optional and self.path is None:
            return ""
        path = os.fspath(self)
        try:
            status = os.stat(path)
            place = status.st_dev, status.st_ino
            return _digest(path, (*place, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        except OSError as error:
            got = f"`{path}` is not ({error.strerror or error})"
            raise argument_error("data", "name a file that can be read", got) from error


@functools.lru_cache(maxsize=10_000)
def _digest(path: str, known: tuple[int, ...]) -> str:
    """Digest of a file; `known` tells its content from that which it had before."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def data(name: str | os.PathLike, *others: str, optional: bool = False) -> DataFile:
    """A file of data that a study reads.

    A study names it twice: in ``reads(p)``, which makes its content part of the identity of every run, and where it reads
    it: ``np.load(data("x.npy"))``.

    Args:
        name: Its path, below the folder that ``--data-dir`` or ``FORETRAIN_DATA_DIR`` names, else below the current one.
        others: Paths at which it may lie instead; the first that is there is taken.
        optional: The study does without it where it is not there.

    Raises:
        ArgumentError: `name` is no path.
    """
    return DataFile(os.fspath(path_argument("data", name)), others, optional)
