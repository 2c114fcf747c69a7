"""Mistakes of a study's author: found when its files are imported, and told with the author's file and line."""

import sysconfig
import traceback
from pathlib import Path

from foretrain.errors import ForetrainError
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules
from foretrain.plans.study import ROLES, Study, StudyError

_PACKAGE = str(Path(__file__).parents[1])
_STUDIES = str(Path(__file__).parents[1] / "studies")
_LIBRARIES = ("<", _PACKAGE, sysconfig.get_path("stdlib"))


def loaded(study: str | Path | Study) -> Study:
    """The study, all its files imported.

    Raises:
        ArgumentError: there is none of that name or at that path.
        StudyError: a file of it cannot be imported, with the file, the line and the message; or it lacks what it must have.
    """
    found = catalogue.load(study)
    for role in ROLES:
        try:
            found.part(role)
        except ForetrainError:
            raise
        except Exception as error:
            raise StudyError(place(error)) from error
    try:
        rules(found.Parameters)
    except ForetrainError:
        raise
    except TypeError as error:
        raise StudyError(f"{found.where or found.name}: {error}") from error
    return found


def place(error: BaseException) -> str:
    """Where the author's code raised, and what: ``mine.py, line 12: NameError: ...``."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [
        frame
        for frame in frames
        if frame.filename.startswith(_STUDIES)
        or not ("site-packages" in frame.filename or frame.filename.startswith(_LIBRARIES))
    ]
    frame = (theirs or list(frames))[-1]
    text = " ".join(str(error).split()) or "no message"
    return f"{frame.filename}, line {frame.lineno}: {type(error).__name__}: {text}"
