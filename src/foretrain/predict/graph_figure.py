"""The graph of a gated network as a picture, its edges in the colour of what is expected of them."""

from collections import Counter

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, panels, style
from foretrain.graph import Graph
from foretrain.predict.prediction import Prediction

_MOST = 40  # nodes; the names of more run into each other
_NAMED = 16  # edges whose names are drawn
_LEARNED = ("learned", "wins", "shares")
_LOOKS = {
    "learns": {"color": PALETTE["blue"], "linewidth": 2.4, "zorder": 3},
    "loses, or is not learned": {"color": PALETTE["orange"], "linewidth": 1.6, "zorder": 2},
    "is open on no example": {"color": "#c9ced3", "linewidth": 1.0, "zorder": 1},
}


def is_drawn(prediction: Prediction) -> bool:
    """Return True where a graph has at most 40 nodes."""
    return len(prediction.reduction.graph.nodes) <= _MOST


def draw_graph(prediction: Prediction) -> Drawing:
    """Draw the graph of a prediction."""
    with style():
        return _draw(prediction.reduction.graph, _kinds(prediction), prediction.label)


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


def _draw(graph: Graph, kinds: dict[str, str], label: str) -> Drawing:
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
            ax.text(*at, edge.name, ha="center", va="center", fontsize=9, bbox=box, zorder=4)
    for name, place in places.items():
        ax.plot(*place, "o", markersize=19, color="white", markeredgecolor=INK, zorder=5)
        ax.annotate(str(graph.width[name]), place, ha="center", va="center", fontsize=8, zorder=6)
        ax.annotate(
            name, place, (0, 13), textcoords="offset points", ha="center", fontsize=10, zorder=6
        )
    for kind in [kind for kind in _LOOKS if kind in kinds.values()]:
        ax.plot([], [], **_LOOKS[kind], label=f"on a path that {kind}")
    deepest = max(x for x, _ in places.values())
    ax.set_xlim(-0.25, deepest + 0.25)
    ax.margins(y=0.18)
    ax.set_axis_off()
    return finished(
        figure,
        "The network",
        f"The graph of {label}. A circle is a bank of units with its width inside, a line the weights from one to the next, "
        "from left to right. A gate opens a line or a circle on some of the examples alone.",
    )


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """Return the place of each node: from the left by the longest way from an input, from the top in the graph's order."""
    depth: dict[str, int] = {}
    for name in graph.order:
        depth[name] = max((depth[edge.source] + 1 for edge in graph.incoming[name]), default=0)
    last = max(depth.values())
    depth |= dict.fromkeys(graph.outputs, last)
    columns: dict[int, list[str]] = {}
    for node in graph.nodes:
        columns.setdefault(depth[node.name], []).append(node.name)
    return {
        name: (float(x), 1 - (at + 0.5) / len(names))
        for x, names in columns.items()
        for at, name in enumerate(names)
    }
