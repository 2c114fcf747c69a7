"""The small runs of a study, which take seconds and whose bits show that a change of code changed no number.

``small.toml`` holds for every study the smallest run that has all of its axes, variants and figures, and behind a dot a second
one where other sentences need it. Every network of a small run has a checksum, its theory, and each sentence with all that its
claims hold. This file imports `run` and its result alone, so that it also measures an older checkout:
``PYTHONPATH=<checkout>/src python -P small.py routing routing``.
"""

import hashlib
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

import xarray as xr

from foretrain.claims.claim import Claim
from foretrain.engine.cores import pin, take_cores
from foretrain.laboratory.conduct import run
from foretrain.results.result import Result
from foretrain.results.summary import read_summary

Checksums = dict[str, dict[str, str]]

# Each small run to its parameters.
PRESETS: dict[str, dict] = tomllib.loads(Path(__file__).with_name("small.toml").read_text("utf-8"))
SEEDS = 3
_DIGITS = 16
# All that a record holds of a claim.
_FIELDS = (
    *("id", "cell", "statement", "source", "rank", "corrects", "among", "unit", "why", "reads"),
    *("verdict", "predicted", "measured", "uncertainty", "allowed", "seeds", "left_out", "method"),
    *("reason", "note", "along", "size"),
)


def presets_of(study: str) -> list[str]:
    """Return the names of a study's small runs: its own, and that with more behind a dot."""
    return [preset for preset in PRESETS if preset.partition(".")[0] == study]


def small_run(preset: str, out: Path, study: str | Path = "") -> Result:
    """Run a small run in this process, with three seeds where ``small.toml`` names no number, and return its result."""
    values = {"seeds": SEEDS, **PRESETS[preset]}
    result = run(study or preset.partition(".")[0], **values, out=out, workers=0, quiet=True)
    assert result is not None, "a run without shards is concluded"
    return result


def small_checksums(study: str | Path, name: str) -> Checksums:
    """Make the small runs of a study in this process, which is to be pinned to one core, and return their checksums.

    The study is its name or its path; `name` is that under which ``small.toml`` has its small runs. They are "makes",
    "predicts" and "judges", as the hashes of a record are called, each to the checksum of every part; and "machine" to
    device, versions and flags of the compiler, which are equal where bits can be compared.
    """
    parts: Checksums = {"machine": {}, "makes": {}, "predicts": {}, "judges": {}}
    for preset in presets_of(name):
        with tempfile.TemporaryDirectory(prefix="foretrain-small-") as folder:
            result = small_run(preset, Path(folder) / "run", study)
            parts["machine"] = _machine(Path(folder) / "run")
        for kind, checksums in _checksums(result).items():
            parts[kind] |= {f"{preset} {part}": text for part, text in checksums.items()}
    return parts


def compile_plainly() -> None:
    """Have XLA leave its optimisation of machine code out, which takes half of a small run; before JAX starts."""
    plain = "--xla_backend_optimization_level=0"
    if tuple(int(part) for part in version("jaxlib").split(".")[:2]) < (0, 11):
        plain += " --xla_cpu_use_fusion_emitters=false"  # a later XLA ends where it reads this
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = flags if plain in flags else f"{flags} {plain}".strip()


def checksum(data: xr.Dataset) -> str:
    """Return the first hex digits of a hash of all variables that hold a value: names, dims, types, shapes and bits."""
    digest = hashlib.sha256()
    for name in sorted(map(str, data.variables)):
        values = data[name].values
        if not values.size:  # a label of nothing holds no bits
            continue
        text = values.dtype.kind in "OTU"
        content = repr(values.tolist()).encode() if text else values.tobytes()
        head = f"{name} {data[name].dims} {'text' if text else values.dtype.str} {values.shape} "
        digest.update(head.encode() + content)
    return digest.hexdigest()[:_DIGITS]


def _checksums(result: Result) -> Checksums:
    networks = {"simulation": result.simulation}
    networks |= {name: result.variant(name) for name in result.variants}
    sentences: dict[str, list[Claim]] = {}
    for claim in result.claims:
        sentences.setdefault(claim.id, []).append(claim)
    return {
        "makes": of_data(networks),
        "predicts": of_data({"theory": result.theory, "fits": result.fits}),
        "judges": {id: _of_claims(claims) for id, claims in sentences.items()},
    }


def of_data(parts: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Return name to checksum of each dataset that holds a variable."""
    return {name: checksum(data) for name, data in sorted(parts.items()) if data.data_vars}


def _of_claims(claims: Iterable[Claim]) -> str:
    content = [{name: getattr(claim, name) for name in _FIELDS} for claim in claims]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:_DIGITS]


def _machine(folder: Path) -> dict[str, str]:
    summary = read_summary(folder)
    versions = [f"{name} {text}" for name, text in summary.versions.items() if name != "foretrain"]
    flags = os.environ.get("XLA_FLAGS", "")
    return {"device": summary.device, "versions": ", ".join(versions), "flags": flags}


if __name__ == "__main__":
    compile_plainly()
    pin(take_cores(1)[0].core)
    print(json.dumps(small_checksums(*sys.argv[1:])))
