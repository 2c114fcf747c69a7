"""Figures of the study ``connectivity``: the predicted threshold, errors by kind of pair, precision and recall, limits."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, theory_line, titled_panels
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.translation_claims import converged, is_square, is_wide, stuck, within

from .claims import LIMIT, all_came, fraction, missed, precision, recall

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


def stuck_share(c):
    return stuck(c) if is_square(c) else None


def missed_share(c):
    return fraction(c, missed(c), within(c)) if is_wide(c) else None


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
    "limits": figure(
        "Shares in the limit of small weights",
        "Above, runs that get stuck where all factors are square; below, untrained pairs within components that lack half "
        "a mode or more where hidden layers are twice as wide. Dashed, the law up to a factor: the mean of "
        "sigma^(1 - s_2/s_1) over masks.",
        *(
            panel(
                quantity,
                x="init_scale",
                by="trained_count",
                label=label,
                scale="loglog",
                theory_label="law, up to a factor",
                **BY_WIDTH | {"theory": lambda c: c.p.init_scale**c.theory.frame_exponent},
            )
            for label, quantity in (("Stuck runs", stuck_share), ("Missed pairs", missed_share))
        ),
        columns=1,
        legend=3,
    ),
}
