"""Figures of the study ``image-routing``, after Saxe, Sodhani & Lewallen (2022), Figs 7 to 10."""

from foretrain.figures import finished
from foretrain.figures.routes import draw_accuracy
from foretrain.figures.style import PALETTE, panels
from foretrain.study import drawn, figure, panel
from foretrain.training.routing_claims import AXES

from .claims import accuracy

ERRORS = {
    f"{kind} routes": lambda c, kind=kind: 1 - accuracy(c, kind)
    for kind in ("trained", "untrained")
}
LOOK = {
    "theory": {"trained routes": lambda c: 1 - c.theory.least_squares_accuracy},
    "theory_label": "least squares",
    "label": "Classification error",
    "ylim": (0, 1),
    "most": 3,
}


def middle(grid):
    """Return the runs in the middle of both axes, and words for a caption that say where that is."""
    part, words = grid.first(AXES)
    at = {name: values[(len(values) - 1) // 2] for name in AXES for values in [part.values(name)]}
    place = f" K = {at['trained_outputs']}, init_scale {at['init_scale']:g}."
    return part.simulation.sel(at), place + words


def draw_learning(grid):
    """Draw the errors over the time of the flow, a line a seed."""
    runs, where = middle(grid)
    figure, ax = panels()
    for kind, colour in (("trained", "blue"), ("untrained", "vermillion")):
        error = 1 - runs[f"{kind}_accuracy"].transpose("step", "seed")
        look = {"color": PALETTE[colour], "linewidth": 1.4, "label": f"{kind} routes"}
        ax.plot(runs["flow_time"].transpose("step", ...), error, **look)
    label = "Continuous time (step × learning rate / (1 - momentum))"
    ax.set(xlabel=label, ylabel="Classification error", ylim=(0, 1), xlim=(0, None))
    caption = "Error on held-out images while the network learns, one line a seed, in one cell of the grid."
    return finished(figure, "Error while learning", caption + where)


FIGURES = {
    "fraction": figure(
        "Error against the number of trained routes",
        "Error at the end on held-out images, on routes that were trained and on routes that never were, against the number K "
        "of trained outputs of every input domain. The paper has the transition at 40% of the domains.",
        panel(ERRORS, x="trained_outputs", across="init_scale", xlabel="Trained outputs K", **LOOK),
    ),
    "scale": figure(
        "Error against the size of the start",
        "Error at the end on held-out images on trained and untrained routes against the factor on the initial weights, for "
        "some numbers K of trained outputs.",
        panel(ERRORS, x="init_scale", across="trained_outputs", scale="semilogx", **LOOK),
    ),
    "learning": drawn(draw_learning),
    "routes": drawn(lambda grid: draw_accuracy(*middle(grid))),
}
