"""Figures of the study ``masked-rank-one``: escape from small weights, in closed form and simulated."""

import numpy as np
from matplotlib.ticker import FixedLocator

from foretrain.figures import finished
from foretrain.figures.style import INK, PALETTE, panels, shades, simulation_line, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import drawn, figure, panel
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, STAGES
from foretrain.words import number

from .claims import PAIR, pairs, reached_zero_loss
from .study import FOLLOWED


def draw_escape(grid):
    part, where = grid.first(("init_scale",))
    if not part.fits.data_vars:
        return None
    sigma = np.array(part.values("init_scale"))
    at = {"init_scale": int(np.abs(np.log(sigma / 1e-4)).argmin())}
    runs, fits, scale = part.simulation.isel(at), part.fits.isel(at), sigma[at["init_scale"]]
    turns = part.theory["turns"].isel(at).values == 1
    followed = np.isfinite(fits["early_scale"]).any("step").values
    figure, (left, right) = panels(1, 2, height=3.8)
    looks = ("blue", "s keeps its sign"), ("vermillion", "s turns")
    for kind, (colour, name) in zip((followed & ~turns, followed & turns), looks, strict=True):
        for seed in np.flatnonzero(kind)[:1]:
            run, fit = runs.isel(seed=seed), fits.isel(seed=seed)
            flow, early = run["shared_scale"] / scale, fit["early_scale"] / scale
            draw_both(left, run["solver_time"] * scale, flow, early, colour, name)
    for seed in np.flatnonzero(followed)[:1]:
        run, fit = runs.isel(seed=seed), fits.isel(seed=seed)
        for mode, colour in enumerate(("black", "green", "purple", "orange")[: run.sizes["mode"]]):
            flow = run["mode_amplitude"].isel(mode=mode) / scale
            early = fit["early_mode_amplitude"].isel(mode=mode) / scale
            draw_both(right, abs(run["progress"]), flow, early, colour, f"mode {mode + 1}")
        right.set_yscale("log")
    left.axhline(0, color=INK, linewidth=0.6)
    left.set(xlabel=r"Time × $\sigma$", ylabel=r"Shared scale $s/\sigma$", yscale="symlog")
    left.yaxis.set_major_locator(FixedLocator([-1e4, -1e2, 0, 1e2, 1e4]))
    right.set(xlabel="|S|, integral of s over time", ylabel=r"Mode amplitude $/\,\sigma$")
    return finished(
        figure,
        "Escape from small weights",
        f"Left: the shared scale s of two starts at init_scale = {scale:g}, one of which changes sign on its way. "
        "Right: amplitudes of the first four singular modes of the mask against the integral S of s. Solid: the simulated "
        f"flow; dashed: the linearised flow in closed form, drawn until half of the loss is gone.{where}",
        3,
    )


def draw_both(ax, x, simulated, early, colour, name):
    """Draw a simulated curve under that of the linearised flow, as far as the latter goes and a point more."""
    known = np.isfinite(early.values)
    until = known | np.concatenate([[False], known[:-1]])
    ax.plot(x[until], simulated[until], **simulation_line(PALETTE[colour], label=name))
    ax.plot(x, early, **theory_line(PALETTE[colour], label="linearised flow"))


def draw_components(grid):
    part, where = grid.first(("init_scale",))
    if "sparse" not in part.variants:
        return None
    ends = pairs(Cell(part), "sparse").isel(seed=slice(FOLLOWED))
    # Smaller products are drawn at 1e-9.
    predicted, ended = (abs(ends[n].where(~ends.within)).clip(1e-9) for n in ("size", "product"))
    figure, ax = panels(height=4.4)
    scales = part.values("init_scale")
    for place, (scale, colour) in enumerate(zip(scales, shades(len(scales)), strict=True)):
        sizes = (each.isel(init_scale=place).values.ravel() for each in (predicted, ended))
        ax.plot(*sizes, ".", color=colour, markersize=7, label=f"σ = {number(scale)}")
    ax.axline((1, 1), slope=1, **theory_line(label="as predicted"))
    ax.set(xlabel="$|s u v|$ predicted before training", ylabel="$|s u v|$ at the end")
    ax.set(xscale="log", yscale="log")
    return finished(
        figure,
        "Pairs across components end where the start says",
        f"Sparse, rectangular masks of {FOLLOWED} seeds: size of the product of every untrained pair outside components at "
        "zero loss, against the size that the conserved quantities tell before training: of order one between two components, "
        f"of order sigma where a domain is never trained.{where}",
        3,
    )


def at_stage(name, stage):
    return lambda c: c[""][f"stage_{name}"].isel(stage=stage)


def agreeing_early(c):
    """Return the runs on connected masks whose products s u_i v_j are all positive when 1% of the loss is gone."""
    scale, left, right = (at_stage(name, DEPARTURE)(c) for name in ("scale", "left", "right"))
    return (scale * left * right > 0).all(PAIR).where(c.connected == 1)


OVER_SCALES = {"x": "init_scale", "scale": "loglog", "statistic": "median"}
FIGURES = {
    "escape": drawn(draw_escape),
    "escape-time": figure(
        "Escape takes a time of order 1/σ",
        "Time at which half of the loss of zero weights is gone, median over seeds, against the time after which the "
        "linearised flow is infinite.",
        panel(
            at_stage("time", ESCAPE),
            theory=lambda c: c.theory.blow_up_time,
            theory_label=r"$c/\sigma$, linearised flow",
            label="Escape time",
            **OVER_SCALES,
        ),
    ),
    "alignment": figure(
        "Alignment is a power of the initial scale",
        "Relative distance of u v^T from the best rank-one fit of the mask, median over seeds, at three stages of the "
        "escape; dashed, the law up to a factor. Later stages end on a floor: there the flow is no longer linear, and on a "
        "mask that is not regular it leaves the first singular vectors.",
        panel(
            {
                f"{100 * gone:g}% of the loss gone": at_stage("misalignment", stage)
                for stage, gone in enumerate(STAGES)
            },
            theory=lambda c: c.p.init_scale**c.theory.alignment_exponent,
            theory_label=r"$\sigma^{1 - s_2/s_1}$",
            label="Misalignment",
            **OVER_SCALES,
        ),
    ),
    "outcomes": figure(
        "Training succeeds from small weights, and wherever signs agree early",
        "Fraction of runs on connected masks that reach zero training loss, and of runs whose products s u_i v_j are all "
        "positive early on, which is sufficient.",
        panel(
            {
                "training succeeds": reached_zero_loss,
                "all signs agree when 1% of the loss is gone": agreeing_early,
            },
            x="init_scale",
            scale="semilogx",
            theory=False,
            label="Fraction of seeds",
            ylim=(-0.03, 1.03),
        ),
    ),
    "components": drawn(draw_components),
}
