"""Predictions of every theory at small sizes, as two stored numbers a variable; the file is written by a command only.

``python -m mutations.golden`` (in ``tests``) writes ``golden.toml``: of every predicted variable, over all cells and seeds of
a study in ``small.toml``, the norm and a projection on fixed random numbers. A change of one run, an exchange of two
indices or of two seeds changes the projection. Nothing is trained.
"""

import tomllib
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from mutations.plant import mutations

from foretrain.laboratory.labelled import _in_cells, theory_of
from foretrain.laboratory.stages import silent
from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan
from foretrain.registry.present import study_of
from foretrain.registry.small import PRESETS

FILE = Path(__file__).with_name("golden.toml")
#: Rounding of two machines, amplified by solvers and by maps of many steps, stays far below; a mutation is off by 0.05.
TOLERANCE = 1e-4


def predicted(name: str) -> Grid:
    """Return the grid of a study of `small.toml` with the theory of all its cells, two seeds of each."""
    plan = make_plan(study_of(name.partition(".")[0]), {**PRESETS[name], "seeds": 2})
    whole = Grid(plan.parameters, plan.axes, plan.seeds, plan.root_seed)
    if not plan.study.predicts:
        return whole
    predict = partial(theory_of, plan.study)
    return replace(whole, theory=_in_cells(whole, predict, "Predicting", silent))


@cache
def telling(study: str) -> frozenset[tuple[str, str]]:
    """Return kind and words of the mutations of a theory that change what is stored of it at small sizes."""
    result = set()
    for name, content in stored().items():
        if name.partition(".")[0] == study:
            whole = predicted(name)
            now = digest(whole)
            for item in mutations(whole):
                if item.predicts in content.keys() & differing(now, digest(item.plant(whole))):
                    result.add((item.kind, item.what))
    return frozenset(result)


def digest(whole: Grid) -> dict[str, list[float]]:
    """Return predicted variable to norm and projection of its finite values over all cells."""
    cells, result = [cell.theory for cell in whole.cells()], {}
    for name in sorted({str(name) for cell in cells for name in cell.data_vars}):
        arrays = [cell[name].values.ravel() for cell in cells if name in cell]
        if arrays[0].dtype.kind in "fiub":
            values = np.concatenate(arrays).astype(float)
            weights = np.random.default_rng(0).normal(size=values.size)
            values = np.where(np.isfinite(values), values, 0)
            result[name] = [float(np.linalg.norm(values)), float(values @ weights)]
    return result


def differing(content: dict[str, list[float]], now: dict[str, list[float]]) -> list[str]:
    """Return the variables that are not as they are stored, or are there in one of both only."""
    both = {name: np.array([content[name], now[name]]) for name in content.keys() & now}
    same = {
        name for name, (a, b) in both.items() if (abs(a - b) <= TOLERANCE * max(a[0], b[0])).all()
    }
    return sorted({*content, *now} - same)


def stored() -> dict[str, dict[str, list[float]]]:
    """Return what was stored: study to variable to its two numbers."""
    return tomllib.loads(FILE.read_text("utf-8"))


def write() -> None:
    """Predict all studies, and store the digests."""
    lines = [
        "# Written by `python -m mutations.golden`, never by hand: norm and projection of what is predicted."
    ]
    for name in PRESETS:
        if result := digest(predicted(name)):
            lines += ["", f'["{name}"]', *(f"{key} = {value}" for key, value in result.items())]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
