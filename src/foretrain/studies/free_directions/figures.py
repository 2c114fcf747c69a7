"""Figures of ``free-directions``."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, few_log_ticks, panels, seed_band

from .study import SAMPLED, SCALES, TRAININGS

_CURVES = {
    "effective": "effective parameters",
    "counted_at_scale": "counted, by products",
    "counted_by_roots": "counted, by roots",
    "left_at_scale": "left after sparsification",
    "edges_at_scale": "edges of the interaction basis",
    "weights_at_scale": "weights between neurons",
}
SHOWS = {
    "counts": (
        *("accounted", "accounted-deep", "counted-is-free", "rise-power", "rise-size", "off-data"),
    ),
    "scale": (
        *("by-roots", "enough-at-scale", "needed-at-scale", "edges-needed-at-scale"),
        *("weights-at-scale", "by-volume"),
    ),
}


def draw(grid):
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
    return {
        "counts": finished(figure, "What is free", caption + words, columns=3),
        "scale": _over_scale(grid),
    }


def _over_scale(grid):
    """Effective parameters, what is counted and what is left, over the noise scale, by kind; sampled ones last."""
    figure, axes = panels(2, 3, height=7)
    axes = np.ravel(axes)
    cell, words = grid.first()
    for one, axis in zip(grid.cells(), axes, strict=False):
        data = one.simulation
        if "effective" not in data:
            continue
        parameters = data["parameter_count"].mean("network")
        for (name, label), colour in zip(_CURVES.items(), PALETTE.values(), strict=False):
            found = (data[name].mean("network") / parameters).transpose("seed", "noise_scale")
            seed_band(axis, SCALES, found.values, label, color=colour, fraction=False)
        axis.set(title=one.parameters.kind)
    chains = cell.variants.get("sampled")
    if chains is not None:
        for name, x, colour in (("smooth", SCALES, INK), ("sampled", SAMPLED, PALETTE["orange"])):
            dim = f"{'noise' if name == 'smooth' else 'sampled'}_scale"
            found = chains[name].mean("network").transpose("seed", dim).values / 21
            seed_band(axes[5], x, found, f"{name}, of other networks", color=colour, fraction=False)
        axes[5].set(title="sampled")
    for place, axis in enumerate(axes):
        axis.set(xscale="log", ylim=(0, 1.15))
        axis.set_xlabel("Noise scale" if place > 2 else "")
        axis.set_ylabel("Share of parameters" if place % 3 == 0 else "")
    caption = (
        "Means over networks, over the mean number of parameters; scales over the variance of outputs. "
        "Effective parameters: squared singular values of the "
        "Jacobian above the scale. What is left, edges and weights: the fewest that keep the loss below it. Last: 2 lambda_Z "
        "by Hamiltonian paths against what it would be were the loss quadratic."
    )
    return finished(figure, "Effective parameters over scale", caption + words, columns=2)
