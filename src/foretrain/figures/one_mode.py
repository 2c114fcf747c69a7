"""Figures of the study ``one-mode``."""

import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import PALETTE, axis_label, panels, simulation_line, theory_line


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Strength of the mode over time, every cell of the grid and every seed."""
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    axes = list(tree.attrs.get("axes", {}))
    rows = simulation.stack(cell=[*axes, "seed"]) if axes else simulation.rename(seed="cell")
    figure, ax = panels()
    for number in range(rows.sizes["cell"]):
        run = rows.isel(cell=number)
        label = "descent, every run" if number == 0 else None
        ax.plot(
            run["time"].values,
            run["strength"].values,
            **simulation_line(PALETTE["blue"], label=label),
        )
    cells = theory.stack(cell=axes) if axes else theory.expand_dims("cell")
    for number in range(cells.sizes["cell"]):
        cell = cells.isel(cell=number)
        label = "closed form" if number == 0 else None
        ax.plot(cell["time"].values, cell["strength"].values, **theory_line(label=label))
    ax.set(xlabel=axis_label(simulation["time"], "Time"), ylabel="Strength of the mode")
    ax.legend()
    caption = "Product of the two weights while learning: every run, and the closed form of each cell of the grid."
    return {"strength": Drawing(figure, "One mode", caption)}
