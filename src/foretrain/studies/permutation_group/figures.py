"""Figures of ``permutation-group``, after Liu et al. (2022), Figs 16-18."""

from functools import partial

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, theory_line
from foretrain.study import drawn
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import by_size, ends

from .claims import deduction, plane

_GREY = "#9aa0a6"
_CYCLES = ("()", "(23)", "(12)", "(123)", "(132)", "(13)")


def draw(grid):
    """RQI, accuracy and steps against the training size; matrices in their first two principal components."""
    cell, where = grid.first(("training_size",))
    cell = cell.along("training_size")
    end = ends(cell.simulation, cell.parameters)
    drawings = {"fractions": partial(_fractions, cell, end, where)}
    rqi = by_size(end["rqi"])
    if np.isfinite(rqi).any():
        best = np.unravel_index(np.nanargmax(rqi), rqi.shape)
        drawings["matrices"] = partial(_matrices, cell, best, where)
    return drawings


def _fractions(cell, end, where):
    p = cell.parameters
    count = len(operation(p).samples)
    share = np.array(cell.values("training_size")) / count
    figure, board = panels(2, 2, height=6.4, sharex=True)
    steps = by_size(cell.simulation["rqi_step"])
    spread = np.broadcast_to(share[:, None], steps.shape)
    series = (
        (
            board[0, 0],
            ("rqi", "of matrices", "blue"),
            ("decoder_rqi", "after the decoder", "orange"),
        ),
        (board[0, 1], ("accuracy", "real", "green"), ("predicted_accuracy", "predicted", "purple")),
    )
    for ax, *lines in series:
        for name, words, colour in lines:
            values = by_size(end[name])
            seed_band(ax, share, values.T, words, color=PALETTE[colour])
            ax.plot(spread, values, "o", color=PALETTE[colour], markersize=3, alpha=0.35)
    if "ideal_rqi" in cell.theory:
        ideal = cell.theory["ideal_rqi"].values.ravel()
        board[0, 0].plot(share, ideal, **theory_line(label="can be deduced, mean"))
    board[0, 0].set(ylabel="RQI", ylim=(-0.03, 1.03))
    board[0, 1].set(ylabel="Accuracy on all samples", ylim=(-0.03, 1.03))
    for ax, name, words in (
        (board[1, 0], "rqi_step", f"Step to RQI > {p.rqi_threshold:g}"),
        (board[1, 1], "validation_step", "Step of validation"),
    ):
        found = by_size(cell.simulation[name])
        never = np.isnan(found)
        top = 2 * p.steps
        ax.plot(spread[~never], found[~never], "o", color=PALETTE["blue"], markersize=4, alpha=0.6)
        lift = 1 + 0.05 * np.broadcast_to(np.arange(found.shape[1]), found.shape)
        ax.plot(spread[never], top * lift[never], "x", color=PALETTE["vermillion"], markersize=4)
        ax.axhline(1.4 * p.steps, color=_GREY, linewidth=0.8)
        ax.set(ylabel=words, xlabel="Share of samples trained", yscale="log")
        if np.isfinite(deduction(cell)):
            ax.axvline(deduction(cell), **theory_line(label="all can be deduced", linestyle=":"))
    board[1, 0].plot([], [], "x", color=PALETTE["vermillion"], label="never")
    return finished(
        figure,
        "Matrices of a group against the number of training samples",
        f"Every run after at most {p.steps:,} steps. Dotted, below: the share of samples from which on all parallelograms can "
        "be deduced, the median of random training sets. Crosses: runs that never get there."
        + where,
        3,
    )


def _matrices(cell, best, where):
    size, seed = (int(one) for one in best)
    run = cell.simulation.isel(training_size=size, seed=seed)
    levels = run["rqi"].dropna("step")
    path = run["embedding"].transpose("step", "symbol", "coordinate").values[: len(levels)]
    figure, axes = panels(1, 2, height=3.7)
    names = _CYCLES if cell.parameters.operation == "symmetric" else None
    for at, ax in zip((0, -1), axes, strict=True):
        place = plane(path[at])
        middle = place - place.mean(0)
        order = np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))
        ax.fill(*place[order].T, facecolor="none", edgecolor=_GREY, linewidth=1)
        ax.plot(*place.T, "o", color=PALETTE["sky"], markersize=9)
        for symbol, point in enumerate(place):
            words = names[symbol] if names and len(place) == 6 else str(symbol)
            ax.annotate(words, point, (0, 7), textcoords="offset points", ha="center", fontsize=10)
        step = int(levels["step"].values[at])
        ax.set_title(f"step {step:,}, RQI {float(levels.values[at]):.2f}", loc="left", fontsize=11)
        ax.set(xlabel="First component", aspect="equal")
        ax.margins(0.25)
        ax.set_adjustable("datalim")
    axes[0].set_ylabel("Second component")
    samples = cell.values("training_size")[size]
    caption = (
        f"The run with the best representation, {samples} training samples: matrices of all elements in their first two "
        "principal components, at the start and at the end."
    )
    return finished(figure, "Matrices in two principal components", caption + where)


FIGURES = {"all": drawn(draw)}
