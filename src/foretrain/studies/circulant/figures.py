"""Figures of the study ``circulant``: alignment and generalisation of bands of growing width."""

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import INK, PALETTE, legend_below, panels, seed_band, theory_line
from foretrain.studies.masked_rank_one.figures import CONVERGED, along, scatter

_COLOURS = ("vermillion", "orange", "green", "sky", "blue", "purple", "black")
ESCAPE = 2  # index of the last stage, when half of the loss is gone


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Misalignment and generalisation against the initial scale, and against each other."""
    simulation, theory, where = along(tree, "init_scale", "width")
    return {
        "misalignment": _misalignment(simulation, theory, where),
        "generalisation": _generalisation(simulation, theory, where),
        "alignment-and-generalisation": _against(simulation, where),
    }


def _widths(simulation):
    for number, width in enumerate(simulation["width"].values):
        yield width, PALETTE[_COLOURS[number % len(_COLOURS)]]


def _misalignment(simulation, theory, where):
    figure, ax = panels(height=5)
    sigma = simulation["init_scale"].values
    for number, (width, colour) in enumerate(_widths(simulation)):
        values = simulation["stage_misalignment"].isel(stage=ESCAPE).sel(width=width)
        _, band = seed_band(
            ax,
            sigma,
            values.transpose("seed", "init_scale"),
            f"w = {width}",
            color=colour,
            statistic=np.median,
        )
        last = number == simulation.sizes["width"] - 1
        if band is not None and not last:
            band.set_label("_nolegend_")
        exponent = float(theory["alignment_exponent"].sel(width=width).values.ravel()[0])
        median = values.median("seed").values
        anchor = int(np.argmax(median > 1e-9))
        law = median[anchor] * (sigma / sigma[anchor]) ** exponent
        name = "sigma^(1 - s_2/s_1)" if last else None
        ax.plot(sigma, law, **theory_line(colour, label=name))
    ax.set(
        xlabel="init_scale sigma",
        ylabel="Misalignment at escape",
        xscale="log",
        yscale="log",
        ylim=(1e-11, 1.5),
    )
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Narrow bands do not align at any reachable scale",
        "Relative distance of u v^T from the constant matrix when half of the loss is gone, median over seeds, for bands of "
        "width w. Dashed: the predicted power law through a small scale. Its exponent vanishes with the spectral "
        "gap." + where,
    )


def _generalisation(simulation, theory, where):
    figure, ax = panels(height=5)
    sigma = simulation["init_scale"].values
    small = sigma < 1
    simulation, theory, decades = (
        simulation.isel(init_scale=small),
        theory.isel(init_scale=small),
        np.log10(1 / sigma[small]),
    )
    done = (simulation["outcome"] == CONVERGED) & (simulation["final_untrained_error"] < 1e-6)
    told = theory["predicted_agreement"].isel(stage=ESCAPE).astype(bool)
    for number, (width, colour) in enumerate(_widths(simulation)):
        values = done.sel(width=width).transpose("seed", "init_scale").astype(float)
        _, band = seed_band(ax, decades, values, f"w = {width}", color=colour)
        last = number == simulation.sizes["width"] - 1
        if band is not None and not last:
            band.set_label("_nolegend_")
        name = "signs agree in the linearised flow" if last else None
        ax.plot(decades, told.sel(width=width).mean("seed"), **theory_line(colour, label=name))
    ax.set(ylabel="Fraction of seeds that generalise", xscale="log", ylim=(-0.03, 1.03))
    ax.invert_xaxis()
    ticks = [decade for decade in decades if decade >= 1 and np.log2(decade) % 1 == 0]
    ax.set_xticks(ticks, [f"$10^{{-{decade:.0f}}}$" for decade in ticks])
    ax.minorticks_off()
    ax.set_xlabel("init_scale sigma (its number of decades on a logarithmic axis)")
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Which bands generalise, and from what scale on",
        "Fraction of seeds with zero loss and zero error on untrained pairs; all others are stuck in training. Dashed: the "
        "fraction whose weights have agreeing signs in the linearised flow where its loss would have halved, told before "
        "training. Above a scale of about 0.1 starts are not small, and that flow does not apply."
        + where,
    )


def _against(simulation, where):
    figure, ax = panels(height=4.2)
    simulation = simulation.assign(
        escape_misalignment=simulation["stage_misalignment"].isel(stage=ESCAPE)
    )
    scatter(ax, simulation, "escape_misalignment", simulation["connected"].astype(bool))
    bound = 1 / np.sqrt(simulation.sizes["input_domain"] + 1)
    ax.axvline(
        bound,
        color=INK,
        linewidth=0.8,
        linestyle=":",
        label="1/sqrt(n + 1): below, all signs agree",
    )
    ax.set(xlabel="Misalignment at escape", ylabel="Error of untrained pairs")
    ax.legend()
    return Drawing(
        figure,
        "Aligned runs generalise",
        "Error of untrained pairs at the end against the misalignment when half of the loss is gone, all widths and scales. "
        "Left of the dotted line the weights have one sign, and every run generalises; right of it some are stuck."
        + where,
    )
