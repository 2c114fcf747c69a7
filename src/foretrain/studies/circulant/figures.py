"""Figures of the study ``circulant``: alignment and generalisation of bands of growing width."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.masked_rank_one import outcome_scatter
from foretrain.figures.style import panels, seed_band, shades, theory_line
from foretrain.plans.grid import Grid
from foretrain.studies.circulant.claims import SMALL
from foretrain.study import drawn
from foretrain.training.masked_rank_one import ESCAPE
from foretrain.training.masked_rank_one_claims import generalised

_SCALE = r"Initial scale $\sigma$"
_LAW = r"$\sigma^{1 - s_2/s_1}$"


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Misalignment, generalisation and stuck runs against the initial scale, and alignment against generalisation."""
    part, where = grid.first(("width", "init_scale"))
    drawings = {"alignment-and-generalisation": partial(_against, part, where)}
    if len(part.values("init_scale")) == 1:
        return drawings
    return {
        "misalignment": partial(_misalignment, part, where),
        "generalisation": partial(_generalisation, part, where),
        "stuck": partial(_stuck, part, where),
        **drawings,
    }


def _draw_widths(ax, part, x, measured, predicted, law, **options):
    """Draw what was measured, shape (width, x, seed), and predicted, shape (width, x), in one colour for each width."""
    widths = part.values("width")
    for place, (width, colour) in enumerate(zip(widths, shades(len(widths)), strict=True)):
        look = {"color": colour, **options}
        _, band = seed_band(ax, x, measured[place].T, f"w = {width}", **look)
        last = place == len(widths) - 1
        if band is not None and not last:  # what a band is, is said once
            band.set_label("_nolegend_")
        ax.plot(x, predicted[place], **theory_line(colour, label=law if last else None))


def _misalignment(part, where):
    figure, ax = panels(height=5)
    sigma = np.array(part.values("init_scale"))
    left = part.simulation["stage_misalignment"].isel(stage=ESCAPE)
    exponents = part.theory["alignment_exponent"].median(("init_scale", "seed")).values
    medians = left.median("seed").values
    anchors = (medians > 1e-9).argmax(1)
    laws = [
        median[anchor] * (sigma / sigma[anchor]) ** exponent
        for median, anchor, exponent in zip(medians, anchors, exponents, strict=True)
    ]
    _draw_widths(ax, part, sigma, left.values, laws, _LAW, statistic=np.median)
    ax.set(xlabel=_SCALE, ylabel="Misalignment at escape")
    ax.set(xscale="log", yscale="log", ylim=(1e-11, 1.5))
    return finished(
        figure,
        "Narrow bands do not align at any reachable scale",
        "Relative distance of u v^T from the constant matrix when half of the loss is gone, median over seeds, for bands of "
        "width w. Dashed: the predicted power law through a small scale. Its exponent vanishes with the spectral "
        f"gap.{where}",
    )


def _generalisation(part, where):
    figure, ax = panels(height=5)
    sigma = np.array(part.values("init_scale"))
    small = sigma < 1
    runs, theory = part.simulation.isel(init_scale=small), part.theory.isel(init_scale=small)
    decades = np.log10(1 / sigma[small])
    told = theory["predicted_agreement"].isel(stage=ESCAPE).astype(float).mean("seed").values
    label = "signs agree in the linearised flow"
    _draw_widths(ax, part, decades, generalised(runs), told, label, fraction=True)
    ax.set(ylabel="Fraction of seeds that generalise", xscale="log", ylim=(-0.03, 1.03))
    ax.invert_xaxis()
    ticks = [decade for decade in decades if decade >= 1 and np.log2(decade) % 1 == 0]
    ax.set_xticks(ticks, [f"$10^{{-{decade:.0f}}}$" for decade in ticks])
    ax.minorticks_off()
    ax.set_xlabel(f"{_SCALE} (its number of decades on a logarithmic axis)")
    return finished(
        figure,
        "Which bands generalise, and from what scale on",
        "Fraction of seeds with zero loss and zero error on untrained pairs; all others are stuck in training. Dashed: the "
        "fraction whose weights have agreeing signs in the linearised flow where its loss would have halved, told before "
        f"training. Above a scale of about 0.1 starts are not small, and that flow does not apply.{where}",
    )


def _stuck(part, where):
    figure, ax = panels(height=4.6)
    sigma = np.array(part.values("init_scale"))
    stuck = 1 - generalised(part.simulation)
    seeds = stuck.shape[-1]
    share = stuck.mean(-1)
    exponents = part.theory["alignment_exponent"].median(("init_scale", "seed")).values
    shown = [place for place in range(len(share)) if (share[place] > 0).any()]
    colours = shades(len(share))
    for place in shown:
        width, look = part.values("width")[place], {"color": colours[place]}
        there = share[place] > 0
        ax.plot(sigma[there], share[place][there], "o", **look, label=f"w = {width}")
        anchor = np.flatnonzero(there & (sigma <= SMALL))
        if anchor.size:
            law = share[place][anchor[-1]] * (sigma / sigma[anchor[-1]]) ** exponents[place]
            drawn = (law > 0.5 / seeds) & (sigma <= SMALL)
            label = _LAW if place == shown[0] else None
            ax.plot(sigma[drawn], law[drawn], **theory_line(label=label))
    ax.set(xlabel=_SCALE, ylabel="Fraction of seeds that are stuck", xscale="log")
    if shown:  # a logarithmic axis of nothing cannot be drawn
        ax.set(yscale="log")
    return finished(
        figure,
        "Stuck runs die out as a power of the initial scale",
        f"Fraction of {seeds} seeds that are stuck, where any is, for bands of width w. Dashed: the law through sigma = "
        f"{SMALL:g}, drawn until half a run is expected.{where}",
    )


def _against(part, where):
    figure, ax = panels(height=4.2)
    left = part.simulation["stage_misalignment"].isel(stage=ESCAPE).rename("Misalignment at escape")
    bound = 1 / np.sqrt(part.parameters.domains + 1)
    label = r"$1/\sqrt{n + 1}$: below, all signs agree"
    outcome_scatter(ax, part.simulation, left, bound, label)
    return finished(
        figure,
        "Aligned runs generalise",
        "Error of untrained pairs at the end against the misalignment when half of the loss is gone, all widths and scales. "
        f"Left of the dotted line the weights have one sign, and every run generalises; right of it some are stuck.{where}",
    )


FIGURES = {"all": drawn(draw)}
