"""Figures of the study ``pathway-race``, after Saxe, Sodhani & Lewallen (2022), Fig. 5a-b."""

import itertools

from foretrain.figures import finished
from foretrain.figures.schemes import Pathway, draw_scheme
from foretrain.figures.style import COLOURS, shades, simulation_line, theory_line, titled_panels
from foretrain.study import TIME_UNIT, drawn, figure, panel
from foretrain.training.routing import items_task

from .claims import half, has_duels, modules_alone, share
from .study import DUELS
from .theory import half_times


def draw_schemes(grid):
    sizes, names = (1, 2, 4), ("1", "2", "3", "4")
    figure, axes = titled_panels([f"P = {size**2}" for size in sizes], 3.6)
    for ax, size in zip(axes, sizes, strict=True):
        groups = [range(first, first + size) for first in range(0, 4, size)]
        modules = list(itertools.product(groups, groups))  # each colour for a fourth of them
        pathways = [Pathway(*of, COLOURS[4 * k // len(modules)]) for k, of in enumerate(modules)]
        draw_scheme(ax, names, pathways, names)
    return finished(
        figure,
        "Gating schemes that share more and more",
        "The schemes for 4 input domains (left) and output domains (right), every route trained. Squares: hidden "
        "matrices, each with encoders and decoders of its own, gated on when a route of theirs is asked for.",
    )


def draw_strengths(grid):
    cells, where = grid.first(("paths",))
    titles, label = ("mode 1", "mode 2"), "Strength / optimum"
    figure, axes = titled_panels(titles, 3.9, label, xscale="log", xlabel=f"Time ({TIME_UNIT})")
    data, values = items_task(cells.parameters.level_weights), cells.values("paths")
    for mode, ax in enumerate(axes):
        optimum = (data.singular_values / data.variances)[mode]
        for paths, colour in zip(values, shades(len(values)), strict=True):
            runs, theory = (
                part.sel(paths=paths).isel(part=0, mode=mode)
                for part in (cells.simulation, cells.theory)
            )
            strength = runs["part_strength"].transpose("step", "seed")[1:] / optimum
            line = simulation_line(colour, linewidth=2, label=f"P = {paths}")
            ax.plot(runs["elapsed"].transpose("step", "seed")[1:], strength, **line)
            label = "closed form, wide random weights" if paths == values[-1] else None
            line = theory_line(colour, label=label)
            ax.plot(theory["race_time"], theory["race_strength"] / optimum, **line)
        ax.set_xlim(float(cells.theory["equal_start_half_time"].min()) / 3, None)
    return finished(
        figure,
        "Strength of the first two modes for every degree of sharing",
        "Strength of a mode, mean over all routes, in networks whose modules carry P routes each, every seed drawn; nothing "
        "is fitted. Time is logarithmic: equal distances are equal speed-ups." + where,
        4,
    )


def lost_share(network):
    return lambda c: share(c[network].end.part_strength, DUELS[network]).mean("mode")


MIXED, HANDICAPPED = "modules lose", "full sharing loses, handicapped"
PATHS = {"x": "paths", "scale": "loglog", "xlabel": "Routes per module, P"}
OWN = "random weights, own encoders in every module"
FIGURES = {
    "schemes": drawn(draw_schemes),
    "strengths": drawn(draw_strengths),
    "half-times": figure(
        "When the first mode is half learned",
        "Half-learning time of the first mode against P. From equal starts it would fall as P^(-3/4); from random weights it "
        "falls as P^(-1/2), since the domains of a module start with less in common the more they are.",
        panel(
            {
                OWN: lambda c: half(c.fits.measured_half_time),
                "random weights, shared encoders": lambda c: half_times(
                    c["shared-encoders"], items_task(c.p.level_weights)
                )[:, 0],
                "reduction, equal starts": lambda c: half(c.theory.equal_start_half_time),
            },
            theory={OWN: lambda c: half(c.theory.half_learning_time)},
            theory_label="closed form, wide random weights",
            label="Half-learning time of mode 1",
            **PATHS,
        ),
        height=5.4,
        legend=1,
    ),
    "mixed": figure(
        "Both in one network",
        "Share of the losing side in the learned map, mean over modes, where modules and a fully shared pathway start at one "
        "scale, and where the latter starts at half the scale of a tie. Nothing is fitted.",
        panel(
            {
                MIXED: lambda c: lost_share("mixed")(c) if has_duels(c) else None,
                HANDICAPPED: lost_share("handicapped"),
            },
            theory={
                MIXED: lambda c: (
                    1 - c.theory.full_sharing_share.mean("mode") if has_duels(c) else None
                ),
                HANDICAPPED: lambda c: c.theory.handicapped_share.mean("mode"),
            },
            theory_label="closed form",
            label="Share of the loser",
            **PATHS,
        ),
        where=modules_alone,
    ),
}
