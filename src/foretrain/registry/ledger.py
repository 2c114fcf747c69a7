"""The ledger of a registry: the checksum of each record as it was written, chained to the line before it.

A line of ``registry/ledger.txt`` holds the record, the checksum of its text, the link of the line before it, and its own link,
the checksum of these three. What was edited by hand differs from the last line of its record, and an edited line breaks the
chain behind it. Two branches may each append: their lines stand one after another, and both name a line above. No line is
signed: who computes all of them anew is noticed by a second run alone.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from foretrain.errors import StoreError
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.results.files import write_atomic

LEDGER = "ledger.txt"
_DIGITS = 32
_START = "0" * _DIGITS  # what the first line names


def seal(folder: Path, paths: Iterable[Path]) -> Path:
    """Append a line for each of these files of a registry to its ledger, which is begun where there is none.

    Raises `StoreError` where a line of the ledger was edited.
    """
    text, before = _text(folder), [_START, *(line[-1] for line in _lines(folder))][-1]
    for path in paths:
        line = f"{_name(path)} {_checksum(read_file(path, MOST_TEXT))} {before}"
        before = _checksum(line.encode())
        text += f"{line} {before}\n"
    return write_atomic(folder / LEDGER, text.encode())


def refuse_edited(folder: Path, paths: Iterable[Path] = ()) -> None:
    """Raise `StoreError`, one for all, where records of a registry are not as its ledger says, or records have no ledger."""
    written = {name: checksum for name, checksum, *_ in _lines(folder)}
    if not written and (known := len([*folder.glob("*/*.toml")])):
        text = f"The records of {folder}, {known} in all, have no ledger: edits go unnoticed."
        how = "foretrain registry seal --all, which takes all of them on trust"
        raise StoreError(f"{text} Try git checkout, or {how}.")
    present = {_name(path): _checksum(read_file(path, MOST_TEXT)) for path in paths}
    if edited := [name for name in present if present[name] != written.get(name, present[name])]:
        text = f"{folder} holds what foretrain did not write: {', '.join(edited)}."
        raise StoreError(f"{text} Try git checkout, or foretrain registry add.")
    if new := present.keys() - written:
        text = f"The ledger of {folder} has no line of {', '.join(sorted(new))}."
        raise StoreError(f"{text} Try foretrain registry seal.")


def unmatched(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the records of a registry of which its ledger has no line, and the names in it of those that are gone."""
    written = dict.fromkeys(line[0] for line in _lines(folder))
    new = sorted(path for path in folder.glob("*/*.toml") if _name(path) not in written)
    return new, [name for name in written if not (folder / f"{name}.toml").exists()]


def _lines(folder: Path) -> Iterator[list[str]]:
    """Yield record, checksum, link before and link of each line; raise `StoreError` where one breaks the chain."""
    links = {_START}
    for number, text in enumerate(_text(folder).splitlines(), 1):
        line = text.split(" ")
        whole = len(line) == 4 and line[3] == _checksum(" ".join(line[:3]).encode())
        if not whole or line[2] not in links or (line[2] == _START) != (number == 1):
            raise StoreError(f"Line {number} of {folder / LEDGER} was edited. Try git checkout.")
        links.add(line[3])
        yield line


def _text(folder: Path) -> str:
    path = folder / LEDGER
    try:
        return read_file(path, MOST_TEXT).decode() if os.path.lexists(path) else ""
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is no ledger: {error}. Try git checkout.") from None


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]
