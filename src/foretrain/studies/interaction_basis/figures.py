"""Figures of ``interaction-basis``."""

import dataclasses
from functools import partial

import numpy as np

from foretrain.figures import finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import SEQUENTIAL, panels
from foretrain.study import drawn, figure, panel

from .study import BASES, DRAWN

_WORDS = "interaction basis", "local", "PCA", "SVD", "neurons"
WORDS = dict[str, str](zip(BASES, _WORDS, strict=True))
LAYERS = ("input", "embedded", "attention", "perceptron", "output")  # of a transformer of one layer
_MAP = {"aspect": "auto", "origin": "lower", "clim": (0, 1), "cmap": SEQUENTIAL}


def _at(name, of="", **place):
    return lambda c: c["" if c.p.task == of else of][name].sel(place).clip(1e-6)


def _curves(title, of=""):
    """Panels: loss against the directions, and against the edges, that are kept in each basis."""
    return [
        panel(
            {words: _at(f"{what}_loss", of, basis=basis) for basis, words in WORDS.items()},
            x=dim,
            xlabel=f"{what.capitalize()}s kept",
            label="Behavioural loss (KL, nats)",
            title=f"{title}{what}s",
            scale="loglog",
            ylim=(1e-4, 20),
            statistic="median",
            theory=False,
        )
        for what, dim in (("direction", "kept"), ("edge", "kept_edges"))
    ]


def draw_graphs(grid):
    cell, words = grid.first()
    networks = {cell.parameters.task: cell.simulation, **cell.variants}
    return {
        file: partial(_graph, networks[name], name, words)
        for name, file in {"digits": "graph", "transformer": "transformer"}.items()
        if name in networks
    }


def _graph(data, name, words):
    strength = data["edge_strength"].isel(seed=0)
    modules = data["module"].isel(seed=0).values
    linked = modules >= 0
    linked[1:] |= (strength.values > 0).any(2)
    linked[:-1] |= (strength.values > 0).any(1)
    sizes = [int(np.flatnonzero(layer)[-1]) + 1 for layer in linked]
    edges = [part[: sizes[at + 1], : sizes[at]] for at, part in enumerate(strength.values)]
    kept = [layer[:size] for layer, size in zip(modules, sizes, strict=True)]
    names = LAYERS if len(sizes) == len(LAYERS) else None
    graph = layered_graph(edges, kept, names=names, title=f"Interactions between layers, {name}")
    more = f" Of each layer the {DRAWN} most important directions of the local basis are drawn, for the first seed.{words}"
    if "module_agreement" in data:
        agree, pure = (data[name][0].item() for name in ("module_agreement", "module_purity"))
        more += f" Adjusted Rand index of modules and best frequencies {agree:.2f}, purity of modules {pure:.2f}."
    return dataclasses.replace(graph, caption=graph.caption + more)


def draw_frequencies(grid):
    cell, words = grid.first()
    networks = {cell.parameters.task: cell.simulation, **cell.variants}
    if "transformer" not in networks:
        return None
    spectra = networks["transformer"]["input_spectrum"].isel(seed=0)
    figure, axes = panels(1, 3, height=3.6)
    shown = (("fitted", "global"), ("end", "global"), ("end", "svd"))
    for ax, (moment, basis) in zip(axes, shown, strict=True):
        power = spectra.sel(moment=moment, basis=basis).values
        many = max(1, int((power.sum(1) > 0).sum()))
        ax.imshow(power[:many].T, extent=(0.5, many + 0.5, 0.5, power.shape[1] + 0.5), **_MAP)
        ax.set_title(f"{WORDS[basis]}, {moment}".replace("n b", "n\nb"), loc="left")
        ax.set(xlabel="Direction", yticks=np.arange(1, power.shape[1] + 1))
    axes[0].set_ylabel("Frequency")
    figure.colorbar(axes[-1].images[0], ax=axes, label="Share of power")
    caption = (
        "Power of the most important directions of the input at each frequency of the symbols, in the (global) interaction "
        f"basis and in that of singular vectors, when training data are fitted and at the end, for the first seed.{words}"
    )
    return finished(figure, "Frequencies of a transformer's directions", caption)


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
    "graphs": drawn(draw_graphs),
    "frequencies": drawn(draw_frequencies),
    "best-frequency": figure(
        "One frequency to a direction",
        "Power of a direction at its best frequency when training is over: mean over directions by importance; layers 0 to 4 "
        "are input, embedded, attention, perceptron and output.",
        panel(
            {
                words: _at("frequency_share", "transformer", moment="end", basis=basis)
                for basis, words in WORDS.items()
            }
            | {"symbols shuffled": _at("shuffled_share", "transformer", moment="end")},
            ylim=(0, 1.02),
            x="node_layer",
            xlabel="Layer",
            label="Fraction of power",
            theory=False,
        ),
    ),
}
