"""Figures of the study ``image-routing``, after Saxe, Sodhani & Lewallen (2022), Figs 7 to 10."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.routes import draw_accuracy
from foretrain.figures.style import INK, PALETTE, panels, seed_band, titled_panels
from foretrain.plans.grid import Grid
from foretrain.quantities.trajectory import at_end
from foretrain.study import drawn
from foretrain.training.routing_claims import AXES
from foretrain.words import cell_words

_KINDS = {"trained": PALETTE["blue"], "untrained": PALETTE["orange"]}


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Error against the fraction of trained routes and against the start, learning curves, accuracy of every route."""
    other = [name for name in grid.axes if name not in AXES][:1]
    part, where = grid.first((*AXES, *other))
    drawings = {}
    for number, cell in enumerate(part.cells(AXES), 1):
        ending = f"-{number}" if other else ""
        words = f" {cell_words({name: cell.cell[name] for name in other})}." if other else ""
        laid, words = cell.along(*AXES), words + where
        outputs, scales = (laid.values(name) for name in AXES)
        if len(outputs) > 1:
            drawings[f"fraction{ending}"] = partial(_fraction, laid, words)
        if len(scales) > 1:
            drawings[f"scale{ending}"] = partial(_scale, laid, words)
        at = {"trained_outputs": (len(outputs) - 1) // 2, "init_scale": (len(scales) - 1) // 2}
        words = (
            f" K = {outputs[at['trained_outputs']]}, init_scale {scales[at['init_scale']]:g}."
            + words
        )
        drawings[f"learning{ending}"] = partial(_learning, laid.simulation.isel(at), words)
        drawings[f"routes{ending}"] = partial(draw_accuracy, laid.simulation.isel(at), words)
    return drawings


def _errors(ax, x, cell, place):
    """Errors of classification at the end against x, at one place of the other axis; and that of least squares."""
    for kind, colour in _KINDS.items():
        error = 1 - at_end(cell.simulation[f"{kind}_accuracy"])
        if kind == "untrained":
            error = error.where(error["trained_outputs"] < cell.parameters.domains)
        error = error.isel(place).transpose("seed", ...)
        if np.isfinite(error).any():
            seed_band(ax, x, error, f"{kind} routes", color=colour)
    limit = 1 - float(cell.theory["least_squares_accuracy"].mean())
    if np.isfinite(limit):
        ax.axhline(limit, color=INK, linewidth=1, linestyle=":", label="least squares")


def _fraction(cell, where):
    scales = cell.values("init_scale")
    shown = _spread(range(len(scales)), 3)
    titles = [f"init_scale {scales[number]:g}" for number in shown]
    labels = {"ylabel": "Classification error", "xlabel": "Trained fraction K/M"}
    figure, axes = titled_panels(titles, 3.6, **labels, xlim=(0, 1), ylim=(0, 1))
    x = np.array(cell.values("trained_outputs")) / cell.parameters.domains
    for ax, number in zip(axes, shown, strict=True):
        _errors(ax, x, cell, {"init_scale": number})
        ax.axvline(0.4, color="#9aa0a6", linewidth=1, zorder=0, label="the paper's 40%")
    return finished(
        figure,
        "Error against the fraction of trained routes",
        "Error on held-out images on routes that were trained and on routes that never were, at the end of training. "
        "The grey line marks the 40% of the paper." + where,
    )


def _scale(cell, where):
    outputs, domains = np.array(cell.values("trained_outputs")), cell.parameters.domains
    # From 2 to M / 2, where transfer sets in; all if there is none.
    within = np.flatnonzero((outputs > 1) & (outputs <= domains / 2))
    shown = _spread(within if within.size else range(outputs.size), 3)
    titles = [f"K = {outputs[number]}" for number in shown]
    labels = {"ylabel": "Classification error", "xlabel": "Initial scale"}
    figure, axes = titled_panels(titles, 3.6, **labels, xscale="log", ylim=(0, 1))
    for ax, number in zip(axes, shown, strict=True):
        _errors(ax, cell.values("init_scale"), cell, {"trained_outputs": number})
    return finished(
        figure,
        "Error against the size of the start",
        "Error on held-out images on trained and untrained routes against the factor on the initial weights, for some "
        f"numbers K of trained outputs of {domains} domains." + where,
    )


def _spread(places, most) -> list[int]:
    """At most `most` of the places, spread over all."""
    chosen = np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)
    return [int(places[at]) for at in np.unique(chosen)]


def _learning(runs, where):
    figure, ax = panels()
    for kind, colour in _KINDS.items():
        error = 1 - runs[f"{kind}_accuracy"].transpose("step", "seed")
        look = {"color": colour, "linewidth": 1.4, "alpha": 0.85, "label": f"{kind} routes"}
        ax.plot(runs["flow_time"].transpose("step", ...), error, **look)
    label = "Continuous time (step × learning rate / (1 - momentum))"
    ax.set(xlabel=label, ylabel="Classification error", ylim=(0, 1), xlim=(0, None))
    return finished(
        figure,
        "Error while learning",
        "Error on held-out images while the network learns, one line a seed, in one cell of the grid."
        + where,
    )


FIGURES = {"all": drawn(draw)}
