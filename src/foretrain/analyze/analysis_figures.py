"""Pictures of an `Analysis`: effective parameters over the noise scale by every witness, chains, and the interaction graph."""

import numpy as np

from foretrain.analyze.analysis import Analysis
from foretrain.degeneracy.interactions.wiring import Wiring
from foretrain.degeneracy.sampled.effective_parameters import FROM_START, SampledParameters
from foretrain.figures import Drawing, finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import INK, PALETTE, panels, style
from foretrain.words import number

_FIFTHS = 5  # bars of a histogram of ranks


def curve(analysis: Analysis) -> Drawing:
    """Draw the effective parameters over the noise scale: curvature as a band, counts as steps, samples with error bars."""
    with style():
        figure, ax = panels(height=3.8)
        scales, most = analysis.scales, min(analysis.parameters, analysis.answers)
        value, error = analysis.costs.effective(scales)
        ax.plot(scales, value, color=PALETTE["blue"], label="curvature, sum of c/(c + ε)")
        if error.any():
            band = {"color": PALETTE["blue"], "alpha": 0.25, "linewidth": 0}
            ax.fill_between(scales, value - error, value + error, **band)
        count, _ = analysis.costs.above(scales)
        ax.plot(scales, count, ":", color=PALETTE["green"], label="costs c above ε")
        if analysis.freedom is not None:
            mark = {"color": PALETTE["orange"], "markersize": 8, "label": "counted by source"}
            ax.plot(analysis.eps, analysis.parameters - analysis.freedom.counted, "D", **mark)
        if analysis.sampled is not None:
            _samples(ax, analysis.sampled, most)
        which = "parameters" if most == analysis.parameters else "answers"
        if most < 1.5 * ax.get_ylim()[1]:
            ax.axhline(most, color=INK, linewidth=0.8, linestyle="--")
            place, how = (scales[-1], most), {"textcoords": "offset points", "ha": "right"}
            ax.annotate(f"{most:,} {which}", place, (0, -12), **how)
            ax.set_ylim(0, 1.06 * most)
        else:
            ax.text(0.98, 0.92, f"of {most:,} {which}", transform=ax.transAxes, ha="right")
            ax.set_ylim(0, 1.1 * ax.get_ylim()[1])
        ax.axvline(analysis.eps, color="0.75", linewidth=0.8, zorder=0)
        unit = "nats" if analysis.loss == "kl" else "squared error"
        ax.set(xscale="log", xlabel=f"Noise scale ε ({unit})", ylabel="Effective parameters")
        return finished(
            figure,
            "Effective parameters",
            "Parameters that are not free at the noise scale: by curvature around the weights, by the number of unit "
            "steps that cost more, and by sampling the posterior, hollow where it is not trusted; bars are 95% intervals. The "
            "vertical line is the noise scale of the tables.",
        )


def _samples(ax, sampled, most):
    value, colour = sampled.value, PALETTE["vermillion"]
    doubted = ~sampled.trusted & (0 <= value) & (value <= most)
    kinds = (sampled.trusted, colour, "sampled"), (doubted, "white", "sampled, not trusted")
    for kind, fill, label in kinds:
        if kind.any():
            look = {"color": colour, "markerfacecolor": fill, "label": label, "capsize": 3}
            bars = 1.96 * sampled.error[kind]
            ax.errorbar(sampled.eps[kind], value[kind], bars, fmt="o", **look)


def chains(sampled: SampledParameters) -> Drawing:
    """Draw all chains at every scale that was sampled: their traces, and below them the rank of each among all."""
    with style():
        pairs = zip(sampled.eps, sampled.traces, strict=True)
        drawn = [(eps, chains) for eps, chains in pairs if np.isfinite(chains).any()]
        figure, axes = panels(2, len(drawn), height=7.4, squeeze=False)
        for (upper, lower), (eps, chain) in zip(axes.T, drawn, strict=True):
            own = len(chain) // FROM_START
            kinds = [("blue", "chains from the weights")] * own
            kinds += [("vermillion", "chains from outside")] * (len(chain) - own)
            for trace, (colour, label) in reversed([*zip(chain, kinds, strict=True)]):
                upper.plot(trace, color=PALETTE[colour], linewidth=0.7, alpha=0.8, label=label)
            upper.set(xlabel="Draw, thinned", title=f"ε = {number(float(eps), 3)}")
            _ranks(lower, rank_shares(chain), [PALETTE[name] for name, _ in kinds], chain.shape[1])
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
    for at, (heights, colour) in enumerate(zip(shares, colours, strict=True)):
        ax.bar(places, heights * tall, 0.9, at, color=colour)
        band = at + tall * np.array([middle - reach, middle + reach])
        ax.fill_between([0, _FIFTHS], *band, color="0.85", linewidth=0, zorder=0)
    ax.set(xlim=(0, _FIFTHS), xticks=[0, _FIFTHS], xticklabels=["low", "high"], yticks=[])


def graph(wiring: Wiring, eps: float, loss: str) -> Drawing:
    """Draw the interaction graph in the colours of its modules, edges above the root of the noise scale."""
    with style():
        return layered_graph(
            [np.sqrt(part) for part in wiring.graph.strengths],
            wiring.modules.by_layer(wiring.graph.sizes),
            names=layer_names(wiring, loss),
            threshold=float(np.sqrt(eps)),
            title="Interaction graph",
        )


def layer_names(wiring: Wiring, loss: str) -> list[str]:
    """Names of the layers of the interaction graph; that of the divergence ends in the roots of twice the probabilities."""
    many = len(wiring.graph.sizes)
    last = ["logits", "roots of 2p"] if loss == "kl" else ["output"]
    return ["input", *(f"layer {at}" for at in range(1, many - len(last))), *last]
