"""Figures of the study ``pathway-race``, after Saxe, Sodhani & Lewallen (2022), Fig. 5b."""

import json

import matplotlib as mpl
import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    PALETTE,
    SEQUENTIAL,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    simulation_line,
    theory_line,
)
from foretrain.measures.learning_time import crossing_time
from foretrain.measures.trajectory import at_end

_TIME = "Time (step × learning rate)"


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Strengths while learning for every P, half-learning times, and who wins in one network."""
    config = json.loads(tree.attrs["config"])["parameters"]
    extra = [name for name in tree.attrs.get("axes", {}) if name != "paths"]
    names = ("simulation", "theory", "variants/mixed", "variants/handicapped")
    data = {name: tree[name].to_dataset() for name in (*names, "variants/shared-encoders")}
    where = "".join(f" {name} = {data['simulation'][name].values[0]}." for name in extra)
    for name, dataset in data.items():
        dataset = dataset.isel({other: 0 for other in extra if other in dataset.dims})
        if "paths" not in dataset.dims:
            dataset = dataset.drop_vars("paths", errors="ignore")
            dataset = dataset.expand_dims(paths=[config["paths"]])
        data[name] = dataset.sortby("paths")
    simulation, theory, mixed, handicapped, shared = data.values()
    drawings = {"strengths": _strengths(simulation, theory, where)}
    if simulation.sizes["paths"] > 1:
        drawings["half-times"] = _half_times(theory, shared, where)
    if not (config["shared_encoders"] or config["against_full_sharing"]):
        drawings["mixed"] = _mixed(mixed, handicapped, theory, config, where)
    return drawings


def _colours(paths):
    # The palest end of the scale would not be seen on white.
    return dict(
        zip(paths, mpl.colormaps[SEQUENTIAL](np.linspace(0, 0.85, len(paths))), strict=True)
    )


def _strengths(simulation, theory, where):
    figure, axes = panels(1, 2, sharey=True, height=3.9)
    colours = _colours(simulation["paths"].values)
    for ax, mode in zip(axes, (0, 1), strict=True):
        for paths, colour in colours.items():
            run = simulation.sel(paths=paths).isel(part=0, mode=mode).transpose("seed", "step")
            top = np.nanmax(run["part_strength"].values)
            for seed in range(run.sizes["seed"]):
                time, strength = (
                    run[n].isel(seed=seed).values for n in ("elapsed", "part_strength")
                )
                ax.plot(time[1:], strength[1:] / top, **simulation_line(colour, linewidth=2))
            both = theory.sel(paths=paths)
            predicted = both["part_strength"].isel(part=0, mode=mode).values
            if np.isfinite(predicted).any():
                line = theory_line(colour, label="closed form, wide random weights")
                ax.plot(both["elapsed"].values, predicted / top, **line)
            ax.plot([], [], **simulation_line(colour, label=f"P = {paths}"))
        lowest = float(theory["equal_start_half_time"].min()) / 3
        ax.set(xscale="log", xlim=(lowest, None), xlabel=_TIME)
        ax.set_title(f"mode {mode + 1}", loc="left")
    axes[0].set_ylabel("Strength / final strength")
    panel_letters(axes)
    handles = {}
    for handle, label in zip(*axes[0].get_legend_handles_labels(), strict=True):
        handles.setdefault(label, handle)
    order = sorted(handles, key=lambda label: "closed" in label)
    figure.legend(
        [handles[name] for name in order], order, loc="outside lower center", ncols=4, fontsize=10
    )
    return Drawing(
        figure,
        "Strength of the first two modes for every degree of sharing",
        "Strength of a mode, mean over all routes, in networks whose modules carry P routes each: solid, every seed from "
        "random weights; dashed, the closed form for wide random weights, nothing fitted. Time is logarithmic: equal "
        "distances are equal speed-ups." + where,
    )


def _half_times(theory, shared, where):
    figure, ax = panels(height=4.4)
    paths = theory["paths"].values
    measured = theory["measured_half_time"].isel(mode=0).transpose("seed", "paths")
    points = np.broadcast_to(paths, measured.shape)
    own = {"color": PALETTE["vermillion"], "alpha": 0.7, "markersize": 7}
    ax.plot(points.T, measured.values.T, "o", **own)
    ax.plot([], [], "o", label="random weights, own encoders in every module", **own)
    strength = shared["part_strength"].isel(part=0, mode=0).transpose("paths", "seed", "step")
    elapsed = shared["elapsed"].transpose("paths", "seed", "step").values
    other = []
    for number, times, values in zip(paths, elapsed, strength.values, strict=True):
        # After its end a run is padded with nan.
        half = np.nanmax(values) / 2
        for time, value in zip(times, values, strict=True):
            kept = np.isfinite(value)
            other.append((number, crossing_time(time[kept], value[kept], half)))
    ax.plot(
        *np.array(other).T,
        "s",
        color=PALETTE["sky"],
        alpha=0.7,
        markersize=5,
        label="random weights, shared encoders",
    )
    for name, text, colour in (
        ("half_learning_time", "closed form, wide random weights", "vermillion"),
        ("equal_start_half_time", "reduction from equal starts", "blue"),
    ):
        values = theory[name].isel(mode=0).values
        ax.plot(paths, values, **theory_line(PALETTE[colour], label=text))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="Routes per module, P",
        ylabel=f"Half-learning {_TIME.lower()}",
    )
    ax.set_xticks(paths, paths)
    ax.minorticks_off()
    ax.legend(fontsize=10.5)
    return Drawing(
        figure,
        "When the first mode is half learned",
        "Half-learning time of the first mode against P, one point for each seed. From equal starts it would fall as "
        "P^(-3/4); from random weights it falls as P^(-1/2), since the domains of a module start with less in common the "
        "more they are." + where,
    )


def _mixed(mixed, handicapped, theory, config, where):
    figure, axes = panels(1, 2, height=4.0)
    values = [int(p) for p in mixed["paths"].values]
    chosen = [p for p in values if p < config["domains"] ** 2] or values
    paths = chosen[len(chosen) // 2]
    for data, line in ((mixed, "-"), (handicapped, ":")):
        run = data.sel(paths=paths).isel(seed=0, mode=0)
        for part, colour in (("modules", "blue"), ("full sharing", "vermillion")):
            strength = run["part_strength"].sel(part=part).values
            label = {"label": part} if line == "-" else {}
            style = simulation_line(PALETTE[colour], linestyle=line, linewidth=2.4, **label)
            axes[0].plot(run["elapsed"].values, strength, **style)
    axes[0].plot([], [], ":", color=PALETTE["black"], label="full sharing handicapped")
    half = float(theory["measured_half_time"].sel(paths=paths).isel(mode=0).mean())
    axes[0].set(xlim=(0, 2 * half), xlabel=_TIME, ylabel="Strength of mode 1")
    axes[0].set_title(f"modules of P = {paths}", loc="left")
    for data, name, text, colour in (
        (mixed, "full_sharing_share", "modules, equal scales", "blue"),
        (handicapped, "handicapped_share", "full sharing, handicapped", "orange"),
    ):
        equal = name == "full_sharing_share"
        kept = [i for i, p in enumerate(values) if not equal or p < config["domains"] ** 2]
        if not kept:
            continue
        strength = at_end(data["part_strength"])
        loser = strength.sel(part="modules" if equal else "full sharing") / strength.sum("part")
        loser = loser.mean("mode").transpose("seed", "paths").isel(paths=kept)
        x = np.array(values)[kept]
        seed_band(axes[1], x, loser, text, color=PALETTE[colour])
        axes[1].plot(np.broadcast_to(x, loser.shape), loser, ".", color=PALETTE[colour], alpha=0.6)
        predicted = theory[name].isel(paths=kept).mean("mode").values
        predicted = 1 - predicted if equal else predicted
        axes[1].plot(x, predicted, marker="_", **theory_line(label="closed form"))
    axes[1].set(
        xscale="log", yscale="log", xlabel="Routes per module, P", ylabel="Share of the loser"
    )
    axes[1].set_xticks(values, values)
    axes[1].tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    for part in axes[1].collections:
        part.set_label("_nolegend_")
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Both in one network",
        "Modules and a fully shared pathway, always on, whose outputs add up. a: first mode of the first seed, all at one "
        "initial scale (solid), and with the fully shared pathway at half the scale at which the closed form has both "
        "poles together (dotted). b: what the losing side has of the learned map, mean over modes, every seed and their "
        "mean; dashed: closed form, nothing fitted." + where,
    )
