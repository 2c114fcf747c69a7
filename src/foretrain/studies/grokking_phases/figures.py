"""Figures of ``grokking-phases``, after Liu et al. (2022), Figs 6 and 13-15."""

import numpy as np
from matplotlib.patheffects import withStroke

from foretrain.claims.interval import interval
from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, panels, theory_line, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.study import NotApplicable, drawn
from foretrain.training.phases import PHASES

from .claims import CAUSES, RATES, causes, generalisation_steps, head_start, learners

_COLOURS = [PALETTE[name] for name in ("sky", "orange", "vermillion", "black")]


def draw_phases(grid):
    """Probability and entropy of phases over the first two axes that are numbers."""
    swept = [name for name, values in grid.axes.items() if len(values) > 1]
    numbers = [name for name in swept if not isinstance(grid.values(name)[0], str)]
    axes = tuple(dict.fromkeys((*numbers, *RATES)))[:2]
    cell, where = grid.first(axes)
    c = Cell(cell)
    share = np.stack([(c.phase == code).mean("seed") for code in range(len(PHASES))], -1)
    bits = -(share * np.log2(np.where(share > 0, share, 1))).sum(-1) + 0.0
    small = max(bits.shape) <= 5  # legible
    title = "Entropy, median steps" if small else "Entropy"
    figure, (left, right) = titled_panels(("Probability of phases", title), 4.4)
    column, row = np.indices(bits.shape)
    begin = column[..., None] - 0.5 + np.cumsum(share, -1) - share
    for code, (name, colour) in enumerate(zip(PHASES, _COLOURS, strict=True)):
        sizes = share[..., code].ravel(), 1, begin[..., code].ravel()
        left.barh(row.ravel(), *sizes, color=colour, label=name)
    left.hlines(np.arange(1, bits.shape[1]) - 0.5, -0.5, len(bits) - 0.5, "white", linewidth=1.5)
    left.vlines(np.arange(1, len(bits)) - 0.5, -0.5, bits.shape[1] - 0.5, "white", linewidth=1.5)
    picture = right.imshow(bits.T, origin="lower", aspect="auto", vmin=0, vmax=2)
    figure.colorbar(picture, ax=right, label="Entropy of the phase, bits")
    if small:
        _write_medians(right, c, bits)
    for ax in (left, right):
        for name, axis in zip(axes, (ax.xaxis, ax.yaxis), strict=True):
            values = c.values(name)
            every = max(1, len(values) // 3)
            words = [f"{value:.1g}" if value < 1 else f"{value:g}" for value in values[::every]]
            axis.set_ticks(range(0, len(values), every), words, fontsize=9.7)
            if ax is left or axis is ax.xaxis:
                axis.set_label_text(name.replace("_", " ").capitalize())
        ax.set(xlim=(-0.5, len(bits) - 0.5), ylim=(-0.5, bits.shape[1] - 0.5))
    never, often = (interval(np.arange(c.seeds) < count) for count in (0, c.seeds // 2))
    medians = ", and from above median steps of training, representation and validation (–: never)"
    caption = (
        "Left: in each cell the widths of colours are the probabilities of the phases over seeds. "
        f"Of {c.seeds} seeds, a phase that none is in has a probability of at most {never.high:.2f}, "
        f"one that {c.seeds // 2} are in of {often.low:.2f} to {often.high:.2f} (95%, Clopper-Pearson). "
        f"Right: entropy of the phase{medians if small else ''}."
    )
    if "decoder_step" in c.theory and min(share.shape[:2]) > 1:
        _boundaries(c, left)
        caption += " Dashed: representation and decoder take equally long, a line for each seed."
    return finished(figure, "Phases and how sure they are", caption + where, 3)


def _write_medians(ax, c, bits):
    """Write median steps, which may be infinite, one below the other in each cell."""
    steps = c.simulation[["train_step", "rqi_step", "validation_step"]].to_array().fillna(np.inf)
    middles = steps.quantile(0.5, "seed", method="higher").values
    for place in np.ndindex(*bits.shape):
        middle = middles[(slice(None), *place)]
        words = ("–" if np.isinf(step) else f"{step:,.0f}" for step in middle)
        ink = "white" if bits[place] < 1.2 else INK
        ax.text(*place, "\n".join(words), ha="center", va="center", color=ink, fontsize=9.7)


def _boundaries(c, ax):
    """Draw where representation and decoder take equally long, for each seed whose training set tells enough."""
    gaps = np.moveaxis(head_start(c).values[..., learners(c)], 2, 0)
    halo = [withStroke(linewidth=2.6, foreground="white")]  # seen on black, too
    look = {**theory_line(linewidth=1.2), "path_effects": halo}
    for gap in gaps:
        if np.isfinite(places := crossings(gap)).any():
            ax.plot(places, np.arange(len(places)), **look)
    ax.plot([], [], label="predicted boundary", **look)


def crossings(gap) -> np.ndarray:
    """Return where along the first axis of (column, row) each row falls through zero, (row,); nan where it does not."""
    places = np.full(gap.shape[1], np.nan)
    for row, values in enumerate(gap.T):
        known = np.flatnonzero(np.isfinite(values))
        if known.size and values[known[0]] > 0 >= values[known[-1]]:
            places[row] = np.interp(0, -values[known], known)
    return places


def draw_times(grid):
    cell, where = grid.first(RATES)
    c = Cell(cell)
    try:
        predicted, measured = generalisation_steps(c)
    except NotApplicable:
        return None
    figure, (left, right) = panels(1, 2, height=3.8)
    left.set_title("Representation + decoder", loc="left")
    right.set_title("Why others do not", loc="left")
    left.plot(predicted, measured, "o", color=PALETTE["blue"], markersize=4, alpha=0.5)
    ends = np.array([np.nanmin(measured), np.nanmax(predicted)])
    left.plot(ends, ends, **theory_line(label="equal"))
    left.plot(ends, ends / 2, ":", color="#9aa0a6", label="both at the same time, at least")
    left.set(xscale="log", yscale="log", xlabel="Predicted step", ylabel="Step of validation")
    base = np.zeros(2)
    for number, (name, colour) in enumerate(zip(CAUSES, ("purple", "blue", "green"), strict=True)):
        of = [((causes(c) == number) & (c.phase == code)).mean() for code in (2, 3)]
        right.bar(PHASES[2:], of, 0.8, base, color=PALETTE[colour], label=f"{name} at fault")
        base = base + of
    right.set_ylabel("Share of all runs")
    caption = (
        "Left: every run that generalises; the prediction is made before the run. Right: data, where the ideal model of the "
        "training set does not generalise; representation, where RQI is not reached; decoder, where it is."
    )
    return finished(figure, "When runs generalise, and why others do not", caption + where)


FIGURES = {"phases": drawn(draw_phases), "times": drawn(draw_times)}
