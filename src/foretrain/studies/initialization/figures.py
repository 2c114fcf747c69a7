"""Figures of the study ``initialization``, after Saxe, Sodhani & Lewallen (2022), Fig. 6."""

import numpy as np

from foretrain.figures import finished
from foretrain.figures.routes import block_maps, output_blocks, trained_blocks
from foretrain.figures.style import DIVERGING, panels
from foretrain.quantities.trajectory import learned_at
from foretrain.study import crossing, drawn, figure, panel

from .claims import deviation, encoder_change, same_item

SCALE = {"x": "init_scale", "scale": "loglog"}
RACE = {"theory_label": "race, closed form", "statistic": "median", **SCALE}


def half_time(c, loss):
    """Return the time to half of the first loss, times the initial scale."""
    return crossing(-loss, -loss.isel(step=0, drop=True) / 2) * c.p.init_scale


def while_learning(c, loss):
    """Return a curve until the slowest run has learned, with a margin: a long flat end would be drawn in its place."""
    return loss.isel(step=slice(max(int((loss["time"] <= 1.3 * learned_at(c.loss)).sum()) + 1, 2)))


def draw_representations(grid):
    cells, where = grid.first(("init_scale",))
    scales = cells.values("init_scale")
    three = dict.fromkeys((scales[0], scales[len(scales) // 2], scales[-1]))
    runs = [cells.simulation.sel(init_scale=scale).isel(seed=0) for scale in three]
    titles, domains = [rf"$\sigma_0$ = {scale:g}" for scale in three], cells.parameters.domains
    cosines, outputs = {}, {}
    for title, run in zip(titles, runs, strict=True):
        norm = np.sqrt(np.diagonal(run["similarity"]))
        cosines[title] = run["similarity"].values / np.outer(norm, norm)
        outputs[title] = output_blocks(run)
    drawing, axes = panels(2, len(three), height=6.6, squeeze=False)
    words, look = ("Cosine", "", "Input domain"), {"cmap": DIVERGING, "interpolation": "nearest"}
    block_maps(axes[0], cosines, domains, words, parted=True, vmin=-1, vmax=1, **look)
    words, trained = ("Output", "Input domain", "Output domain"), trained_blocks(runs[0])
    look |= {"aspect": "auto"}
    block_maps(axes[1], outputs, domains, words, trained, parted=False, vmin=-6, vmax=6, **look)
    return finished(
        drawing,
        "Representations and outputs from small to large weights",
        "Above: cosine of first-hidden-layer activity between all items of all input domains at the end of training. Below: "
        "output on every route; framed routes were trained. First seed." + where,
    )


FIGURES = {
    "loss": figure(
        "Loss while learning, from small to large weights",
        "Training loss, every seed drawn, beside the race from wide random weights in closed form. Nothing is fitted.",
        panel(
            {
                "network": lambda c: while_learning(c, c.loss),
                "linearised at its start": lambda c: while_learning(c, c.theory.lazy_loss),
            },
            across="init_scale",
            theory={"network": lambda c: while_learning(c, c.theory.race_loss)},
            theory_label="race, closed form",
            statistic="runs",
            label="Training loss",
            ylim=(0, None),
            most=3,
        ),
        sharey=True,
    ),
    "error-against-scale": figure(
        "Errors and theories against the initial scale",
        "a: error (1/2 |error|², mean over items and routes) at the end of training (dotted: loss at which it stops). b: mean "
        "deviation of the loss curve from both theories (nothing fitted), over the initial loss; and how far the encoders "
        "move, over their initial size.",
        panel(
            {
                "a: trained": lambda c: c.converged_loss,
                "a: untrained": lambda c: c.converged_untrained_error,
            },
            theory={"a: untrained": lambda c: c.theory.lazy_limit},
            theory_label="a: untrained, linearised network",
            statistic="median",
            label="Error at the end",
            levels={"": lambda c: c.p.loss_tolerance},
            **SCALE,
        ),
        panel(
            {
                "b: loss against the race": lambda c: deviation(c, "race_loss"),
                "b: loss against the linearised network": lambda c: deviation(c, "lazy_loss"),
                "b: change of the encoders": lambda c: encoder_change(c.simulation),
            },
            theory=False,
            statistic="median",
            label="Deviation or change",
            levels={"b: 5%": 0.05},
            **SCALE,
        ),
        height=4.6,
    ),
    "limits": figure(
        "Where small weights tend",
        "a: what is missing to one common representation at the end, which falls as the square of the scale. b: time to half "
        "of the first loss times the initial scale, which tends to a constant since a route has three matrices. Dashed: the "
        "race from wide random weights, nothing fitted.",
        panel(
            lambda c: 1 - same_item(c),
            theory=lambda c: 1 - c.theory.race_cosine,
            label="1 − cosine across domains",
            **RACE,
        ),
        panel(
            lambda c: half_time(c, c.loss),
            theory=lambda c: half_time(c, c.theory.race_loss),
            label=r"Time to half the loss × $\sigma_0$",
            **RACE,
        ),
    ),
    "representations": drawn(draw_representations),
}
