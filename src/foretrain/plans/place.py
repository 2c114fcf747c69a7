"""Line at which the code of a study's author raised, with the error."""

import contextlib
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from foretrain.errors import ForetrainError
from foretrain.plans.card import StudyError

_PACKAGE = str(Path(__file__).parents[1])
_STUDIES = str(Path(__file__).parents[1] / "studies")
_LIBRARIES = ("<", _PACKAGE, sysconfig.get_path("stdlib"))


def place(error: BaseException) -> str:
    """Return the line at which the author's code raised, and the error: ``mine.py, line 12: NameError: ...``.

    What foretrain itself refuses is a whole line already; its own files are not named.
    """
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if is_authors(frame.filename)]
    text = " ".join(str(error).split()) or "no message"
    if isinstance(error, ForetrainError):
        return f"{theirs[-1].filename}, line {theirs[-1].lineno}: {text}" if theirs else text
    frame = (theirs or list(frames))[-1]
    return f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {text}"


def is_authors(file: str) -> bool:
    """Say if the code of a file is that of a study's author, and not of Python, of a package or of foretrain."""
    return file.startswith(_STUDIES) or not ("site-packages" in file or file.startswith(_LIBRARIES))


@contextlib.contextmanager
def asking(name: str = "") -> Iterator[None]:
    """Turn what the code of the author raises, or a function of that name, into a `StudyError` that names the place."""
    try:
        yield
    except ForetrainError:
        raise
    except (Exception, SystemExit) as error:
        text = f"`{name}` of the study raised: {place(error)}." if name else place(error)
        raise StudyError(text) from error
