"""Figures of ``parallelograms``, after Liu et al. (2022), Figs 2, 3 and 12."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, titled_panels
from foretrain.figures.symbols import draw_symbols
from foretrain.quantities.cell import Cell
from foretrain.quantities.frequency import frequency_shares
from foretrain.study import drawn, figure, panel
from foretrain.training.embedding import accuracy, fractions

from .claims import circle, four

_GREY = "#9aa0a6"
_NODES = {  # places of the five representations of four numbers, by the parallelograms they have
    (False, False, False): (1, 0, "none"),
    (True, False, False): (0, 1, "$E_0+E_2=2E_1$"),
    (False, True, False): (1, 1, "$E_0+E_3=E_1+E_2$"),
    (False, False, True): (2, 1, "$E_1+E_3=2E_2$"),
    (True, True, True): (1, 2, "all three"),
}


def draw_predictions(grid):
    cell, where = grid.first(("training_size",))
    c = Cell(cell)
    real = accuracy(c)
    picture, board = panels(1, 2, height=3.4, sharey=True)
    across = {"Predicted accuracy": c.end.predicted_accuracy, "Ideal accuracy": c.ideal_accuracy}
    for ax, (label, x) in zip(board, across.items(), strict=True):
        ax.scatter(x, real, c=np.broadcast_to(fractions(c).values[:, None], real.shape), s=18)
        ax.plot([0, 1], [0, 1], ":", color=_GREY)
        ax.set(xlabel=label)
    board[0].set_ylabel("Real accuracy")
    picture.colorbar(board[0].collections[0], ax=board, label="Share trained")
    caption = (
        f"Every run after {c.p.steps:,} steps; accuracy counts all samples. Left: what the parallelograms of a representation "
        "predict. Right: what the ideal model would reach; runs above the diagonal beat it by luck."
    )
    return finished(picture, "Real, predicted and ideal accuracy", caption + where)


def draw_lattice(grid):
    cell, where = grid.first(("training_size",))
    if "slow" not in cell.variants:
        return None
    c = Cell(cell)
    rates = [f"decoder's rate {factor * c.p.decoder_learning_rate:g}" for factor in (1, 10)]
    picture, board = titled_panels(rates, 3.6, xlim=(-0.6, 2.6), ylim=(-0.5, 2.5))
    for network, ax in zip(("slow", "fast"), board, strict=True):
        kinds = [tuple(map(bool, row)) for row in four(c, network)[1]]
        for below, (x, y, _) in _NODES.items():
            for above, (x2, y2, _) in _NODES.items():
                if y2 == y + 1 and all(b <= a for b, a in zip(below, above, strict=True)):
                    ax.plot([x, x2], [y, y2], color=_GREY, linewidth=1, zorder=1)
        for kind, (x, y, words) in _NODES.items():
            size = 150 + 1500 * kinds.count(kind) / len(kinds)
            ax.scatter(x, y, s=size, color=PALETTE["sky"], zorder=2)
            middle = {"ha": "center", "va": "center"}
            ax.text(x, y, kinds.count(kind), fontsize=11, **middle)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.text(x, y + (0.36 if y == 2 else -0.31), words, fontsize=9.7, bbox=box, **middle)
        ax.set_axis_off()
    return finished(
        picture,
        "Representations that networks end with, four numbers",
        f"Number of runs, of {c.seeds}, that end with each of the five representations of four numbers, with all trained."
        + where,
    )


def draw_plane(grid):
    cell, where = grid.first(("training_size",))
    if "plane" not in cell.variants or not cell.variants["plane"]["embedding"].notnull().any():
        return None
    c = Cell(cell)
    size = int(np.abs(fractions(c).values - 45 / 55).argmin())
    samples = c.values("training_size")[size]
    plane = c["plane"].isel(training_size=size)
    rows = [(f"addition, {samples} samples", plane, plane["validation_accuracy"].isel(step=-1))]
    if "circle" in c.variants:
        rows.append(("addition modulo 11", c["circle"].isel(training_size=0), circle(c)))
    picture, board = panels(len(rows), 2, height=3.5 * len(rows), squeeze=False)
    for (name, data, quality), axes in zip(rows, board, strict=True):
        run, modular = data.isel(seed=int(np.argmax(quality.values))), name.endswith("11")
        fitted = int((run["train_accuracy"] >= 0.9).argmax("step"))
        path = run["embedding"].transpose("step", "symbol", ...).dropna("symbol", how="all")
        # Neighbours on the circle of frequency nu differ by the inverse of nu.
        count, turn = path.sizes["symbol"], int(frequency_shares(path[-1].values).argmax()) + 1
        for step, ax in zip((fitted, -1), axes, strict=True):
            order = np.arange(count + modular) * (pow(turn, -1, count) if modular else 1) % count
            draw_symbols(ax, path[step].values, order, frame=path[[fitted, -1]].values)
            levels = (float(run[f"{name}_accuracy"][step]) for name in ("train", "validation"))
            words = ", ".join(f"{level:.2f}" for level in levels)
            ax.set_title(f"{name}\nstep {int(run['step'][step]):,}: {words}", loc="left")
    picture.supxlabel("First coordinate of the embedding", fontsize=13)
    picture.supylabel("Second coordinate of the embedding", fontsize=13)
    return finished(
        picture,
        "Embeddings in the plane, before and after they are learned",
        "Above the run with the best validation accuracy, below the one with most variance in one frequency; "
        "above each panel accuracy in training and in validation. Left: "
        "when training accuracy reaches 0.9; right: at the end. Lines join consecutive numbers, and of addition modulo p "
        "the neighbours of the frequency that is largest at the end." + where,
    )


OVER_SIZES = {"x": "training_size", "theory_label": "ideal model", "ylim": (-0.03, 1.03)}
FIGURES = {
    "accuracy": figure(
        "Accuracy and parallelograms against the number of training samples",
        "Accuracy on all samples and RQI, the share of parallelograms there, at the end; dashed, the ideal model's mean.",
        panel(accuracy, theory=lambda c: c.ideal_accuracy, label="Accuracy", **OVER_SIZES),
        panel(lambda c: c.end.rqi, theory=lambda c: c.ideal_rqi, label="RQI", **OVER_SIZES),
    ),
    "predictions": drawn(draw_predictions),
    "lattice": drawn(draw_lattice),
    "plane": drawn(draw_plane),
}
