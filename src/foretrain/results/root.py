"""The root of trust of a folder of results: one hash over its summary, its store and its manifest, looks among them.

``summary.json`` holds the digests of the two others, and the root over all that it holds. Each look at the verdicts holds a
hash over the look before it, the first over the seal: none can be taken out or changed without the later ones. Who edits a
file and computes every hash anew is not noticed, unless the root is compared with one that was written down elsewhere.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from foretrain.claims.claim import FAILS, HOLDS, Claim
from foretrain.errors import FolderError, StoreError
from foretrain.provenance.reading import blocks, read_file
from foretrain.results import decode
from foretrain.results.files import unreadable

ROOT = "root"
SUMMARY, MANIFEST, STORE = "summary.json", "manifest.json", "results.zarr"
_OWN = "checksum"  # of the manifest
_TAIL = 4  # bytes of the CRC-32C with which every chunk ends
_ANEW = " Try foretrain report, which makes it anew from the journal."
_AGAIN = {SUMMARY: _ANEW, STORE: _ANEW, MANIFEST: " It says what was asked, sealed and looked at."}


def checksum(folder: Path, *, whole: bool = False) -> str:
    """Hash (64 hex digits) of names, sizes and checksums of all chunks and of all metadata; "" where there is no store.

    With `whole` of every byte, at some 500 MB/s: whoever alters values may keep the checksum with which a chunk ends.

    Raises:
        FolderError: a part of the store cannot be read.
    """
    store = folder / STORE

    def refuse(error: OSError) -> NoReturn:
        raise error

    try:
        if not store.is_dir():
            return ""
        content, walk = hashlib.sha256(), os.walk(store, onerror=refuse)
        files = (Path(place, name) for place, _, names in walk for name in names)
        for file in sorted(filter(Path.is_file, files)):
            name, size = file.relative_to(store).as_posix(), file.stat().st_size
            content.update(f"{name} {size} ".encode())
            for block in blocks(file, 0 if whole or file.suffix == ".json" else -_TAIL):
                content.update(block)
        return content.hexdigest()
    except OSError as error:
        raise unreadable(store, error) from error


def digest(content: Any) -> str:
    """SHA-256 (64 hex digits) of JSON-ready values, whatever the order of their names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def link(seal: Mapping[str, Any], before: Sequence[Mapping[str, Any]], look: Mapping) -> str:
    """The hash that a look holds: over the one of the look before it, which is over all earlier ones, and over itself."""
    earlier = before[-1].get("chain", "") if before else ""
    return digest([earlier or digest([seal, list(before)]), _without(look, "chain")])


def sealed_manifest(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a manifest with its digest."""
    others = _without(content, _OWN)
    return {**others, _OWN: digest(others)}


def _without(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != name}


def rooted(folder: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a summary with the digests of store and manifest beside it, and the root over all."""
    stores = {"store": checksum(folder), "store_content": checksum(folder, whole=True)}
    whole = {**content, **stores, "manifest": _read(folder / MANIFEST).get(_OWN, "")}
    return {**whole, ROOT: digest(whole)}


def altered(folder: Path, *, whole: bool = False) -> list[str]:
    """Names of the files of a folder that are not as foretrain wrote them; [] where the summary has no root.

    Args:
        folder: The folder of results.
        whole: Read every byte of the store; else names, sizes and the checksums with which its chunks end.

    Raises:
        FolderError: a part of the store cannot be read.
    """
    content = _read(folder / SUMMARY)
    if ROOT not in content:
        return []
    sound = digest(_without(content, ROOT)) == content[ROOT] and _unbroken(content)
    names = [] if sound else [SUMMARY]
    if sound:
        stored = checksum(folder) == content.get("store")
        if whole and stored:
            stored = checksum(folder, whole=True) == content.get("store_content")
        names += [] if stored else [STORE]
    return names + ([] if _holds(content, _read(folder / MANIFEST)) else [MANIFEST])


def root_of(folder: Path) -> str:
    """The root of a folder (64 hex digits); "" where an earlier foretrain wrote it."""
    root = _read(folder / SUMMARY).get(ROOT, "")
    return root if isinstance(root, str) else ""


def doubts(folder: Path, stored: Iterable[Claim] | None = None) -> list[str]:
    """Return what was changed by hand in a folder, a line each: files, and verdicts that do not follow from their numbers.

    Args:
        folder: The folder of results.
        stored: The claims in its store, where that has been read; every byte of the store is compared then, too.
    """
    try:
        names = altered(folder, whole=stored is not None)
        lines = [f"{folder / name} is not as foretrain wrote it.{_AGAIN[name]}" for name in names]
    except FolderError as error:
        lines = [f"Nothing tells whether the folder was changed by hand. {error}"]
    rows = _read(folder / SUMMARY).get("claims", [])
    try:
        claims = decode.claims(rows, SUMMARY)
    except StoreError:  # who reads the summary says so
        return lines
    for row, claim in zip(rows, claims, strict=True):
        if (verdict := row["verdict"]) != claim.verdict:
            says = f"`{claim.label}` {'is ' * (verdict not in (HOLDS, FAILS))}{verdict}"
            lines.append(
                f"{folder / SUMMARY} says that {says}, which does not follow from the numbers beside it. It is read as "
                f"{claim.verdict}."
            )
    both = [[claim.as_dict() for claim in some or ()] for some in (stored, claims)]
    if stored is not None and both[0] != both[1]:
        lines.append(f"{folder / SUMMARY} and {STORE} hold other claims than each other.")
    return lines


def warnings(folder: Path, stored: Iterable[Claim] | None = None) -> list[str]:
    """Return the lines to print before a folder is shown: its `doubts`, and that it has no root where it has none."""
    lines = doubts(folder, stored)
    none = f"{folder} carries no root: nothing tells whether it was changed by hand. foretrain report gives it one."
    return lines if root_of(folder) else [*lines, none]


def _holds(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Say if a manifest is whole and holds the seal and at least the looks of a summary; it may have been added to since."""
    if not manifest:
        return not summary.get("manifest")
    looks, then = manifest.get("looks", []), summary.get("looks", [])
    return (
        sealed_manifest(manifest)[_OWN] == manifest.get(_OWN)
        and isinstance(looks, list)
        and looks[: len(then)] == then
        and manifest.get("seal", {}) == summary.get("seal", {})
        and _unbroken(manifest)
    )


def _unbroken(content: Mapping[str, Any]) -> bool:
    """Say if every look that holds a hash holds the right one, and every later look holds one, too."""
    looks, linked = content.get("looks", []), False
    for number, look in enumerate(looks):
        if not isinstance(look, dict):
            return False
        linked |= "chain" in look
        if linked and look.get("chain") != link(content.get("seal", {}), looks[:number], look):
            return False
    return True


def _read(path: Path) -> dict[str, Any]:
    """The entries of a file, none where it cannot be read."""
    try:
        content = json.loads(read_file(path, decode.MOST_SUMMARY))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
