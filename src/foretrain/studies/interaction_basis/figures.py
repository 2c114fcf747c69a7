"""Figures of ``interaction-basis``."""

import dataclasses
from typing import Any

import numpy as np

from foretrain.figures import finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import PALETTE, SEQUENTIAL, panels, seed_band
from foretrain.study import drawn, figure, panel

from .study import BASES, DRAWN

WORDS: dict[str, str] = dict(
    zip(BASES, ("interaction basis", "local", "PCA", "SVD", "neurons"), strict=True)
)
STYLES: dict[str, Any] = {"local": (0, (2, 2))}  # both bases are nearly the same
LAYERS = ("input", "embedded", "attention", "perceptron", "output")  # of a transformer of one layer
_MAP: dict[str, Any] = {"aspect": "auto", "origin": "lower", "clim": (0, 1), "cmap": SEQUENTIAL}


def _curves(title, of=""):
    """Panels: loss against the directions, and against the edges, that are kept in each basis."""
    return [
        panel(
            {
                words: lambda c, basis=basis, name=name: (
                    c.simulation[name].sel(basis=basis).clip(1e-6)
                )
                for basis, words in WORDS.items()
            },
            of=of,
            x=dim,
            xlabel=f"{what.capitalize()} kept",
            label="Behavioural loss (KL, nats)",
            title=f"{title}{what}",
            scale="loglog",
            ylim=(1e-4, 20),
            statistic="median",
            theory=False,
        )
        for name, dim, what in (
            ("direction_loss", "kept", "directions"),
            ("edge_loss", "kept_edges", "edges"),
        )
    ]


def draw_graphs(grid):
    """Interaction graphs of a classifier and of a transformer."""
    networks, words = _networks(grid)
    files = {"digits": "graph", "transformer": "transformer"}
    known = {file: name for name, file in files.items() if name in networks}
    return {
        file: _graph(networks[name], f"the {name} network{words}") for file, name in known.items()
    }


def _networks(grid):
    cell, words = grid.first()
    return {cell.parameters.task: cell.simulation, **cell.variants}, words


def _graph(data, words):
    strength = data["edge_strength"].isel(seed=0)
    modules = data["module"].isel(seed=0).values
    met = modules >= 0
    met[1:] |= (strength.values > 0).any(2)
    met[:-1] |= (strength.values > 0).any(1)
    sizes = [int(np.flatnonzero(one)[-1]) + 1 for one in met]
    edges = [part[: sizes[at + 1], : sizes[at]] for at, part in enumerate(strength.values)]
    kept = [one[:size] for one, size in zip(modules, sizes, strict=True)]
    graph = layered_graph(edges, kept, names=LAYERS if len(sizes) == len(LAYERS) else None)
    more = f" Of each layer the {DRAWN} most important directions of the local basis, for the first seed of {words}"
    return dataclasses.replace(graph, caption=graph.caption + more)


def draw_frequencies(grid):
    """Frequencies of a transformer's directions, or None where there is none."""
    networks, words = _networks(grid)
    if "transformer" not in networks:
        return None
    data = networks["transformer"]
    figure, axes = panels(2, 2, height=6.8)
    one = data["input_spectrum"].isel(seed=0)
    shown = (("fitted", "global"), ("end", "global"), ("end", "svd"))
    for ax, (moment, basis) in zip(axes.ravel(), shown, strict=False):
        power = one.sel(moment=moment, basis=basis).values
        many = max(1, int((power.sum(1) > 0).sum()))
        extent = (0.5, many + 0.5, 0.5, power.shape[1] + 0.5)
        picture = ax.imshow(power[:many].T, extent=extent, **_MAP)
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


_CUT = (
    "What is left of a network",
    "Divergence of what the cut network answers from what the whole one does, against what is kept of each layer. "
    "Where both agree, the local basis covers the (global) interaction basis.",
)
FIGURES = {
    "curves": figure(
        *_CUT,
        *_curves("digits, "),
        *_curves("modular addition, ", "modular"),
        *_curves("transformer, ", "transformer"),
        columns=2,
        where=lambda c: c.p.task == "digits",
    ),
    "cut": figure(*_CUT, *_curves(""), where=lambda c: c.p.task in ("modular", "transformer")),
    "graphs": drawn(draw_graphs, "transformer/module_agreement", "transformer/module_purity"),
    "frequencies": drawn(draw_frequencies),
}
