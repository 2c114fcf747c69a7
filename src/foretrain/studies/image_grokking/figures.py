"""Figures of ``image-grokking``: probability of each phase over the map, and steps of generalisation beside their laws."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, panels, simulation_line, titled_panels
from foretrain.plans.grid import Grid
from foretrain.study import drawn
from foretrain.training.image_perceptron import first_steps
from foretrain.training.phases import PHASES

from .claims import MAP, generalised, phases
from .study import SIZES, compared


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """The map, and what the step of generalisation depends on."""
    cell, words = grid.first(MAP)
    laid = cell.along(*MAP)
    drawings = {"delay": partial(_delay, grid, laid, words)}
    if all(len(laid.values(name)) > 1 for name in MAP):
        drawings = {"phases": partial(_phases, laid, words)} | drawings
    return drawings


def _phases(cell, words):
    found, (decays, rates) = phases(cell), map(cell.values, MAP)
    figure, axes = titled_panels(PHASES, 3.4, ylabel="Weight decay", xlabel="Rate, last layer")
    for number, ax in enumerate(axes):
        ax.set_title(PHASES[number], loc="left", fontsize=11)
        share = (found == number).mean(-1)
        ax.pcolormesh(share, vmin=0, vmax=1, cmap="Blues")
        ax.set_xticks(np.arange(len(rates)) + 0.5, [f"{rate:g}" for rate in rates], rotation=60)
        ax.set_yticks(np.arange(len(decays)) + 0.5, [f"{decay:g}" for decay in decays])
        ax.tick_params(labelsize=9.5)
        if share.size <= 40:
            for (row, column), value in np.ndenumerate(share):
                look = {"color": "white" if value > 0.6 else INK, "fontsize": 9}
                ax.text(column + 0.5, row + 0.5, f"{value:.2g}", ha="center", va="center", **look)
    caption = (
        f"Share of {found.shape[-1]} seeds in each phase, over decay and the last layer's rate."
    )
    return Drawing(figure, "Phases", caption + words)  # letters would not fit beside the names


def _delay(grid, cell, words):
    """Curves of one run, measured over predicted steps of all, and steps against the size of the training set."""
    figure, (left, middle, right) = panels(1, 3, height=3.9)
    p = cell.parameters
    one = next((c for c in grid.cells() if compared(c.parameters)), next(grid.cells()))
    runs = one.simulation.isel(seed=0)
    for name, colour in (("train", PALETTE["blue"]), ("validation", PALETTE["orange"])):
        curve = runs[f"{name}_accuracy"]
        left.plot(curve["step"], curve, **simulation_line(colour, label=name))
    left.axvline(float(one.theory["lazy_step"][0]), color=INK, linestyle=":", label="kernel's law")
    left.set(xlabel="Step", ylabel="Accuracy", ylim=(0, 1.02))
    left.set_title(rf"$\alpha$ = {p.init_scale:g}", loc="left")
    steps = first_steps(cell.simulation, p)[1].ravel()
    for name, colour, text in (
        ("forgetting_step", PALETTE["sky"], r"law of decay, $\ln\alpha/(\eta\lambda)$"),
        ("lazy_step", PALETTE["vermillion"], "law of the tangent kernel"),
    ):
        told = cell.theory[name].transpose(*MAP, "seed").values.ravel()
        kept = np.isfinite(told) & (told > p.delay / 5)
        middle.plot(
            told[kept], np.minimum(steps[kept], 1.15 * p.steps), "o", color=colour, markersize=3,
            alpha=0.6, label=text,
        )  # fmt: skip
    ends = p.delay / 5, 1.15 * p.steps
    middle.plot(ends, ends, color=INK, linewidth=1, label="equal")
    middle.set(xscale="log", yscale="log", xlabel="Predicted step", ylabel="Measured step")
    middle.set_title("All runs", loc="left")
    sized = ("fewer", "", "more") if "fewer" in one.variants else ("",)
    found = generalised(one, sized)
    if len(sized) > 1 and np.isfinite(found).any():
        sizes = one.parameters.training_size * np.array([SIZES["fewer"], 1, SIZES["more"]])
        look = {"color": PALETTE["green"], "linewidth": 1, "markersize": 4}
        right.semilogx(sizes, np.where(np.isinf(found), np.nan, found), "o-", **look)
        right.set_xticks(sizes, [f"{size:g}" for size in sizes])
        right.minorticks_off()
    right.set(xlabel="Training images", ylabel="Measured step")
    right.set_title("Every seed", loc="left")
    caption = (
        "Left: first seed of one cell. Middle: steps of generalisation beside what was predicted before training, from a "
        "fifth of the delay that counts; at the upper edge are runs that never generalise. Right: against the size of the "
        "training set."
    )
    return finished(figure, "What the delay depends on", caption + words)


FIGURES = {"all": drawn(draw)}
