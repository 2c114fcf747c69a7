"""The folder of a plan: what was asked of it, the seal of its sentences, how often it was looked at, by which code."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError, ForetrainError
from foretrain.plans import catalogue
from foretrain.plans.plan import Plan, join, runs
from foretrain.provenance.record import verdicts
from foretrain.provenance.seal import static
from foretrain.results.decode import Look, Manifest
from foretrain.results.journal import Scan
from foretrain.results.manifest import FILE, edit_manifest, read_manifest
from foretrain.results.root import link
from foretrain.results.summary import versions
from foretrain.vocabulary import MISSING, OUTCOMES


def joined(folder: Path, plan: Plan) -> Plan:
    """The plan of the folder once this one is added to it; writes nothing."""
    manifest = read_manifest(folder) or {}
    return join(manifest["plan"], plan) if "plan" in manifest else plan


def record(folder: Path, plan: Plan, *, data_dir: str | None = None) -> Mapping[str, Any] | None:
    """Write the plan into the folder's manifest, joined with what another process may have added meanwhile.

    Before the first run all that verdicts will rest on is sealed: its hashes are written with the plan.

    Returns:
        The plan that stood there before, None if there was none.
    """
    with edit_manifest(folder) as manifest:
        known = {**manifest}
        plan = join(known["plan"], plan) if "plan" in known else plan
        manifest |= {"schema": plan.as_dict()["schema"], "plan": plan.as_dict()}
        if "seal" not in known and "looks" not in known:
            manifest["seal"] = plan.study.seal
        if data_dir is not None:
            manifest["data_dir"] = data_dir
        if manifest != known:
            manifest["versions"] = versions()
        return known.get("plan")


def take_back(folder: Path, plan: Plan, before: Mapping[str, Any] | None) -> None:
    """Restore the folder's plan after a larger one was refused: a smaller plan would be taken for a part of the larger one."""
    with edit_manifest(folder) as manifest:
        if manifest.get("plan") == plan.as_dict():
            manifest["plan"] = before
            # Without a plan there is nothing that the seal would be of, unless it came with the looks of runs that were taken.
            parts = ("plan",) if "looks" in manifest else ("plan", "seal")
            for name in parts if before is None else ():
                manifest.pop(name, None)


def refuse_without_plan(folder: Path) -> None:
    """Raise `FolderError` where the plan of runs that were made is not in the folder any more."""
    if stored_plan(folder) is None:
        lost = f"{folder / FILE} was removed while runs were made."
        raise FolderError(f"{lost} They are kept: run the same command again.")


def note(folder: Path, line: str) -> None:
    """Add a line to the history of the folder, such as that runs of other code were kept."""
    with edit_manifest(folder) as manifest:
        manifest["history"] = [*manifest.get("history", []), line]


def look(folder: Path, plan: Plan, claims: Iterable[Claim]) -> Manifest:
    """Count a look at the verdicts, unless the last look was at these very runs by this very code.

    Returns the manifest with all looks so far.
    """
    seal = plan.study.seal
    now = {"seeds": plan.seeds, "hash": plan.hash, "seal": seal, "verdicts": verdicts(claims)}
    with edit_manifest(folder) as manifest:
        refuse_without_plan(folder)
        looks = manifest.get("looks", [])
        if not looks or looks[-1].get("hash") != plan.hash or not _same(looks[-1], seal):
            _append(manifest, Look(**now, at=datetime.now(UTC).isoformat(timespec="seconds")))
        return manifest


def take_looks(manifest: dict[str, Any], theirs: Manifest) -> None:
    """Add the looks of the folder from which runs are taken, and its seal where there is none: whoever went on knew them."""
    known = [{**look, "chain": ""} for look in manifest.get("looks", [])]
    if "seal" in theirs and not known:
        manifest.setdefault("seal", theirs["seal"])
    for look in theirs.get("looks", []):
        if {**look, "chain": ""} not in known:
            _append(manifest, look)


def _append(manifest: dict[str, Any], look: Look) -> None:
    looks = manifest.get("looks", [])
    chain = link(manifest.get("seal", {}), looks, look)
    manifest["looks"] = [*looks, {**look, "chain": chain}]


def looks_before(folder: Path, plan: Plan) -> int:
    """Return how often verdicts were seen before with other numbers of seeds, each number once."""
    seen = dict.fromkeys(look["seeds"] for look in (read_manifest(folder) or {}).get("looks", []))
    return [*seen, plan.seeds].index(plan.seeds)


def judged_otherwise(folder: Path, plan: Plan) -> bool:
    """Say if other code than the present gave the last verdicts, or other words."""
    looks = (read_manifest(folder) or {}).get("looks", [])
    return not looks or not _same(looks[-1], plan.study.seal)


def changed_since(folder: Path, codes: Iterable[str]) -> list[str]:
    """Say in a sentence which code of the study is not that of the last verdicts; [] where it is all the same or not known.

    The files of the study are read, and none of them is run. `codes` are those that made the runs, as the summary has them.
    """
    try:
        manifest = read_manifest(folder) or {}
        plan, looks = manifest.get("plan"), manifest.get("looks", [])
        if plan is None or not looks:
            return []
        study = catalogue.load(plan.get("where") or plan["study"])
    except (ForetrainError, OSError):
        return []
    codes = set(codes) - {""}
    now, then = static(study), looks[-1].get("seal", {})
    parts = ["makes the runs"] if codes and codes != {study.code} else []
    words = {"predicts": "predicts", "judges": "judges", "rows": "states its claims"}
    parts += [text for name, text in words.items() if then.get(name, now[name]) != now[name]]
    line = f"The code of the study that {', '.join(parts)} has changed since."
    repair = "Try foretrain report, for other runs foretrain run with --retrain."
    return [f"{line} {repair}"] if parts else []


def _same(look: Look, seal: Mapping[str, Any]) -> bool:
    """Compare seals but for their commits, which change with files that no verdict rests on."""
    return {**look.get("seal", {}), "commit": ""} == {**seal, "commit": ""}


def stored_plan(folder: Path) -> Mapping[str, Any] | None:
    """The plan of a folder as its manifest holds it, None if it has none."""
    return (read_manifest(folder) or {}).get("plan")


def ended(plan: Plan, journal: Scan) -> dict[Any, int]:
    """Return outcome, or "missing", to the number of runs of a plan: a run that cells share is one."""
    known = dict(zip(journal.identities, journal.outcomes.tolist(), strict=True))
    amounts = Counter(known.get(run.identity, MISSING) for run in runs(plan))
    return {("missing", *OUTCOMES)[code - MISSING]: amounts[code] for code in sorted(amounts)}
