"""Figures of ``landscapes``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, SECOND_DASHES, SEQUENTIAL, panels, theory_line

from .claims import slopes
from .study import NAMES, SCALES, of

TITLES = {
    "square": "$w^2$",
    "quartic": "$w^4$",
    "crossover": "$c^2 w^2 + w^4$",
    "plane": "$w_1^2$ of three",
    "cross": "$w_1^2 w_2^2$",
    "partial": "$w_1^2 w_2^4$",
}
SHOWS = {
    "curves": (
        *("by-volume", "by-temperature", "crossover", "plane", "cross", "partial", "same-curve"),
    ),
    "surfaces": ("plane", "cross"),
}


def draw(grid):
    """Both curves of every landscape, and the two surfaces."""
    return {"curves": _curves(grid), "surfaces": _surfaces()}


def _curves(grid):
    figure, axes = panels(2, 3, height=6.4, sharex=True, sharey=True)
    drawn = dict(zip(NAMES, axes.flat, strict=True))
    between = np.sqrt(SCALES[1:] * SCALES[:-1])
    for whole in grid.cells(keep=("beta",)):
        cell = whole.along("beta")
        p = cell.parameters
        landscape, ax = of(p.landscape, p.c), drawn[p.landscape]
        betas = np.array(cell.values("beta"))
        fine = np.geomspace(max(1, betas.min() / 3), betas.max() * 3, 200)
        said = landscape.by_temperature(fine)
        eps = np.geomspace(SCALES[0], min(landscape.below, 1) * 0.999, 400)
        ax.semilogx(
            eps, 2 * landscape.by_volume(eps), **theory_line(PALETTE["blue"], label="volume, exact")
        )
        ax.semilogx(
            said / fine,
            2 * said,
            **theory_line(PALETTE["orange"], label="temperature, exact", linestyle=SECOND_DASHES),
        )
        found, error, told = slopes(next(cell.cells()))
        ax.errorbar(
            between[told], 2 * found[told], 2 * error[told], fmt=".", color=PALETTE["blue"],
            markersize=4, label="volume, counted",
        )  # fmt: skip
        values = cell.simulation["learning_coefficient"].transpose("beta", "seed").values
        ax.errorbar(
            values.mean(1) / betas, 2 * values.mean(1), 2 * values.std(1), fmt="s", markersize=5,
            color=PALETTE["orange"], label="temperature, sampled",
        )  # fmt: skip
        if p.landscape == "crossover":
            ax.axvline(p.c**4, color="#c5c9cd", linewidth=1)
            ax.text(p.c**4 * 1.15, 1.08, "$c^4$", fontsize=10)
    for name, ax in drawn.items():
        ax.set_title(TITLES[name], loc="left")
        ax.set(ylim=(0, 1.2), xlim=(SCALES[0], 1))
    for ax in axes[-1]:
        ax.set(xlabel="Scale of the loss")
    for ax in axes[:, 0]:
        ax.set(ylabel="Effective parameters")
    caption = (
        "Twice the slope of the volume over the cut eps, and twice beta E[L] over the mean loss that the walkers have: two "
        "quantities, which agree where both are level. Bars: standard errors of counts, deviations of runs."
    )
    return finished(figure, "Effective parameters over scale", caption, columns=4)


def _surfaces():
    from matplotlib.figure import Figure

    from foretrain.figures.style import WIDTH

    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    w = np.linspace(-1, 1, 61)
    first, second = np.meshgrid(w, w, indexing="ij")
    for number, (name, loss) in enumerate(
        {"$L = w_1^2$": first**2, "$L = w_1^2 w_2^2$": first**2 * second**2}.items()
    ):
        ax = figure.add_subplot(1, 2, number + 1, projection="3d")
        ax.plot_surface(first, second, loss, cmap=SEQUENTIAL, linewidth=0, rcount=61, ccount=61)
        ax.contour(first, second, loss, levels=[0.01], offset=-0.5, colors=PALETTE["orange"])
        ax.set(xlabel="$w_1$", ylabel="$w_2$", zlim=(-0.5, 1))
        ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[0, 0.5, 1])
        ax.set_title(name)
    return finished(
        figure,
        "Free directions that do not interact, and that do",
        "Left: every point of a plane has loss zero. Right: only those of a cross have. Orange, below: where the loss is .01.",
    )
