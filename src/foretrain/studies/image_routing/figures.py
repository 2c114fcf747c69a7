"""Figures of the study ``image-routing``, after Saxe, Sodhani & Lewallen (2022), Figs 7 to 10."""

from foretrain.figures.routes import draw_accuracy
from foretrain.study import drawn, figure, panel
from foretrain.training.routing_claims import AXES

from .claims import accuracy

ERRORS = {f"{k} routes": lambda c, k=k: 1 - accuracy(c, k) for k in ("trained", "untrained")}
LOOK = {
    "theory": {"trained routes": lambda c: 1 - c.theory.least_squares_accuracy},
    "theory_label": "least squares",
    "label": "Classification error",
    "ylim": (0, 1),
    "most": 3,
}
FIGURES = {
    "fraction": figure(
        "Error against the number of trained routes",
        "Error at the end on held-out images, on routes that were trained and on routes that never were, against the number K "
        "of trained outputs of every input domain. The paper has the transition at 40% of the domains.",
        panel(ERRORS, x="trained_outputs", across="init_scale", xlabel="Trained outputs K", **LOOK),
        sharey=True,
    ),
    "scale": figure(
        "Error against the size of the start",
        "Error at the end on held-out images on trained and untrained routes against the factor on the initial weights, for "
        "some numbers K of trained outputs.",
        panel(ERRORS, x="init_scale", across="trained_outputs", scale="semilogx", **LOOK),
        sharey=True,
    ),
    "routes": drawn(lambda grid: draw_accuracy(grid, AXES)),
}
