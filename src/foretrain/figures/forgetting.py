"""Pictures of what decay forgets: both errors of one run, and the step of generalisation of all against their samples."""

import numpy as np


def draw(grid):
    """Both errors of one run for every decay, and steps of generalisation against samples beside their law.

    Args:
        grid: With axes ``weight_decay`` and ``samples``; runs with ``loss``, ``validation_error`` and
            ``generalisation_step``, theory with ``validation_error`` and ``law``, by seed.
    """
    from foretrain.figures import finished
    from foretrain.figures.style import (
        panels,
        shades,
        simulation_line,
        theory_line,
    )

    cell, words = grid.first(keep=("weight_decay",))
    figure, (left, right) = panels(1, 2, height=4.2)
    decays = cell.values("weight_decay")
    colours = dict(zip(decays, shades(len(decays)), strict=True))
    faint = simulation_line("#9aa0a6")
    for number, (decay, colour) in enumerate(colours.items()):
        runs, theory = (x.isel(seed=0, weight_decay=number) for x in (cell.simulation, cell.theory))
        left.loglog(runs["step"], runs["loss"], **faint)
        left.loglog(runs["step"], runs["validation_error"], **simulation_line(colour))
        left.loglog(runs["step"], theory["validation_error"].where(runs["loss"] > 0), **theory_line())  # fmt: skip
        right.plot([], [], **simulation_line(colour, label=rf"decay $\lambda$ = {decay:g}"))
    left.plot([], [], **faint, label="training error")
    left.plot([], [], **theory_line(label="closed form, own data"))
    line = {"color": "#9aa0a6", "linewidth": 1, "label": "generalises below"}
    left.axhline(cell.parameters.threshold, **line)
    left.set(xlabel="Step", ylabel="Error", ylim=(1e-3, None))
    left.set_title("One run", loc="left")
    for one in grid.cells(keep=("samples",)):
        along, decay = one.along("samples"), one.parameters.weight_decay
        if decay not in colours:
            continue
        found, law = (
            x.transpose("samples", "seed").values
            for x in (along.simulation["generalisation_step"], along.theory["law"])
        )
        counts = np.array(along.values("samples"))
        spread = np.broadcast_to(counts[:, None], found.shape)
        right.plot(spread, found, "o", color=colours[decay], markersize=3, alpha=0.5)
        middle = np.sort(law, axis=1)[:, law.shape[1] // 2]
        right.plot(counts, np.where(np.isfinite(middle), middle, np.nan), **theory_line())
    right.set(xlabel="Samples n", ylabel="Step of generalisation", yscale="log")
    right.set_title("Every run", loc="left")
    caption = (
        "Left: errors of the first seed. Right: points are runs, those that never generalise are left out; theory is the "
        f"median of what the null space of each run forgets by.{words}"
    )
    return {"grokking": finished(figure, "Errors and steps of generalisation", caption)}
