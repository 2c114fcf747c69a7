"""Figures of ``interaction-basis``."""

import dataclasses

import numpy as np

from foretrain.figures import finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import PALETTE, panels, seed_band

from .study import BASES, DRAWN

WORDS = dict(zip(BASES, ("interaction basis", "local", "PCA", "SVD", "neurons"), strict=True))


def draw(grid):
    """Loss against directions and edges kept, for digits and modular addition, and the graph of one classifier."""
    cell, words = grid.first()
    figure, axes = panels(2, 2, height=6.6, sharex="col")
    rows = {"digits": cell.simulation}
    if "modular" in cell.variants:
        rows["modular addition"] = cell.variants["modular"]
    for (name, data), row in zip(rows.items(), axes, strict=False):
        for ax, (curve, dim, what) in zip(
            row,
            (("direction_loss", "kept", "directions"), ("edge_loss", "kept_edges", "edges")),
            strict=True,
        ):
            for basis, colour in zip(BASES, PALETTE.values(), strict=False):
                found = data[curve].sel(basis=basis).clip(1e-6)
                seed_band(ax, found[dim], found, WORDS[basis], color=colour, statistic=np.median)
            ax.set(xscale="log", yscale="log", ylim=(1e-4, 20))
            ax.set_title(f"{name}, {what}", loc="left")
            if name == list(rows)[-1]:
                ax.set_xlabel(f"{what} kept")
        row[0].set_ylabel("behavioural loss (KL)")
    caption = (
        "Divergence of what the cut network answers from what the whole one does, against what is kept of each layer."
        + words
    )
    made = {"curves": finished(figure, "What is left of a network", caption, columns=3)}
    strength = cell.simulation["edge_strength"].isel(seed=0)
    modules = cell.simulation["module"].isel(seed=0).values
    sizes = [_directions(modules, strength.values, at) for at in range(len(modules))]
    edges = [part[: sizes[at + 1], : sizes[at]] for at, part in enumerate(strength.values)]
    graph = layered_graph(edges, [one[:size] for one, size in zip(modules, sizes, strict=True)])
    more = f" Of each layer the {DRAWN} most important directions of the local basis, for the digits of the first seed."
    made["graph"] = dataclasses.replace(graph, caption=graph.caption + more + words)
    return made


def _directions(modules, strength, at):
    """How many directions a layer has of those stored: up to the last that has an edge."""
    met = modules[at] >= 0
    if at > 0:
        met = met | (strength[at - 1] > 0).any(1)
    if at < len(strength):
        met = met | (strength[at] > 0).any(0)
    return int(np.flatnonzero(met)[-1]) + 1
