"""Cost of judging and drawing a grid of ten thousand cells, beside one pass over its cells alone.

Run with ``python benchmarks/judging.py``. The runs are made up: only what comes after training is timed.
"""

import dataclasses
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray as xr

from foretrain import figures
from foretrain.figures.cells import draw_cells
from foretrain.laboratory.judge import judged
from foretrain.laboratory.labelled import theory_of
from foretrain.plans.grid import Grid
from foretrain.plans.plan import make_plan

SIDE, SEEDS, STEPS = 100, 10, 21


def main():
    axes = {
        "init_scale": [float(f"{v:.6g}") for v in np.geomspace(0.05, 0.3, SIDE)],
        "learning_rate": [float(f"{v:.6g}") for v in np.geomspace(1e-3, 1e-2, SIDE)],
    }
    plan = make_plan("one-mode", axes, seeds=SEEDS)
    random = np.random.default_rng(0)
    shape = (SIDE, SIDE, SEEDS, STEPS)
    dims = (*axes, "seed", "step")
    curve = 1 / (1 + np.exp(-np.linspace(-6, 6, STEPS))) + 1e-3 * random.standard_normal(shape)
    step = np.linspace(0, 2000, STEPS).astype(int)
    coords = {**axes, "seed": np.arange(SEEDS), "step": step}
    time_of = np.array(axes["learning_rate"])[:, None] * step
    data = xr.Dataset(
        {
            "strength": (dims, curve),
            "loss": (dims, 0.5 * (1 - curve) ** 2),
            "imbalance": (dims, 1e-3 * random.standard_normal(shape)),
            "outcome": (dims[:-1], np.full(shape[:-1], 4, np.int8)),
        },
        coords={**coords, "time": (("learning_rate", "step"), time_of)},
    )
    # That of one cell for all of them: what it says does not change the cost.
    p = dataclasses.replace(plan.parameters, steps=2000, observe_every=2000 // (STEPS - 1))
    theory = theory_of(plan.study, Grid(p, seeds=SEEDS)).expand_dims(axes)
    grid = Grid(plan.parameters, plan.axes, SEEDS, 0, data, {"random": data}, theory)

    began = time.perf_counter()
    cells = sum(1 for _ in grid.cells())
    cutting = time.perf_counter() - began
    began = time.perf_counter()
    claims, problems = judged(plan.study, grid, "quick")
    judging = time.perf_counter() - began
    assert not problems, problems
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        figures.save(draw_cells(claims, plan.axes), Path(folder))
    drawing = time.perf_counter() - began
    print(f"{cells} cells, {len(claims)} claims")
    print(f"cutting {cutting:.1f} s, judging {judging:.1f} s, drawing the claims {drawing:.1f} s")
    print(f"judging and drawing over cutting alone: {(judging + drawing) / cutting:.1f}")


if __name__ == "__main__":
    main()
