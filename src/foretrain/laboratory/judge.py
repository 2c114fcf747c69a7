"""Judging a grid: every sentence in every cell, whatever becomes of one of them."""

import itertools
import math
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.claims.judge import NOTHING, judge, measured
from foretrain.claims.sentence import Sentence
from foretrain.laboratory.stages import Stage, Tell, silent
from foretrain.plans.copies import without_copies
from foretrain.plans.grid import Grid
from foretrain.plans.place import place
from foretrain.plans.size import document_values, size_of
from foretrain.plans.study import Study
from foretrain.quantities.cell import THEORY, Cell
from foretrain.quantities.watched import newly_read, watched
from foretrain.results.files import FULL
from foretrain.vocabulary import FAILED, MISSING

T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """A part of a study that raised."""

    line: str  # what raised and why, with the author's file and line
    trace: str  # the whole traceback, for the log


def judged(
    study: Study, grid: Grid, scale: str = "", look: int = 1, *, tell: Tell = silent
) -> tuple[list[Claim], list[Problem]]:
    """The claims of a grid, sentence by sentence, and what raised on the way.

    A sentence that raises in a cell costs that claim alone; of one that raises in many cells the first is told.

    Cost: some milliseconds per cell.
    """
    # Where every run of a network failed there is nothing to judge: the reasons are what the user needs to see.
    if not all(any_run(data) for data in (grid.simulation, *grid.variants.values())):
        return [], []
    groups: dict[tuple[str, ...], list[Sentence]] = {}
    for sentence in study.sentences:
        groups.setdefault(sentence.along, []).append(sentence)
    total = sum(math.prod(len(v) for n, v in grid.axes.items() if n not in a) for a in groups)
    claims: dict[str, list[Claim]] = {sentence.id: [] for sentence in study.sentences}
    problems: dict[str, Problem] = {}
    documents = document_values(study)
    here = {name: (value,) for name, value in asdict(grid.parameters).items()} | grid.axes
    reads: dict[str, str] = {}
    done = 0
    for along, sentences in groups.items():
        for cell in grid.cells(keep=along):
            tell(Stage("Judging", done, total, "cells"))
            laid = cell.along(*along)
            for sentence in sentences:
                try:
                    with without_copies():
                        claim = judge(sentence, laid, look)
                except (Exception, SystemExit) as error:
                    raised = problem(f"The sentence `{sentence.id}` raised", error)
                    problems.setdefault(sentence.id, raised)
                    continue
                if claim is not None:
                    size = size_of(claim, here, documents)
                    if not claim.reads and sentence.id not in reads:
                        reads[sentence.id] = _reads(sentence, laid)
                    seen = claim.reads or reads[sentence.id]
                    claim = replace(claim, scale=scale, size=size, reads=seen)
                    claims[sentence.id].append(replace(claim, reason=reason(claim, laid)))
            done += 1
    return [*itertools.chain(*claims.values())], [*problems.values()]


def reason(claim: Claim, grid: Grid) -> str:
    """Return why a claim has no verdict; of one that measured nothing with the theory that is nan, where it read one."""
    for name, values in grid.theory.items() if claim.reason == NOTHING else ():
        if f"{THEORY}/{name}" in claim.reads.split(", ") and (lost := int(values.isnull().sum())):
            got = f"predicts nan for {lost} of {values.size} values of `{name}`"
            return f"{NOTHING}, since the theory {got}"
    return claim.reason


def _reads(sentence: Sentence, grid: Grid) -> str:
    """Return the variables that a quantity reads where it makes further cells of the grid, which note nothing themselves."""
    try:
        with watched(grid) as seen:
            measured(sentence, Cell(seen))
            return ", ".join(sorted(newly_read()))
    except Exception:  # it decides a link on a page, and must cost no verdict
        return ""


def any_run(data) -> bool:
    """Return True if a network has a run that neither failed nor is missing."""
    return bool(np.isin(data["outcome"].values, (MISSING, FAILED), invert=True).any())


def guarded(what: str, problems: list[Problem] | None, make: Callable[[], T], otherwise: T) -> T:
    """Return what a part of a study makes, or `otherwise` where it raises, which is a problem; raise without `problems`."""
    try:
        with without_copies():
            return make()
    except (Exception, SystemExit) as error:
        # A full disk is no problem of the study: the same command makes the part once there is room.
        if problems is None or getattr(error.__cause__ or error, "errno", None) in FULL:
            raise
        problems.append(problem(f"The {what} of the study raised", error))
        return otherwise


def problem(what: str, error: BaseException) -> Problem:
    """Return a line that names the innermost place outside of libraries, and the traceback."""
    trace = "".join(traceback.format_exception(error))
    return Problem(f"{what}: {place(error).rstrip('.')}.", f"{what}:\n{trace}")
