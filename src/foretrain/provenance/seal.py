"""The three hashes of a study: what makes its runs, what predicts, what judges; and the seal that holds them.

The hash that makes stands in the journal beside every run: other code, other runs. The other two and the words of every
claim are sealed before the first run, and written again at each look at the verdicts.
"""

import dataclasses
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from foretrain.provenance.objects import digest, hashed
from foretrain.provenance.sources import PACKAGE, ROOMS, WHOLE, reached, source

_MAKERS = ("program", "measure", "posterior", "inputs", "shared", "variants", "Parameters")
_PREDICTORS = ("predict", "fit")
_LABELLERS = ("labels", "time")  # of what theory and claims read
_TRAINED_BY = ("engine/kernel.py", "engine/lanes.py", "streams.py", "dynamics/program.py")
_COMPUTED_BY = ("engine/host.py",)
_JUDGES = (("claims/judge.py", "judge"), ("plans/grid.py", "Grid"))
_JUDGED_IN = ROOMS | {"claims"}
# Of a claim its words, and what decides neither words nor verdict; whatever else it holds judges.
_WORDS = ("statement", "source", "why", "note", "unit", "among")
_ORDERS = ("rank",)


def makes(study: Any) -> str:
    """Hash (12 hex digits) of the code that makes a study's runs."""
    if study.files:
        files = [Path(file) for file in study.files.values()]
        bound = {name for file in files for name in source(file).statements}
    else:
        bound = {*(study.part("study") or {})}
    machine = {*_TRAINED_BY, *(_COMPUTED_BY if bound & {"measure", "posterior"} else ())}
    names = _MAKERS if bound & {"program", "measure", "posterior"} else (WHOLE,)
    study_code = _made_of(study, ("training", "measurement", "chains"), names)
    return digest(study_code, *reached([(PACKAGE / name, WHOLE) for name in machine])[0])


def seal(study: Any) -> dict[str, Any]:
    """The seal of a study as it is now.

    Returns:
        What `static` returns; ``claims``, for each id the hashes of its words and of what it measures, allows and predicts;
        ``commit`` of the study's files, "" where there is none.
    """
    folders = _folders(study)
    return {
        **static(study),
        "claims": {claim.id: _of_claim(claim, folders) for claim in study.sentences},
        "commit": _commit(*folders),
    }


def static(study: Any) -> dict[str, str]:
    """The hashes that are found without running any file: of the theory, of what judges any claim, and of all claims."""
    judges = [(PACKAGE / file, name) for file, name in _JUDGES]
    return {
        "predicts": _made_of(study, ("theory",), _PREDICTORS),
        "judges": digest(_made_of(study, (), _LABELLERS), *reached(judges, (), _JUDGED_IN)[0]),
        "rows": _made_of(study, ("claims",), ("CLAIMS",), _JUDGED_IN),
    }


def judge_of(seal: Mapping[str, Any]) -> str:
    """Hash (12 hex digits) of all that judges the claims of a seal, words left out; "" where nothing is sealed."""
    claims = [f"{id} {hashes[1]}" for id, hashes in sorted(seal.get("claims", {}).items())]
    return digest(seal["judges"], *claims) if "judges" in seal else ""


def _made_of(
    study: Any, roles: tuple[str, ...], names: tuple[str, ...], rooms: set[str] = ROOMS
) -> str:
    """Hash of what some functions of a study are made of, in the files of these roles or in ``study.py``."""
    if not study.files:
        known = study.part("study") or {}
        return hashed({name: known[name] for name in names if name in known}, rooms)
    files = [Path(study.files[role]) for role in (*roles, "study") if role in study.files]
    places = [(file, name) for file in files for name in names]
    return digest(*reached(places, _folders(study), rooms)[0])


def _of_claim(claim: Any, folders: list[Path]) -> list[str]:
    names = [field.name for field in dataclasses.fields(claim) if field.name not in _ORDERS]
    parts = {name: getattr(claim, name) for name in names}
    if parts["domain"] is None:  # what a claim does not have is no change of it
        del parts["domain"]
    words = [str(parts.pop(name)) for name in _WORDS if name in parts]
    return [digest(*words), hashed(parts, _JUDGED_IN, folders)]


def _folders(study: Any) -> list[Path]:
    return sorted({Path(file).parent for file in study.files.values()})


@cache
def _commit(*folders: Path) -> str:
    """Return the git commit of a study's folder, with ``-dirty`` where files have changed since; "" where there is none."""
    return git(folders[0], "describe", "--always", "--dirty", "--exclude=*") if folders else ""


def git(folder: Path, *words: str) -> str:
    """Return the output of git in a folder; "" where git knows none, and for packages that are installed."""
    if "site-packages" in folder.parts:
        return ""
    line = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
