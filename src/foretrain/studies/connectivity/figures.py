"""Figures of the study ``connectivity``: the predicted threshold, errors by kind of pair, precision and recall, limits."""

from itertools import pairwise

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, shades, theory_line, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.translation import PAIR
from foretrain.training.translation_claims import converged, is_square, is_wide, stuck, within

from .claims import LIMIT, all_came, missed, precision, recall

KINDS = (
    (0.0, "within a component", "blue"),
    (1.0, "across components", "vermillion"),
    (0.5, "with a language never trained", "orange"),
)


def draw_errors(grid):
    """Distribution of the errors of untrained pairs, by their place in the graph."""
    part, words = grid.first(("hidden_width", *LIMIT))
    cell, scales = Cell(part), part.values("init_scale")
    titles = [rf"$\sigma$ = {scales[place]:g}" for place in (-1, 0)]
    labels = {"ylabel": "Fraction of the pairs of its kind", "xlabel": "Error of a pair at the end"}
    figure, axes = titled_panels(titles, 4.4, **labels, xscale="log", xlim=(1e-9, 10), yscale="log")
    error = cell.pair_error.where((cell.trained_pairs == 0) & converged(cell)).clip(2e-9)
    edges = np.concatenate([[1e-12], np.geomspace(1e-9, 10, 61)])
    for ax, place in zip(axes, (-1, 0), strict=True):
        for value, text, colour in KINDS:
            chosen = error.where(cell.theory.predicted_pair_error == value)
            errors = chosen.isel(hidden_width=-1, init_scale=place).values
            if (errors := errors[np.isfinite(errors)]).size:
                share = np.full(errors.size, 1 / errors.size)
                ax.hist(errors, edges, weights=share, color=PALETTE[colour], alpha=0.7, label=text)
        ax.axvline(cell.p.generalises_below, **theory_line(label="generalises below"))
    return finished(
        figure,
        "Errors of untrained pairs by their place in the graph",
        f"Errors of all untrained pairs of converged runs at H = {part.values('hidden_width')[-1]}, for the largest and the "
        "smallest initial scale. Dashed: below it a pair counts as generalising. Small weights part the kinds by orders of "
        f"magnitude, but for pairs across a reflection, near 1/(2 D) and above.{words}",
    )


def draw_limits(grid):
    """Shares of stuck runs and of missed pairs against the scale, for masks parted by the exponent of their frames."""
    labels = {"xlabel": r"Initial scale $\sigma$", "xscale": "log", "yscale": "log"}
    titles = ["Stuck runs, H = D", "Missed pairs, H = 2D"]
    figure, (left, right) = titled_panels(titles, 4.4, "Share", **labels)
    part, words = grid.first(("hidden_width", *LIMIT))
    for cell in (Cell(one.along(*LIMIT)) for one in part.cells(keep=LIMIT)):
        if is_square(cell):
            draw_thirds(left, cell, stuck(cell), stuck(cell).notnull())
        elif is_wide(cell):
            counts = (
                pairs.sum(PAIR).where(converged(cell)) for pairs in (missed(cell), within(cell))
            )
            draw_thirds(right, cell, *counts)
    return finished(
        figure,
        "Shares in the limit of small weights",
        "Left, runs that get stuck where all factors are square; right, untrained pairs within components that lack half "
        "a mode or more where hidden layers are twice as wide. Masks are parted into thirds by 1 - s_2/s_1 of their singular "
        "values, smallest over components; a share of none is not drawn. Dashed, the law: the mean of "
        f"sigma^(1 - s_2/s_1) over all masks, times one factor that lets it meet the smallest scale.{words}",
    )


def draw_thirds(ax, cell, count, among):
    """Draw the share of a count for each third of the masks by their exponent and for all of them, and the law."""
    exponent = cell.theory.frame_exponent.isel(init_scale=0)
    scales, masks = cell.axis("init_scale"), exponent.dims
    ends = np.quantile(exponent, [0, 1 / 3, 2 / 3, 1])
    ends[-1] += 1e-9
    parts = [
        (rf"$1 - s_2/s_1$ in {low:.2f} .. {high:.2f}", (exponent >= low) & (exponent < high))
        for low, high in pairwise(ends)
    ]
    parts.append(("all masks", exponent >= 0))
    share = scales * np.nan
    for (text, kept), colour in zip(parts, [*shades(3), INK], strict=True):
        share = count.where(kept).sum(masks) / among.where(kept).sum(masks)
        ax.plot(scales, share.where(share > 0), "o-", color=colour, label=text)
    law = (scales**exponent).weighted(among.isel(init_scale=0).fillna(0).astype(float)).mean(masks)
    if float(share[0]) > 0:
        ax.plot(
            scales, law * float(share[0] / law[0]), **theory_line(label=r"$\sigma^{1 - s_2/s_1}$")
        )


BY_WIDTH = {"across": "hidden_width", "theory": False}
FIGURES = {
    "threshold": figure(
        "Threshold, predicted and measured",
        "Fraction of random masks with which every untrained pair generalises, against the number of trained pairs. Stuck "
        "runs are left out. Dashed, the exact probability that the graph is connected, computed before training.",
        panel(
            all_came,
            x="trained_count",
            by="init_scale",
            label="Runs in which all pairs generalise",
            theory_label="probability that the graph is connected",
            ylim=(-0.04, 1.04),
            **BY_WIDTH | {"theory": lambda c: c.theory.connection_probability},
        ),
        sharey=True,
        legend=3,
    ),
    "pair-errors": drawn(draw_errors),
    "precision-recall": figure(
        "Precision and recall of the graph",
        "Precision, above: of the untrained pairs predicted to generalise, the fraction that does. Recall, below: of those "
        "that generalise, the fraction that was predicted. Runs that did not converge are left out.",
        *(
            panel(
                quantity,
                x="init_scale",
                by="trained_count",
                label=label,
                scale="semilogx",
                ylim=(-0.03, 1.03),
                **BY_WIDTH,
            )
            for label, quantity in (("Precision", precision), ("Recall", recall))
        ),
        columns=2,
        legend=3,
    ),
    "limits": drawn(draw_limits),
}
