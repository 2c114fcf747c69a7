"""``summary.json``: a result in brief, for people, scripts and the page, with all that depends on when it was run."""

import functools
import importlib.metadata
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from foretrain.errors import FolderError, StoreError
from foretrain.provenance.reading import read_file
from foretrain.results import decode
from foretrain.results.files import json_bytes, unreadable, write_atomic
from foretrain.results.manifest import read_manifest
from foretrain.results.root import SUMMARY as FILE
from foretrain.results.root import rooted

_PACKAGES = (
    *("foretrain", "numpy", "scipy", "jax", "jaxlib", "equinox", "diffrax", "optax"),
    *("xarray", "zarr"),
)


@dataclass(frozen=True)
class Summary:
    """Content of ``summary.json``."""

    study: Annotated[str, Meta(min_length=1, max_length=4096)]  # name of the study
    summary: str = ""  # its first line
    source: str = ""  # document and figure
    # Parameter to one sentence on it.
    meanings: dict[str, str] = field(default_factory=dict)
    # Parameters, with every axis at its first value.
    config: decode.Parameters = field(default_factory=dict)
    # Name of each swept parameter to its values.
    axes: Annotated[dict[decode.Name, Sequence[decode.Value]], Meta(max_length=64)] = field(
        default_factory=dict
    )
    hash: str = ""  # hash of all that changes a result
    seeds: Annotated[int, Meta(ge=0, le=decode.MOST_SEEDS)] = 0  # number of seeds
    root_seed: decode.RootSeed = 0  # root of the random streams
    # Name of each file of data that runs read, to the SHA-256 of its content.
    data: decode.Digests = field(default_factory=dict)
    preset: str = ""  # the preset it is, "own" if it is none
    versions: dict[str, str] = field(default_factory=dict)  # package to version
    device: str = ""  # what it ran on, in words
    wall_time_s: Annotated[float, Meta(ge=0)] = 0.0  # seconds of training, of all sessions
    created_at: str = ""  # ISO 8601 time of writing, with its zone
    # Outcome to number of runs.
    runs: dict[decode.Outcome, decode.Count] = field(default_factory=dict)
    # Identity of each run that failed, to the reason.
    failures: dict[str, str] = field(default_factory=dict)
    # Hash of the sources that made runs, to the number of those runs.
    codes: dict[str, decode.Count] = field(default_factory=dict)
    # Backend of JAX, such as "cpu", to the number of runs that were made on it.
    backends: dict[str, decode.Count] = field(default_factory=dict)
    claims: Any = ()  # the judged sentences, a tuple of `foretrain.claims.claim.Claim`
    problems: tuple[str, ...] = ()  # what raised while predicting, judging or drawing, a line each
    # The times at which the claims were judged, see `foretrain.results.decode.Look`.
    looks: tuple[decode.Look, ...] = ()
    # What makes the verdicts worth less than if all had been fixed before the first run, a sentence each.
    remarks: tuple[str, ...] = ()
    # What the verdicts rest on, as it was before the first run, see `foretrain.results.decode.Seal`.
    seal: decode.Seal = field(default_factory=decode.Seal)
    history: tuple[str, ...] = ()  # what was done with the folder, in words
    command: str = ""  # command line that repeats it
    citations: tuple[str, ...] = ()  # keys of the works it builds on

    @property
    def lost(self) -> int:
        """Number of runs that failed or are missing."""
        return self.runs.get("failed", 0) + self.runs.get("missing", 0)


_SUMMARY = msgspec.json.Decoder(Summary)


def write_summary(folder: Path, summary: Summary) -> Path:
    """Write ``summary.json`` atomically, with the root over itself, store and manifest, see `foretrain.results.root`.

    Raises:
        FolderError: the disk refuses it.
    """
    content = {"schema": decode.SCHEMA, **asdict(summary)}
    content["claims"] = [decode.entries(claim) for claim in summary.claims]
    whole = rooted(Path(folder), json.loads(json_bytes(content)))
    return write_atomic(Path(folder) / FILE, json_bytes(whole))


def read_summary(folder: Path) -> Summary:
    """The summary of a folder of results; what a newer foretrain may have added is left out.

    Raises:
        FolderError: there is none.
        StoreError: it is truncated, altered, not foretrain's or of another schema.
    """
    path = Path(folder) / FILE
    try:
        content = read_file(path, decode.MOST_SUMMARY)
    except FileNotFoundError as error:
        what = "holds none" if Path(folder).exists() else "does not exist"
        if (read_manifest(folder) or {}).get("plan"):
            what = "holds runs of a command that is not done: give it again, and it goes on"
        raise FolderError(f"Argument `folder` must hold results, but {folder} {what}.") from error
    except OSError as error:
        raise unreadable(path, error) from error
    return parse(content, path)


def parse(content: bytes, path: object) -> Summary:
    """Decode a summary; `path` is the file, for messages.

    Raises:
        StoreError: it is truncated, altered, another program's or of another schema.
    """
    decode.refuse_other_schema(content, path)
    summary = decode.decoded(_SUMMARY, content, path, "a summary")
    if not isinstance(summary.claims, list):
        raise StoreError(f"{path} is truncated or not a summary of foretrain: it has no `claims`.")
    return replace(summary, claims=decode.claims(summary.claims, path))


def versions() -> dict[str, str]:
    """Versions of Python and of what foretrain stands on, without importing any of it."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


@functools.cache
def _version(package: str) -> str:
    """Version of a package, looked up once: what is imported stays as it is when another is installed meanwhile."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
