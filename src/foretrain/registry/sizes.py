"""The size at which the registry has a study: the document's, or what is missing of it. Nothing of a study is loaded."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from foretrain.claims.claim import size_text
from foretrain.plans import catalogue
from foretrain.registry.record import FOLDER, Record, records
from foretrain.words import count

_PACKAGE = Path(__file__).parents[1]
_NAMED = 3  # parameters, at most, that a short text names


def shipped(study: str = "*") -> list[Record]:
    """Return the records that come with foretrain, or those of one study; none where there is no registry.

    The registry lies in the package or in the repository.
    """
    held = _PACKAGE / "verdicts"
    folder = held if held.is_dir() else _PACKAGE.parents[1] / FOLDER
    return records(folder, study) if folder.is_dir() else []


def reached(some: Iterable[Record], most: int = _NAMED) -> str:
    """Return in words if a study was judged at its document's size, or in which parameters it differs where it was.

    Args:
        some: All records of the study.
        most: How many parameters are named, at most.

    Returns:
        "yes", "not known: ...", "no: symbols 19 (document 53), and 2 parameters more", or "no: not in the registry".
    """
    differs = [one.differs for one in some]
    if not differs:
        return "no: not in the registry"
    if {} in differs:
        return "yes"
    known = [one for one in differs if one is not None]
    if not known:
        return "not known: the study has no preset `paper`"
    nearest = min(known, key=len)
    more = len(nearest) - most
    text = size_text(dict([*nearest.items()][:most]))
    return f"no: {text}" + (f", and {count(more, 'parameter')} more" if more > 0 else "")


def notes(some: Sequence[Record] | None = None) -> dict[str, str]:
    """Return each of foretrain's own studies to its size in the registry, see `reached`; nothing without a registry."""
    some = shipped() if some is None else some
    own = _PACKAGE / "studies"
    return {
        name: reached([one for one in some if one.study == name])
        for name in (catalogue.names() if some else ())
        if (own / name.replace("-", "_")).is_dir()  # not of another package
    }
