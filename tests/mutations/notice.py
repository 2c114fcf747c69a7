"""Which mutations of a study are noticed: a sentence that held fails now, or the prediction is not the stored one.

``python -m mutations`` (in ``tests``) plants them in studies at the sizes of ``sizes.toml``.
"""

import contextlib
import copy
import tomllib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from mutations.golden import predicted, told
from mutations.plant import Mutation, doubled, mutations

import foretrain
from foretrain.claims.claim import FAILS, HOLDS
from foretrain.laboratory.judge import judged
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.plans.study import Study
from foretrain.quantities.cell import THEORY, Runs
from foretrain.registry.small import PRESETS

SIZES = tomllib.loads(Path(__file__).with_name("sizes.toml").read_text("utf-8"))
PREDICTED_ONLY = set(SIZES.pop("predicted_only"))
NOTHING_PLANTED = set(SIZES.pop("nothing_planted"))
SILENT = {study: set(size.pop("silent", ())) for study, size in SIZES.items()}
SEEDS = 5  # of a study that sizes.toml does not name
_RATES = ("learning_rate", "relative_rate")


@dataclass(frozen=True)
class Noticed:
    """Fate of one mutation."""

    study: str
    kind: str  #: and `what`, as of the `Mutation`
    what: str
    by: tuple[str, ...]  #: labels of the claims that held and fail now; () where no verdict notices
    golden: bool  #: whether the digest stored of small sizes tells the same error in the theory


def run(study: str, folder: Path, **changed: Any) -> Grid:
    """Run a study at its size here, but for the options that are changed, in this process."""
    size = SIZES.get(study) or {"seeds": SEEDS, **PRESETS[study]}
    return foretrain.run(study, **{**size, **changed}, out=folder, workers=0, quiet=True).grid


def doubled_rates(grid: Grid) -> dict[str, Any]:
    """Return the learning rates of a grid, each twice as large."""
    names = [name for name in vars(grid.parameters) if name.endswith(_RATES)]
    given = {name: grid.axes.get(name, getattr(grid.parameters, name)) for name in names}
    return {name: (2 * np.asarray(value)).tolist() for name, value in given.items()}


def verdicts(study: Study, grid: Grid, among: Collection[str]) -> dict[str, str]:
    """Label of each claim of these sentences to its verdict; a sentence that raises fails."""
    part = copy.copy(study)
    part.__dict__["sentences"] = tuple(said for said in study.sentences if said.id in among)
    claims, problems = judged(part, grid)
    return {claim.label: claim.verdict for claim in claims} | {one.line: FAILS for one in problems}


def noticed(study: str, grid: Grid, planted: Iterable[Mutation]) -> list[Noticed]:
    """Plant each mutation alone, and judge the sentences that read what it changes.

    One that changes a single variable of runs is left out if no sentence that holds reads this variable.
    """
    known = catalogue.load(study)
    before, reading, holding = {}, {}, set()
    for said in known.sentences:
        with _watched() as reads:
            here = verdicts(known, grid, {said.id})
        before, reading[said.id] = before | here, reads
        holding |= {said.id} if HOLDS in here.values() else set()
    found = []
    for one in planted:
        among = {id for id, reads in reading.items() if _may_notice(one, reads)}
        if one.reads and not among & holding:
            continue
        after = verdicts(known, one.plant(grid), among)
        failing = (name for name, verdict in after.items() if verdict == FAILS)
        by = tuple(name for name in failing if before.get(name, HOLDS) == HOLDS)
        golden = bool(one.predicts) and (one.kind, one.what) in told(study)
        found.append(Noticed(study, one.kind, one.what, by, golden))
    return found


def _may_notice(one: Mutation, reads: Collection[str]) -> bool:
    changed = f"{THEORY}/{one.predicts}" if one.predicts else one.reads
    return not changed or changed in reads


@contextlib.contextmanager
def _watched() -> Iterator[set[str]]:
    """Collect the names of variables that sentences read, also where they predict and allow: ``theory/loss``, ``loss``."""
    names: set[str] = set()
    read, by_seed = Runs._read, Grid.by_seed

    def reading(self, name):
        names.add(whole := read(self, name))
        return whole

    def by_seed_reading(self, name):
        names.add(f"{THEORY}/{name}")
        return by_seed(self, name)

    with patch.object(Runs, "_read", reading), patch.object(Grid, "by_seed", by_seed_reading):
        yield names


def of_study(study: str, folder: Path) -> list[Noticed]:
    """Run a study and plant all mutations in it; one that is `predicted_only` is not run, and theory alone is planted in."""
    if study in PREDICTED_ONLY:
        theory = [(m.kind, m.what) for m in mutations(predicted(study)) if m.predicts]
        return [Noticed(study, *names, (), names in told(study)) for names in theory]
    grid = run(study, folder / study)
    planted = list(mutations(grid))
    if catalogue.load(study).trains and (rates := doubled_rates(grid)):
        planted.append(doubled(grid, run(study, folder / f"{study}-faster", **rates)))
    return noticed(study, grid, planted)


def of_all(names: Iterable[str], folder: Path) -> list[Noticed]:
    """Do the same for several studies, two at a time."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return list(chain.from_iterable(pool.map(of_study, names, repeat(folder))))


def report(found: list[Noticed]) -> list[str]:
    """Say per study and kind how many mutations a verdict notices, and which none does."""
    lines = []
    for study in dict.fromkeys(one.study for one in found):
        here = [one for one in found if one.study == study]
        lines.append(f"{study}: {_shares(here)}")
        lines += _by_kind(here, "  ")
        silent = [one for one in here if not one.by]
        lines += [f"  no verdict notices: {one.kind}, {one.what}" for one in silent]
    return [*lines, *_by_kind(found), f"All: {_shares(found)}"]


def _by_kind(found: list[Noticed], margin: str = "") -> list[str]:
    kinds = dict.fromkeys(one.kind for one in found)
    return [f"{margin}{kind}: {_shares([m for m in found if m.kind == kind])}" for kind in kinds]


def _shares(found: list[Noticed]) -> str:
    verdict = sum(bool(one.by) for one in found)
    either = sum(bool(one.by or one.golden) for one in found)
    return f"{verdict} of {len(found)} by a verdict, {either} by a verdict or the stored prediction"
