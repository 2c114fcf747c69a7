"""Mistakes of a study's author: found when its files are imported, and told with the author's file and line."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from foretrain.plans import catalogue
from foretrain.plans.named_before import remember
from foretrain.plans.place import asking
from foretrain.plans.study import ROLES, Study
from foretrain.vocabulary import own_words


def loaded(study: str | Path | Study, parts: Iterable[str] = ROLES) -> Study:
    """Load a study and import its files.

    Raises:
        ArgumentError: there is none of that name or at that path.
        StudyError: a file of it cannot be imported, with the file, the line and the message; or it lacks what it must have.
    """
    with asking():  # the package of an entry point may raise anything
        named = catalogue.load(study)
    remember(named)
    for role in parts:
        named.part(role)
    _ = named.Parameters, named.revision
    return named


def words(study: Study) -> AbstractContextManager[None]:
    """Return the context in which the variables of a study come first; its files are imported, as each may declare some."""
    for role in ROLES:
        study.part(role)
    return own_words(study.is_own)
