"""Figures of ``free-directions``."""

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
_SCALE = {"x": "noise_scale", "scale": "semilogx", "ylim": (0, 1.15), "theory": False}
_SCALE["label"] = "Fraction of parameters"


def draw_counts(grid):
    """Counted against exact, the loss of mixed blocks against the measure, and answers off the data while it is trained."""
    figure, axes = panels(1, 3, height=3.8)
    colours = list(PALETTE.values())
    cell, words = grid.first()
    scatters = [
        (
            axes[0],
            one.parameters.kind,
            one.simulation["deficit"],
            one.simulation["counted"].sum("free_source"),
        )
        for one in grid.cells()
        if "counted" in one.simulation
    ]
    near = cell.variants["approximate"]
    scatters.append((axes[1], "", near["disagreement"], near["mixing_loss"]))
    for place, (ax, label, x, y) in enumerate(scatters):
        aside = 1.03 ** (place - 1.5) if label else 1
        x, y = x.values.ravel(), y.transpose(*x.dims).values.ravel()
        x, y = x[y > 1e-20], y[y > 1e-20]  # where no gate differs, rounding is left
        colour = colours[place % 5]
        ax.plot(x * aside, y, "o", color=colour, alpha=0.25, markersize=3)
        ends = [1 if label else x.min(initial=1), x.max(initial=2 if label else 0)]
        ax.plot(ends, ends, color="0.5", linewidth=0.8, zorder=0)
        ax.plot([], [], "o", color=colour, label=label)  # as strong as a legend must be
    for ax, xlabel, ylabel in zip(
        axes, ("Free directions", "Disagreement"), ("Counted", "Loss"), strict=False
    ):
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    few_log_ticks(axes[0])
    change = cell.variants["decay"]["off_distribution"]
    for name, colour in zip(TRAININGS, colours, strict=False):
        curve = change.sel(decayed=name)
        seed_band(axes[2], curve["update"], curve, f"{name} decay", color=colour)
    axes[2].set(yscale="log", xlabel="Updates", ylabel="Change off the data")
    caption = (
        "Left: each point a network; its free directions are its parameters less the exact rank of the Jacobian, drawn a "
        "little aside by kind. Middle: blocks of two neurons whose gates agree but for a share of the data, mixed. Right: "
        "mean square change of the answers by a step along directions in which the data do not vary, over that at first."
    )
    return finished(figure, "What is free", caption + words, columns=3)


def _fraction(name):
    """Return the quantity "a number at every scale over the number of parameters, both in the mean over networks"."""
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
