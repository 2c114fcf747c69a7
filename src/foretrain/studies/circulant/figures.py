"""Figures of the study ``circulant``: alignment and generalisation of bands of growing width."""

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.masked_rank_one import one_band_label, outcome_scatter
from foretrain.figures.style import INK, PALETTE, panels, theory_line
from foretrain.plans.grid import Grid
from foretrain.training.masked_rank_one import ESCAPE
from foretrain.vocabulary import CONVERGED

_COLOURS = ("vermillion", "orange", "green", "sky", "blue", "purple", "black")


def draw(grid: Grid) -> dict[str, Drawing]:
    """Misalignment and generalisation against the initial scale, and against each other."""
    part, where = grid.first(("width", "init_scale"))
    part = part.along("width", "init_scale")
    return {
        "misalignment": _misalignment(part, where),
        "generalisation": _generalisation(part, where),
        "alignment-and-generalisation": _against(part, where),
    }


def _widths(part):
    """Of every width: its place, name and colour, and whether it is the last."""
    widths = part.values("width")
    for place, width in enumerate(widths):
        colour = PALETTE[_COLOURS[place % len(_COLOURS)]]
        yield place, f"w = {width}", colour, place == len(widths) - 1


def _misalignment(part, where):
    figure, ax = panels(height=5)
    sigma = np.array(part.values("init_scale"))
    left = part.simulation["stage_misalignment"].isel(stage=ESCAPE)
    for place, name, colour, last in _widths(part):
        values = left.isel(width=place)
        one_band_label(ax, sigma, values, name, last=last, color=colour, statistic=np.median)
        exponent = float(part.theory["alignment_exponent"].isel(width=place).median())
        median = values.median("seed").values
        anchor = int(np.argmax(median > 1e-9))
        law = median[anchor] * (sigma / sigma[anchor]) ** exponent
        ax.plot(sigma, law, **theory_line(colour, label="sigma^(1 - s_2/s_1)" if last else None))
    ax.set(xlabel="init_scale sigma", ylabel="Misalignment at escape")
    ax.set(xscale="log", yscale="log", ylim=(1e-11, 1.5))
    return finished(
        figure,
        "Narrow bands do not align at any reachable scale",
        "Relative distance of u v^T from the constant matrix when half of the loss is gone, median over seeds, for bands of "
        "width w. Dashed: the predicted power law through a small scale. Its exponent vanishes with the spectral "
        "gap." + where,
    )


def _generalisation(part, where):
    figure, ax = panels(height=5)
    sigma = np.array(part.values("init_scale"))
    small = sigma < 1
    runs, theory = part.simulation.isel(init_scale=small), part.theory.isel(init_scale=small)
    decades = np.log10(1 / sigma[small])
    done = (runs["outcome"] == CONVERGED) & (runs["final_untrained_error"] < 1e-6)
    told = theory["predicted_agreement"].isel(stage=ESCAPE).astype(float)
    for place, name, colour, last in _widths(part):
        values = done.isel(width=place).astype(float)
        one_band_label(ax, decades, values, name, last=last, color=colour)
        label = "signs agree in the linearised flow" if last else None
        share = told.isel(width=place).mean("seed")
        ax.plot(decades, share, **theory_line(colour, label=label))
    ax.set(ylabel="Fraction of seeds that generalise", xscale="log", ylim=(-0.03, 1.03))
    ax.invert_xaxis()
    ticks = [decade for decade in decades if decade >= 1 and np.log2(decade) % 1 == 0]
    ax.set_xticks(ticks, [f"$10^{{-{decade:.0f}}}$" for decade in ticks])
    ax.minorticks_off()
    ax.set_xlabel("init_scale sigma (its number of decades on a logarithmic axis)")
    return finished(
        figure,
        "Which bands generalise, and from what scale on",
        "Fraction of seeds with zero loss and zero error on untrained pairs; all others are stuck in training. Dashed: the "
        "fraction whose weights have agreeing signs in the linearised flow where its loss would have halved, told before "
        "training. Above a scale of about 0.1 starts are not small, and that flow does not apply."
        + where,
    )


def _against(part, where):
    figure, ax = panels(height=4.2)
    runs = part.simulation
    runs = runs.assign(escape_misalignment=runs["stage_misalignment"].isel(stage=ESCAPE))
    outcome_scatter(ax, runs, "escape_misalignment", runs["connected"] == 1)
    bound = 1 / np.sqrt(part.parameters.domains + 1)
    label = "1/sqrt(n + 1): below, all signs agree"
    ax.axvline(bound, color=INK, linewidth=0.8, linestyle=":", label=label)
    ax.set(xlabel="Misalignment at escape", ylabel="Error of untrained pairs")
    return finished(
        figure,
        "Aligned runs generalise",
        "Error of untrained pairs at the end against the misalignment when half of the loss is gone, all widths and scales. "
        "Left of the dotted line the weights have one sign, and every run generalises; right of it some are stuck."
        + where,
    )
