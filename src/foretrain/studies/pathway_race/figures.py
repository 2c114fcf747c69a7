"""Figures of the study ``pathway-race``, after Saxe, Sodhani & Lewallen (2022), Fig. 5b."""

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    PALETTE,
    panels,
    seed_band,
    shades,
    simulation_line,
    theory_line,
    titled_panels,
)
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import Grid
from foretrain.studies.pathway_race.theory import half_times
from foretrain.training.routing import items_task

_TIME = "Time (step × learning rate)"


def draw(grid: Grid) -> dict[str, Drawing]:
    """Strengths while learning for every P, half-learning times, and who wins in one network."""
    cells, where = grid.first(("paths",))
    p = cells.parameters
    drawings = {"strengths": _strengths(cells, where)}
    if len(cells.values("paths")) > 1:
        drawings["half-times"] = _half_times(cells, where)
    if not (p.shared_encoders or p.against_full_sharing):
        drawings["mixed"] = _mixed(cells, where)
    return drawings


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
    for name, text, colour in (
        ("half_learning_time", "closed form, wide random weights", "vermillion"),
        ("equal_start_half_time", "reduction from equal starts", "blue"),
    ):
        values = cells.theory[name].isel(mode=0)
        ax.plot(paths, values, **theory_line(PALETTE[colour], label=text))
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
    paths = chosen[chosen.size // 2]
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
