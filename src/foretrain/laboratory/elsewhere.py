"""Runs that the default folder of another grid of the same study holds already: they are taken, not trained again."""

import glob
from collections.abc import Collection
from pathlib import Path

from foretrain.errors import ForetrainError
from foretrain.laboratory.folder import stored_plan, take_looks
from foretrain.plans.parameters import rules
from foretrain.plans.plan import Plan, values_of
from foretrain.results.journal import bring, segments
from foretrain.results.manifest import edit_manifest, read_manifest


def take(folder: Path, plan: Plan, missing: Collection[str]) -> dict[Path, int]:
    """Bring missing runs of a plan, named by identity, into its folder; return each folder to how many came from it.

    They come from folders beside it called ``<study>-...`` whose plan has a value in common with this plan for every
    parameter. Only runs of the present code are taken, and with them the looks at their verdicts. A segment of the journal
    is linked, or copied where the disk has no links. Cost: one reading of every journal beside the folder whose plan overlaps.
    Raises `FolderError` where the disk refuses a file.
    """
    wanted, taken = set(missing), {}
    for other in sorted(folder.parent.glob(f"{glob.escape(plan.study.name)}-*")):
        if not wanted or other == folder or not _overlaps(other, plan):
            continue
        segment_of: dict[str, str] = {}
        for segment in segments(other):
            if segment.code == plan.study.code:
                segment_of |= dict.fromkeys(wanted.intersection(segment.identities), segment.name)
        if segment_of:
            theirs = read_manifest(other) or {}
            with edit_manifest(folder) as manifest:
                take_looks(manifest, theirs)
                # The bits of a run depend on the number of lanes, and the runs still to come must fit those taken.
                manifest["lanes"] = {**theirs.get("lanes", {}), **manifest.get("lanes", {})}
            for name in set(segment_of.values()):
                bring(folder, other, name)
            taken[other] = len(segment_of)
            wanted -= segment_of.keys()
    return taken


def _overlaps(other: Path, plan: Plan) -> bool:
    try:
        stored = stored_plan(other) or {}
    except ForetrainError:  # it is damaged, or another program's
        return False
    wanted = (plan.study.name, plan.root_seed, plan.study.revision)
    if tuple(map(stored.get, ("study", "root_seed", "revision"))) != wanted:
        return False
    theirs = {**{name: [value] for name, value in stored["parameters"].items()}, **stored["axes"]}
    own = {name: values_of(plan, name) for name in rules(plan.study.Parameters)}
    return all(set(own[name]) & set(theirs[name]) for name in own.keys() & theirs.keys())
