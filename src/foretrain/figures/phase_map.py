"""A map of phases: how probable each phase is in every cell of two axes, and how sure it is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from foretrain.claims.interval import interval
from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.words import count, number, title

_COLOURS = [PALETTE[name] for name in ("sky", "orange", "vermillion", "black")]
_LEGIBLE = 5  # values of an axis up to which numbers fit into cells


def draw_phase_map(
    grid: Any,
    names: Sequence[str],
    axes: Sequence[str],
    phase: Callable,
    steps: Callable,
    moments: str,
    boundary: Callable = lambda c, ax: "",
) -> Drawing:
    """Draw the probability of phases over two axes, and its entropy.

    Of swept parameters but the two `axes`, from left to right and from below, the first value is drawn. `names` are those
    of the phases, each of one colour in all maps. `phase` and `steps` take the cell and return the place in `names` of
    the phase of every run, and the first steps, infinity or nan for never, of what `moments` says in the caption.
    `boundary` takes the cell and the left panel, draws into it and returns a sentence on what is drawn.
    """
    cell, where = grid.first(axes)
    c = Cell(cell)
    runs = phase(c).transpose(*axes, "seed")
    share = np.stack([(runs == code).mean("seed") for code in range(len(names))], -1)
    bits = -(share * np.log2(np.where(share > 0, share, 1))).sum(-1) + 0.0
    legible = max(bits.shape) <= _LEGIBLE
    entropy = "Entropy, median steps" if legible else "Entropy"
    figure, (left, right) = titled_panels(("Probability of phases", entropy), 4.4)
    column, row = np.indices(bits.shape)
    begin = column[..., None] - 0.5 + np.cumsum(share, -1) - share
    for code, (name, colour) in enumerate(zip(names, _COLOURS, strict=True)):
        sizes = share[..., code].ravel(), 1, begin[..., code].ravel()
        left.barh(row.ravel(), *sizes, color=colour, label=name)
    left.hlines(np.arange(1, bits.shape[1]) - 0.5, -0.5, len(bits) - 0.5, "white", linewidth=1.5)
    left.vlines(np.arange(1, len(bits)) - 0.5, -0.5, bits.shape[1] - 0.5, "white", linewidth=1.5)
    picture = right.imshow(bits.T, origin="lower", aspect="auto", vmin=0, vmax=2)
    figure.colorbar(picture, ax=right, label="Entropy of the phase, bits")
    if legible:
        _write_medians(right, [s.transpose(*axes, "seed").values for s in steps(c)], bits)
    for ax in (left, right):
        for name, axis in zip(axes, (ax.xaxis, ax.yaxis), strict=True):
            values = c.values(name)
            every = max(1, len(values) // 3)
            words = [number(value, 1 if value < 1 else 6) for value in values[::every]]
            axis.set_ticks(range(0, len(values), every), words, fontsize=9.7)
            if ax is left or axis is ax.xaxis:
                axis.set_label_text(title(name))
        ax.set(xlim=(-0.5, len(bits) - 0.5), ylim=(-0.5, bits.shape[1] - 0.5))
    never = interval(np.zeros(c.seeds, bool)).high
    medians = f", and from above median steps of {moments} (–: never)" if legible else ""
    caption = (
        "Left: in each cell the widths of colours are the probabilities of the phases over seeds. "
        f"A phase that none of {count(c.seeds, 'seed')} is in has a probability of at most {never:.2f} (95%). "
        f"Right: entropy of the phase{medians}.{boundary(c, left)}"
    )
    return finished(figure, "Phases and how sure they are", caption + where, 3)


def _write_medians(ax, steps, bits):
    """Write medians over seeds of steps, (column, row, seed) each, one below the other in each cell."""
    middles = np.quantile(np.where(np.isnan(steps), np.inf, steps), 0.5, axis=-1, method="higher")
    for place in np.ndindex(*bits.shape):
        steps = middles[(slice(None), *place)]
        words = ("–" if np.isinf(step) else f"{step:,.0f}" for step in steps)
        ink = "white" if bits[place] < 1.2 else INK
        ax.text(*place, "\n".join(words), ha="center", va="center", color=ink, fontsize=9.7)
