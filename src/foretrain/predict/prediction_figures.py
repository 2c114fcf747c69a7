"""Pictures of predictions."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    panel_letters,
    panels,
    simulation_line,
    style,
    theory_line,
)
from foretrain.predict.laws import start_words
from foretrain.predict.prediction import Prediction, Ranking

_UNIT = "Time (step × learning rate)"
_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky")]
_DASHES = ["-", (0, (5, 2)), (0, (1.5, 1.5))]  # equal curves are all seen
_MOST = 20  # modes drawn as bars; more cannot be read


def draw_prediction(prediction: Prediction) -> Drawing:
    """Draw the expected loss, and the times at which modes are learned."""
    with style():
        return _prediction(prediction)


def draw_ranking(ranking: Ranking) -> Drawing:
    """Draw the expected losses of all candidates."""
    with style():
        return _ranking(ranking)


def _prediction(prediction: Prediction) -> Drawing:
    figure, (loss, modes) = panels(2, height=6.8)
    if prediction.drawn is None:
        loss.plot(prediction.times, prediction.loss, **theory_line(linestyle="-", linewidth=2))
    else:
        _random(loss, prediction)
    if prediction.falls_short:
        loss.axhline(prediction.attainable_loss, color=INK, linewidth=0.8, linestyle=":")
    loss.set(xlabel=_UNIT, ylabel="Expected loss", ylim=(0, None), xlim=(0, prediction.times[-1]))
    learned = [mode for mode in prediction.modes if np.isfinite(mode.half_learning_time)][:_MOST]
    place = np.arange(len(learned))
    modes.hlines(place, 0, [mode.half_learning_time for mode in learned], color="#c9ced3")
    for y, mode in zip(place, learned, strict=True):
        faded = mode.outcome == "loses"
        colour = _COLOURS[(mode.mode - 1) % len(_COLOURS)]
        face = "white" if faded else colour
        first, last = mode.earliest, mode.latest
        if first is not None and last is not None and np.isfinite(last):
            modes.hlines(y, first, last, color=colour, linewidth=3)
        modes.plot(mode.half_learning_time, y, "o", color=colour, markerfacecolor=face)
    names = [f"{mode.path}, mode {mode.mode}" for mode in learned]
    modes.set_yticks(place, names, fontsize=min(11, 150 / max(len(names), 1)))
    modes.set(xlabel=f"Half learned at {_UNIT[0].lower()}{_UNIT[1:]}", ylim=(len(learned), -1))
    modes.set_xlim(0, None)
    panel_letters([loss, modes])
    omitted = len(prediction.modes) - len(learned)
    more = f" {omitted} more modes are not drawn." if omitted else ""
    if prediction.falls_short:
        more += f" Dotted: the attainable loss, {prediction.attainable_loss:.3g}."
    if prediction.drawn is not None:
        return Drawing(figure, "Expected learning", _random_caption(prediction) + more)
    if prediction.stable is False:
        more += " The end is a saddle of the whole network, which small random weights leave."
    return Drawing(
        figure,
        "Expected learning",
        f"Expected loss of {prediction.label} from strength {prediction.init_scale:g}, and when each mode of each path "
        f"is half learned; open circles: paths that lose the mode to another. Residual {prediction.residual:.2g}.{more}",
    )


def _random(ax, prediction: Prediction) -> None:
    """Draw the exact flow of the statistics dashed, trained networks solid below it, the reduction dotted."""
    assert prediction.drawn is not None
    assert prediction.reduced is not None
    times, colour = prediction.times, PALETTE["blue"]
    if prediction.trained is not None:
        curves = prediction.trained.networks.at(times)
        for number, curve in enumerate(curves):
            label = f"trained, {len(curves)} networks" if number == 0 else None
            ax.plot(times, curve, **simulation_line(colour, linewidth=2, alpha=0.4), label=label)
    drawn = prediction.drawn.at(times)
    ax.fill_between(times, drawn.min(axis=0), drawn.max(axis=0), color=INK, alpha=0.12, linewidth=0)
    ax.plot(times, prediction.loss, **theory_line(), label="exact flow of the statistics")
    dots = theory_line(PALETTE["vermillion"], linestyle=":")
    ax.plot(times, prediction.reduced.loss, **dots, label="reduction")
    ax.legend()


def _random_caption(prediction: Prediction) -> str:
    assert prediction.drawn is not None
    trained = (
        ""
        if prediction.trained is None
        else " Solid: networks trained on the examples from other draws."
    )
    start = start_words(prediction.law, prediction.init_scale)
    return (
        f"Loss of {prediction.label} from {start}, and when each mode is half learned: median (dashed, "
        f"circles) and range (band, bars) of the exact flow of {len(prediction.drawn.curves)} draws; dotted: the "
        "reduction from decoupled weights; open circles: paths that lose the mode to another."
        + trained
    )


def _ranking(ranking: Ranking) -> Drawing:
    figure, ax = panels()
    end = max(prediction.times[-1] for prediction in ranking.predictions)
    for place, prediction in enumerate(ranking.predictions):
        times, losses = prediction.history
        # Beyond its horizon nothing changes any more.
        times, losses = np.append(times, max(end, times[-1])), np.append(losses, losses[-1])
        inside = times <= end
        style = {"color": _COLOURS[place % len(_COLOURS)], "linestyle": _DASHES[place % 3]}
        ax.plot(times[inside], losses[inside], label=f"{place + 1}. {prediction.label}", **style)
    ax.axhline(ranking.target_loss, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=_UNIT, ylabel="Expected loss", ylim=(0, None), xlim=(0, end))
    ax.legend()
    return Drawing(
        figure,
        "Candidate gatings",
        "Expected loss of every candidate, in the order in which they reach the dotted loss, half of what the best "
        "of them learns.",
    )
