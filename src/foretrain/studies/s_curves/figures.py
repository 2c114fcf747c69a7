"""Figures of the study ``s-curves``: a grid of loss curves for each loss."""

import json
from collections.abc import Iterable

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    OPTIMISER_NAMES,
    PALETTE,
    WIDTH,
    panels,
    simulation_line,
    theory_line,
)
from foretrain.studies.s_curves.study import AXES

_TITLES = {"mse": "Squared error", "cross_entropy": "Cross-entropy"}


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """One grid of panels per loss, and one for cross-entropy of large logits."""
    fixed = json.loads(tree.attrs["config"])["parameters"]
    data = with_axes(tree["simulation"].to_dataset(), fixed, AXES)
    theory = with_axes(tree["theory"].to_dataset(), fixed, AXES)
    drawings = {}
    for kind in data["loss_kind"].values:
        kind = str(kind)
        predicted = theory.sel(loss_kind=kind)
        drawings[kind.replace("_", "-") or "loss"] = _grid(
            data.sel(loss_kind=kind), predicted, _TITLES.get(kind, "Loss")
        )
    if "/variants/large_logits" in tree.groups:
        large = with_axes(tree["variants/large_logits"].to_dataset(), fixed, AXES).isel(
            loss_kind=-1
        )
        drawings["large-logits"] = _grid(large, None, "Cross-entropy of logits of order one")
    return drawings


def with_axes(data: xr.Dataset, fixed: dict, axes: Iterable[str]) -> xr.Dataset:
    """The dataset with a dim for each of a study's `axes`, of length one where it was not swept.

    Of axes that are not the study's own the first value is kept. `fixed` holds the parameters of the run.
    """
    axes = tuple(axes)
    for name in reversed(axes):
        if name not in data.dims:
            data = data.expand_dims({name: [fixed[name]]})
    own = (*axes, "seed", "step", "component")
    return data.isel({name: 0 for name in data.dims if name not in own})


def _grid(data, theory, title):
    ranks, optimisers = data["rank"].values, data["optimiser"].values
    rows, columns = len(ranks), len(optimisers)
    figure, axes = panels(rows, columns, height=max(2.8, 1.75 * rows), sharey=True, squeeze=False)
    for row, rank in enumerate(ranks):
        for column, name in enumerate(optimisers):
            ax = axes[row, column]
            cell = data.sel(rank=rank, optimiser=name)
            curves = cell["relative_loss"].transpose("seed", "step").values
            step = cell["step"].values
            for curve in curves[:20]:
                style = simulation_line(PALETTE["blue"], linewidth=0.9, alpha=0.35)
                ax.plot(step, curve, **style)
            ax.plot(step, np.nanmean(curves, 0), color=PALETTE["blue"], linewidth=2, zorder=5)
            if theory is not None:
                exact = theory["loss"].sel(rank=rank, optimiser=name).mean("seed", skipna=False)
                ax.plot(
                    theory["step"].values, exact.values, **theory_line(PALETTE["blue"], zorder=6)
                )
            ax.set(xlim=(0, _end(step, curves)), ylim=(0, None))
            ax.locator_params(axis="x", nbins=3)
            if row == 0:
                ax.set_title(OPTIMISER_NAMES[str(name)], fontsize=12)
            if column == 0:
                ax.set_ylabel(f"rank {rank}")
    top = np.nanquantile(data["relative_loss"].isel(step=0).values, 0.99)
    axes[0, 0].set_ylim(0, 1.05 * max(top, 1.05))
    figure.supxlabel("Step", fontsize=13)
    figure.set_size_inches(WIDTH, figure.get_size_inches()[1])
    seeds = data.sizes["seed"]
    drawn = f"{seeds} seeds" if seeds <= 20 else f"20 of {seeds} seeds"
    exact = "; dashed, the exact reduction where there is one" if theory is not None else ""
    return Drawing(
        figure,
        f"{title}: loss while learning",
        f"{title}: training loss over that of the zero matrix, {drawn} (pale) and their mean (dark){exact}. "
        "Each panel is as long as its runs take to come within a percent of where they end.",
    )


def _end(step, curves):
    """Step at which nine runs in ten are within a percent of where they end, and a little."""
    finite = np.where(np.isfinite(curves), curves, np.inf)
    end = np.nanmin(np.where(np.isfinite(curves), curves, np.nan), 1, keepdims=True)
    late = [
        step[np.flatnonzero(row > last + 0.01)[-1]] if (row > last + 0.01).any() else step[1]
        for row, last in zip(finite, end[:, 0], strict=True)
    ]
    return min(1.25 * np.quantile(late, 0.9) + step[1], step[-1])
