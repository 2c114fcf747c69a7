"""Figures of the study ``large-steps``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, theory_line
from foretrain.study import drawn, figure, panel
from foretrain.theory.pathways import large_steps as theory


def draw_window(grid):
    """Draw where runs stop against the step, by depth, with the law and the window of each."""
    cells, where = grid.first(("depth", "relative_step"))
    paths, steps = cells.parameters.paths, np.array(cells.values("relative_step"))
    picture, axes = panels(1, 2, height=4.6)
    fine = np.linspace(0.9 * steps.min(), 1.05 * steps.max(), 300)
    for depth, colour in zip(sorted(cells.values("depth")), [*PALETTE.values()] * 2, strict=False):
        runs, end = cells.simulation.sel(depth=depth), min(theory.window(paths, depth), fine[-1])
        stopped = runs["participation"].where((runs["early_edge"] > 1) | (depth == 2))
        edge = runs["edge"].where(runs["relative_step"] < end)
        for ax, values in zip(axes, (stopped, edge), strict=True):
            each = values.transpose("seed", "relative_step").values
            ax.scatter(np.tile(steps, len(each)), each, c=colour, alpha=0.5, label=f"L = {depth}")
            ax.axvspan(1, end, color=colour, alpha=0.08, linewidth=0)
        law = theory.least_participation(fine, paths, depth)
        axes[0].plot(fine, law if depth > 2 else np.nan * fine, **theory_line(colour))
    axes[1].plot(fine, np.minimum(fine, 1), **theory_line(label="predicted"))
    axes[0].set(ylabel="Paths that carry the mode", xlabel="Relative step f")
    axes[1].set(ylabel="Step × curvature / 2", xlabel="Relative step f")
    words = "Left: runs above the edge when the step is raised, and of depth two; dashed, balanced paths at the edge. Right: "
    words += "runs whose equal paths are stable; dashed, one path, then the edge. Shaded: the windows 1 < f < M^(1-2/L)."
    return finished(picture, "Where runs stop", words + where, 5)


FIGURES = {
    "window": drawn(draw_window),
    "run": figure(
        "A race that is undone",
        "Shares, a colour for each path, and loss of the first run. Under the small step one path wins, as flow tells; "
        "when the step is raised the loss oscillates, and the winner gives back until its minimum is stable.",
        panel(
            lambda c: c.share.isel(seed=0),
            by="path",
            theory=lambda c: (c.theory.early_share + 0 * c.loss).isel(seed=0),
            theory_label="flow, predicted",
            label="Share of the mode",
            x="step",
            scale="semilogx",
        ),
        panel(lambda c: c.loss.isel(seed=0), x="step", scale="loglog"),
        columns=1,
        height=5.4,
        legend=3,
    ),
}
