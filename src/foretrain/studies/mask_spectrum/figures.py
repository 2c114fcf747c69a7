"""Figures of the study ``mask-spectrum``: outlier and bulk of random masks, and the outlier in training."""

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, theory_line
from foretrain.study import drawn, figure, panel

from .study import first, second


def draw_bulk(grid):
    part, where = grid.first(("mask_size",))
    if "mask_singular_values" not in part.simulation:
        return None
    figure, axes = panels(1, 2, height=4.2, width_ratios=(2, 1))
    law, size = part.theory.isel(mask_size=-1), part.values("mask_size")[-1]
    spectrum = part.simulation["mask_singular_values"].isel(mask_size=-1).dropna("seed", how="all")
    if not len(spectrum):
        return None
    edge, outlier = float(law["predicted_edge"]), float(law["predicted_outlier"])
    bars = {"density": True, "color": PALETTE["sky"], "alpha": 0.6}
    rest = spectrum.values[:, 1:size].ravel() / edge
    axes[0].hist(rest, bins=44, range=(0, 1.1), label="all but the largest", **bars)
    line = theory_line(PALETTE["blue"], label="Marchenko-Pastur law")
    axes[0].plot(law["bulk_place"], law["predicted_density"], **line)
    note = {"color": PALETTE["orange"], "linestyle": ":", "linewidth": 2.5}
    axes[0].axvline(float(law["note_edge"]) / edge, label="the note's edge", **note)
    axes[0].set(xlabel=r"Singular value $/\,2\sqrt{n p (1 - p)}$", ylabel="Density", xlim=(0, 1.1))
    bars["color"] = PALETTE["vermillion"]
    axes[1].hist(spectrum.values[:, 0] - outlier, bins=9, label="largest", **bars)
    axes[1].axvline(0, **theory_line(PALETTE["vermillion"], label="$np + 1 - p$"))
    axes[1].set(xlabel="Largest $- (np + 1 - p)$", ylabel="Density")
    return finished(
        figure,
        "Outlier and bulk of a random mask",
        f"Singular values of {len(spectrum)} random masks of size {size}. Left: all but the largest, in units of the bulk's "
        "edge, with the Marchenko-Pastur density: for singular values of square matrices a quarter circle. The note's edge "
        f"lacks the factor sqrt(n). Right: the largest, near {outlier:.4g}, from its predicted place.{where}",
        3,
    )


def outside(c):
    """Return the share of the squared weights outside the outlier's mode."""
    power = c["trained"].mode_amplitude ** 2
    return 1 - power.isel(mode=0) / power.sum("mode", skipna=False)


TRAINING = {"x": "step", "scale": "semilogy", "theory": False}
FIGURES = {
    "bulk": drawn(draw_bulk),
    "sizes": figure(
        "The gap grows with size",
        "Largest and second singular value of random masks against their size. The first grows as n, the second as sqrt(n).",
        panel(
            {"largest": first, "second": second},
            x="mask_size",
            theory={
                "largest": lambda c: c.theory.predicted_outlier,
                "second": lambda c: c.theory.predicted_second,
            },
            theory_label="$np + 1 - p$, and edge with Tracy-Widom correction",
            levels={"the note's edge": lambda c: float(c.theory.note_edge)},
            scale="loglog",
            label="Singular value",
        ),
    ),
    "training": figure(
        "The outlier's direction in training",
        "The rank-one model on masks of at most 64 domains. Left: amplitudes of some singular modes. Right: share of the "
        "squared weights outside the outlier's mode, of every run: least when the loss begins to fall; at the end u and v "
        "are constant, the outlier's direction up to the irregularity of the mask.",
        panel(lambda c: c["trained"].mode_amplitude, by="mode", label="Mode amplitude", **TRAINING),
        panel(outside, statistic="runs", label="Share of other modes", **TRAINING),
    ),
}
