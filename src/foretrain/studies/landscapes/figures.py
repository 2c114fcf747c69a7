"""Figures of ``landscapes``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, SECOND_DASHES, SEQUENTIAL, panels, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import drawn

from .study import BETWEEN, NAMES, SCALES, landscape_of, slopes

TITLES = ("$w^2$", "$w^4$", "$c^2 w^2 + w^4$", "$w_1^2$ of three", "$w_1^2 w_2^2$", "$w_1^2 w_2^4$")


def draw_curves(grid):
    figure, axes = panels(2, 3, height=6.4, sharex=True, sharey=True)
    panel_of = dict(zip(NAMES, axes.flat, strict=True))
    blue, orange = PALETTE["blue"], PALETTE["orange"]
    for whole in grid.cells(keep=("beta",)):
        cell = whole.along("beta")
        p, betas = cell.parameters, np.array(cell.values("beta"))
        landscape, ax = landscape_of(p.landscape, p.c), panel_of[p.landscape]
        eps = np.geomspace(SCALES[0], min(landscape.below, 1) * 0.999, 400)
        ax.semilogx(eps, 2 * landscape.by_volume(eps), **theory_line(blue, label="volume, exact"))
        fine = np.geomspace(max(1, betas.min() / 3), betas.max() * 3, 200)
        tempered = landscape.by_temperature(fine)
        look = theory_line(orange, label="temperature, exact", linestyle=SECOND_DASHES)
        ax.semilogx(tempered / fine, 2 * tempered, **look)
        value, error, judged = slopes(Cell(next(cell.cells())))
        look = {"fmt": ".", "color": blue, "label": "volume, counted"}
        ax.errorbar(np.exp(BETWEEN)[judged], 2 * value[judged], 2 * error[judged], **look)
        sampled = 2 * cell.simulation["learning_coefficient"].transpose("beta", "seed")
        mean, look = sampled.mean("seed"), {"color": orange, "label": "temperature, sampled"}
        ax.errorbar(mean / 2 / betas, mean, sampled.std("seed"), fmt="s", **look)
    for title, ax in zip(TITLES, axes.flat, strict=True):
        ax.set_title(title, loc="left")
        ax.set(ylim=(0, 1.2), xlim=(SCALES[0], 1))
        ax.set(xlabel="Scale of the loss", ylabel="Effective parameters")
        ax.label_outer()
    caption = (
        "Twice the slope of the volume over the cut eps, and twice beta E[L] over the mean loss of the chains, which agree "
        "where both are level. Bars: standard errors of counts, deviations of runs."
    )
    return finished(figure, "Effective parameters over scale", caption, columns=4)


def draw_surfaces(grid):
    figure, axes = panels(1, 2, height=3.6, subplot_kw={"projection": "3d"})
    first, second = np.mgrid[-1:1:61j, -1:1:61j]
    surfaces = {"$L = w_1^2$": first**2, "$L = w_1^2 w_2^2$": first**2 * second**2}
    for ax, (name, loss) in zip(axes, surfaces.items(), strict=True):
        ax.set_title(name)
        ax.plot_surface(first, second, loss, cmap=SEQUENTIAL, linewidth=0, rcount=31, ccount=31)
        ax.contour(first, second, loss, levels=[0.01], offset=-0.5, colors=PALETTE["orange"])
        ax.set(xlabel="$w_1$", ylabel="$w_2$", zlim=(-0.5, 1), zticks=[0, 0.5, 1])
        ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    words = "Left: every point of a plane has loss zero. Right: only those of a cross have. Orange, below: a loss of .01."
    return finished(figure, "Free directions that do not interact, and that do", words)


FIGURES = {"curves": drawn(draw_curves), "surfaces": drawn(draw_surfaces)}
