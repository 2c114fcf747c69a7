"""Figures of ``own-network``."""

import numpy as np

from foretrain.explain.kernel.kernel_prediction import NEAR, WILL_DO, WILL_NOT
from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn

from .study import CAUSES

LEAST = 1e-3
LOOKS = {"layers": "blue", "gates": "orange", "step": "green", "batches": "purple"}


def draw_said(grid):
    """The miss of the predicted curve over the correction that is known before training."""
    figure, ax = panels(1, 1, height=3.6)
    for cell in grid.cells():
        c = Cell(cell)
        if c.p.plant != "nothing":
            continue
        data = c["drawn"]
        correction = np.maximum(np.asarray(data.correction, float), LEAST)
        for values, color, label in (
            (data.miss, "blue", "kernel at the start"),
            (data.miss_along, "orange", "kernel along its way"),
        ):
            miss = np.maximum(np.asarray(values, float), LEAST)
            ax.loglog(correction.ravel(), miss.ravel(), "o", color=PALETTE[color], label=label)
    ends = np.array([LEAST, 2])
    ax.loglog(ends, ends, color="0.6", label="equal")
    for at in (WILL_DO, WILL_NOT):
        ax.axvline(at, color="0.8")
    ax.axhline(NEAR, color="0.8")
    ax.set(
        xlabel="Correction, known before training",
        ylabel="Largest miss,\nover the loss at the start",
    )
    words = "Lines: the kernel is said to do left of the first, not to be trusted right of the second; and the miss between."
    return finished(figure, "What is said before training, and what came", words, columns=3)


def draw_shares(grid):
    """The shares of all four causes in every planted network."""
    figure, ax = panels(1, 1, height=4.2)
    rows, names = 0, []
    for cell in grid.cells():
        c = Cell(cell)
        shares = np.atleast_2d(np.asarray(c.share, float))
        left = np.zeros(len(shares))
        places = rows + np.arange(len(shares))
        for at, cause in enumerate(CAUSES):
            label = cause if not names else None
            ax.barh(
                places,
                shares[:, at],
                left=left,
                color=PALETTE[LOOKS[cause]],
                label=label,
                height=0.8,
            )
            left = left + np.nan_to_num(shares[:, at])
        names.append((places.mean(), c.p.plant))
        rows += len(shares) + 1
    ax.set_yticks([at for at, _ in names], [name for _, name in names])
    ax.invert_yaxis()
    ax.set(xlabel="Share of all parts of the gap, %", xlim=(0, 100))
    words = "A bar is a network, beside it what was planted. Where nothing was planted there is no gap to take apart."
    return finished(figure, "Planted causes, and what is blamed", words, columns=4)


FIGURES = {
    "said": drawn(draw_said),
    "shares": drawn(draw_shares),
}
