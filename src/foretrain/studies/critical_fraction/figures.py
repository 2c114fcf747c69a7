"""Figures of ``critical-fraction``, after Liu et al. (2022), Figs 4 and 5."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import theory_line, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.embedding import fractions

from .claims import steps


def draw_predictions(grid):
    cell, where = grid.first(("training_size",))
    if "flow_embedding" not in (c := Cell(cell)).theory:
        return None
    names = {
        "theory_step": "$1/(\\lambda_3\\eta)$",
        "flow_step": "Flow",
        "adam_step": "Adam on $\\ell_{\\rm eff}$",
    }
    picture, board = titled_panels(tuple(names.values()), 3.7, xscale="log", yscale="log")
    never = 1.5 * c.p.steps
    measured = c.rqi_step.fillna(never).values
    colours = np.broadcast_to(fractions(c).values[:, None], measured.shape)
    for name, ax in zip(names, board, strict=True):
        x = c.theory[name].values
        ax.scatter(x, np.where(np.isfinite(x), measured, np.nan), c=colours, s=14)
        ax.plot([100, never], [100, never], **theory_line(label="measured as predicted"))
        ax.axhline(1.2 * c.p.steps, color="#c5c9cd", linewidth=1)
    board[0].set_ylabel("Measured step")
    board[1].set_xlabel("Predicted step")
    board[0].text(board[0].get_xlim()[0] * 1.1, 1.62 * c.p.steps, "never", fontsize=10)
    board[0].set_ylim(None, 2.3 * c.p.steps)
    picture.colorbar(board[0].collections[0], ax=board, label="Share trained")
    caption = (
        "Every run whose training set determines the representation, against 1/(lambda_3 eta), and the steps of the flow of "
        "the effective loss from the start of the run and of Adam on that loss; dashed, equal. Nothing is fitted."
    )
    return finished(picture, "Predicted and measured steps of grokking", caption + where)


def path(c, embedding):
    """Return embeddings along the steps of the seed that learns first, of mean 0 and variance 1, (step, symbol)."""
    line = embedding.isel(seed=int(steps(c).argmin("seed")), coordinate=0)
    return (line - line.mean("symbol")) / line.std("symbol", ddof=1)


FIGURES = {
    "steps": figure(
        "Which training sets are enough, and how long it takes",
        "Left: share of runs that learn the representation, and probability that a random training set determines it. "
        "Middle: median first step with the RQI wanted. Right: median grokking rate, zero where a set leaves freedom.",
        panel(
            lambda c: c.rqi_step.notnull(),
            x="training_size",
            theory=lambda c: c.theory.unique_probability,
            label="Share that learns",
        ),
        panel(
            lambda c: c.rqi_step,
            x="training_size",
            statistic="median",
            theory=False,
            points=True,
            ylim=lambda c: (0, c.p.steps),
            label="Step of the RQI wanted",
        ),
        panel(lambda c: c.lambda_3, x="training_size", statistic="median", label="$\\lambda_3$"),
    ),
    "predictions": drawn(draw_predictions),
    "paths": figure(
        "Embeddings of the network and of the effective flow, from one start",
        "Some symbols of the seed that learns first, of mean 0 and variance 1 over all symbols, at some training sizes; "
        "dashed the flow, of which a step is so much time as the embeddings' learning rate.",
        panel(
            lambda c: path(c, c.embedding),
            x="step",
            by="symbol",
            across="training_size",
            theory=lambda c: path(c, c.theory.flow_embedding),
            theory_label="effective flow",
            most=4,
            label="Normalised embedding",
        ),
        columns=2,
        where=lambda c: "flow_embedding" in c.theory and c.p.embedding_dim == 1,
    ),
}
