"""Figures of the study ``large-steps``."""

from foretrain.study import figure, panel, skip_if
from foretrain.theory.pathways import large_steps as theory

from .claims import SETTLED, over_window


def unlearning(c):
    """Return limits of the steps in which the first run still moves."""
    return 0, 1.5 * float(c.loss["step"].where(c.loss.isel(seed=0) > SETTLED).max())


def law(c):
    skip_if(c.p.depth == 2, "all splits are alike")
    return theory.least_participation(c.p.relative_step, c.p.paths, c.p.depth)


BY_STEP = {"x": "relative_step", "by": "depth", "points": True, "theory_label": "predicted"}
FIRST = {"x": "step", "xlim": unlearning}
FIGURES = {
    "window": figure(
        "Where runs stop",
        "Left: runs above the edge when the step is raised, and all of depth two; dashed, balanced paths at the edge. Right: "
        "runs whose equal paths are stable at the step, 1 < f < M^(1-2/L) being the window; dashed, one path, then the edge.",
        panel(
            lambda c: c.participation.where((c.early_edge > 1) | (c.p.depth == 2)),
            theory=law,
            label="Paths that carry the mode",
            **BY_STEP,
        ),
        panel(
            lambda c: c.edge.where(over_window(c.p) < 1),
            theory=lambda c: min(c.p.relative_step, 1.0),
            label="Step x curvature / 2",
            **BY_STEP,
        ),
        legend=4,
        height=4.6,
    ),
    "run": figure(
        "A race that is undone",
        "Shares, a colour for each path, and loss of the first run. Under the small step one path wins, as flow tells; "
        "when the step is raised the loss oscillates, and the winner gives back until its minimum is stable.",
        panel(
            lambda c: c.share.isel(seed=0) / c.p.singular_value,
            by="path",
            theory=lambda c: (c.theory.early_share + 0 * c.loss).isel(seed=0) / c.p.singular_value,
            theory_label="flow, predicted",
            label="Share of the mode",
            **FIRST,
        ),
        panel(lambda c: c.loss.isel(seed=0), scale="semilogy", ylim=(SETTLED**2, None), **FIRST),
        columns=1,
        height=5.4,
        legend=3,
    ),
}
