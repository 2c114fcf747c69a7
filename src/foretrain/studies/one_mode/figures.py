"""Figures of the study ``one-mode``."""

import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import PALETTE, axis_label, panels, simulation_line, theory_line

_MOST = 60  # curves that can still be told apart


def _spread(number: int) -> list[int]:
    """At most `_MOST` of so many curves, evenly spread over them."""
    step = max(1, -(-number // _MOST))
    return list(range(0, number, step))


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Strength of the mode over time, every cell of the grid and every seed."""
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    axes = list(tree.attrs.get("axes", {}))
    rows = simulation.stack(cell=[*axes, "seed"]) if axes else simulation.rename(seed="cell")
    figure, ax = panels()
    drawn = "descent, every run" if rows.sizes["cell"] <= _MOST else "descent"
    for number in _spread(rows.sizes["cell"]):
        run = rows.isel(cell=number)
        label = drawn if number == 0 else None
        ax.plot(
            run["time"].values,
            run["strength"].values,
            **simulation_line(PALETTE["blue"], label=label),
        )
    cells = theory.stack(cell=axes) if axes else theory.expand_dims("cell")
    for number in _spread(cells.sizes["cell"]):
        cell = cells.isel(cell=number)
        label = "closed form" if number == 0 else None
        ax.plot(cell["time"].values, cell["strength"].values, **theory_line(label=label))
    ax.set(xlabel=axis_label(simulation["time"], "Time"), ylabel="Strength of the mode")
    ax.legend()
    caption = "Product of the two weights while learning: every run, and the closed form of each cell of the grid."
    if rows.sizes["cell"] > _MOST:
        caption += f" At most {_MOST} curves of each are drawn, spread evenly over the grid."
    return {"strength": Drawing(figure, "One mode", caption)}
