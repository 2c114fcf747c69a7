"""Which mutations of a study are noticed: a sentence that held fails now, or the prediction is not the stored one."""

import contextlib
import copy
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from mutations.golden import predicted, telling
from mutations.plant import Mutation, mutations, otherwise

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
HEADLINES = SIZES.pop("headlines")
SILENT = {study: set(options.pop("silent", ())) for study, options in SIZES.items()}
SEEDS = 5  # of a study that sizes.toml does not name
RATES = ("learning_rate", "relative_rate", "relative_step")
#: Kind and words of the error of code that trains at another rate than it says; by which factor which options are off.
FASTER = ("rate", "every learning rate is twice what it says", RATES, 2.0)


@dataclass(frozen=True)
class Noticed:
    """Fate of one mutation."""

    study: str
    kind: str  #: and `what`, as of the `Mutation`
    what: str
    by: tuple[str, ...]  #: labels of the claims that held and fail now; () where no verdict notices
    golden: bool  #: whether the digest stored of small sizes tells the same error in the theory


def size(study: str) -> dict[str, Any]:
    return SIZES.get(study) or {"seeds": SEEDS, **PRESETS[study]}


def run(study: str, folder: Path, options: Mapping[str, Any]) -> Grid:
    return foretrain.run(study, **options, out=folder, workers=0, quiet=True).grid


def retrained(study: str, grid: Grid, folder: Path, options, errors=(FASTER,)):
    """Yield the mutations of code that trains otherwise than it says, each with runs of its own."""
    p, trains = grid.parameters, catalogue.load(study).trains
    for number, (kind, what, ends, factor) in enumerate(errors):
        names = [name for name in vars(p) if name.endswith(ends)]
        settings = {name: np.asarray(grid.axes.get(name, getattr(p, name))) for name in names}
        if trains and any((factor * values != values).any() for values in settings.values()):
            done = {name: (factor * values).tolist() for name, values in settings.items()}
            other = run(study, folder / f"{study}-otherwise-{number}", {**options, **done})
            yield otherwise(grid, other, kind, what)


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
        changed = f"{THEORY}/{item.predicts}" if item.predicts else item.reads
        among = {id for id, reads in reading.items() if not changed or changed in reads}
        if item.reads and not among & holding:
            continue
        after = verdicts(known, item.plant(grid), among)
        failing = (name for name, verdict in after.items() if verdict == FAILS)
        by = tuple(name for name in failing if before.get(name, HOLDS) == HOLDS)
        golden = bool(item.predicts) and (item.kind, item.what) in telling(study)
        result.append(Noticed(study, item.kind, item.what, by, golden))
    return result


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
    grid = run(study, folder / study, size(study))
    return noticed(study, grid, [*mutations(grid), *retrained(study, grid, folder, size(study))])


def of_all(names: Iterable[str], folder: Path) -> list[Noticed]:
    """Run several studies, two at a time."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        return list(chain.from_iterable(pool.map(of_study, names, repeat(folder))))


def report(result: list[Noticed]) -> list[str]:
    """Name the mutations that no verdict notices, and say per kind how many are noticed."""
    silent = [f"No verdict notices: {m.study}, {m.kind}, {m.what}" for m in result if not m.by]
    kinds = dict.fromkeys(item.kind for item in result)
    shares = [f"{kind}: {_shares([m for m in result if m.kind == kind])}" for kind in kinds]
    return [*silent, *shares, f"All: {_shares(result)}"]


def _shares(result: list[Noticed]) -> str:
    verdict = sum(bool(item.by) for item in result)
    either = sum(bool(item.by or item.golden) for item in result)
    return (
        f"{verdict} of {len(result)} by a verdict, {either} by a verdict or the stored prediction"
    )
