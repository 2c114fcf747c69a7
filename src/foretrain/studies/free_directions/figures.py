"""Figures of ``free-directions``."""

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels
from foretrain.study import drawn, figure, panel

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
    figure, ax = panels(height=4)
    own = [cell for cell in grid.cells() if "counted" in cell.simulation]
    for place, (cell, colour) in enumerate(zip(own, PALETTE.values(), strict=False)):
        x = cell.simulation["deficit"]
        y = cell.simulation["counted"].sum("free_source").transpose(*x.dims)
        x, y = (values.values[x > 0] for values in (x, y))
        ax.plot(x * 1.03 ** (place - 1.5), y, "o", color=colour, alpha=0.25, markersize=3)
        ax.plot([], [], "o", color=colour, label=cell.parameters.kind)  # strong enough for a legend
    ends = [1, ax.get_xlim()[1]]
    ax.plot(ends, ends, color="0.5", linewidth=0.8, zorder=0)
    ax.set(xscale="log", yscale="log", xlabel="Free directions", ylabel="Counted")
    caption = "Each point a network, a little aside by kind: parameters less the exact rank of the Jacobian, and counted."
    return finished(figure, "What is free", caption + grid.first(("kind",))[1], columns=3)


def _fraction(name):
    return lambda c: c.simulation[name].mean("network") / c.parameter_count.mean("network")


FIGURES = {
    "counts": drawn(draw_counts),
    "beside": figure(
        "Neurons of nearly equal gates, and weights that the data do not reach",
        "Left: two neurons whose gates agree but for a fraction of the data, mixed; mean over networks. Right: mean square "
        "change of the answers by a step along directions in which the data do not vary, over that at first.",
        panel(
            {
                "a: loss": lambda c: c["approximate"].mixing_loss.mean("network"),
                "a: disagreement": lambda c: c["approximate"].disagreement.mean("network"),
            },
            x="flipped_share",
            scale="loglog",
            xlabel="Fraction of examples with another gate",
            label="Mean square",
            theory=False,
        ),
        panel(
            {
                f"b: {w} weight decay": lambda c, w=w: c["decay"].off_distribution.sel(decayed=w)
                for w in ("without", "with")
            },
            x="update",
            scale="semilogy",
            xlabel="Updates",
            label="Change off the data",
            theory=False,
        ),
    ),
    "scale": figure(
        "Effective parameters over scale",
        "Means over networks, over the mean number of parameters; scales over the variance of outputs. Effective parameters: "
        "squared singular values of the Jacobian above the scale. What is left, edges and weights: the fewest that keep the "
        "loss below it. Last: 2 lambda_Z as sampled against what it would be were the loss quadratic.",
        panel({label: _fraction(name) for name, label in _CURVES.items()}, across="kind", **_SCALE),
        panel(
            {
                "2λ of a quadratic loss": lambda c: c["sampled"].smooth.mean("network") / _SAMPLED,
                "2λ, sampled": lambda c: (
                    c["sampled"].sampled.rename(sampled_scale="noise_scale").mean("network")
                    / _SAMPLED
                ),
            },
            title="sampled",
            **_SCALE,
        ),
        sharey=True,
    ),
}
