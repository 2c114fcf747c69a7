"""Figures of ``interaction-basis``."""

import dataclasses
from typing import Any

import numpy as np

from foretrain.figures import finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import PALETTE, SEQUENTIAL, panels, seed_band

from .study import BASES, DRAWN

WORDS: dict[str, str] = dict(
    zip(BASES, ("interaction basis", "local", "PCA", "SVD", "neurons"), strict=True)
)
STYLES: dict[str, Any] = {
    "local": (0, (2, 2))
}  # both bases are nearly the same: the other must be seen beneath it
LAYERS = ("input", "embedded", "attention", "perceptron", "output")  # of a transformer of one layer
SHOWS = {
    "curves": (
        *("fewer-directions", "fewer-edges", "modular-directions", "modular-edges"),
        *("transformer-directions", "transformer-edges", "local-edges"),
    ),
    "frequencies": (
        *("frequencies-at-the-end", "frequencies-when-fitted", "frequencies-of-this-basis"),
    ),
}

NETWORKS = {"digits": "digits", "modular": "modular addition", "transformer": "transformer"}


def draw(grid):
    """Loss against directions and edges kept, graphs of a classifier and a transformer, and frequencies of the latter."""
    cell, words = grid.first()
    networks = {cell.parameters.task: cell.simulation, **cell.variants}
    rows = {title: networks[name] for name, title in NETWORKS.items() if name in networks}
    made = {"curves": _curves(rows, words)} if rows else {}
    if "digits" in networks:
        made["graph"] = _graph(networks["digits"], "the digits classifier" + words)
    if "transformer" in networks:
        made["transformer"] = _graph(networks["transformer"], "the transformer" + words)
        made["frequencies"] = _frequencies(networks["transformer"], words)
    return made


def _curves(rows, words):
    figure, axes = panels(len(rows), 2, height=0.6 + 3 * len(rows), sharex="col", squeeze=False)
    for (name, data), row in zip(rows.items(), axes, strict=True):
        for ax, (curve, dim, what) in zip(
            row,
            (("direction_loss", "kept", "directions"), ("edge_loss", "kept_edges", "edges")),
            strict=True,
        ):
            for basis, colour in zip(BASES, PALETTE.values(), strict=False):
                found = data[curve].sel(basis=basis).clip(1e-6)
                line, _ = seed_band(
                    ax, found[dim], found, WORDS[basis], color=colour, statistic=np.median
                )
                line.set_linestyle(STYLES.get(basis, "-"))
            ax.set(xscale="log", yscale="log", ylim=(1e-4, 20))
            ax.set_title(f"{name}, {what}", loc="left")
            if name == list(rows)[-1]:
                ax.set_xlabel(f"{what.capitalize()} kept")
        row[0].set_ylabel("Behavioural loss (KL, nats)")
    caption = (
        "Divergence of what the cut network answers from what the whole one does, against what is kept of each layer."
        + words
    )
    return finished(figure, "What is left of a network", caption, columns=2)


def _graph(data, words):
    strength = data["edge_strength"].isel(seed=0)
    modules = data["module"].isel(seed=0).values
    sizes = [_directions(modules, strength.values, at) for at in range(len(modules))]
    edges = [part[: sizes[at + 1], : sizes[at]] for at, part in enumerate(strength.values)]
    kept = [one[:size] for one, size in zip(modules, sizes, strict=True)]
    graph = layered_graph(edges, kept, names=LAYERS if len(sizes) == len(LAYERS) else None)
    more = f" Of each layer the {DRAWN} most important directions of the local basis, for the first seed of {words}"
    return dataclasses.replace(graph, caption=graph.caption + more)


def _directions(modules, strength, at):
    """How many directions a layer has of those stored: up to the last that has an edge."""
    met = modules[at] >= 0
    if at > 0:
        met = met | (strength[at - 1] > 0).any(1)
    if at < len(strength):
        met = met | (strength[at] > 0).any(0)
    return int(np.flatnonzero(met)[-1]) + 1


def _frequencies(data, words):
    figure, axes = panels(2, 2, height=6.8)
    one = data["input_spectrum"].isel(seed=0)
    shown = (("fitted", "global"), ("end", "global"), ("end", "svd"))
    for ax, (moment, basis) in zip(axes.ravel(), shown, strict=False):
        power = one.sel(moment=moment, basis=basis).values
        many = max(1, int((power.sum(1) > 0).sum()))
        picture = ax.imshow(
            power[:many].T, aspect="auto", origin="lower", vmin=0, vmax=1, cmap=SEQUENTIAL,
            extent=(0.5, many + 0.5, 0.5, power.shape[1] + 0.5),
        )  # fmt: skip
        when = "when fitted" if moment == "fitted" else "at the end"
        ax.set_title(f"{WORDS[basis].removeprefix('interaction ')}, {when}", loc="left")
        ticks = np.arange(1, power.shape[1] + 1)
        ax.set(xlabel="Direction of the input", ylabel="Frequency", yticks=ticks)
        figure.colorbar(picture, ax=ax, label="Share of power")
    ax, found = axes[1, 1], data["frequency_share"].sel(moment="end")
    place = np.arange(found.sizes["node_layer"])
    for basis, colour in zip(BASES, PALETTE.values(), strict=False):
        line, _ = seed_band(ax, place, found.sel(basis=basis), WORDS[basis], color=colour)
        line.set_linestyle(STYLES.get(basis, "-"))
    chance = data["shuffled_share"].sel(moment="end").mean("seed")
    ax.plot(place, chance, ":", color="black", label="symbols shuffled")
    names = LAYERS if len(place) == len(LAYERS) else [str(at) for at in place]
    ax.set_xticks(place, names, rotation=30, ha="right")
    ax.set(ylim=(0, 1.02), ylabel="Share of power")
    ax.set_title("best frequency, at the end", loc="left")
    caption = (
        "Power of the most important directions of the input at each frequency of the symbols, in the interaction basis and "
        "in that of singular vectors, for the first seed of the transformer; and the share at the best frequency in every "
        "layer at the end, mean over directions by importance and over seeds with its interval."
        + words
    )
    return finished(figure, "Frequencies of a transformer's directions", caption, columns=3)
