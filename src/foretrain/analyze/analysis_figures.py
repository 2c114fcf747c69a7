"""Pictures of an `Analysis`: effective parameters over the noise scale by every witness, and the interaction graph."""

from typing import TYPE_CHECKING

import numpy as np

from foretrain.analyze.analysis_text import layer_names
from foretrain.degeneracy.sampled.effective_parameters import FROM_START
from foretrain.figures import Drawing, finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import INK, PALETTE, panels, shades, style
from foretrain.words import number

if TYPE_CHECKING:
    from foretrain.analyze.analysis import Analysis
    from foretrain.analyze.trajectory import Trajectory

_FIFTHS = 5  # bars of a histogram of ranks


def curve(found: "Analysis") -> Drawing:
    """Draw the effective parameters over the noise scale: curvature as a band, counts as steps, samples with error bars."""
    with style():
        figure, ax = panels(height=3.8)
        scales = found.scales
        value, error = found.costs.effective(scales)
        ax.plot(scales, value, color=PALETTE["blue"], label="curvature, sum of c/(c + ε)")
        if error.any():
            band = {"color": PALETTE["blue"], "alpha": 0.25, "linewidth": 0}
            ax.fill_between(scales, value - error, value + error, **band)
        count, _ = found.costs.above(scales)
        ax.plot(scales, count, ":", color=PALETTE["green"], label="costs c above ε")
        if found.freedom is not None:
            mark = {"color": PALETTE["orange"], "markersize": 8, "label": "counted by source"}
            left = found.parameters - found.freedom.counted
            ax.plot(found.eps, left, "D", **mark)
        if found.sampled is not None:
            _samples(ax, found.sampled, min(found.parameters, found.answers))
        most = min(found.parameters, found.answers)
        which = "parameters" if most == found.parameters else "answers"
        if most < 1.5 * ax.get_ylim()[1]:
            ax.axhline(most, color=INK, linewidth=0.8, linestyle="--")
            place, text = (scales[-1], most), f"{most:,} {which}"
            ax.annotate(text, place, (0, -12), textcoords="offset points", ha="right")
            ax.set_ylim(0, 1.06 * most)
        else:
            ax.text(0.98, 0.92, f"of {most:,} {which}", transform=ax.transAxes, ha="right")
            ax.set_ylim(0, 1.1 * ax.get_ylim()[1])
        ax.axvline(found.eps, color="0.75", linewidth=0.8, zorder=0)
        unit = "nats" if found.loss == "kl" else "squared error"
        ax.set(xscale="log", xlabel=f"Noise scale ε ({unit})", ylabel="Effective parameters")
        return finished(
            figure,
            "Effective parameters",
            "Parameters that are not free at the noise scale: by curvature around the weights, by the number of unit "
            "steps that cost more, and by sampling the posterior, hollow where it is not trusted; bars are 95% intervals. The "
            "vertical line is the noise scale of the tables.",
        )


def _samples(ax, sampled, most):
    eps, value, error = (
        np.asarray(one, float) for one in (sampled.eps, sampled.value, sampled.error)
    )
    trusted = np.asarray(sampled.trusted, bool)
    doubted = ~trusted & (0 <= value) & (value <= most)
    for kind, fill, label in (
        (trusted, None, "sampled"),
        (doubted, "white", "sampled, not trusted"),
    ):
        if kind.any():
            look = {
                "color": PALETTE["vermillion"],
                "markerfacecolor": fill or PALETTE["vermillion"],
            }
            bars = 1.96 * error[kind]
            ax.errorbar(eps[kind], value[kind], bars, fmt="o", capsize=3, label=label, **look)


def chains(found: "Analysis") -> Drawing:
    """Draw all chains at every scale that was sampled: their traces, and below them where each ranks among all."""
    assert found.sampled is not None
    with style():
        pairs = zip(found.sampled.eps, found.sampled.traces, strict=True)
        drawn = [(eps, chains) for eps, chains in pairs if np.isfinite(chains).any()]
        figure, axes = panels(2, len(drawn), height=7.4, squeeze=False)
        for (upper, lower), (eps, chain) in zip(axes.T, drawn, strict=True):
            own = len(chain) // FROM_START
            kinds = [("blue", "chains from the weights")] * own
            kinds += [("vermillion", "chains from outside")] * (len(chain) - own)
            for one, (colour, label) in reversed([*zip(chain, kinds, strict=True)]):
                upper.plot(one, color=PALETTE[colour], linewidth=0.7, alpha=0.8, label=label)
            upper.set(xlabel="Draw, thinned", title=f"ε = {number(float(eps), 3)}")
            colours = [PALETTE[colour] for colour, _ in kinds]
            _ranks(lower, rank_shares(chain), colours, chain.shape[1])
            lower.set(xlabel="Rank among all draws")
        axes[0, 0].set(ylabel="2 β (L - L*)")
        axes[1, 0].set(ylabel="Chain")
        return finished(
            figure,
            "Chains",
            "Above, effective parameters draw by draw, of every chain after its warm-up. Where both kinds of chains do not "
            "lie over each other, or still drift, the estimate is not trusted. Below, for each chain, how many of its draws "
            "lie in each fifth of all draws of all chains: of chains that have mixed equally many, bars of one height. Grey "
            "is where 95% of bars end if draws are independent.",
        )


def rank_shares(chains: np.ndarray) -> np.ndarray:
    """Of each chain (chain, draw) the share of draws in each fifth of the draws of all chains, (chain, 5); nan counts last."""
    ranks = np.argsort(np.argsort(chains, axis=None)).reshape(chains.shape)
    return np.stack([(ranks * _FIFTHS // chains.size == at).mean(1) for at in range(_FIFTHS)], 1)


def _ranks(ax, shares, colours, draws):
    """One histogram above the other, each on its own line; the height between two is twice that of chains that have mixed."""
    middle, reach = 1 / _FIFTHS, 1.96 * (_FIFTHS - 1) ** 0.5 / _FIFTHS / draws**0.5
    places, tall = np.arange(_FIFTHS) + 0.5, 0.4 * _FIFTHS
    for at, (one, colour) in enumerate(zip(shares, colours, strict=True)):
        ax.bar(places, one * tall, 0.9, at, color=colour)
        band = at + tall * np.array([middle - reach, middle + reach])
        ax.fill_between([0, _FIFTHS], *band, color="0.85", linewidth=0, zorder=0)
    ax.set(xlim=(0, _FIFTHS), xticks=[0, _FIFTHS], xticklabels=["low", "high"], yticks=[])


def over_training(found: "Trajectory") -> Drawing:
    """Draw effective parameters, free directions, blocks and modules over training, above the loss: what was computed."""
    counts, numbers = found.by_source(), found.numbers()
    parts = {
        _effective: "Effective parameters by curvature at three noise scales; bands are errors of the quadrature.",
        _free: "Directions that change no answer at all, by source; hollow marks are estimates.",
        _numbers: "Blocks of synchronised neurons; modules, hollow where rewired graphs are as modular.",
        _losses: "The loss, with labels that of training, else the distance from the last outputs, which is 0 at the end.",
    }
    drawn = [part for part in parts if (part, {}) not in ((_free, counts), (_numbers, numbers))]
    with style():
        figure, axes = panels(len(drawn), 1, height=2.75 * len(drawn), sharex=True)
        for ax, part in zip(axes, drawn, strict=True):
            part(ax, found)
        axes[-1].set(xlabel=found.axis)
        return finished(figure, "Over training", " ".join(parts[part] for part in drawn), 3)


def _effective(ax, found):
    for at, (scale, colour) in enumerate(zip(found.scales, shades(3), strict=True)):
        value, error = found.effective[:, at], found.error[:, at]
        label = f"N at ε = {number(float(scale), 3)}"
        ax.plot(found.moments, value, "o-", color=colour, label=label)
        ax.fill_between(found.moments, value - error, value + error, color=colour, alpha=0.25)
    ax.set(ylabel="Effective parameters", ylim=(0, None))


def _free(ax, found):
    exact = np.array([one.exact for one in found.counts])
    counts = {name: values for name, values in found.by_source().items() if values.any()}
    colours = [*PALETTE.values()]
    for at, (name, values) in enumerate(counts.items()):
        whole = name == "all"
        look = {"color": INK if whole else colours[at % len(colours)]}
        ax.plot(found.moments, values, "-" if whole else "--", label=f"free, {name}", **look)
        for kind, fill in ((exact, look["color"]), (~exact, "white")):
            marks = {"marker": "o", "linestyle": "none", "markerfacecolor": fill}
            ax.plot(found.moments[kind], values[kind], **marks, **look)
    ax.set(ylabel="Free directions", ylim=(0, None))


def _numbers(ax, found):
    colours = {"synchronised blocks": PALETTE["purple"], "modules": PALETTE["sky"]}
    for name, values in found.numbers().items():
        ax.plot(found.moments, values, "s-", color=colours[name], label=name)
    hollow = np.array([not one.modular for one in found.wirings], bool)
    if hollow.any():
        values, colour = found.numbers()["modules"][hollow], colours["modules"]
        marks = {"color": colour, "markerfacecolor": "white", "zorder": 3}
        ax.plot(found.moments[hollow], values, "s", **marks)
    ax.set(ylabel="Blocks, modules", ylim=(0, None))


def _losses(ax, found):
    known = found.distance > 0  # without labels the last is the one that all are held to
    values = found.distance[known]
    if known.any() and values.max() > 100 * values.min():
        ax.plot(found.moments[known], values, "o-", color=INK)
        ax.set(ylabel="Loss", yscale="log")
    else:
        ax.plot(found.moments, found.distance, "o-", color=INK)
        ax.set(ylabel="Loss", ylim=(0, None))


def graph(found: "Analysis") -> Drawing:
    """Draw the interaction graph in the colours of its modules, edges above the root of the noise scale."""
    assert found.wiring is not None
    with style():
        wiring = found.wiring
        return layered_graph(
            [np.sqrt(part) for part in wiring.graph.strengths],
            wiring.modules.by_layer(wiring.graph.sizes),
            names=layer_names(found),
            threshold=float(np.sqrt(found.eps)),
            title="Interaction graph",
        )
