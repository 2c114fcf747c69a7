"""Figures of ``class-collapse``."""

import matplotlib as mpl

from foretrain.figures import finished
from foretrain.figures.style import titled_panels
from foretrain.study import at_end, drawn

from .study import CLASSES


def draw_points(grid):
    cell, words = grid.first()
    if (runs := cell.simulation["points"].isel(seed=0)).sizes["coordinate"] < 2:
        return None
    shown = {"At the start": runs.isel(step=0), "Loss over Z": runs.isel(step=-1)}
    if "flow_control" in cell.variants:
        shown["Not over Z"] = at_end(cell.variants["flow_control"]["points"].isel(seed=0))
    figure, axes = titled_panels(tuple(shown), 2.9, "Second coordinate", xlabel="First coordinate")
    colours = mpl.colormaps["tab10"](range(CLASSES)).repeat(runs.sizes["sample"] // CLASSES, axis=0)
    for ax, points in zip(axes, shown.values(), strict=True):
        first, second = points.transpose("coordinate", "sample").values[:2]
        ax.scatter(first, second, c=colours, s=9, alpha=0.7, linewidths=0)
        ax.sharex(axes[0])
    caption = (
        "Images of ten classes (colours), first seed: as a random encoder puts them, after Adam on the normalised loss, "
        "and after the flow of the loss that is not normalised."
    )
    return finished(figure, "Points of images", caption + words)


FIGURES = {
    "points": drawn(
        draw_points, "within", "between", "flow_control/squared_norm", "flow_control/within"
    )
}
