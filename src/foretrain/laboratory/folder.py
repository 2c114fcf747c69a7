"""The plan of a folder of results: what was asked of it, all together, as its manifest holds it."""

from pathlib import Path

from foretrain.plans.plan import Plan, join
from foretrain.results.lock import patient_lock
from foretrain.results.manifest import read_manifest, write_manifest
from foretrain.results.summary import versions


def joined(folder: Path, plan: Plan) -> Plan:
    """The plan of the folder once this one is added to it; writes nothing."""
    manifest = read_manifest(folder) or {}
    return join(manifest["plan"], plan) if "plan" in manifest else plan


def record(folder: Path, plan: Plan) -> dict | None:
    """Write the plan into the folder's manifest, joined with what another process may have added meanwhile.

    Returns:
        The plan that stood there before, None if there was none.
    """
    with patient_lock(folder, "manifest", 30):
        manifest = read_manifest(folder) or {}
        before = manifest.get("plan")
        plan = join(manifest["plan"], plan) if "plan" in manifest else plan
        if manifest.get("plan") != plan.as_dict():
            write_manifest(folder, {**manifest, "plan": plan.as_dict(), "versions": versions()})
        return before


def take_back(folder: Path, plan: Plan, before: dict | None) -> None:
    """Put the plan back that a folder had before a larger one was refused, lest a smaller one be read as a part of that."""
    with patient_lock(folder, "manifest", 30):
        manifest = read_manifest(folder) or {}
        if manifest.get("plan") == plan.as_dict():
            kept = {name: value for name, value in manifest.items() if name != "plan"}
            write_manifest(folder, kept if before is None else {**kept, "plan": before})
