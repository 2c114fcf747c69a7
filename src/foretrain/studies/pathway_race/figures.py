"""Figures of the study ``pathway-race``, after Saxe, Sodhani & Lewallen (2022), Fig. 5a-b."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.schemes import Pathway, draw_scheme
from foretrain.figures.style import (
    PALETTE,
    SECOND_DASHES,
    panels,
    seed_band,
    shades,
    simulation_line,
    theory_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.quantities.trajectory import at_end
from foretrain.studies.pathway_race.theory import DUELS, half_times
from foretrain.study import drawn
from foretrain.training.routing import items_task

_TIME = "Time (step × learning rate)"
_RED, _BLUE = PALETTE["vermillion"], PALETTE["blue"]
_OTHER = {"linestyle": SECOND_DASHES}


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """The schemes, strengths while learning for every P, half-learning times, and who wins in one network."""
    cells, where = grid.first(("paths",))
    p = cells.parameters
    drawings = {"strengths": partial(_strengths, cells, where), "schemes": partial(_schemes)}
    if len(cells.values("paths")) > 1:
        drawings["half-times"] = partial(_half_times, cells, where)
    if not (p.shared_encoders or p.against_full_sharing):
        drawings["mixed"] = partial(_mixed, cells, where)
        drawings["losers"] = partial(_losers, cells, where)
        drawings["starts"] = partial(_starts, cells, where)
    return drawings


def _schemes(domains=4):
    figure, axes = panels(1, 3, height=3.6)
    names = [str(number + 1) for number in range(domains)]
    colours = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]
    for ax, size in zip(axes, (1, 2, domains), strict=True):
        groups = [range(first, first + size) for first in range(0, domains, size)]
        # As many colours as groups of inputs, or as modules where these are few.
        single = len(groups) ** 2 <= len(colours)
        pathways = [
            Pathway(inputs, outputs, colours[len(groups) * a + b if single else a])
            for a, inputs in enumerate(groups)
            for b, outputs in enumerate(groups)
        ]
        draw_scheme(ax, names, pathways, names)
        ax.set_title(f"P = {size**2}", loc="left")
    return finished(
        figure,
        "Gating schemes that share more and more",
        f"The schemes for {domains} input domains (left) and output domains (right), every route trained: a dedicated "
        "pathway for every route, modules for two inputs and two outputs, one pathway for all. Squares: hidden matrices, "
        "each with encoders and decoders of its own, of which those on a route are gated on when it is asked for.",
    )


def _strengths(cells, where):
    titles, label = ("mode 1", "mode 2"), "Strength / optimum"
    figure, axes = titled_panels(titles, 3.9, label, xscale="log", xlabel=_TIME)
    optimum = _optimum(cells)
    colours = shades(len(cells.values("paths")))
    for mode, ax in enumerate(axes):
        for paths, colour in zip(cells.values("paths"), colours, strict=True):
            runs, theory = (
                data.sel(paths=paths).isel(part=0, mode=mode)
                for data in (cells.simulation, cells.theory)
            )
            for _, run in runs.groupby("seed"):
                time, strength = (run[n].values.ravel() for n in ("elapsed", "part_strength"))
                line = simulation_line(colour, linewidth=2, label=f"P = {paths}")
                ax.plot(time[1:], strength[1:] / optimum[mode], **line)
            last = paths == cells.values("paths")[-1]
            line = theory_line(colour, label="closed form, wide random weights" if last else None)
            ax.plot(theory["race_time"], theory["race_strength"] / optimum[mode], **line)
        lowest = float(cells.theory["equal_start_half_time"].min()) / 3
        ax.set_xlim(lowest, None)
    return finished(
        figure,
        "Strength of the first two modes for every degree of sharing",
        "Strength of a mode, mean over all routes, in networks whose modules carry P routes each: solid, every seed from "
        "random weights; dashed, the closed form for wide random weights, nothing fitted. Time is logarithmic: equal "
        "distances are equal speed-ups." + where,
        4,
    )


def _optimum(cells) -> np.ndarray:
    data = items_task(cells.parameters.level_weights)
    return data.singular_values / data.variances


def _half_times(cells, where):
    figure, ax = panels(height=5.4)
    paths, data = np.array(cells.values("paths")), items_task(cells.parameters.level_weights)
    own = cells.fits["measured_half_time"].isel(mode=0).transpose("paths", "seed").values
    runs = cells.variants["shared-encoders"]
    shared = np.array([half_times(runs.sel(paths=number), data)[:, 0] for number in paths])
    for times, text, colour, mark in (
        (own, "random weights, own encoders in every module", "vermillion", "o"),
        (shared, "random weights, shared encoders", "sky", "s"),
    ):
        x, style = np.broadcast_to(paths[:, None], times.shape), {"color": PALETTE[colour]}
        ax.plot(x.ravel(), times.ravel(), mark, alpha=0.7, markersize=6, label=text, **style)
    for name, text, look in (
        ("half_learning_time", "closed form, wide random weights", theory_line(_RED)),
        ("equal_start_half_time", "reduction, equal starts", theory_line(_BLUE) | _OTHER),
    ):
        ax.plot(paths, cells.theory[name].isel(mode=0), **look, label=text)
    label = f"Half-learning {_TIME.lower()}"
    ax.set(xscale="log", yscale="log", xlabel="Routes per module, P", ylabel=label)
    ax.set_xticks(paths, paths)
    ax.minorticks_off()
    return finished(
        figure,
        "When the first mode is half learned",
        "Half-learning time of the first mode against P, one point for each seed. From equal starts it would fall as "
        "P^(-3/4); from random weights it falls as P^(-1/2), since the domains of a module start with less in common the "
        "more they are." + where,
        1,
    )


def _mixed(cells, where):
    figure, axes = panels(1, 2, height=4.0)
    values, whole = np.array(cells.values("paths")), cells.parameters.domains**2
    mixed, handicapped = cells.variants["mixed"], cells.variants["handicapped"]
    chosen = values[values < whole] if (values < whole).any() else values
    paths = _chosen(cells)
    for data, line in ((mixed, "-"), (handicapped, ":")):
        run = data.sel(paths=paths).isel(seed=0, mode=0)
        for part, colour in (("modules", "blue"), ("full sharing", "vermillion")):
            style = simulation_line(PALETTE[colour], linestyle=line, linewidth=2.4)
            label = part if line == "-" else None
            axes[0].plot(run["elapsed"], run["part_strength"].sel(part=part), label=label, **style)
    axes[0].plot([], [], ":", color=PALETTE["black"], label="full sharing handicapped")
    half = float(cells.theory["half_learning_time"].sel(paths=paths).isel(mode=0))
    axes[0].set(xlim=(0, 2 * half), xlabel=_TIME, ylabel="Strength of mode 1")
    axes[0].set_title(f"modules of P = {paths}", loc="left")
    for data, name, text, colour in (
        (mixed, "full_sharing_share", "b: modules lose", "purple"),
        (handicapped, "handicapped_share", "b: full sharing loses, handicapped", "green"),
    ):
        equal = name == "full_sharing_share"
        x = chosen if equal else values
        strength = at_end(data["part_strength"])
        loser = strength.sel(part="modules" if equal else "full sharing") / strength.sum("part")
        loser = loser.mean("mode").transpose("seed", "paths").sel(paths=x)
        seed_band(axes[1], x, loser, text, color=PALETTE[colour])
        axes[1].plot(np.broadcast_to(x, loser.shape), loser, ".", color=PALETTE[colour], alpha=0.6)
        predicted = cells.theory[name].sel(paths=x).mean("mode").values
        predicted = 1 - predicted if equal else predicted
        axes[1].plot(x, predicted, marker="_", **theory_line(label="closed form"))
    label = "Share of the loser"
    axes[1].set(xscale="log", yscale="log", xlabel="Routes per module, P", ylabel=label)
    axes[1].set_xticks(values, values)
    axes[1].tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    return finished(
        figure,
        "Both in one network",
        "Modules and a fully shared pathway, always on, whose outputs add up. a: first mode of the first seed, all at one "
        "initial scale (solid), and with the fully shared pathway at half the scale at which the closed form has both "
        "poles together (dotted). b: what the losing side has of the learned map, mean over modes, every seed and their "
        "mean; dashed: closed form, nothing fitted." + where,
    )


def _chosen(cells):
    """A P in the middle of those that are fewer than all routes; the only one if there is no other."""
    values = np.array(cells.values("paths"))
    fewer = values[values < cells.parameters.domains**2]
    return (fewer if fewer.size else values)[(fewer.size or values.size) // 2]


def _losers(cells, where):
    paths, colours = _chosen(cells), (PALETTE["blue"], PALETTE["vermillion"])
    titles = [f"modules of P = {paths} lose", "full sharing loses"]
    label = "Strength of mode 1"
    figure, axes = titled_panels(titles, 4.2, label, yscale="log")
    theory, fits = cells.theory.sel(paths=paths), cells.fits.sel(paths=paths)
    lowest = np.inf
    for number, (ax, name) in enumerate(zip(axes, DUELS, strict=True)):
        runs = cells.variants[name].sel(paths=paths).isel(mode=0)
        time = theory["duel_time"].isel(duel=number).values
        closed = theory["duel_strength"].isel(duel=number, mode=0).values
        own = fits["foretold_duel_strength"].isel(duel=number, mode=0)
        grown = np.flatnonzero(closed.sum(1) > 0.5 * np.nanmax(closed.sum(1), initial=0))
        last = 2 * time[grown[0]] if grown.size else time[-1]
        for part, (scheme, colour) in enumerate(
            zip(("modules", "full sharing"), colours, strict=True)
        ):
            for place, (_, run) in enumerate(runs.groupby("seed")):
                elapsed = run["elapsed"].values.ravel()
                strength = run["part_strength"].sel(part=scheme).values.ravel()
                shown = elapsed <= last
                line = simulation_line(colour, linewidth=2, label=None if place else scheme)
                ax.plot(elapsed[shown], np.where(strength > 0, strength, np.nan)[shown], **line)
            starts = own.isel(part_of_two=part).transpose("seed", "moment").values
            for place, values in enumerate(starts):
                text = "own initial weights" if part and not place else None
                ax.plot(
                    time, np.where(values > 0, values, np.nan), **theory_line(colour, label=text)
                )
            text = "closed form, wide random weights" if part else None
            look = {"color": PALETTE["black"], "linestyle": ":", "linewidth": 1.4, "zorder": 5}
            ax.plot(time[1:], closed[1:, part], label=text, **look)
            lowest = min(lowest, closed[1, part])
        ax.set(xlabel=_TIME, xlim=(0, last))
    for ax in axes:
        ax.set_ylim(0.3 * lowest if np.isfinite(lowest) and lowest > 0 else None, None)
    return finished(
        figure,
        "What the loser learns while the winner races",
        "Strength of the first mode in the modules and in the fully shared pathway of one network, mean over routes. "
        "Solid: every seed from random weights; dashed: what each network's own initial weights say; dotted: the closed "
        "form for wide random weights. Nothing is fitted. b: full sharing is handicapped. The loser stops where the winner "
        "has taken what there is to learn." + where,
        2,
    )


def _starts(cells, where):
    figure, axes = panels(1, 2, height=4.6)
    values = cells.values("paths")
    tables = [_half_ratios(cells)] + [_share_ratios(cells, name) for name in DUELS]
    for (ax, mark), table in zip(
        ((axes[0], "o"), (axes[1], "o"), (axes[1], "s")), tables, strict=True
    ):
        for paths, colour, (foretold, measured) in zip(
            values, shades(len(values)), table, strict=True
        ):
            label = f"P = {paths}" if mark == "o" and ax is axes[0] else None
            ax.plot(foretold, measured, mark, color=colour, alpha=0.85, markersize=6, label=label)
    for mark, loser in (("o", "modules lose"), ("s", "full sharing loses")):
        look = {"color": "white", "markeredgecolor": PALETTE["black"], "label": f"b: {loser}"}
        axes[1].plot([], [], mark, markersize=6, **look)
    for ax, what in zip(axes, ("Half-learning time", "Share of the loser"), strict=True):
        seen = [line.get_xydata() for line in ax.lines]
        seen = np.concatenate(seen)[np.isfinite(np.concatenate(seen)).all(1)]
        ends = (0.97 * seen.min(), 1.03 * seen.max()) if seen.size else (0, 1)
        ax.plot(ends, ends, ":", color=PALETTE["black"], linewidth=1.2, zorder=0, label="equal")
        ax.set(xlim=ends, ylim=ends, xlabel="From own initial weights", ylabel=f"{what}, measured")
    return finished(
        figure,
        "What each network's own start says",
        "One point for each network: measured against what the reduction from its own initial weights says, both over the "
        "closed form for wide random weights; dotted: equal. a: half-learning time of mode 1 of modules alone. b: share of "
        "the loser where modules (circles) or a handicapped full sharing (squares) lose, mean over modes. Steps of a "
        "finite size are late by one or two percent, all alike." + where,
        3,
    )


def _half_ratios(cells):
    """Foretold and measured half-learning time of mode 1 over the closed form, for every P."""
    closed = cells.theory["half_learning_time"].isel(mode=0)
    names = ("foretold_half_time", "measured_half_time")
    pair = [
        (cells.fits[name].isel(mode=0) / closed).transpose("paths", "seed").values for name in names
    ]
    return list(zip(*pair, strict=True))


def _share_ratios(cells, name):
    """Foretold and measured share of the loser over the closed form, mean over modes, for every P where it loses."""
    place, mixed = DUELS.index(name), name == "mixed"
    column = "full_sharing_share" if mixed else "handicapped_share"
    closed = cells.theory[column].transpose("paths", "mode").values[:, None]
    own = cells.fits["foretold_duel_strength"].isel(duel=place, moment=-1)
    own = own.transpose("paths", "seed", "part_of_two", "mode").values
    ran = (
        at_end(cells.variants[name]["part_strength"])
        .transpose("paths", "seed", "part", "mode")
        .values
    )
    number = min(own.shape[1], ran.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = [one[:, :number, 1] / one[:, :number].sum(2) for one in (own, ran)]
    if mixed:
        shares, closed = [1 - one for one in shares], 1 - closed
    foretold, measured = ((one / closed).mean(-1) for one in shares)
    whole = np.array(cells.values("paths")) == cells.parameters.domains**2
    foretold = np.where(whole[:, None] & mixed, np.nan, foretold)
    return list(zip(foretold, measured, strict=True))


FIGURES = {"all": drawn(draw)}
