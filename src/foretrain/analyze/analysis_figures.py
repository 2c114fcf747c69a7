"""Pictures of an `Analysis`, its effective parameters, chains and interaction graph, and of a `Trajectory`."""

import itertools

import numpy as np

from foretrain.analyze.analysis import Analysis
from foretrain.analyze.trajectory import Trajectory
from foretrain.degeneracy.interactions.wiring import Wiring
from foretrain.degeneracy.sampled.effective_parameters import FROM_START, SampledParameters
from foretrain.figures import Drawing, finished
from foretrain.figures.layered_graph import layered_graph
from foretrain.figures.style import INK, PALETTE, panels, shades, style
from foretrain.words import number


@style()
def curve(analysis: Analysis) -> Drawing:
    """Draw the effective parameters over the noise scale: curvature as a band, counts as steps, samples with error bars."""
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


@style()
def chains(sampled: SampledParameters) -> Drawing:
    """Draw the traces of all chains at every scale that was sampled."""
    pairs = zip(sampled.eps, sampled.traces, strict=True)
    drawn = [(eps, chains) for eps, chains in pairs if np.isfinite(chains).any()]
    figure, axes = panels(1, len(drawn), height=3.8, squeeze=False)
    for ax, (eps, chain) in zip(axes[0], drawn, strict=True):
        own = len(chain) // FROM_START
        kinds = [("blue", "chains from the weights")] * own
        kinds += [("vermillion", "chains from outside")] * (len(chain) - own)
        for trace, (colour, label) in reversed([*zip(chain, kinds, strict=True)]):
            ax.plot(trace, color=PALETTE[colour], linewidth=0.7, alpha=0.8, label=label)
        ax.set(xlabel="Draw, thinned", title=f"ε = {number(float(eps), 3)}")
    axes[0, 0].set(ylabel="2 β (L - L*)")
    return finished(
        figure,
        "Chains",
        "Effective parameters draw by draw, of every chain after its warm-up. Where both kinds of chains do not lie over "
        "each other, or still drift, the estimate is not trusted.",
    )


@style()
def graph(wiring: Wiring, eps: float, loss: str) -> Drawing:
    """Draw the interaction graph in the colours of its modules, edges above the root of the noise scale."""
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


@style()
def over_training(trajectory: Trajectory) -> Drawing:
    """Draw effective parameters, free directions, blocks and modules over training, above the loss: what was computed."""
    parts = {
        _effective: "Effective parameters by curvature at three noise scales; bands are errors of the quadrature.",
        _free: "Directions that change no answer at all, by source; hollow marks are estimates.",
        _blocks: "Blocks of synchronised neurons, and modules.",
        _losses: "The loss, with labels that of training, else the distance from the last outputs, which is 0 at the end.",
    }
    absent = {_free: not trajectory.by_source(), _blocks: not trajectory.block_counts()}
    parts = {part: words for part, words in parts.items() if not absent.get(part)}
    figure, axes = panels(len(parts), 1, height=2.75 * len(parts), sharex=True)
    for ax, part in zip(axes, parts, strict=True):
        part(ax, trajectory)
    axes[-1].set(xlabel=trajectory.axis)
    return finished(figure, "Over training", " ".join(parts.values()), 3)


def _effective(ax, trajectory):
    columns = trajectory.scales, shades(3), *(of.T for of in trajectory.effective)
    for eps, colour, value, error in zip(*columns, strict=True):
        label = f"N at ε = {number(float(eps), 3)}"
        ax.plot(trajectory.moments, value, "o-", color=colour, label=label)
        ax.fill_between(trajectory.moments, value - error, value + error, color=colour, alpha=0.25)
    ax.set(ylabel="Effective parameters", ylim=(0, None))


def _free(ax, trajectory):
    exact = np.array([freedom.exact for freedom in trajectory.counts])
    counts = {name: values for name, values in trajectory.by_source().items() if values.any()}
    for (name, values), colour in zip(counts.items(), itertools.cycle(PALETTE.values())):
        colour, dashes = (INK, "-") if name == "all" else (colour, "--")
        ax.plot(trajectory.moments, values, dashes, label=f"free, {name}", color=colour)
        for kind, fill in ((exact, colour), (~exact, "white")):
            marks = {"color": colour, "markerfacecolor": fill}
            ax.plot(trajectory.moments[kind], values[kind], "o", **marks)
    ax.set(ylabel="Free directions", ylim=(0, None))


def _blocks(ax, trajectory):
    colours = {"synchronised blocks": PALETTE["purple"], "modules": PALETTE["sky"]}
    for name, values in trajectory.block_counts().items():
        ax.plot(trajectory.moments, values, "s-", color=colours[name], label=name)
    ax.set(ylabel="Blocks, modules", ylim=(0, None))


def _losses(ax, trajectory):
    losses = trajectory.distance
    above = losses > 0  # without labels the last is the one that all are compared with
    logarithmic = above.any() and losses[above].max() > 100 * losses[above].min()
    shown = above if logarithmic else slice(None)
    ax.plot(trajectory.moments[shown], losses[shown], "o-", color=INK)
    ax.set(ylabel="Loss", **({"yscale": "log"} if logarithmic else {"ylim": (0, None)}))
