"""From runs to verdicts: fold, predict, fit, judge, store, draw."""

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xarray as xr
from threadpoolctl import threadpool_limits

from foretrain.claims.claim import Claim
from foretrain.errors import FolderError, StoreError
from foretrain.laboratory import folder as home
from foretrain.laboratory.judge import Problem, judged
from foretrain.laboratory.labelled import TheoryOf, labelled, theory_of
from foretrain.laboratory.opened import StudyResult
from foretrain.laboratory.page import write_page
from foretrain.laboratory.stages import Stage, Tell, silent
from foretrain.plans.command import command
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import rules
from foretrain.plans.plan import Plan
from foretrain.provenance.record import remarks, unnamed
from foretrain.report.page import FILE_NAME
from foretrain.results.files import append_log, disk_errors
from foretrain.results.journal import Scan, scan
from foretrain.results.lock import lock
from foretrain.results.manifest import read_manifest
from foretrain.results.result import make_tree, open_result
from foretrain.results.root import MANIFEST, altered
from foretrain.results.store import NAME, attributes, begin_tree, in_order
from foretrain.results.summary import Summary, read_summary, versions, write_summary
from foretrain.vocabulary import MISSING


@threadpool_limits.wrap(limits=1)  # more threads wait for each other where cores are busy
def conclude(
    folder: Path, plan: Plan, device: str, *, tell: Tell = silent, theory: TheoryOf = theory_of
) -> StudyResult:
    """Fold what was run, predict, judge, and write store, summary, figures and page.

    What raises on the way is a line of the page, with its traceback in ``log.txt``, and costs nothing else. Store and summary
    are written while figures are drawn, before the page; without verdicts where judging is interrupted. Whatever a kill
    leaves out is made again from the journal.
    Raises `FolderError` where the journal holds none of the plan's runs, but a store that would be replaced does, or may.
    """
    problems: list[Problem] = []
    tell(Stage("Reading", of="runs"))
    journal = scan(folder)
    whole = labelled(folder, plan, problems, journal, tell=tell, theory=theory)
    _refuse_to_lose(folder, whole)
    for data in (whole.simulation, *whole.variants.values(), whole.theory, whole.fits):
        for variable in data.data_vars.values():  # a sentence must not change what the next sees
            variable.values.flags.writeable = False
    for name in altered(folder):
        anew = "" if name == MANIFEST else ", and was made anew"
        home.note(folder, f"{name} was not as foretrain had written it{anew}.")
    # Delete the page first: if this is interrupted, the folder must not look finished.
    with disk_errors(folder / FILE_NAME):  # the folder of another user
        (folder / FILE_NAME).unlink(missing_ok=True)
    done = _Writing(folder, plan, whole, journal, device)
    look = home.looks_before(folder, plan) + 1
    try:
        claims, raised = judged(plan.study, whole, plan.preset, look, tell=tell)
    except BaseException:
        with lock(folder, "fold", 600):
            done.begin((), done.summary((), problems))()
        raise
    done.manifest = home.look(folder, plan, claims)
    problems += raised
    summary = done.summary(claims, problems)
    with lock(folder, "fold", 600), ThreadPoolExecutor(1) as aside:
        stored = aside.submit(done.begin(claims, summary))
        of_page = {"summary": summary, "ready": stored.result, "theory": theory}
        write_page(folder, plan, whole, problems, tell=tell, **of_page)
    if problems:
        write_summary(folder, done.summary(claims, problems))
        for problem in problems:
            append_log(folder, problem.trace)
    return StudyResult(folder, in_order(done.tree.copy(deep=True), {}))  # as `opened` reads it


def _refuse_to_lose(folder: Path, whole: Grid) -> None:
    if _done((whole.simulation, *whole.variants.values())) or not os.path.lexists(folder / NAME):
        return
    try:
        stored = open_result(folder)
        lost = _done((stored.simulation, *map(stored.variant, stored.variants)))
        reason = lost and f"the results beside it hold {lost}"
    except StoreError as error:  # what is damaged may hold more than what would replace it
        reason = f"the results beside it may, but {str(error).partition(' Try ')[0].rstrip('.')}"
    if reason:
        raise FolderError(
            f"The journal in {folder} holds none of the runs of its plan, while {reason}. They stay as they are: foretrain "
            "show, and foretrain.open where they are whole, read them. Train anew with foretrain run and another --out."
        )


def _done(networks: Iterable[xr.Dataset]) -> int:
    return sum(int((data["outcome"] != MISSING).sum()) for data in networks if "outcome" in data)


class _Writing:
    """Store and summary of a plan's runs, and the writing of both."""

    def __init__(self, folder: Path, plan: Plan, whole: Grid, journal: Scan, device: str):
        self._folder, self._plan, self._whole, self._journal = folder, plan, whole, journal
        before, self.manifest = summary_of(folder), read_manifest(folder) or {}
        self._device = device or (before.device if before else "")
        known_s = before.wall_time_s if before else 0.0  # of versions that did not count them there
        self._wall_time_s = round(max(known_s, self.manifest.get("seconds", 0.0)), 1)

    def begin(self, claims: Sequence[Claim], summary: Summary) -> Callable[[], None]:
        """Make the store with these claims; the function returned puts it in its place, and the summary beside it."""
        parts = {n: getattr(self._whole, n) for n in ("simulation", "variants", "theory", "fits")}
        attrs = attributes(config=self._plan.as_dict(), **self._common())
        self.tree = make_tree(**parts, claims=claims, attrs=attrs)
        store = begin_tree(self._folder, self.tree)

        def finish() -> None:
            store()
            write_summary(self._folder, summary)

        return finish

    def _common(self) -> dict[str, Any]:
        common = {name: getattr(self._plan, name) for name in ("hash", "seeds", "root_seed")}
        return common | {"versions": versions(), "device": self._device}

    def summary(self, claims: Sequence[Claim], problems: Sequence[Problem]) -> Summary:
        """Return what is known of the runs, in short, with these claims and problems."""
        plan, journal, manifest = self._plan, self._journal, self.manifest
        card, looks = plan.study.card, manifest.get("looks", [])
        return Summary(
            study=card.name,
            summary=card.summary,
            source=card.source,
            meanings={name: rule.words for name, rule in rules(plan.study.Parameters).items()},
            config=plan.as_dict()["parameters"],
            axes={name: list(values) for name, values in plan.axes.items()},
            preset=plan.preset,
            data=plan.data,
            wall_time_s=self._wall_time_s,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            runs=home.ended(plan, journal),
            failures=journal.notes,
            codes=dict(journal.codes),
            backends=journal.backends,
            claims=tuple(claims),
            problems=tuple(problem.line for problem in problems),
            looks=tuple(looks),
            remarks=(*remarks(manifest.get("seal"), looks), *unnamed(manifest.get("reads", []))),
            seal=manifest.get("seal", {}),
            history=tuple(manifest.get("history", ())),
            command=shlex.join(command(plan)),
            citations=tuple(card.references),
            **self._common(),
        )


def summary_of(folder: Path) -> Summary | None:
    """The summary of a folder; None if there is none, or a damaged one, which is written anew from the journal."""
    try:
        return read_summary(folder) if (folder / "summary.json").exists() else None
    except StoreError:
        return None
