"""Figures of the study ``s-curves``: a grid of loss curves for each loss, and what lies inside and outside of the target."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    OPTIMISER_NAMES,
    PALETTE,
    legend_below,
    panels,
    simulation_line,
    theory_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.studies.s_curves.study import AXES
from foretrain.studies.s_curves.theory import FLOW_SEEDS
from foretrain.study import drawn

_TITLES = {"mse": "Squared error", "cross_entropy": "Cross-entropy"}


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """One grid of panels per loss, one for cross-entropy of large logits, and the split along the target's span."""
    part, words = grid.first(tuple(AXES))
    drawings = {}
    for kind in part.values("loss_function"):
        data, predicted = (one.sel(loss_function=kind) for one in (part.simulation, part.theory))
        drawings[kind.replace("_", "-")] = partial(_grid, data, predicted, _TITLES[kind], words)
    if "large_logits" in part.variants:
        large = part.variants["large_logits"].isel(loss_function=-1)
        title = "Cross-entropy of logits of order one"
        drawings["large-logits"] = partial(_grid, large, None, title, words)
    if "mse" in part.values("loss_function") and "sgd" in part.values("optimizer"):
        drawings["split"] = partial(_split, part, words)
    return drawings


def _split(part, words):
    chosen = {"loss_function": "mse", "optimizer": "sgd"}
    data, predicted = part.simulation.sel(chosen), part.theory.sel(chosen)
    ranks = [rank for rank in data["rank"].values if rank < part.parameters.dimension]
    figure, axes = titled_panels([f"rank {rank}" for rank in ranks], 4.0, "Squared length")
    for ax, rank in zip(axes, ranks, strict=True):
        for name, label in (("inside", "in the target's span"), ("outside", "outside of it")):
            colour = PALETTE["blue" if name == "inside" else "vermillion"]
            curves, known = (
                source[variable].sel(rank=rank).transpose("seed", "step").values[:FLOW_SEEDS]
                for source, variable in ((data, name), (predicted, f"flow_{name}"))
            )
            ax.plot(data["step"], _mean(curves), **simulation_line(colour, label=label))
            ax.plot(
                data["step"], known.mean(0), **theory_line(colour, label="flow from their starts")
            )
        loss = data["relative_loss"].sel(rank=rank).transpose("seed", "step").values
        ax.set(xlim=(0, _end(data["step"].values, loss)), ylim=(0, None))
        ax.locator_params(axis="x", nbins=3)
    axes[len(ranks) // 2].set_xlabel("Step")
    return finished(
        figure,
        "Inside and outside of the target's span",
        f"Descent of the squared error: squared length of both factors in the target's span and outside of it, over twice "
        f"the sum of its singular values, mean of {min(data.sizes['seed'], FLOW_SEEDS)} seeds; dashed, the flow from their "
        f"starts.{words}",
    )


def _mean(curves):
    """Mean over seeds of what is known, nan where nothing is."""
    known = np.isfinite(curves)
    return np.where(known, curves, 0).sum(0) / np.where(known.any(0), known.sum(0), np.nan)


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
            shown = curves[:FLOW_SEEDS]
            look = {"linewidth": 0.9, "alpha": 0.35, "label": "every seed"}
            ax.plot(step, shown.T, **simulation_line(colour, **look))
            ax.plot(
                step, _mean(shown), color=colour, linewidth=2, zorder=5, label="mean over seeds"
            )
            if theory is not None:
                known = theory.sel(rank=rank, optimizer=name).isel(seed=slice(FLOW_SEEDS))
                exact, flow = (
                    known[each].mean("seed", skipna=False) for each in ("loss", "flow_loss")
                )
                drawn = exact if exact.notnull().any() else flow
                line = theory_line(colour, zorder=6, label="what their starts predict")
                ax.plot(theory["step"], drawn, **line)
            ax.set(xlim=(0, _end(step, curves)), ylim=(0, None))
            ax.locator_params(axis="x", nbins=3)
            if row == 0:
                ax.set_title(OPTIMISER_NAMES[str(name)], fontsize=12)
            if column == 0:
                ax.set_ylabel(f"rank {rank}")
    first = data["relative_loss"].isel(step=0).values
    first = first[np.isfinite(first)]
    axes[0, 0].set_ylim(0, 1.05 * max(np.quantile(first, 0.99) if first.size else 0, 1.05))
    for ax in axes[-1]:
        ax.set_xlabel("Step")
    name = "Loss over that of the zero matrix" if len(ranks) > 1 else "Relative loss"
    figure.supylabel(name, fontsize=13)
    legend_below(figure)
    seeds = data.sizes["seed"]
    drawn = f"{seeds} seeds" if seeds <= FLOW_SEEDS else f"{FLOW_SEEDS} of {seeds} seeds"
    exact = (
        "; dashed, for descent, the mean of what their starts predict" if theory is not None else ""
    )
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


FIGURES = {"all": drawn(draw)}
