"""Figures of ``free-directions``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, few_log_ticks, panels, seed_band
from foretrain.study import drawn, figure, panel

from .study import TRAININGS

_CURVES = {
    "effective": "effective parameters",
    "counted_at_scale": "counted, by products",
    "counted_by_roots": "counted, by roots",
    "left_at_scale": "left after sparsification",
    "edges_at_scale": "edges of the interaction basis",
    "weights_at_scale": "weights between neurons",
}
_SAMPLED = 21  # parameters of the networks around which chains are run
_SCALE = {
    "x": "noise_scale", "scale": "semilogx", "ylim": (0, 1.15), "theory": False, "label": "Fraction of parameters",
}  # fmt: skip


def draw_counts(grid):
    """Counted against exact, the loss of mixed blocks against the measure, and answers off the data while it is trained."""
    figure, (left, middle, right) = panels(1, 3, height=3.8)
    colours = list(PALETTE.values())
    cell, words = grid.first()
    for place, (one, colour) in enumerate(zip(grid.cells(), colours, strict=False)):
        data = one.simulation
        if "counted" not in data:
            continue
        x = data["deficit"].values.ravel() * 1.03 ** (place - 1.5)
        y = data["counted"].sum("free_source").transpose(*data["deficit"].dims).values.ravel()
        left.plot(x, y, "o", color=colour, alpha=0.25, markersize=3)
        left.plot(
            [], [], "o", color=colour, label=one.parameters.kind
        )  # as strong as a legend must be
    top = max(left.get_xlim()[1], 2)
    left.plot([1, top], [1, top], color="0.5", linewidth=0.8, zorder=0, label="equal")
    left.set(xscale="log", yscale="log", xlabel="Free directions", ylabel="Counted")
    near = cell.variants.get("approximate")
    if near is not None:
        x, y = near["disagreement"].values.ravel(), near["mixing_loss"].values.ravel()
        x, y = x[x > 0], y[x > 0]
        middle.plot(x, y, "o", color=colours[0], alpha=0.25, markersize=3)
        ends = np.array([x.min(initial=1), x.max(initial=0)])
        middle.plot(ends, ends, color="0.5", linewidth=0.8, zorder=0)
    middle.set(xscale="log", yscale="log", xlabel="Disagreement", ylabel="Loss")
    trained = cell.variants.get("decay")
    if trained is not None:
        for name, colour in zip(TRAININGS, colours, strict=False):
            found = trained["off_distribution"].sel(decayed=name)
            seed_band(right, found["update"], found, f"{name} decay", color=colour)
    right.set(yscale="log", xlabel="Updates", ylabel="Change off the data")
    few_log_ticks(left)
    caption = (
        "Left: each point a network; its free directions are its parameters less the exact rank of the Jacobian, drawn a "
        "little aside by kind. Middle: blocks of two neurons whose gates agree but for a share of the data, mixed. Right: "
        "mean square change of the answers by a step along directions in which the data do not vary, over that at first."
    )
    return finished(figure, "What is free", caption + words, columns=3)


def _fraction(name):
    """Quantity: a number at every scale over the number of parameters, both in the mean over networks."""
    return lambda c: c.simulation[name].mean("network") / c.parameter_count.mean("network")


FIGURES = {
    "counts": drawn(
        draw_counts,
        *("counted", "deficit", "approximate/disagreement", "approximate/mixing_loss"),
        *("decay/off_distribution", "decay/update"),
    ),
    "scale": figure(
        "Effective parameters over scale",
        "Means over networks, over the mean number of parameters; scales over the variance of outputs. Effective parameters: "
        "squared singular values of the Jacobian above the scale. What is left, edges and weights: the fewest that keep the "
        "loss below it. Last: 2 lambda_Z as sampled against what it would be were the loss quadratic.",
        panel({label: _fraction(name) for name, label in _CURVES.items()}, across="kind", **_SCALE),
        panel(
            {
                "other networks: were the loss quadratic": lambda c: (
                    c["sampled"].smooth.mean("network") / _SAMPLED
                ),
                "other networks: sampled": lambda c: (
                    c["sampled"].sampled.mean("network").rename(sampled_scale="noise_scale")
                    / _SAMPLED
                ),
            },
            title="sampled",
            **_SCALE,
        ),
        sharey=True,
    ),
}
