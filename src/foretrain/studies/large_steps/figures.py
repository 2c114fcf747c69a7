"""Figures of the study ``large-steps``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, theory_line
from foretrain.study import drawn
from foretrain.theory.pathways import large_steps as theory

from .claims import SETTLED

FINE = 300  # steps at which a law is drawn
COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]


def draw_window(grid):
    """Draw where runs stop against the step, by depth, with the law and the window of each."""
    cells, where = grid.first(("depth", "relative_step"))
    paths, steps = cells.parameters.paths, np.array(cells.values("relative_step"))
    figure, axes = panels(1, 2, height=4.6)
    fine = np.linspace(0.9 * steps.min(), 1.05 * steps.max(), FINE)
    order = steps.argsort()
    for depth, colour in zip(sorted(cells.values("depth")), COLOURS * 3, strict=False):
        end = theory.window(paths, depth)
        runs = cells.simulation.sel(depth=depth).transpose("relative_step", "seed", ...)
        carry, edge = (runs[name].values for name in ("participation", "edge"))
        dots = {"color": colour, "marker": "o", "markersize": 4.5}
        if depth == 2:
            axes[0].plot(steps[order], carry.mean(1)[order], **dots, label="L = 2, mean")
        else:
            law = [theory.least_participation(step, paths, depth) for step in fine]
            axes[0].plot(fine, law, **theory_line(colour))
            carry = np.where(runs.early_edge.values > 1, carry, np.nan)
            axes[0].plot(steps, carry, linestyle="", alpha=0.5, **dots)
            axes[0].plot([], [], linestyle="", label=f"L = {depth}", **dots)
            for ax in axes:
                ax.axvspan(1, min(end, fine[-1]), color=colour, alpha=0.08, linewidth=0)
        edge = np.where(steps[:, None] < end, edge, np.nan)
        axes[1].plot(steps, edge, linestyle="", alpha=0.5, **dots)
    axes[1].plot(fine, np.minimum(fine, 1), **theory_line(label="predicted"))
    axes[0].set(ylabel="Paths that carry the mode")
    axes[1].set(ylabel="Step x curvature / 2")
    for ax in axes:
        ax.set(xlabel="Relative step f")
    return finished(
        figure,
        "Where runs stop",
        "Left: runs above the edge when the step is raised; dashed, balanced paths at the edge. Right: runs whose equal paths "
        "are stable at the step; dashed, one path, then the edge. Shaded: the window of each depth, 1 < f < M^(1-2/L); the "
        f"shallower end first.{where}",
        5,
    )


def draw_run(grid):
    """Draw shares and loss of one run: a race is won, the step is raised, the race is undone."""
    cell, where = grid.first()
    run, step = cell.simulation.isel(seed=0), cell.simulation["step"].values
    strength, loss = cell.parameters.singular_value, run["loss"].values
    moving = step[loss > SETTLED]
    if not moving.size:
        return None
    figure, axes = panels(2, 1, height=5, sharex=True)
    for path, colour in zip(run["path"].values, COLOURS * 16, strict=False):
        axes[0].plot(step, run["share"].sel(path=path) / strength, color=colour)
        if "early_share" in cell.theory:
            flow = cell.theory["early_share"].isel(seed=0).sel(path=path) / strength
            axes[0].axhline(flow, **theory_line(colour, label=None if path else "flow, predicted"))
    axes[1].plot(step, loss, color=COLOURS[0])
    axes[0].set(ylabel="Share of the mode")
    axes[1].set(ylabel="Loss", yscale="log", xlabel="Step", ylim=(SETTLED**2, None))
    axes[1].set_xlim(0, 1.5 * moving.max())
    return finished(
        figure,
        "A race that is undone",
        "Shares, a colour for each path, and loss of the first run. Under the small step one path wins, as flow tells; "
        f"when the step is raised the loss oscillates, and the winner gives back until its minimum is stable.{where}",
    )


FIGURES = {"window": drawn(draw_window), "run": drawn(draw_run)}
