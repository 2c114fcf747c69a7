"""Figures of the study ``s-curves``: a grid of loss curves for each loss."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.style import OPTIMISER_NAMES, PALETTE, panels, simulation_line, theory_line
from foretrain.plans.grid import Grid
from foretrain.studies.s_curves.study import AXES

_TITLES = {"mse": "Squared error", "cross_entropy": "Cross-entropy"}


def draw(grid: Grid) -> dict[str, Drawing]:
    """One grid of panels per loss, and one for cross-entropy of large logits."""
    part, words = grid.first(tuple(AXES))
    drawings = {}
    for kind in part.values("loss_function"):
        data, predicted = (one.sel(loss_function=kind) for one in (part.simulation, part.theory))
        drawings[kind.replace("_", "-")] = _grid(data, predicted, _TITLES[kind], words)
    if "large_logits" in part.variants:
        large = part.variants["large_logits"].isel(loss_function=-1)
        title = "Cross-entropy of logits of order one"
        drawings["large-logits"] = _grid(large, None, title, words)
    return drawings


def _grid(data, theory, title, words):
    ranks, optimizers = data["rank"].values, data["optimizer"].values
    shape, height = (len(ranks), len(optimizers)), max(2.8, 1.75 * len(ranks))
    figure, axes = panels(*shape, height=height, sharey=True, squeeze=False)
    colour = PALETTE["blue"]
    for row, rank in enumerate(ranks):
        for column, name in enumerate(optimizers):
            ax, cell = axes[row, column], data.sel(rank=rank, optimizer=name)
            curves = cell["relative_loss"].transpose("seed", "step").values
            step = cell["step"].values
            ax.plot(step, curves[:20].T, **simulation_line(colour, linewidth=0.9, alpha=0.35))
            known = np.isfinite(curves).any(0)
            mean = np.nanmean(curves[:, known], 0) if known.any() else []
            ax.plot(step[known], mean, color=colour, linewidth=2, zorder=5)
            if theory is not None:
                exact = theory["loss"].sel(rank=rank, optimizer=name).mean("seed", skipna=False)
                ax.plot(theory["step"], exact, **theory_line(colour, zorder=6))
            ax.set(xlim=(0, _end(step, curves)), ylim=(0, None))
            ax.locator_params(axis="x", nbins=3)
            if row == 0:
                ax.set_title(OPTIMISER_NAMES[str(name)], fontsize=12)
            if column == 0:
                ax.set_ylabel(f"rank {rank}")
    first = data["relative_loss"].isel(step=0).values
    first = first[np.isfinite(first)]
    axes[0, 0].set_ylim(0, 1.05 * max(np.quantile(first, 0.99) if first.size else 0, 1.05))
    figure.supxlabel("Step", fontsize=13)
    figure.supylabel("Loss over that of the zero matrix", fontsize=13)
    seeds = data.sizes["seed"]
    drawn = f"{seeds} seeds" if seeds <= 20 else f"20 of {seeds} seeds"
    exact = "; dashed, the exact reduction where there is one" if theory is not None else ""
    return Drawing(
        figure,
        f"{title}: loss while learning",
        f"{title}: training loss over that of the zero matrix, {drawn} (pale) and their mean (dark){exact}. "
        f"Each panel is as long as its runs take to come within a percent of where they end.{words}",
    )


def _end(step, curves) -> float:
    """Step at which nine runs in ten are within a percent of where they end, and a little."""
    ends = np.fmin.reduce(curves, axis=1, keepdims=True)
    above = curves > ends + 0.01
    late = [step[np.flatnonzero(row)[-1]] if row.any() else step[1] for row in above]
    return float(min(1.25 * np.quantile(late, 0.9) + step[1], step[-1]))
