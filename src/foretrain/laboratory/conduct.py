"""From a plan to a page: what the command line and Python both call."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.engine.cluster import connected, execute_on
from foretrain.engine.sweep import check_options, check_shard, execute
from foretrain.errors import (
    FolderError,
    StoreError,
    TooLarge,
    argument_error,
    path_argument,
    refuse_optimized_python,
)
from foretrain.laboratory import folder as home
from foretrain.laboratory.conclude import conclude, summary_of
from foretrain.laboratory.elsewhere import take
from foretrain.laboratory.labelled import early_theory
from foretrain.laboratory.opened import StudyResult, opened
from foretrain.laboratory.page import write_page
from foretrain.laboratory.stages import Stage, stages, training
from foretrain.plans.author import loaded
from foretrain.plans.config import read_sweep
from foretrain.plans.options import OF_GRID, Options, documented, only, split
from foretrain.plans.plan import Plan, make_plan, plan_from_dict, refuse_other_runs, runs
from foretrain.plans.study import Study
from foretrain.results.files import warnings_logged
from foretrain.results.journal import Scan, scan
from foretrain.results.manifest import check_writable, claim_folder, read_manifest
from foretrain.results.root import altered
from foretrain.results.summary import read_summary
from foretrain.tasks.data_files import VARIABLE as DATA_VARIABLE
from foretrain.vocabulary import FAILED
from foretrain.words import count, say


@documented()
def run(study: str | Path | Study, **parameters: Any) -> StudyResult | None:
    """Run a study: train what is not yet trained, predict, judge its claims and write the page.

    Args:
        study: Name of a study (see ``foretrain list``), path of a file or folder of one's own, or a
            `foretrain.study.Study`.
        **options: Those of a run.
        **parameters: Parameters of the study; several values (a list, an array, a range) make an axis, None is the default.

    Returns:
        The result, or None where other shards of the grid are still missing.

    Raises `ArgumentError` where a parameter breaks its rule, `FolderError` where the folder holds something else, is locked,
    cannot be written, or holds runs of other code.

    Example:
        >>> import foretrain
        >>> result = foretrain.run("one-mode", init_scale=[0.1, 0.2], seeds=3, workers=0, quiet=True)
        >>> result.simulation["strength"].dims
        ('init_scale', 'seed', 'step')
        >>> [claim.verdict for claim in result.claims if claim.id == "closed-form"]
        ['holds', 'holds']
    """
    options, values = split(parameters)
    with data_from(options.data_dir, options.out):
        plan = make_plan(study, values, **options.of_plan)
    return _with_troubles(conduct(plan, options), plan)


@documented(*OF_GRID)
def sweep(config: str | Path, **options: Any) -> StudyResult | None:
    r"""Run the grid that a TOML file describes, and return its result as `run` does.

    Args:
        config: The file, see `foretrain.plans.config.read_sweep`.
        **options: Those of a run.

    Example:
        >>> import foretrain
        >>> from pathlib import Path
        >>> file = Path("sweep.toml")
        >>> characters = file.write_text("study = 'one-mode'\nseeds = 2")
        >>> foretrain.sweep(file, workers=0, quiet=True).simulation.sizes["seed"]
        2
    """
    chosen = only(options, OF_GRID)
    with data_from(chosen.data_dir, chosen.out):
        plan, folder = read_sweep(config, chosen.yes)
    return _with_troubles(conduct(plan, replace(chosen, out=chosen.out or folder)), plan)


def _with_troubles(result: StudyResult | None, plan: Plan) -> StudyResult | None:
    if result is not None and result.path is not None:
        result.study = plan.study
        for line in troubles(result.path):
            say(line)
    return result


def troubles(folder: Path) -> list[str]:
    """Return lines on what went wrong in a folder of results: parts that raised, runs that were lost or diverged."""
    summary = read_summary(folder)
    lines = [f"{line} See {folder / 'log.txt'}." for line in summary.problems]
    if lost := summary.lost:
        reason = next(iter(summary.failures.values()), "they are missing; run it again.")
        where = folder / ("log.txt" if summary.failures else "summary.json")
        lines.append(f"{count(lost, 'run was', 'runs were')} lost: {reason} See {where}.")
    if diverged := summary.runs.get("diverged", 0):
        where = folder / "report.html"
        lines.append(f"{diverged} of {sum(summary.runs.values())} runs diverged. See {where}.")
    return lines


def folder_of(plan: Plan, out: str | Path | None) -> Path:
    """Folder of the results of a plan: `out`, or ``runs/<study>-<hash>``, which is the same for any number of seeds."""
    return path_argument("out", out or Path("runs") / f"{plan.study.name}-{plan.grid_hash}")


def conduct(plan: Plan, options: Options) -> StudyResult | None:
    """Run a plan in a folder and conclude it; see `run`."""
    refuse_optimized_python()
    how, part = execution_options(options), part_of(options.shard)
    data_dir, quiet = options.data_dir, options.quiet
    tell_user = (lambda line: None) if quiet else say
    folder = claim_folder(folder_of(plan, options.out))
    seeds, plan = plan.seeds, home.joined(folder, plan)
    if plan.seeds > seeds:
        tell_user(f"{folder} holds {plan.seeds} seeds; all of them are shown.")
    with data_from(data_dir, folder), warnings_logged(folder), stages(quiet=quiet) as tell:
        journal, lines = scan(folder), []
        if not options.out and options.keep_state == "no" and (missing := _missing(plan, journal)):
            for place, number in take(folder, plan, missing).items():
                lines.append(f"{count(number, 'run was', 'runs were')} taken from {place}.")
                tell_user(lines[-1])
            journal = scan(folder) if lines else journal
        again, line = _other_code(folder, plan, journal, options)
        lines += [line] if line else []
        again |= _failed(journal) if options.retry_failed else set()
        if not again and (result := _finished(folder, plan, journal)):
            if (home.stored_plan(folder) or {}).get("where") != plan.study.where:
                home.record(folder, plan)  # the file of the study has moved
            tell_user(f"Found done in {folder}; nothing was trained.")
            return result
        how["again"] = frozenset(again)
        remembered = None if data_dir is None else str(Path(data_dir).resolve())
        before: list[Mapping[str, Any] | None] = []

        def claimed() -> None:
            before.append(home.record(folder, plan, data_dir=remembered))
            if before[0] is None and journal.identities:
                known = count(len(journal.identities), "run was", "runs were")
                home.note(folder, f"{known} there before any plan.")
            for line in lines:
                home.note(folder, line)

        if options.scheduler is not None:
            with connected(options.scheduler) as client:
                claimed()
                stage = partial(Stage, "Training", of="parts", note="on the cluster")
                tell(stage())
                shards = execute_on(client, plan, folder, tell=lambda *n: tell(stage(*n)), **how)
            device = next((shard.device for shard in shards if shard.device), "")
            return conclude(folder, plan, device, tell=tell)
        try:
            with early_theory(plan, options.workers != 0 and part[1] == 1) as theory:
                shard = execute(
                    plan,
                    folder,
                    workers=options.workers,
                    shard=part,
                    **how,
                    claimed=claimed,
                    progress=None if quiet else training(tell),
                )
        except TooLarge:
            home.take_back(folder, plan, before[0])
            raise
        home.refuse_without_plan(folder)
        if shard.stored:
            added = f"{shard.ran} were added" if shard.ran else "nothing was trained"
            tell_user(f"{count(shard.stored, 'run was', 'runs were')} found done, {added}.")
        others = [name for name in journal.backends if name and name not in shard.backends]
        if others and shard.backends:
            old, new = ", ".join(others), ", ".join(shard.backends)
            say(f"{folder} holds runs made on {old}, which rounds otherwise than {new}.")
        if part[1] > 1 and _missing(plan, scan(folder)):
            return None
        return conclude(folder, plan, shard.device, tell=tell, theory=theory)


def execution_options(options: Options) -> dict[str, Any]:
    """Return the options with which a shard is executed, or raise `ArgumentError`, before a folder is touched."""
    how = {name: getattr(options, name) for name in ("on", "checkpoint_every", "keep_state")}
    part_of(options.shard)
    check_options(workers=options.workers, **how)
    if options.retrain and options.keep:
        raise argument_error("retrain", "stand without `keep`", "stands beside it")
    return how


@contextlib.contextmanager
def data_from(data_dir: str | Path | None, folder: str | Path | None) -> Iterator[None]:
    """Let the data of this run be found: where it is said, else where the folder remembers, else where it always was."""
    if data_dir is None and folder is not None and not os.environ.get(DATA_VARIABLE):
        data_dir = (read_manifest(path_argument("out", folder)) or {}).get("data_dir") or None
    if data_dir is None:
        yield
        return
    before = os.environ.get(DATA_VARIABLE)
    os.environ[DATA_VARIABLE] = str(path_argument("data_dir", data_dir).resolve())
    try:
        yield
    finally:
        os.environ.pop(DATA_VARIABLE, None)
        if before is not None:
            os.environ[DATA_VARIABLE] = before


def _other_code(folder: Path, plan: Plan, journal: Scan, options: Options) -> tuple[set[str], str]:
    """Which runs that other code has made are to be trained again, and the line for the history of the folder.

    Those that failed are: it may have been the code. Others are kept or trained again as the user says, and the folder
    remembers it; where nothing is said, nothing is added to them.
    Raises `FolderError` where runs are to be added to those of other code, and nothing is said.
    """
    code = plan.study.code
    other = {id: maker for id, maker in journal.makers.items() if maker != code}
    failed = _failed(journal) & other.keys()
    if not (left := {id: maker for id, maker in other.items() if id not in failed}):
        return failed, ""
    codes = ", ".join(sorted({maker or "unknown" for maker in left.values()}))
    what = f"{len(left)} runs made by other code ({codes})"
    if options.retrain:
        return failed | left.keys(), f"{what} were trained again by {code}."
    if options.keep:
        return failed, f"{what} were kept beside those of {code}."
    if _missing(plan, journal) and (known := sorted({*left.values()} - {""})):
        raise FolderError(
            f"Argument `out` must be a folder of runs made by the present code, but {folder} holds runs made by other code "
            f"({', '.join(known)}; now {code}). Try --retrain to train them again, or --keep to mix them knowingly."
        )
    say(f"{folder} holds {what} than the present ({code}).")
    return failed, ""


def _failed(journal: Scan) -> set[str]:
    return {journal.identities[number] for number in np.flatnonzero(journal.outcomes == FAILED)}


def _finished(folder: Path, plan: Plan, journal: Scan) -> StudyResult | None:
    """Return the result of a plan that is done; None where runs or anything made from them are missing or damaged."""
    complete = all((folder / n).exists() for n in ("summary.json", "results.zarr", "report.html"))
    if not complete or (before := summary_of(folder)) is None or before.hash != plan.hash:
        return None
    if home.judged_otherwise(folder, plan) or altered(folder) or _missing(plan, journal):
        return None
    try:
        return opened(folder)
    except StoreError:  # the journal holds all that it is made from
        return None


def _missing(plan: Plan, journal: Scan) -> set[str]:
    return {run.identity for run in runs(plan)}.difference(journal.identities)


def part_of(value: Any) -> tuple[int, int]:
    """Return the part i of n that the option `shard` names, or raise `ArgumentError`."""
    value = "1/1" if value is None else value
    try:
        part, parts = map(int, value.split("/") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        raise argument_error("shard", "be i/n, such as 2/8", f"is `{value}`") from None
    return check_shard((part, parts))


def rebuild(
    folder: str | Path, study: str | Path | Study | None = None, *, quiet: bool = True
) -> StudyResult:
    """Fold, judge and draw again from what a folder holds, without training; without a plan there only the page.

    Args:
        folder: Folder of results.
        study: The study, where the folder cannot know where it is: one that was made in Python, has moved, or has another
            name now. The folder remembers the place of a file or folder.
        quiet: Say nothing of how far it is.

    Raises `FolderError` where the folder holds neither a journal with its manifest nor results, or runs of another revision
    of the study or of one that had fewer parameters.
    """
    folder = path_argument("folder", folder)
    stored = home.stored_plan(folder)
    if stored is None:
        result = opened(folder)
        check_writable(folder, "folder")
        write_page(folder, None, None, [])
        return result
    plan = plan_from_dict(stored, None if study is None else loaded(study).named(stored["study"]))
    check_writable(folder, "folder")
    journal = scan(folder)
    if journal.identities:
        refuse_other_runs(stored, plan.study, folder)
    with data_from(None, folder), warnings_logged(folder), stages(quiet=quiet) as tell:
        result = conclude(folder, plan, "", tell=tell)
    result.study = plan.study
    if plan.study.where and plan.study.where != stored.get("where"):
        home.record(folder, plan)
        others = sorted(journal.codes.keys() - {code := plan.study.code, ""})
        remark = f" Its runs were made by other code ({', '.join(others)}; now {code})."
        say(f"{folder} remembers that its study is at {plan.study.where}.{remark * bool(others)}")
    return result
