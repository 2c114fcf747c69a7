"""Figures of ``permutation-group``, after Liu et al. (2022), Figs 16-18."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import panels
from foretrain.figures.symbols import draw_symbols
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.embedding import accuracy

from .claims import plane

_CYCLES = ("()", "(23)", "(12)", "(123)", "(132)", "(13)")


def draw_matrices(grid):
    cell, where = grid.first(("training_size",))
    if (c := Cell(cell)).end.rqi.isnull().all():
        return None
    best = c.end.rqi.argmax(["training_size", "seed"])
    rqi = c.rqi.isel(best).dropna("step")
    path = c.embedding.isel(best).transpose("step", "symbol", "coordinate")
    named = c.p.operation == "symmetric" and c.p.symbols == len(_CYCLES)
    titles = [f"step {int(level['step']):,}, RQI {float(level):.2f}" for level in rqi[[0, -1]]]
    # Each of its own size: before training matrices are small.
    picture, axes = panels(1, 2, height=3.7)
    axes[0].set_ylabel("Second component")
    for step, title, ax in zip(rqi.step[[0, -1]], titles, axes, strict=True):
        ax.set_title(title, loc="left")
        ax.set_xlabel("First component")
        place = plane(path.sel(step=step).values)
        around = np.argsort(np.arctan2(*(place - place.mean(0)).T[::-1]))
        draw_symbols(ax, place, np.append(around, around[0]), _CYCLES if named else None)
        ax.set(aspect="equal", adjustable="box", xmargin=0.2, ymargin=0.2)
    samples = c.values("training_size")[int(best["training_size"])]
    caption = f"The run with the best representation, {samples} training samples, at the start and at the end."
    return finished(picture, "Matrices in two principal components", caption + where)


OVER_SIZES = {"x": "training_size", "statistic": "median", "ylim": (-0.03, 1.03)}
FIGURES = {
    "fractions": figure(
        "Matrices of a group against the number of training samples",
        "Medians. a, b: RQI, the share of parallelograms there, beside what random training sets imply, and accuracy on all "
        "samples, at the end. c: first steps with the RQI and the validation accuracy wanted, of the runs that reach them.",
        panel(
            {"a: of matrices": lambda c: c.end.rqi, "a: decoded": lambda c: c.end.decoder_rqi},
            theory={"a: of matrices": lambda c: c.theory.ideal_rqi},
            theory_label="a: deduced, mean",
            label="RQI",
            **OVER_SIZES,
        ),
        panel(
            {"b: of the network": accuracy, "b: predicted": lambda c: c.end.predicted_accuracy},
            theory=False,
            label="Accuracy",
            **OVER_SIZES,
        ),
        panel(
            {
                "c: until RQI": lambda c: c.rqi_step,
                "c: until validation accuracy": lambda c: c.validation_step,
            },
            theory=False,
            scale="semilogy",
            label="Step",
            **OVER_SIZES | {"ylim": None},
        ),
        height=5.0,
    ),
    "matrices": drawn(draw_matrices),
}
