"""``summary.json``: a result in brief, for people, scripts and the page, with all that depends on when it was run."""

import importlib.metadata
import json
import platform
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, claim_from_dict
from foretrain.errors import FolderError, StoreError
from foretrain.results.files import write_json

FILE = "summary.json"
_PACKAGES = ("foretrain", "numpy", "scipy", "jax", "jaxlib", "diffrax", "optax", "xarray", "zarr")


@dataclass(frozen=True)
class Summary:
    """What ``summary.json`` holds.

    Attributes:
        study: Name of the study.
        summary: Its first line.
        source: Document and figure.
        config: Parameters, with every axis at its first value.
        axes: Name of each swept parameter to its values.
        hash: Hash of all that changes a result.
        seeds: Number of seeds.
        root_seed: Root of the random streams.
        versions: Package to version.
        device: What it ran on, in words.
        wall_time_s: Seconds spent, over all sessions.
        created_at: ISO 8601 time of writing, with its zone.
        runs: Outcome to number of runs.
        failures: Identity of each run that failed, to the reason.
        claims: The judged sentences.
        command: Command line that repeats it.
        citations: Keys of the works it builds on.
    """

    study: str
    summary: str = ""
    source: str = ""
    config: dict = field(default_factory=dict)
    axes: dict = field(default_factory=dict)
    hash: str = ""
    seeds: int = 0
    root_seed: int = 0
    versions: dict = field(default_factory=dict)
    device: str = ""
    wall_time_s: float = 0.0
    created_at: str = ""
    runs: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    command: str = ""
    citations: tuple[str, ...] = ()


def write_summary(folder: Path, summary: Summary) -> Path:
    """Write ``summary.json`` atomically; raises `FolderError` if the disk refuses it."""
    content = asdict(summary)
    content["claims"] = [claim.as_dict() for claim in summary.claims]
    content["axes"] = {name: list(values) for name, values in summary.axes.items()}
    return write_json(Path(folder) / FILE, content)


def read_summary(folder: Path) -> Summary:
    """The summary of a folder of results; what a newer foretrain may have added is left out.

    Raises:
        FolderError: there is none.
        StoreError: it is truncated or not foretrain's.
    """
    path = Path(folder) / FILE
    try:
        content = json.loads(path.read_bytes())
        known = {item.name: content[item.name] for item in fields(Summary) if item.name in content}
        known["claims"] = tuple(claim_from_dict(claim) for claim in content["claims"])
        known["citations"] = tuple(content["citations"])
        return Summary(**known)
    except OSError as error:
        raise FolderError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is truncated or not a summary of foretrain: {error}.") from error


def versions() -> dict[str, str]:
    """Versions of Python and of what foretrain stands on, without importing any of it."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def count_outcomes(dataset: xr.Dataset) -> dict[str, int]:
    """Number of runs per outcome of a folded dataset, by name; outcomes that no run has are left out."""
    values, counts = np.unique(dataset["outcome"].values, return_counts=True)
    attrs = dataset["outcome"].attrs
    names = dict(zip(attrs["flag_values"], attrs["flag_meanings"].split(), strict=True))
    return {names[int(value)]: int(count) for value, count in zip(values, counts, strict=True)}
