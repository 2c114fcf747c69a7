"""Figures of ``ridge-grokking``."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.style import PALETTE, legend_below, panels, simulation_line, theory_line
from foretrain.theory.ridge import typical_generalisation


def draw(grid):
    """Both errors of one run for every decay, and steps of generalisation against samples."""
    with_samples = grid.cells(keep=("weight_decay",))
    cell = next(with_samples).along("weight_decay")
    p, decays = cell.parameters, cell.values("weight_decay")
    figure, (left, right) = panels(1, 2, height=4.2)
    colours = dict(zip(decays, PALETTE.values(), strict=False))
    for number, decay in enumerate(decays[: len(colours)]):
        words = f"decay {decay:g}"
        runs, theory = (
            data.isel(seed=0, weight_decay=number) for data in (cell.simulation, cell.theory)
        )
        left.loglog(runs["step"], runs["loss"], **simulation_line("#9aa0a6"))
        left.loglog(runs["step"], runs["validation_error"], **simulation_line(colours[decay]))
        left.loglog(
            runs["step"], theory["validation_error"].where(runs["loss"] > 0), **theory_line()
        )
        right.plot([], [], **simulation_line(colours[decay], label=words))
    left.plot([], [], **simulation_line("#9aa0a6", label="training error"))
    left.plot([], [], **theory_line(label="theory"))
    left.axhline(p.threshold, color="#c5c9cd", linewidth=1)
    left.set(xlabel="step", ylabel="error", ylim=(1e-3, None))
    left.set_title(f"One run, n = {p.samples}", loc="left")
    shares = np.linspace(1 - p.threshold, 0.96, 200)[1:]
    for whole in grid.cells(keep=("samples",)):
        along = whole.along("samples")
        q = along.parameters
        if q.weight_decay not in colours or q.weight_decay == 0:
            continue
        counts = np.array(along.values("samples"))
        found = along.simulation["generalisation_step"].values
        spread = np.broadcast_to(counts[:, None], found.shape)
        right.plot(spread, found, "o", color=colours[q.weight_decay], markersize=3, alpha=0.5)
        law = [
            typical_generalisation(share, q.init_scale, q.threshold, q.weight_decay)
            for share in shares
        ]
        right.plot(shares * q.dimension, np.array(law) / q.learning_rate, **theory_line())
    right.set(xlabel="samples n", ylabel="step of generalisation", yscale="log")
    right.set_title("Every run", loc="left")
    legend_below(figure)
    caption = (
        f"Left: errors of the first seed at n = {p.samples}, d = {p.dimension}; theory is the closed form of descent. Right: "
        "points are runs, those that never generalise are left out; theory is the typical run."
    )
    return {"grokking": Drawing(figure, "Errors and steps of generalisation", caption)}
