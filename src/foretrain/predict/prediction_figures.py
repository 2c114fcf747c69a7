"""Pictures of predictions: expected losses, and the graph with its edges in the colour of what is expected of them."""

from collections import Counter

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    COLOURS,
    INK,
    PALETTE,
    panel_letters,
    panels,
    simulation_line,
    style,
    theory_line,
)
from foretrain.graph import Graph
from foretrain.predict.prediction import DECOUPLED, Prediction, Ranking

_UNIT = "Time (step × learning rate)"
_DASHES = ["-", (0, (5, 2)), (0, (1.5, 1.5))]  # equal curves are all seen
_MOST = 20  # modes drawn as bars; more cannot be read
_MOST_NODES = 40  # nodes; the names of more run into each other
_NAMED = 16  # edges whose names are drawn
_LEARNED = ("learned", "wins", "shares")
_LOOKS = {
    "learns": {"color": PALETTE["blue"], "linewidth": 2.4, "zorder": 3},
    "loses, or is not learned": {"color": PALETTE["orange"], "linewidth": 1.6, "zorder": 2},
    "is open on no example": {"color": "#c9ced3", "linewidth": 1.0, "zorder": 1},
}


def start_words(prediction: Prediction) -> str:
    """Return the start of a prediction in words."""
    scale = prediction.init_scale
    if prediction.edge_strengths is not None:
        strengths = prediction.edge_strengths.values()
        return f"strengths of edges between {min(strengths):.3g} and {max(strengths):.3g}"
    if prediction.law == DECOUPLED:
        return f"strength {scale:g}"
    entries = {
        "normal": f"independent entries N(0, {scale:g}^2)",
        "orthogonal": f"orthogonal matrices times {scale:g}",
        "xavier_normal": f"independent normal entries of variance {scale:g}^2 x 2 / (fan in + fan out)",
        "xavier_uniform": f"uniform entries of variance {scale:g}^2 x 2 / (fan in + fan out)",
    }
    return f"random weights, {entries[prediction.law]}"


@style()
def draw_prediction(prediction: Prediction) -> Drawing:
    """Draw the expected loss, and the times at which modes are learned."""
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
        colour = COLOURS[(mode.mode - 1) % len(COLOURS)]
        face = "white" if mode.outcome == "loses" else colour
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
        f"Expected loss of {prediction.label} from {start_words(prediction)}, and when each mode of each path "
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
    trained = " Solid: networks trained on the examples from other draws."
    start = start_words(prediction)
    return (
        f"Loss of {prediction.label} from {start}, and when each mode is half learned: median (dashed, "
        f"circles) and range (band, bars) of the exact flow of {len(prediction.drawn.curves)} draws; dotted: the "
        "reduction from decoupled weights; open circles: paths that lose the mode to another."
        + trained
        * (prediction.trained is not None)
    )


@style()
def draw_ranking(ranking: Ranking) -> Drawing:
    """Draw the expected losses of all candidates."""
    figure, ax = panels()
    end = max(prediction.times[-1] for prediction in ranking.predictions)
    for place, prediction in enumerate(ranking.predictions):
        times, losses = prediction.history
        # Beyond its horizon nothing changes any more.
        times, losses = np.append(times, max(end, times[-1])), np.append(losses, losses[-1])
        inside = times <= end
        look = {"color": COLOURS[place % len(COLOURS)], "linestyle": _DASHES[place % 3]}
        ax.plot(times[inside], losses[inside], label=f"{place + 1}. {prediction.label}", **look)
    ax.axhline(ranking.target_loss, color=INK, linewidth=0.8, linestyle=":")
    ax.set(xlabel=_UNIT, ylabel="Expected loss", ylim=(0, None), xlim=(0, end))
    ax.legend()
    return Drawing(
        figure,
        "Candidate gatings",
        "Expected loss of every candidate, in the order in which they reach the dotted loss, half of what the best "
        "of them learns.",
    )


def is_drawn(prediction: Prediction) -> bool:
    """Return True where a graph has at most 40 nodes."""
    return len(prediction.reduction.graph.nodes) <= _MOST_NODES


def _kinds(prediction: Prediction) -> dict[str, str]:
    """Return the first entry of `_LOOKS` that a trained path through an edge has, by the name of the edge."""
    learns, loses, nothing = _LOOKS
    outcomes: dict[str, set[str]] = {}
    for mode in prediction.modes:
        for edge in mode.path.split(">"):
            outcomes.setdefault(edge, set()).add(mode.outcome)
    trained = {edge for path in prediction.reduction.paths for edge in path.edges}
    return {
        edge.name: learns
        if outcomes.get(edge.name, set()) & set(_LEARNED)
        else loses
        if edge.name in trained
        else nothing
        for edge in prediction.reduction.graph.edges
    }


@style()
def draw_graph(prediction: Prediction) -> Drawing:
    """Draw the graph of a prediction."""
    graph, kinds = prediction.reduction.graph, _kinds(prediction)
    places = _places(graph)
    tallest = max(Counter(x for x, _ in places.values()).values())
    figure, ax = panels(height=min(8.0, 2.2 + 0.55 * tallest))
    parallel = Counter((edge.source, edge.target) for edge in graph.edges)
    drawn: Counter = Counter()
    along = np.linspace(0, 1, 40)[:, None]
    for edge in graph.edges:
        ends = edge.source, edge.target
        first, last = (np.array(places[end]) for end in ends)
        # Edges between the same nodes, and those that pass a layer, are bent.
        bend = 0.3 * ((parallel[ends] - 1) / 2 - drawn[ends])
        drawn[ends] += 1
        bend = bend or -0.3 * (last[0] - first[0] - 1)
        middle = (first + last) / 2 + (0, bend)
        curve = (1 - along) ** 2 * first + 2 * along * (1 - along) * middle + along**2 * last
        ax.plot(*curve.T, **_LOOKS[kinds[edge.name]])
        if len(graph.edges) <= _NAMED:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            at = (first + last) / 4 + middle / 2
            ax.text(*at, edge.name, ha="center", va="center", fontsize=9.7, bbox=box, zorder=4)
    for name, place in places.items():
        ax.plot(*place, "o", markersize=19, color="white", markeredgecolor=INK, zorder=5)
        ax.annotate(str(graph.width[name]), place, ha="center", va="center", fontsize=9.7, zorder=6)
        ax.annotate(
            name, place, (0, 13), textcoords="offset points", ha="center", fontsize=10, zorder=6
        )
    for kind in [kind for kind in _LOOKS if kind in kinds.values()]:
        ax.plot([], [], **_LOOKS[kind], label=f"on a path that {kind}")
    ax.set_xlim(-0.25, max(x for x, _ in places.values()) + 0.25)
    ax.margins(y=0.18)
    ax.set_axis_off()
    return finished(
        figure,
        "The network",
        f"The graph of {prediction.label}. A circle is a bank of units with its width inside, a line the weights from one to "
        "the next, from left to right. A gate opens a line or a circle on some of the examples alone.",
    )


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """Return the place of each node: from the left by the longest way from an input, from the top in the graph's order."""
    depth: dict[str, int] = {}
    for name in graph.order:
        depth[name] = max((depth[edge.source] + 1 for edge in graph.incoming[name]), default=0)
    depth |= dict.fromkeys(graph.outputs, max(depth.values()))
    columns: dict[int, list[str]] = {}
    for node in graph.nodes:
        columns.setdefault(depth[node.name], []).append(node.name)
    return {
        name: (float(x), 1 - (at + 0.5) / len(names))
        for x, names in columns.items()
        for at, name in enumerate(names)
    }
