"""Figures of the study ``optimizers``."""

from foretrain.figures import Drawing, finished
from foretrain.figures.style import OPTIMISER_COLOURS, OPTIMISER_NAMES, panels, simulation_line
from foretrain.measures.learning_time import crossing_time
from foretrain.measures.trajectory import curves
from foretrain.plans.grid import Grid

_MOST = 10  # seeds drawn; more would hide each other


def draw(grid: Grid) -> dict[str, Drawing]:
    """Loss against steps as they are, and against steps in units of each run's own time to half the target."""
    return {"rescaled": _rescaled(*grid.first(("init_scale", "optimizer")))}


def _rescaled(cells, words):
    scales, names = cells.values("init_scale"), cells.values("optimizer")
    figure, axes = panels(len(scales), 2, squeeze=False)
    for row, scale in zip(axes, scales, strict=True):
        longest = 0.0
        for name in names:
            runs = cells.simulation.sel(optimizer=name, init_scale=scale)
            style = simulation_line(OPTIMISER_COLOURS[name], linewidth=1.3, alpha=0.5)
            row[0].plot([], [], **{**style, "alpha": 1}, label=OPTIMISER_NAMES[name])
            for step, curve in list(curves(runs))[:_MOST]:
                half = float(crossing_time(step, -curve, -0.5)) if step.size else 0.0
                row[0].plot(step, curve, **style)
                if half > 0:
                    row[1].plot(step / half, curve, **style)
                    longest = max(longest, half)
        row[0].set(xlim=(0, 2 * longest or None), ylabel=f"σ = {scale:g}: loss |C - Z|²")
        row[1].set(xlim=(0, 2))
        for ax in row:
            ax.set_ylim(0, None)
    axes[-1, 0].set_xlabel("Step")
    axes[-1, 1].set_xlabel("Step over step of loss ½")
    covered = " AdamW is drawn over Adam and covers it where they agree." * ("adamw" in names)
    return finished(
        figure,
        "One time-scale or not",
        f"Left: loss at rank one, up to {_MOST} seeds, the same starts and the same learning rate for every optimizer. "
        "Right: the same curves, each run's steps divided by the step at which its loss is one half. If an optimizer only "
        "accelerated, its curves on the right would lie on those of SGD." + covered + words,
        4,
    )
