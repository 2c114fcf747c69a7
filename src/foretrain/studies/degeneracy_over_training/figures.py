"""Figures of ``degeneracy-over-training``."""

import numpy as np

from foretrain.claims.interval import interval
from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import drawn

from .claims import RIGHT, effective, first
from .study import CRITERIA, FAMILIES

BLUE, RED, GREEN = PALETTE["blue"], PALETTE["vermillion"], PALETTE["green"]
GREY = "#c5c9cd"
TRAINED = ("routing", "s-curve", "grokking")
RIVALS = {"routing": "separate pathways win", "grokking": "drawn answers"}


def _cells(grid):
    """Cells of the grid by system."""
    return {one.p.system: one for one in map(Cell, grid.first(("system",))[0].cells())}


def _of(system, draw):
    """Function that draws the cell of one system, None where there is none."""

    def drawing(grid):
        cells = _cells(grid)
        return draw(cells[system]) if system in cells else None

    return drawing


def over_training(grid):
    """Effective parameters above, errors below, a column for each system."""
    cells = {name: cell for name, cell in _cells(grid).items() if name in TRAINED}
    if not cells:
        return None
    figure, axes = panels(2, len(cells), height=6, sharex="col", squeeze=False)
    for (name, cell), (above, below) in zip(cells.items(), axes.T, strict=True):
        networks = [(cell.simulation, "shared pathway wins, or true answers", BLUE)]
        if name in RIVALS and "rival" in cell.variants:
            networks.append((cell["rival"], RIVALS[name], RED))
        moment = cell.simulation["moment"].values
        for data, words, colour in networks:
            seed_band(above, moment, effective(data), words, color=colour)
            seed_band(below, moment, data.unseen_error, words, color=colour)
        error = cell.fit_error.mean("seed")
        below.plot(moment, error, color="#9aa0a6", label="training error of the blue ones")
        if "effective_parameters" in cell.theory and name != "grokking":
            above.plot(
                moment,
                effective(cell.theory),
                **theory_line(BLUE, label="reduction, decoupled start"),
            )
        for ax in (above, below):
            words = "median moment of generalisation"
            ax.axvline(moment[middle(cell)], color=GREY, linewidth=1.2, zorder=0, label=words)
        above.set_title(name, loc="left")
        below.set(xlabel="Updates")
    axes[0, 0].set_ylabel("Effective parameters")
    axes[1, 0].set_ylabel("Error")
    caption = (
        "Above: sum of h/(h + eps) over the curvatures h of the behavioural loss. Below: error on what was not trained. The "
        "grey upright is the median moment of generalisation. Dashed: the reduction from decoupled weights, which learn "
        "earlier than random ones."
    )
    return finished(figure, "Effective parameters over training", caption, columns=1)


def middle(cell):
    """Median moment of generalisation, the last one where there is none."""
    at = first(cell.unseen_error, RIGHT).values
    return int(np.median(at[at >= 0])) if (at >= 0).any() else -1


def inside(cell):
    """Rank, blocks and what activity depends on in the network that groks, and effective parameters against test error."""
    figure, axes = panels(1, 3, height=3.6)
    moment = cell.simulation["moment"]
    for name, words, colour in (
        ("activation_rank", "rank of activity", BLUE),
        ("blocks", "blocks of neurons", RED),
    ):
        seed_band(axes[0], moment, cell.simulation[name], words, color=colour)
    relevant = cell.shared_similarity
    seed_band(axes[1], moment, relevant, "fraction by the relevant bits", color=GREEN)
    x, y = (one.transpose("seed", "moment").values for one in (effective(cell), cell.unseen_error))
    for at, words, colour in ((middle(cell), "half way", "orange"), (-1, "at the end", "purple")):
        axes[2].plot(x[:, at], y[:, at], "o", color=PALETTE[colour], label=f"seeds {words}")
    axes[0].set(xlabel="Updates", ylabel="Number of neurons")
    axes[1].set(xlabel="Updates", ylabel="Fraction of activity", ylim=(0, 1))
    axes[2].set(xlabel="Eff. parameters", ylabel="Test error", yscale="log")
    caption = (
        "The perceptron on parity. Left and middle over training, right each seed at two moments."
    )
    return finished(figure, "Inside a network that groks", caption, columns=2)


def selection(cell):
    """Loss on fresh data over effective parameters, and Kendall's tau of every criterion."""
    figure, (left, right) = panels(1, 2, height=4.0)
    taus = cell.simulation["rank_agreement"].transpose("seed", "family", "criterion").values
    for k, (family, colour) in enumerate(zip(FAMILIES, (BLUE, RED), strict=True)):
        x, y = (
            cell.simulation[name].isel(family=k).transpose("seed", "width").values
            for name in ("model_effective", "model_heldout")
        )
        left.plot(x.mean(0), np.median(y, 0), "o-", color=colour, label=f"{family} models")
        for place, values in enumerate(taus[:, k].T):
            if np.isfinite(values).all():
                found = interval(values)
                at = place + 0.2 * (k - 0.5)
                right.plot([at, at], [found.low, found.high], color=colour)
                right.plot(at, values.mean(), "o", color=colour)
    left.set(xscale="log", xlabel="Effective parameters", ylabel="Loss on fresh data / noise")
    right.axhline(0, color=GREY, linewidth=1, zorder=0)
    right.set(ylabel="Kendall's tau", ylim=(-1, 1))
    right.set_xticks(range(len(CRITERIA)), CRITERIA, rotation=35, ha="right")
    caption = (
        "Left: every width, one to twelve units, mean over seeds. Right: how n L/σ² + c ln n ranks widths, c nothing, the "
        "parameters, or 2 lambda in closed form or measured; bars are 95% intervals of the mean."
    )
    return finished(figure, "Ranking models", caption, columns=2)


CURVES = ("effective_parameters", "unseen_error")
FIGURES = {
    "training": drawn(
        over_training,
        *CURVES,
        *(f"rival/{name}" for name in CURVES),
        *("fit_error", "theory/effective_parameters"),
    ),
    "grokking": drawn(
        _of("grokking", inside), *CURVES, "activation_rank", "blocks", "shared_similarity"
    ),
    "selection": drawn(
        _of("selection", selection), "rank_agreement", "model_effective", "model_heldout"
    ),
}
