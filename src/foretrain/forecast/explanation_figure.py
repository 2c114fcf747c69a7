"""The figure of an explanation: the run with the prediction, and the parts of the gap over time."""

from typing import Any

import numpy as np

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
from foretrain.forecast.compare_curves import measured_line
from foretrain.forecast.explanation_text import cause_words, corner_words

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
    return {"explanation": Drawing(figure, "Why the run is not what theory says", _caption(whole))}


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
