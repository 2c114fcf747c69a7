"""From a folder of results to a record: its runs read from the journal, judged anew, and nothing of it written."""

import shlex
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from foretrain.errors import FolderError, argument_error
from foretrain.laboratory import folder as home
from foretrain.laboratory.conclude import summary_of
from foretrain.laboratory.conduct import data_from
from foretrain.laboratory.judge import Problem, judged
from foretrain.laboratory.labelled import labelled
from foretrain.plans.command import command, settings
from foretrain.plans.plan import OWN, Plan, plan_from_dict, refuse_other_runs
from foretrain.provenance.record import remarks, verdicts
from foretrain.provenance.seal import git
from foretrain.registry import present
from foretrain.registry.record import DEFAULT, Record
from foretrain.registry.small import of_data
from foretrain.results.decode import Look, Seal
from foretrain.results.journal import Scan, scan
from foretrain.results.manifest import read_manifest
from foretrain.results.root import altered

_PACKAGE = Path(__file__).parents[1]
_QUICK = "quick"


@threadpool_limits.wrap(limits=1)  # more threads wait for each other where cores are busy
def measure(folder: Path, size: str = "", commit: str = "") -> Record:
    """Judge the runs of a folder, from this machine or another, anew by the present code, and return the record of it.

    The size is named as the preset unless `size` says otherwise; `commit` is that of the code that judges.
    Raises `ArgumentError` where there is no preset and no `size`, and `FolderError` where runs are of other code, not all
    there, altered, or judged before with other seeds, where a sentence or the theory raised, or the study is of one's own.
    """
    summary, stored = summary_of(folder), home.stored_plan(folder)
    if summary is None or stored is None:
        raise FolderError(f"Argument `folder` must hold a finished run, but {folder} holds none.")
    plan = plan_from_dict(stored)
    study = plan.study
    if study.is_own and Path(study.where).parent != present.BENCHMARKS:
        rule = "The registry holds foretrain's own studies"
        raise FolderError(f"{rule}, but {folder} is of `{study.name}`.")
    refuse_other_runs(stored, study, folder)
    if names := altered(folder):
        again = "Try foretrain report, which makes it anew from the journal."
        raise FolderError(f"{folder / names[0]} is not as foretrain wrote it. {again}")
    if home.looks_before(folder, plan):
        raise FolderError(
            f"Verdicts of {folder} were seen with other seeds. Try another root seed."
        )
    journal = scan(folder)
    if not size and plan.preset == OWN:
        rule = "name the size of a run whose parameters are those of no preset"
        raise argument_error("size", rule, "is not given", "Try --size and a name.")
    problems: list[Problem] = []
    with data_from(None, folder):
        whole = labelled(folder, plan, problems, journal)
        claims, raised = judged(study, whole)
    if lines := [problem.line for problem in (*problems, *raised)]:
        raise FolderError(f"{folder} cannot be judged whole. {lines[0]}")
    manifest = read_manifest(folder) or {}
    look: Look = {"seeds": plan.seeds, "seal": Seal(**study.seal), "verdicts": verdicts(claims)}
    networks = {"simulation": whole.simulation, **whole.variants}
    return Record(
        study=study.name,
        size=size or (DEFAULT if plan.preset == _QUICK else plan.preset),
        document=study.card.source,
        command=command_of(plan),
        seeds=plan.seeds,
        root_seed=plan.root_seed,
        cost=summary.wall_time_s,
        day=summary.created_at.partition("T")[0],
        device=summary.device,
        precision=str(getattr(plan.parameters, "precision", "")),
        commit=commit,
        plan=plan.hash,
        **dict[str, Any](present.hashes(study)),
        remarks=tuple(remarks(manifest.get("seal"), [*manifest.get("looks", []), look])),
        settings=settings(plan),
        runs=_outcomes(folder, plan, journal),
        versions=dict(summary.versions),
        checksums=of_data({**networks, "theory": whole.theory, "fits": whole.fits}),
        claims=tuple(claims),
    )


def _outcomes(folder: Path, plan: Plan, journal: Scan) -> dict[str, int]:
    """Return outcome to number of runs; raise `FolderError` where runs are missing, failed, or of other code."""
    counts = home.ended(plan, journal)
    if lost := counts.get("missing", 0) + counts.get("failed", 0):
        raise FolderError(
            f"Argument `folder` must hold all runs, but {lost} of {folder} are missing or failed. Try the command that made "
            "it again, with --retry-failed."
        )
    if others := sorted(code or "unknown" for code in journal.codes if code != plan.study.code):
        raise FolderError(
            f"Argument `folder` must hold runs of the present code ({plan.study.code}), but {folder} holds runs of other code "
            f"({', '.join(others)}). Try foretrain run with --retrain."
        )
    return counts


def command_of(plan: Plan) -> str:
    """Return the command line that makes the runs of a plan, by its preset where it has one, in foretrain's repository."""
    words = command(plan)[3:]
    if plan.preset not in (OWN, _QUICK):
        words = ["--preset", plan.preset, "--seeds", str(plan.seeds)]
        words += ["--root-seed", str(plan.root_seed)] if plan.root_seed else []
    where, home = plan.study.where, present.BENCHMARKS.parent
    study = str(Path(where).relative_to(home)) if where else plan.study.name
    return shlex.join(["foretrain", "run", study, *words])


def commit_of_package() -> str:
    """Return the last commit that touched foretrain's sources; "" where git knows none.

    Raises `FolderError` where sources have been changed since.
    """
    if git(_PACKAGE, "status", "--porcelain", "--", "."):
        raise FolderError(f"{_PACKAGE} has changes that no commit holds. Commit them, then add.")
    return git(_PACKAGE, "log", "-1", "--format=%h", "--abbrev=10", "--", ".")
