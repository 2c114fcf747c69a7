"""Figures of ``grokking-phases``, after Liu et al. (2022), Figs 6 and 13-15."""

from functools import partial

import numpy as np
from matplotlib.patheffects import withStroke

from foretrain.claims.interval import interval
from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, few_log_ticks, panels, theory_line
from foretrain.study import drawn
from foretrain.training.embedding import PHASES

from .reading import (
    CAUSES,
    RATES,
    causes,
    entropy,
    generalised,
    head_start,
    learners,
)

_COLOURS = [PALETTE[name] for name in ("sky", "orange", "vermillion", "black")]
_NAMES = {
    "decoder_learning_rate": "Rate of the decoder",
    "embedding_learning_rate": "Rate of the embeddings",
    "decoder_decay": "Decay of the decoder",
    "embedding_decay": "Decay of the embeddings",
    "batch_size": "Batch size (0: all)",
    "init_scale": "Scale of the initial embeddings",
}


def draw(grid):
    """The map of phases over two axes, and times and causes of all its runs."""
    several = [name for name, values in grid.axes.items() if len(values) > 1]
    numbers = [name for name in several if not isinstance(grid.values(name)[0], str)]
    axes = (*[name for name in numbers if name in _NAMES], *numbers)
    axes = tuple(dict.fromkeys((*axes, *RATES)))[:2]
    cell, where = grid.first(axes)
    cell = cell.along(*axes)
    drawings = {"phases": partial(_phases, cell, axes, where)}
    cell, where = grid.first(RATES)
    cell = cell.along(*RATES)
    if (both := generalised(cell)) is not None:
        drawings["times"] = partial(_times, cell, both, where)
    return drawings


def _phases(cell, axes, where):
    phase = cell.simulation["phase"].transpose(*axes, "seed").values
    share = np.stack([(phase == code).mean(2) for code in range(len(PHASES))], -1)
    figure, (left, right) = panels(1, 2, height=4.4, sharey=True)
    for x, y in np.ndindex(*share.shape[:2]):
        edges = x - 0.5 + np.append(0, np.cumsum(share[x, y]))
        for begin, end, colour in zip(edges, edges[1:], _COLOURS, strict=False):
            left.fill_between([begin, end], y - 0.5, y + 0.5, color=colour, linewidth=0)
    for edge in range(share.shape[0] + 1):
        left.axvline(edge - 0.5, color="white", linewidth=1.5)
    for edge in range(share.shape[1] + 1):
        left.axhline(edge - 0.5, color="white", linewidth=1.5)
    for name, colour in zip(PHASES, _COLOURS, strict=True):
        left.plot([], [], "s", color=colour, label=name)
    bits = entropy(share)
    picture = right.imshow(bits.T, origin="lower", aspect="auto", vmin=0, vmax=2)
    figure.colorbar(picture, ax=right, label="Entropy of the phase, bits")
    title, about = "Entropy", "Right: entropy of the phase"
    if max(bits.shape) <= 8:  # legible
        title += ", median steps"
        about += ", and from above the median steps of training, representation and validation (– is never)"
        _write_medians(right, _steps(cell, axes), bits)
    for ax in (left, right):
        for name, axis in zip(axes, (ax.xaxis, ax.yaxis), strict=True):
            values = cell.values(name)
            every = max(1, len(values) // 5)
            places, words = range(0, len(values), every), [_short(one) for one in values[::every]]
            axis.set_ticks(places, words, fontsize=9.5)
            if ax is left or axis is ax.xaxis:
                axis.set_label_text(_NAMES.get(name, name.replace("_", " ").capitalize()))
        ax.set(xlim=(-0.5, len(share) - 0.5), ylim=(-0.5, share.shape[1] - 0.5))
    caption = (
        "Left: in each cell the widths of colours are the probabilities of the phases over seeds. "
        f"{_sure(phase.shape[2])} {about}."
    )
    if "decoder_step" in cell.theory and min(share.shape[:2]) > 1:
        _boundaries(cell, axes, left)
        caption += " Dashed: representation and decoder take equally long, a line for each seed."
    left.set_title("Probability of phases", loc="left")
    right.set_title(title, loc="left")
    return finished(figure, "Phases and how sure they are", caption + where, 3)


def _short(value):
    return f"{value:.1g}" if value < 1 else f"{value:g}"


def _sure(seeds):
    """How well so many seeds know the probability of a phase in one cell."""
    half = seeds // 2
    none, some = (interval(np.arange(seeds) < count) for count in (0, half))
    return (
        f"Of {seeds} seeds, a phase that none is in has a probability of at most {none.high:.2f}, "
        f"one that {half} are in of {some.low:.2f} to {some.high:.2f} (95%, Clopper-Pearson)."
    )


def _steps(cell, axes):
    """Steps of training, representation and validation, infinity = never, each (axis, axis, seed)."""
    names = "train_step", "rqi_step", "validation_step"
    return [cell.simulation[name].transpose(*axes, "seed").fillna(np.inf).values for name in names]


def _write_medians(ax, kinds, bits):
    """One below the other in each cell, of steps of which a half may be infinite."""
    for place in np.ndindex(*bits.shape):
        middles = [np.quantile(steps[place], 0.5, method="higher") for steps in kinds]
        words = ("–" if np.isinf(middle) else f"{middle:,.0f}" for middle in middles)
        ink = "white" if bits[place] < 1.2 else INK
        ax.text(*place, "\n".join(words), ha="center", va="center", color=ink, fontsize=7.5)


def _boundaries(cell, axes, ax):
    """Where representation and decoder take equally long, a line for each seed whose training set tells enough."""
    gaps = np.moveaxis(head_start(cell, "rqi_step", axes)[..., learners(cell)], 2, 0)
    halo = [withStroke(linewidth=2.6, foreground="white")]  # seen on black, too
    look = {**theory_line(linewidth=1.2), "path_effects": halo}
    for gap in gaps:
        if np.isfinite(places := crossings(gap)).any():
            ax.plot(places, np.arange(len(places)), **look)
    ax.plot([], [], label="predicted boundary", **look)


def crossings(gap) -> np.ndarray:
    """Where along the first axis of (column, row) each row falls through zero, (row,); nan where it does not."""
    found = np.full(gap.shape[1], np.nan)
    for row, values in enumerate(gap.T):
        known = np.flatnonzero(np.isfinite(values))
        if known.size and values[known[0]] > 0 >= values[known[-1]]:
            found[row] = np.interp(0, -values[known], known)
    return found


def _times(cell, both, where):
    told, found = both
    figure, (left, right) = panels(1, 2, height=3.8)
    left.plot(told, found, "o", color=PALETTE["blue"], markersize=4, alpha=0.5)
    ends = np.array([np.nanmin(found), np.nanmax(told)])
    left.plot(ends, ends, **theory_line(label="equal"))
    left.plot(ends, ends / 2, ":", color="#9aa0a6", label="both at the same time, at least")
    left.set(xscale="log", yscale="log", xlabel="Predicted step", ylabel="Step of validation")
    few_log_ticks(left)
    left.set_title("Representation + decoder", loc="left")
    data = cell.simulation
    why, phase = causes(cell.parameters, data), data["phase"].values
    colours = [PALETTE[name] for name in ("purple", "blue", "green")]
    base = np.zeros(2)
    for number, (name, colour) in enumerate(zip(CAUSES, colours, strict=True)):
        counts = np.array([((why == number) & (phase == code)).mean() for code in (2, 3)])
        right.bar(PHASES[2:], counts, bottom=base, color=colour, label=f"{name} at fault")
        base = base + counts
    right.set(ylabel="Share of all runs")
    right.set_title("Why others do not", loc="left")
    caption = (
        "Left: every run that generalises; the prediction is made before the run. Right: data, where the ideal model of the "
        "training set does not generalise; representation, where RQI is not reached; decoder, where it is."
    )
    return finished(figure, "When runs generalise, and why others do not", caption + where)


FIGURES = {"all": drawn(draw)}
