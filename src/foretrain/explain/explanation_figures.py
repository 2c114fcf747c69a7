"""The pictures of an `Explanation`, and of measured runs over theories."""

from typing import Any

import numpy as np

from foretrain.explain.curve_comparison import CurveComparison
from foretrain.explain.explanation import Explanation
from foretrain.explain.simulated import Corner, cause_name, corner_name
from foretrain.figures import Drawing, finished
from foretrain.figures.style import COLOURS, INK, PALETTE, panels, seed_band, style, theory_line

_THEORIES = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.8, 1.2, 1.8)))  # dashes
_DASHES = ["-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5))]  # equal curves are all seen
_CORNERS = (
    "Mean training loss over starts of every set of assumptions that are kept: the kernel holds layers and gates to first "
    "order, gates frozen the gates alone, layers apart the layers alone, the network nothing. Cut at twice the first loss."
)
_COLOURS = dict(zip(Corner._fields, "vermillion green purple orange sky".split(), strict=True))


@style()
def run_and_parts(explanation: Explanation, measured: CurveComparison | None) -> Drawing:
    """Draw losses of the run with its prediction, and Shapley's values over time, for training and test."""
    shares = [explanation.shares, *filter(None, [explanation.test_shares])]
    losses = [explanation.train, *filter(None, [explanation.test])]
    figure, axes = panels(2, len(shares), height=6.4, sharex=True, squeeze=False)
    for column, (curves, parts) in enumerate(zip(losses, shares, strict=True)):
        _losses(axes[0, column], explanation, curves, column)
        if column == 0 and measured is not None:
            measured_line(axes[0, 0], measured)
        _parts(axes[1, column], explanation, parts)
    for ax, name in zip(axes[0], ("training", "test"), strict=False):
        ax.set(ylabel=f"Loss, {name}")
    axes[1, 0].set(ylabel="Part of the gap,\nover the loss at the start")
    return finished(figure, "The run, and the parts of its gap", _caption(explanation))


@style()
def every_corner(explanation: Explanation) -> Drawing:
    """Draw training losses of all corners, a panel for each kind of steps and batches."""
    own = [corner for corner in explanation.train if corner.output]
    kinds = list(dict.fromkeys((corner.step, corner.batches) for corner in own))
    rows = -(-len(kinds) // 2)
    colours = [PALETTE[name] for name in ("blue", "green", "orange", "vermillion")]
    at, top = np.maximum(explanation.at, 0.5), 2 * explanation.train[explanation.run][:, 0].mean()
    figure, axes = panels(rows, 2, height=2.9 * rows, squeeze=False)
    for ax, kind in zip(axes.flat, kinds, strict=False):
        members = [corner for corner in own if (corner.step, corner.batches) == kind]
        for colour, dashes, corner in zip(colours, _DASHES, members, strict=True):
            network, _, steps = corner_name(explanation.training, corner).partition(", ")
            curve = np.fmin(explanation.train[corner].mean(0), top)
            ax.plot(at, curve, color=colour, linestyle=dashes, linewidth=2, label=network)
            ax.set_title(steps, loc="left", fontsize=11)
        ax.set(xscale="log", xlabel="Step", ylabel="Loss, training", ylim=(0, None))
    for ax in axes.flat[len(kinds) :]:
        ax.remove()
    return finished(figure, "Every corner", _CORNERS, 4)


def _losses(ax, explanation, curves, column):
    at = np.maximum(explanation.at, 0.5)  # step 0 has no place on a log axis
    seed_band(ax, at, curves[explanation.run], color=PALETTE["blue"], label="the run")
    flow = np.minimum(curves[explanation.theory], 2 * float(curves[explanation.run][:, 0].mean()))
    name = corner_name(explanation.training, explanation.theory)
    ax.plot(at, flow.mean(0), **theory_line(linestyle=":"), label=name)
    prediction = explanation.prediction
    if prediction is not None and not prediction.diverging:
        predicted = prediction.train if column == 0 else prediction.test
        ax.plot(at, predicted.mean(0), **theory_line(), label="predicted before training")
    ax.set(xscale="log", ylim=(0, None))


def _parts(ax, explanation, shares):
    at = np.maximum(explanation.at, 0.5)
    ax.axhline(0, color=INK, linewidth=0.6)
    for cause in shares.causes:
        look = {"color": PALETTE[_COLOURS[cause.name]], "fraction": False}
        seed_band(ax, at, cause.values, label=cause_name(explanation.training, cause.name), **look)
    look = {"color": INK, "linewidth": 1.2, "linestyle": "--"}
    ax.plot(at, shares.gap.mean(0), label="run minus theory", **look)
    ax.set(xlabel="Step", xscale="log")


def _caption(explanation):
    diverging = explanation.prediction and explanation.prediction.diverging
    missing = " No curve is predicted: the linearised network diverges." if diverging else ""
    return (
        f"Above: the loss over {explanation.starts} starts; dotted the theory in which every assumption is kept; dashed the "
        "kernel at the start in the run's own steps and batches, which trains nothing. Below: what each assumption is to "
        f"blame for, by Shapley's value; the parts add up to the gap (dashed).{missing}"
    )


@style()
def measured_and_expected(comparison: CurveComparison) -> Drawing:
    """Draw the measured runs over the theories."""
    figure, ax = panels(height=4.4)
    curves, nearest = comparison.curves, comparison.nearest
    shown = [name for name in curves if name == nearest or not name.startswith("explained")]
    for place, name in enumerate(shown):
        losses = curves[name]
        line = theory_line(COLOURS[place % 6], linestyle=_THEORIES[place % 3])
        curve = np.fmin(losses.mean(0), 2 * losses[:, 0].mean())
        ax.plot(np.maximum(comparison.at, 0.5), curve, **line, label=name)
    measured_line(ax, comparison)
    ax.set(xlabel="Step", ylabel="Loss, training", xscale="log", ylim=(0, None))
    caption = "Measured runs, and means over starts of what was predicted, the training itself, and the nearest theory."
    return finished(figure, "Measured and expected", caption)


def measured_line(ax: Any, comparison: CurveComparison) -> None:
    """Draw circles at the mean of measured runs, in the band from the lowest to the highest where there are several."""
    steps, losses = np.maximum(comparison.measured.steps, 0.5), comparison.measured.losses
    losses = np.where(np.isfinite(losses), losses, np.nan)
    several = len(losses) > 1
    label = f"measured: mean and range of {len(losses)} runs" if several else "measured"
    circles = {"color": INK, "markerfacecolor": "white", "markersize": 4, "zorder": 5}
    ax.plot(steps, losses.mean(0), "o", **circles, label=label)
    if several:
        ax.fill_between(steps, losses.min(0), losses.max(0), color=INK, alpha=0.12, linewidth=0)
