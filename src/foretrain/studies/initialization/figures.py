"""Figures of the study ``initialization``, after Saxe, Sodhani & Lewallen (2022), Fig. 6."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.routes import block_map, output_blocks, trained_blocks
from foretrain.figures.seed_curves import learned_at
from foretrain.figures.style import (
    DIVERGING,
    PALETTE,
    few_log_ticks,
    panels,
    seed_band,
    simulation_line,
    theory_line,
)
from foretrain.plans.grid import Grid
from foretrain.quantities.curves import axis_label
from foretrain.quantities.learning_time import fall_times
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.study import drawn
from foretrain.training.routing import ITEMS

_BLUE, _GREEN, _RED = (PALETTE[name] for name in ("blue", "green", "vermillion"))


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Loss curves with both theories, errors and change of weights against the scale, representations and outputs."""
    cells, where = grid.first(("init_scale",))
    scales = cells.values("init_scale")
    three = list(dict.fromkeys((scales[0], scales[len(scales) // 2], scales[-1])))
    drawings = {"loss": partial(_loss, cells, three, where)}
    if len(scales) > 1:
        drawings["error-against-scale"] = partial(_errors, cells, np.array(scales), where)
        drawings["limits"] = partial(_limits, cells, np.array(scales), where)
    drawings["representations"] = partial(_representations, cells.simulation, three, where)
    return drawings


def _loss(cells, three, where):
    figure, axes = panels(1, len(three), height=3.7, squeeze=False)
    for ax, scale in zip(axes[0], three, strict=True):
        run, theory = cells.simulation.sel(init_scale=scale), cells.theory.sel(init_scale=scale)
        # Time has a scale of its own in every cell: the step of descent goes with the scale.
        loss = run["loss"].transpose("step", "seed")
        ax.plot(run["time"], loss, **simulation_line(_RED, label="network", linewidth=1.6))
        for name, label, look in (
            ("race_loss", "race, closed form", {"color": _BLUE}),
            ("lazy_loss", "linearised at its start", {"color": _GREEN, "linestyle": ":"}),
        ):
            look = {**theory_line(), "linewidth": 2, "label": label, **look}
            ax.plot(theory["time"], theory[name].isel(seed=0), **look)
        top = float(loss.where(np.isfinite(loss)).max().fillna(0))
        ax.set(xlim=(0, 1.3 * learned_at(loss) or None), ylim=(0, 1.1 * top or None))
        ax.set_title(rf"$\sigma_0$ = {scale:g}", loc="left")
    axes[0, 0].set_ylabel("Training loss")
    axes[0, len(three) // 2].set_xlabel(axis_label(cells.simulation["time"], "Time"))
    return finished(
        figure,
        "Loss while learning, from small to large weights",
        "Training loss of networks from random weights (every seed drawn), of the race from wide random weights in closed "
        "form, and of the network linearised at its start (first seed). Nothing is fitted." + where,
        3,
    )


def _errors(cells, scale, where):
    figure, axes = panels(1, 2, height=4.2)
    runs, fits = cells.simulation, cells.fits
    change = runs["weight_change"].sel(layer="encoders")
    curves = (
        (0, runs["converged_loss"], "trained", "blue"),
        (0, runs["converged_untrained_error"], "untrained", "vermillion"),
        (1, fits["race_deviation"], "loss against the race, closed form", "purple"),
        (1, fits["lazy_deviation"], "loss against the linearised network", "green"),
        (1, change, "change of the encoders", "orange"),
    )
    for panel, values, text, colour in curves:
        samples = values.where(values > 0).transpose("seed", "init_scale")
        style = {"color": PALETTE[colour], "statistic": np.median}
        line, _ = seed_band(axes[panel], scale, samples, text, **style)
        line.set_marker("o")
    limit = cells.theory["lazy_limit"].mean("seed")
    axes[0].plot(scale, limit, **theory_line(_GREEN, label="untrained, linearised network"))
    first = runs["converged_untrained_error"].median("seed").values[0]
    power = {"color": PALETTE["black"], "linewidth": 1.2, "label": r"$\propto \sigma_0^6$"}
    axes[0].plot(scale, first * (scale / scale[0]) ** 6, ":", **power)
    line = {"color": "#9aa0a6", "linewidth": 1}
    axes[0].axhline(cells.parameters.loss_tolerance, **line, label="training stops; 5%")
    axes[0].set(xscale="log", yscale="log", ylabel="Error at the end", ylim=(None, 300))
    axes[1].axhline(0.05, **line)
    axes[1].set(xscale="log", yscale="log", ylabel="Deviation or change")
    for ax in axes:
        ax.set_xlabel(r"Initial scale $\sigma_0$")
        few_log_ticks(ax)
        for part in ax.collections:  # described in the caption
            part.set_label("_nolegend_")
    return finished(
        figure,
        "Errors and theories against the initial scale",
        "a: error (1/2 |error|², mean over items and routes) on trained and untrained routes at the end of training (the thin "
        "line: loss at which it stops), the untrained error that the linearised network ends with, and the sixth power of the "
        "scale through the first point. b: mean deviation of the loss curve from the race in closed form and from the "
        "linearised network (nothing fitted), over the initial loss, the thin line at 5%; and how far the encoders move, over "
        "their initial size. Medians over seeds in 95% intervals." + where,
    )


def _limits(cells, scale, where):
    figure, axes = panels(1, 2, height=4.0)
    alike = cross_domain_similarity(cells.simulation["similarity"].values, ITEMS)[0]
    apart = 1 - cells.theory["race_cosine"].mean("seed").values
    both = [1 - alike, scale[:, None] * _halves(cells.simulation, "loss")]
    foretold = [apart, scale * _halves(cells.theory, "race_loss")[:, 0]]
    labels = ("1 − cosine across domains", r"Time to half the loss × $\sigma_0$")
    for ax, measured, predicted, label in zip(axes, both, foretold, labels, strict=True):
        line = {"color": _RED, "alpha": 0.7, "markersize": 6}
        x = np.broadcast_to(scale[:, None], measured.shape)
        ax.plot(x.ravel(), measured.ravel(), "o", label="networks, every seed", **line)
        ax.plot(scale, predicted, **theory_line(_BLUE, label="race, closed form"))
        ax.set(xscale="log", xlabel=r"Initial scale $\sigma_0$", ylabel=label)
    first = np.nanmedian(both[0][0]) if np.isfinite(both[0][0]).any() else np.nan
    power = {"color": PALETTE["black"], "linewidth": 1.2, "label": r"$\propto \sigma_0^2$"}
    axes[0].plot(scale, first * (scale / scale[0]) ** 2, ":", **power)
    axes[0].set(yscale="log", ylim=(None, 2))
    for ax in axes:
        few_log_ticks(ax)
    axes[1].set_ylim(0, None)
    return finished(
        figure,
        "Where small weights tend",
        "a: what is missing to one common representation, 1 less the mean cosine of first-layer activity for one item in "
        "two domains at the end, and its square law through the first point. b: time to half of the first loss times the "
        "initial scale, which tends to a constant since a route has three matrices. Dashed: the race from wide random "
        "weights in closed form, nothing fitted." + where,
        3,
    )


def _halves(data, name):
    """Time at which a loss has fallen to half, shape (scale, seed)."""
    found = []
    for place in range(data.sizes["init_scale"]):
        one = data.isel(init_scale=place)
        curves = one[name].transpose("seed", "step").values
        found.append(fall_times(one["time"].values, curves)[:, 0])
    return np.array(found)


def _representations(simulation, three, where):
    figure, axes = panels(2, len(three), height=6.6, squeeze=False)
    for (above, below), scale in zip(axes.T, three, strict=True):
        run = simulation.sel(init_scale=scale).isel(seed=0)
        norm = np.sqrt(np.diagonal(run["similarity"]))
        cosine = run["similarity"].values / np.outer(norm, norm)
        look = {"cmap": DIVERGING, "vmin": -1, "vmax": 1}
        block_map(above, cosine, run.sizes["input_domain"], parted=True, **look)
        above.set_title(rf"$\sigma_0$ = {scale:g}", loc="left")
        look = {"cmap": DIVERGING, "vmin": -6, "vmax": 6, "interpolation": "nearest"}
        domains = run.sizes["input_domain"]
        block_map(below, output_blocks(run), domains, trained_blocks(run), aspect="auto", **look)
        below.set_xlabel("Input domain")
    axes[0, 0].set_ylabel("Input domain")
    axes[1, 0].set_ylabel("Output domain")
    figure.colorbar(axes[0, 0].images[0], ax=axes[0], label="Cosine", shrink=0.8)
    figure.colorbar(axes[1, 0].images[0], ax=axes[1], label="Output", shrink=0.8)
    return finished(
        figure,
        "Representations and outputs from small to large weights",
        "Above: cosine of first-hidden-layer activity between all items of all input domains at the end of training. Below: "
        "output on every route; framed routes were trained. First seed." + where,
    )


FIGURES = {"all": drawn(draw)}
