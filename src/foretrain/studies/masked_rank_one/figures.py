"""Figures of the study ``masked-rank-one``: escape from small weights, in closed form and simulated."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.ticker import FixedLocator

from foretrain.figures import Drawing, finished
from foretrain.figures.masked_rank_one import outcome_scatter
from foretrain.figures.style import (
    INK,
    PALETTE,
    panels,
    seed_band,
    shades,
    simulation_line,
    theory_line,
)
from foretrain.plans.grid import Grid
from foretrain.studies.masked_rank_one.any_mask import across, converged
from foretrain.study import drawn
from foretrain.vocabulary import CONVERGED

_SCALE = r"Initial scale $\sigma$"
_MODE_COLOURS = ("black", "green", "purple", "orange")
_SHOWN_SCALE = 1e-4
_SHOWN_ENDS = dict(zip((1e-8, 1e-4, 1e-2, 0.3), shades(4), strict=True))
_FLOOR = 1e-9  # smaller products are drawn there


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """One escape, escape times, alignment, how runs end, and pairs across components, along the initial scales."""
    part, where = grid.first(("init_scale",))
    sigma = np.array(part.values("init_scale"))
    drawings = {"escape": partial(_escape, part, sigma, where)} if part.fits.data_vars else {}
    if sigma.size > 1:
        drawings["escape-time"] = partial(_escape_time, part.simulation, part.theory, sigma, where)
        drawings["alignment"] = partial(_alignment, part.simulation, part.theory, sigma, where)
    drawings["outcomes"] = partial(_outcomes, part.simulation, sigma, where)
    if "sparse" in part.variants:
        drawings["components"] = partial(_components, part, sigma, where)
    return drawings


def _escape(part, sigma, where):
    place = int(np.abs(np.log(sigma / _SHOWN_SCALE)).argmin())
    scale = sigma[place]
    runs, fits = part.simulation.isel(init_scale=place), part.fits.isel(init_scale=place)
    turns = part.theory["turns"].isel(init_scale=place).values == 1
    followed = np.flatnonzero(np.isfinite(fits["early_scale"]).any("step").values)
    straight = [seed for seed in followed if not turns[seed]][:1]
    turning = [seed for seed in followed if turns[seed]][:1]
    figure, axes = panels(1, 2, height=3.8)
    for seeds, colour, name in (
        (straight, "blue", "s keeps its sign"),
        (turning, "vermillion", "s turns"),
    ):
        for seed in seeds:
            run, fit = runs.isel(seed=seed), fits.isel(seed=seed)
            scales = run["shared_scale"].values / scale, fit["early_scale"].values / scale
            _both(axes[0], run["solver_time"].values * scale, *scales, colour, name)
    for seed in (straight or turning)[:1]:
        run, fit = (data.isel(seed=seed).transpose("mode", ...) for data in (runs, fits))
        simulated, early = run["mode_amplitude"].values, fit["early_mode_amplitude"].values
        for mode, colour in zip(range(len(early)), _MODE_COLOURS, strict=False):
            curves = simulated[mode] / scale, early[mode] / scale
            label = None if mode else "linearised flow"
            progress = np.abs(run["progress"].values)
            _both(axes[1], progress, *curves, colour, f"mode {mode + 1}", label)
        axes[1].set_yscale("log")
    axes[0].axhline(0, color=INK, linewidth=0.6)
    axes[0].set(xlabel=r"Time × $\sigma$", ylabel=r"Shared scale $s/\sigma$", yscale="symlog")
    axes[0].yaxis.set_major_locator(FixedLocator([-1e4, -1e2, 0, 1e2, 1e4]))
    axes[1].set(xlabel="|S|, integral of s over time", ylabel=r"Mode amplitude $/\,\sigma$")
    return finished(
        figure,
        "Escape from small weights",
        f"Left: the shared scale s of two starts at init_scale = {scale:g}, one of which changes sign on its way. "
        "Right: amplitudes of the first four singular modes of the mask against the integral S of s. Solid: the simulated "
        f"flow; dashed: the linearised flow in closed form, drawn until half of the loss is gone.{where}",
        3,
    )


def _both(ax, x, simulated, early, colour, name, label=None):
    """A simulated curve under that of the linearised flow, as far as this goes and a point more."""
    known = np.isfinite(early)
    until = known | np.concatenate([[False], known[:-1]])
    ax.plot(x[until], simulated[until], **simulation_line(PALETTE[colour], label=name))
    ax.plot(x, early, **theory_line(PALETTE[colour], label=label))


def _escape_time(runs, theory, sigma, where):
    figure, ax = panels(height=4.4)
    name = "simulated, until half of the loss is gone"
    times = runs["stage_time"].isel(stage=-1)
    seed_band(ax, sigma, times, name, color=PALETTE["blue"], statistic=np.median)
    predicted = theory["blow_up_time"].median("seed").values
    label = r"$c/\sigma$, linearised flow (median)"
    ax.plot(sigma, predicted, **theory_line(PALETTE["blue"], label=label))
    small = sigma < 0.2
    if small.any():
        logs = np.log(1 / sigma[small])
        law = predicted[small][-1] / logs[-1] * logs
        look = {"color": PALETTE["vermillion"], "label": r"$\log(1/\sigma)$, as in the note"}
        ax.plot(sigma[small], law, ":", **look)
    ax.set(xlabel=_SCALE, ylabel="Escape time", xscale="log", yscale="log")
    return finished(
        figure,
        "Escape takes a time of order 1/sigma",
        "Time at which half of the loss of zero weights is gone, median over seeds, against the time after which the "
        f"linearised flow is infinite. The note's logarithm, dotted, is drawn through the first point below 0.2.{where}",
        1,
    )


def _alignment(runs, theory, sigma, where):
    figure, ax = panels(height=4.4)
    exponent = float(theory["alignment_exponent"].median())
    stages = runs["stage"].values
    for stage, (level, colour) in enumerate(zip(stages, shades(len(stages)), strict=True)):
        values, name = (
            runs["stage_misalignment"].isel(stage=stage),
            f"{100 * level:g}% of the loss gone",
        )
        seed_band(ax, sigma, values, name, color=colour, statistic=np.median)
    first = runs["stage_misalignment"].isel(stage=0).median("seed").values
    middle = len(sigma) // 2
    law = first[middle] * (sigma / sigma[middle]) ** exponent
    name = rf"$\sigma^{{1 - s_2/s_1}}$, exponent {exponent:.2f} (median mask)"
    ax.plot(sigma, law, **theory_line(label=name))
    ax.set(xlabel=_SCALE, ylabel="Misalignment", xscale="log")
    if np.isfinite(first).any():  # a logarithmic axis of nothing cannot be drawn
        ax.set(yscale="log", ylim=(None, 1.5))
    return finished(
        figure,
        "Alignment is a power of the initial scale",
        "Relative distance of u v^T from the best rank-one fit of the mask, median over seeds, at three stages of the "
        "escape. The law is drawn through the middle point of the earliest stage. Later stages end on a floor: there the "
        f"flow is no longer linear, and on a mask that is not regular it leaves the first singular vectors.{where}",
        1,
    )


def _outcomes(runs, sigma, where):
    figure, axes = panels(1, 2, height=3.8)
    connected = runs["connected"] == 1
    done = (runs["outcome"] == CONVERGED).where(connected)
    agrees = (runs["stage_agrees"].isel(stage=1) == 1).where(connected)
    for values, name, colour in (
        (done, "training succeeds", "blue"),
        (agrees, "all signs agree when 1% of the loss is gone", "orange"),
    ):
        seed_band(axes[0], sigma, values, name, color=PALETTE[colour], fraction=True)
    axes[0].set(xlabel=_SCALE, ylabel="Fraction of seeds")
    axes[0].set(xscale="log", ylim=(-0.03, 1.03))
    abscissa = runs["final_loss"].rename("Training loss at the end")
    outcome_scatter(axes[1], runs, abscissa, 0.5, "loss 1/2")
    return finished(
        figure,
        "Every failure is stuck training",
        "Left: fraction of runs on connected masks that reach zero training loss, and of runs whose products s u_i v_j are "
        "all positive early on, which is sufficient. Right: every run on a connected mask. None has zero training loss and "
        f"a large error on untrained pairs, and none ends with a loss between the tolerance and one half.{where}",
    )


def _components(part, sigma, where):
    """Untrained pairs outside components of sparse masks: their size against what was told, and how near to the limit."""
    figure, axes = panels(1, 2, height=4)
    found = converged(part, "sparse") or []
    for scale, colour in _SHOWN_ENDS.items():
        runs = [run for run in found if sigma[run.place] == scale]
        if runs:
            told = np.concatenate([run.told.size[~run.told.within] for run in runs])
            seen = np.concatenate([np.abs(run.product)[~run.told.within] for run in runs])
            told, seen = np.maximum(told, _FLOOR), np.maximum(seen, _FLOOR)
            axes[0].plot(told, seen, ".", color=colour, markersize=3)
            axes[0].plot(
                [], [], "o", color=colour, label=rf"$\sigma$ = {scale:g}"
            )  # as large as is seen
    axes[0].axline((1, 1), slope=1, **theory_line(label="as told"))
    axes[0].set(xlabel="$|s u v|$ told before training", ylabel="$|s u v|$ at the end")
    axes[0].set(xscale="log", yscale="log")
    gaps = np.full((len(sigma), part.variants["sparse"].sizes["seed"]), np.nan)
    for place, seed, told, product in found:
        if (apart := across(told)).any():
            ratio = np.abs(product) / np.where(apart, told.limit, 1)
            gaps[place, seed] = np.abs(ratio - 1)[apart].max()
    name = r"largest distance from $\rho$"
    seed_band(axes[1], sigma, gaps.T, name, color=PALETTE["blue"], statistic=np.median)
    near = np.flatnonzero((sigma <= 0.1) & np.isfinite(gaps).any(1))
    if near.size:
        law = np.nanmedian(gaps[near[-1]]) * (sigma / sigma[near[-1]]) ** 2
        shown = law > 1e-8
        axes[1].plot(sigma[shown], law[shown], **theory_line(label=r"$\sigma^2$"))
        axes[1].set(yscale="log")
    axes[1].set(xlabel=_SCALE, ylabel="Relative distance", xscale="log")
    return finished(
        figure,
        "Pairs across components end where the start says",
        "Sparse, rectangular masks. Left: size of the product of every untrained pair outside components at zero loss, "
        "against what the conserved quantities tell before training: of order one between two components, of order sigma "
        "where a domain is never trained. Right: largest relative distance of a pair across components from rho, which the "
        "numbers of inputs and outputs alone give, median over seeds; below 1e-6 it is what the tolerance of the loss "
        f"leaves.{where}",
        3,
    )


FIGURES = {"all": drawn(draw)}
