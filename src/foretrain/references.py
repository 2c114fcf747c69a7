"""The literature that foretrain rests on, as BibTeX, by key; the entries stand in ``references.bib``."""

from functools import cache
from importlib.resources import files

from foretrain.errors import argument_error, nearest


def bibtex(keys: tuple[str, ...]) -> str:
    """BibTeX of foretrain itself and of the entries named; raises `ArgumentError` for an unknown key."""
    known = _entries()
    for key in keys:
        if key not in known:
            raise argument_error("key", "name a reference", f"is `{key}`", nearest(key, known))
    return "\n\n".join(known[key] for key in ("foretrain", *keys))


@cache
def _entries() -> dict[str, str]:
    """Entries by key; a blank line separates two, and an entry begins with ``@kind{key,``."""
    text = files("foretrain").joinpath("references.bib").read_text(encoding="utf-8")
    entries = text.strip().split("\n\n")
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}
