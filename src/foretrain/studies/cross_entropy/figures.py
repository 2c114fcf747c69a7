"""Figures of the study ``cross-entropy``."""

from collections.abc import Callable
from functools import partial

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, few_log_ticks, panels, simulation_line
from foretrain.plans.grid import Grid
from foretrain.study import drawn

_MOST = 5  # seeds drawn beside their mean
_CURVES = {
    "relative_loss": ("loss over its first", "blue"),
    "probability_share": ("probability of the likeliest", "green"),
    "row_accuracy": ("accuracy", "orange"),
}
_PARTS = {"signal_length": ("signal", "vermillion"), "decay_length": ("decay", "sky")}
_WIDTHS = {"signal_length": 4.5, "decay_length": 1.8}  # both are seen where they are one


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Loss, probability and accuracy, and the gradient's two parts, against steps."""
    return {"course": partial(_course, *grid.first(("rank", "target_scale")))}


def _course(cells, words):
    ranks, scales = cells.values("rank"), cells.values("target_scale")
    rows = len(ranks) * len(scales)
    figure, axes = panels(rows, 2, squeeze=False, height=2.4 * rows + 1)
    for number, row in enumerate(axes):
        rank, scale = ranks[number // len(scales)], scales[number % len(scales)]
        runs = cells.simulation.sel(rank=rank, target_scale=scale)
        first = float(runs["relative_loss"].isel(step=0).mean())
        for ax, kinds in zip(row, (_CURVES, _PARTS), strict=True):
            for name, (label, colour) in kinds.items():
                values = runs[name].transpose("seed", "step")
                values = values / first if name == "relative_loss" else values
                for seed in values.values[:_MOST]:
                    ax.plot(
                        runs["step"],
                        seed,
                        **simulation_line(PALETTE[colour], linewidth=0.7, alpha=0.4),
                    )
                wide = _WIDTHS.get(name, 3.2)
                line = simulation_line(PALETTE[colour], label=label, linewidth=wide)
                ax.plot(runs["step"], values.mean("seed"), **line)
            steps = runs["step"].values
            if runs["relative_loss"].notnull().any("seed").sum() > 2:
                ax.set(xscale="log", xlim=(steps[1], steps[-1]))
                few_log_ticks(ax)
        row[0].set(ylabel="Share", ylim=(0, 1.1))
        row[0].set_title(f"r = {rank}, s = {scale:g}", loc="left")
        row[1].set(ylabel="Length in -gradient", ylim=(0, None))
    for ax in axes[-1]:
        ax.set_xlabel("Step")
    return finished(
        figure,
        "Cross-entropy along training",
        "Left: loss over its mean at the start; probability, given the row, of the entry that the target holds for likeliest, "
        "from chance to the target's own; share of rows whose likeliest entry is right. Right: length of the gradient's two "
        f"parts, signal and decay. Mean over seeds and the first {_MOST} of them; rows: rank r and scale s of the target "
        f"(s = 100 makes logits of order one at n = 100).{words}",
        4,
    )


FIGURES = {"all": drawn(draw)}
