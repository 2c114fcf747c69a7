"""Figures of the study ``optimizers``."""

import json

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    OPTIMISER_COLOURS,
    OPTIMISER_NAMES,
    legend_below,
    panel_letters,
    panels,
    simulation_line,
)
from foretrain.measures.learning_time import crossing_time
from foretrain.studies.optimizers.study import AXES
from foretrain.studies.s_curves.figures import with_axes


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Loss against steps as they are, and against steps in units of each run's own time to half the target."""
    data = tree["simulation"].to_dataset()
    fixed = json.loads(tree.attrs["config"])["parameters"]
    return {"rescaled": _rescaled(with_axes(data, fixed, AXES))}


def _rescaled(data):
    scales, rate = data["init_scale"].values, min(data["learning_rate"].values)
    figure, axes = panels(len(scales), 2, squeeze=False)
    for row, scale in enumerate(scales):
        longest = 0
        for name in data["optimiser"].values:
            cell = data.sel(optimiser=name, init_scale=scale, learning_rate=rate)
            step = cell["step"].values
            colour = OPTIMISER_COLOURS[str(name)]
            for seed, curve in enumerate(cell["loss"].transpose("seed", "step").values[:10]):
                kept = np.isfinite(curve)
                x, y = step[kept], curve[kept]
                half = float(crossing_time(x, -y, -0.5))
                shown = {"label": OPTIMISER_NAMES[str(name)]} if seed == row == 0 else {}
                style = simulation_line(colour, linewidth=1.3, alpha=0.5)
                axes[row, 0].plot(x, y, **{**style, **shown})
                axes[row, 1].plot(x / half, y, **style)
                longest = max(longest, half)
        label = f"σ = {scale:g}: "
        axes[row, 0].set(xlim=(0, 2 * longest), ylim=(0, None), ylabel=f"{label}loss |C - Z|²")
        axes[row, 1].set(xlim=(0, 2), ylim=(0, None))
    axes[-1, 0].set_xlabel("Step")
    axes[-1, 1].set_xlabel("Step over step of loss ½")
    panel_letters(axes)
    for handle in legend_below(figure, 4).legend_handles:
        handle.set_alpha(1)
    shown = f" Learning rate {rate:g}."
    names = {str(name) for name in data["optimiser"].values}
    if names >= {"adam", "adamw"}:
        shown = " AdamW is drawn over Adam and covers it where they agree." + shown
    return Drawing(
        figure,
        "One time-scale or not",
        "Left: loss at rank one, ten seeds, the same starts and the same learning rate for every optimiser. Right: the "
        "same curves, each run's steps divided by the step at which its loss is one half. If an optimiser only "
        "accelerated, its curves on the right would lie on those of SGD." + shown,
    )
