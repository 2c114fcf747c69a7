"""The figure of an explanation: the run with the prediction, and the parts of the gap over time."""

from typing import Any

import numpy as np

from foretrain.explain.compare_curves import measured_line
from foretrain.explain.explanation_text import cause_words, corner_words
from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    style,
    theory_line,
)

_DASHES = ["-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5))]  # equal curves are all seen
_CORNERS = (
    "Mean training loss over starts of every set of assumptions that are kept: the kernel holds layers and gates to first "
    "order, gates frozen the gates alone, layers apart the layers alone, the network nothing. Cut at twice the first loss."
)
_COLOURS = {"layers": "vermillion", "gates": "green", "step": "purple", "batches": "orange"}


def draw(whole: Any) -> dict[str, Drawing]:
    """Losses of the run with its prediction, and Shapley's values over time, for training and, where there is one, test."""
    with style():
        shares = [whole.shares] if whole.test is None else [whole.shares, whole.test_shares]
        losses = [whole.train] if whole.test is None else [whole.train, whole.test]
        figure, axes = panels(2, len(shares), height=6.4, sharex=True, squeeze=False)
        for column, (curves, parts) in enumerate(zip(losses, shares, strict=True)):
            _losses(axes[0, column], whole, curves, column)
            if column == 0 and (found := whole.beside()) is not None:
                measured_line(axes[0, 0], found)
            _parts(axes[1, column], whole, parts)
        for ax, name in zip(axes[0], ("training", "test"), strict=False):
            ax.set(ylabel=f"Loss, {name}")
        axes[1, 0].set(ylabel="Part of the gap,\nover the loss at the start")
        panel_letters(axes)
        legend_below(figure, 2)
        drawn = {
            "explanation": Drawing(figure, "The run, and the parts of its gap", _caption(whole)),
            "corners": Drawing(_corners(whole), "Every corner", _CORNERS),
        }
    return drawn


def _corners(whole):
    """Training losses of all corners, a panel for each kind of steps and batches."""
    own = [one for one in whole.train if one.output]
    kinds = list(dict.fromkeys((one.step, one.batches) for one in own))
    figure, axes = panels(-(-len(kinds) // 2), 2, height=2.9 * -(-len(kinds) // 2), squeeze=False)
    colours = [PALETTE[name] for name in ("blue", "green", "orange", "vermillion")]
    at, top = np.maximum(whole.at, 0.5), 2 * whole.train[whole.run][:, 0].mean()
    for ax, kind in zip(axes.flat, kinds, strict=False):
        members = [one for one in own if (one.step, one.batches) == kind]
        for colour, dashes, one in zip(colours, _DASHES, members, strict=True):
            network, _, steps = corner_words(whole.training, one).partition(", ")
            curve = np.minimum(np.nan_to_num(whole.train[one].mean(0), nan=np.inf), top)
            ax.plot(at, curve, color=colour, linestyle=dashes, linewidth=2, label=network)
            ax.set_title(steps, loc="left", fontsize=11)
        ax.set(xscale="log", xlabel="Step", ylabel="Loss, training", ylim=(0, None))
    for ax in axes.flat[len(kinds) :]:
        ax.remove()
    legend_below(figure, 4)
    return figure


def _losses(ax, whole, curves, column):
    at = np.maximum(whole.at, 0.5)  # step 0 has no place on a log axis
    seed_band(ax, at, curves[whole.run], color=PALETTE["blue"], label="the run")
    first = float(curves[whole.run][:, 0].mean())
    flow = np.minimum(curves[whole.theory], 2 * first)
    ax.plot(
        at,
        flow.mean(0),
        **theory_line(linestyle=":"),
        label=corner_words(whole.training, whole.theory),
    )
    forecast = whole.forecast
    if forecast is not None and not forecast.diverging:
        predicted = forecast.train if column == 0 else forecast.test
        ax.plot(at, predicted.mean(0), **theory_line(), label="predicted before training")
    ax.set(xscale="log", ylim=(0, None))


def _parts(ax, whole, shares):
    at = np.maximum(whole.at, 0.5)
    ax.axhline(0, color=INK, linewidth=0.6)
    for one in shares.causes:
        label = cause_words(whole.training, one.name)
        seed_band(
            ax, at, one.values, color=PALETTE[_COLOURS[one.name]], label=label, fraction=False
        )
    ax.plot(
        at, shares.gap.mean(0), color=INK, linewidth=1.2, linestyle="--", label="run minus theory"
    )
    ax.set(xlabel="Step", xscale="log")


def _caption(whole):
    forecast = whole.forecast
    missing = (
        " No curve is predicted: the linearised network diverges."
        if forecast and forecast.diverging
        else ""
    )
    return (
        f"Above: the loss over {whole.starts} starts; dotted the theory in which every assumption is kept; dashed the kernel "
        "at the start in the run's own steps and batches, which trains nothing. Below: what each assumption is to blame for, "
        f"by Shapley's value; the parts add up to the gap (dashed).{missing}"
    )
