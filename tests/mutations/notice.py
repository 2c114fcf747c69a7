"""Which mutations of a study are noticed: a sentence that held fails now, or the prediction is not the stored one."""

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
from mutations.golden import predicted, telling
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
_RATES = ("learning_rate", "relative_rate", "relative_step")


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
    options = {name: grid.axes.get(name, getattr(grid.parameters, name)) for name in names}
    return {name: (2 * np.asarray(value)).tolist() for name, value in options.items()}


def verdicts(study: Study, grid: Grid, among: Collection[str]) -> dict[str, str]:
    """Label of each claim of these sentences to its verdict; a sentence that raises fails."""
    part = copy.copy(study)
    part.__dict__["sentences"] = tuple(text for text in study.sentences if text.id in among)
    claims, problems = judged(part, grid)
    return {claim.label: claim.verdict for claim in claims} | {
        item.line: FAILS for item in problems
    }


def noticed(study: str, grid: Grid, planted: Iterable[Mutation]) -> list[Noticed]:
    """Plant each mutation alone, and judge the sentences that read what it changes, where one that holds does."""
    known = catalogue.load(study)
    before, reading, holding = {}, {}, set()
    for text in known.sentences:
        with _watched() as reads:
            here = verdicts(known, grid, {text.id})
        before, reading[text.id] = before | here, reads
        holding |= {text.id} if HOLDS in here.values() else set()
    result = []
    for item in planted:
        among = {id for id, reads in reading.items() if _may_notice(item, reads)}
        if item.reads and not among & holding:
            continue
        after = verdicts(known, item.plant(grid), among)
        failing = (name for name, verdict in after.items() if verdict == FAILS)
        by = tuple(name for name in failing if before.get(name, HOLDS) == HOLDS)
        golden = bool(item.predicts) and (item.kind, item.what) in telling(study)
        result.append(Noticed(study, item.kind, item.what, by, golden))
    return result


def _may_notice(first: Mutation, reads: Collection[str]) -> bool:
    changed = f"{THEORY}/{first.predicts}" if first.predicts else first.reads
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
        return [Noticed(study, *names, (), names in telling(study)) for names in theory]
    grid = run(study, folder / study)
    planted = list(mutations(grid))
    if catalogue.load(study).trains and (rates := doubled_rates(grid)):
        planted.append(doubled(grid, run(study, folder / f"{study}-faster", **rates)))
    return noticed(study, grid, planted)


def of_all(names: Iterable[str], folder: Path) -> list[Noticed]:
    """Do the same for several studies, two at a time."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return list(chain.from_iterable(pool.map(of_study, names, repeat(folder))))


def report(result: list[Noticed]) -> list[str]:
    """Say per study and kind how many mutations a verdict notices, and which none does."""
    lines = []
    for study in dict.fromkeys(item.study for item in result):
        here = [item for item in result if item.study == study]
        lines.append(f"{study}: {_shares(here)}")
        lines += _by_kind(here, "  ")
        silent = [item for item in here if not item.by]
        lines += [f"  no verdict notices: {item.kind}, {item.what}" for item in silent]
    return [*lines, *_by_kind(result), f"All: {_shares(result)}"]


def _by_kind(result: list[Noticed], margin: str = "") -> list[str]:
    kinds = dict.fromkeys(item.kind for item in result)
    return [f"{margin}{kind}: {_shares([m for m in result if m.kind == kind])}" for kind in kinds]


def _shares(result: list[Noticed]) -> str:
    verdict = sum(bool(item.by) for item in result)
    either = sum(bool(item.by or item.golden) for item in result)
    return (
        f"{verdict} of {len(result)} by a verdict, {either} by a verdict or the stored prediction"
    )
