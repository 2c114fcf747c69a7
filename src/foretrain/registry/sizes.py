"""The size at which the registry has a study: the document's, or what is missing of it. Nothing of a study is loaded."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from foretrain.claims.claim import size_text
from foretrain.plans import catalogue
from foretrain.registry.record import FOLDER, Record, records
from foretrain.words import count

_PACKAGE = Path(__file__).parents[1]
_NAMED = 3  # parameters that differ from the document's


def shipped(study: str = "*") -> list[Record]:
    """Return the records that come with foretrain, in the package or the repository, or of them those of one study."""
    inside = _PACKAGE / "verdicts"
    folder = inside if inside.is_dir() else _PACKAGE.parents[1] / FOLDER
    return records(folder, study) if folder.is_dir() else []


def reached(known: Iterable[Record]) -> str:
    """Return in words if a study, of which all records are known, was judged at its document's size.

    The answer is "yes", "not known: ...", "no: symbols 19 (document 53), and 2 parameters more", or "no: not in the registry".
    """
    sizes = [record.differs for record in known]
    if not sizes:
        return "no: not in the registry"
    if {} in sizes:
        return "yes"
    differing = [list(size.items()) for size in sizes if size is not None]
    if not differing:
        return "not known: the study has no preset `paper`"
    nearest = min(differing, key=len)
    more = len(nearest) - _NAMED
    text = size_text(dict(nearest[:_NAMED]))
    return f"no: {text}" + (f", and {count(more, 'parameter')} more" if more > 0 else "")


def notes(known: Sequence[Record] | None = None) -> dict[str, str]:
    """Return each of foretrain's own studies to its size in the registry, see `reached`; nothing without a registry."""
    known = shipped() if known is None else known
    return {
        name: reached(record for record in known if record.study == name)
        for name in (catalogue.names() if known else ())
        if (_PACKAGE / "studies" / name.replace("-", "_")).is_dir()  # not of another package
    }
