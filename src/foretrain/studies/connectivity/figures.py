"""Figures of the study ``connectivity``: the predicted threshold, errors by kind of pair, precision and recall, limits."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from foretrain.claims.interval import Interval, interval
from foretrain.figures import Drawing, finished
from foretrain.figures.style import INK, PALETTE, shades, theory_line, titled_panels
from foretrain.plans.grid import Grid
from foretrain.studies.connectivity.counts import LIMIT, outcomes
from foretrain.studies.connectivity.limits import is_wide, missed
from foretrain.study import drawn
from foretrain.training.translation_claims import converged, is_square, stuck

_AXES = ("hidden_width", "init_scale", "trained_count")
_KINDS = (
    (0.0, "within a component", "blue"),
    (1.0, "across components", "vermillion"),
    (0.5, "with a language never trained", "orange"),
)


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Measured over predicted threshold, distributions of errors, precision and recall."""
    part, words = grid.first(_AXES)
    counts = outcomes(part)
    return {
        "threshold": partial(_threshold, part, counts, words),
        "pair-errors": partial(_errors, part, words),
        "precision-recall": partial(_precision, part, counts, words),
        "limits": partial(_limits, part, words),
    }


def _by_width(part, height, ylabel, **options):
    widths = part.values("hidden_width")
    figure, axes = titled_panels([f"H = {width}" for width in widths], height, ylabel, **options)
    return figure, zip(widths, axes, strict=True)


def _threshold(part, counts, words):
    labels = {"ylabel": "Runs in which all pairs generalise", "xlabel": "Trained pairs"}
    figure, board = _by_width(part, 4.4, **labels, ylim=(-0.04, 1.04))
    came, scales = counts["all_came"].transpose("seed", ...), part.values("init_scale")
    chance = part.by_seed("connection_probability").isel(init_scale=0, seed=0)
    look = {"fmt": "o-", "markersize": 4.5, "linewidth": 1.6, "alpha": 0.85}
    for width, ax in board:
        for scale, colour in zip(scales, shades(len(scales)), strict=True):
            at = {"hidden_width": width, "init_scale": scale}
            found = [_share(column) for column in came.sel(at).values.T]
            y, *bar = np.array(
                [[f.measured, f.measured - f.low, f.high - f.measured] for f in found]
            ).T
            ax.errorbar(
                came["trained_count"], y, bar, color=colour, label=rf"$\sigma$ = {scale:g}", **look
            )
        line = theory_line(label="probability that the graph is connected", linewidth=2)
        ax.plot(chance["trained_count"], chance.sel(hidden_width=width), **line)
    return finished(
        figure,
        "Threshold, predicted and measured",
        "Fraction of random masks with which every untrained pair generalises, against the number of trained pairs; bars: "
        "its 95% interval. Stuck runs are left out. Dashed, the exact probability that the graph of trained "
        f"pairs is connected, computed before training.{words}",
        3,
    )


def _share(found) -> Interval:
    return interval(found[np.isfinite(found)], "fraction")


def _errors(part, words):
    ends = [rf"$\sigma$ = {part.values('init_scale')[place]:g}" for place in (-1, 0)]
    labels = {"ylabel": "Fraction of the pairs of its kind", "xlabel": "Error of a pair at the end"}
    figure, axes = titled_panels(ends, 4.4, **labels, xscale="log", xlim=(1e-9, 10), yscale="log")
    data = part.simulation.isel(hidden_width=-1)
    expected = part.by_seed("predicted_pair_error").isel(hidden_width=-1)
    error = data["pair_error"].where((data["trained_pairs"] == 0) & converged(data)).clip(2e-9)
    edges = np.concatenate([[1e-12], np.geomspace(1e-9, 10, 61)])
    for ax, place in zip(axes, (-1, 0), strict=True):
        for value, text, colour in _KINDS:
            errors = error.where(expected == value).isel(init_scale=place).values
            if (errors := errors[np.isfinite(errors)]).size:
                share = np.full(errors.size, 1 / errors.size)
                ax.hist(errors, edges, weights=share, color=PALETTE[colour], alpha=0.7, label=text)
        below = part.parameters.generalises_below
        line = {"color": INK, "linestyle": (0, (4, 2.2)), "linewidth": 1.3}
        ax.axvline(below, **line, label="generalises below")
    return finished(
        figure,
        "Errors of untrained pairs by their place in the graph",
        f"Errors of all untrained pairs of converged runs at H = {part.values('hidden_width')[-1]}, for the largest and the "
        "smallest initial scale. Dashed: below it a pair counts as generalising. Small weights part the kinds by orders of "
        f"magnitude, but for pairs across a reflection, near 1/(2 D) and above.{words}",
    )


def _precision(part, counts, words):
    label = r"Initial scale $\sigma$"
    figure, board = _by_width(part, 3.8, "Fraction", xlabel=label, xscale="log", ylim=(-0.03, 1.03))
    total = counts.sum(("seed", "trained_count"))
    some = total.where(total > 0)
    false = total["false"] / some["apart"]
    held = 1 - stuck(part.simulation).mean(("seed", "trained_count"))
    wide = {"linewidth": 5, "markersize": 9, "alpha": 0.45}
    shares = (
        (total["hits"] / some["came"], "recall", "vermillion", "s-", wide),
        (total["hits"] / some["predicted"], "precision", "blue", "o-", {}),
        (false, "pairs across components that generalise", "purple", "v-", {}),
        (held, "runs that converged", "green", "^--", {}),
    )
    for width, ax in board:
        for share, text, colour, mark, look in shares:
            y = share.sel(hidden_width=width)
            ax.plot(share["init_scale"], y, mark, color=PALETTE[colour], label=text, **look)
    return finished(
        figure,
        "How well the graph predicts which pairs generalise",
        "Precision: of the untrained pairs predicted to generalise, the fraction that does. Recall: of those that "
        "generalise, the fraction that was predicted. Of the pairs across components, with both languages trained, none "
        f"should generalise. Runs that did not converge are left out of these three.{words}",
    )


def _limits(part, words):
    """Shares of stuck runs and of missed pairs against the scale, for masks parted by the exponent of their frames."""
    labels = {"xlabel": r"Initial scale $\sigma$", "xscale": "log", "yscale": "log"}
    titles = ["Stuck runs, H = D", "Missed pairs, H = 2D"]
    figure, (left, right) = titled_panels(titles, 4.4, "Share", **labels)
    for cell in part.cells(keep=LIMIT):
        laid = cell.along(*LIMIT)
        exponent = laid.by_seed("frame_exponent").isel(init_scale=0).transpose(*LIMIT[1:], "seed")
        if is_square(laid):
            _by_exponent(left, laid, exponent, stuck(laid.simulation), None)
        elif is_wide(laid):
            counts = missed(laid)
            _by_exponent(right, laid, exponent, counts["missed"], counts["joined"])
    return finished(
        figure,
        "How limits of small weights are reached",
        "Left, runs that get stuck where all factors are square; right, untrained pairs within components that lack half "
        "a mode or more where hidden layers are twice as wide. Masks are parted into thirds by 1 - s_2/s_1 of their singular "
        "values, smallest over components; a share of none is not drawn. Dashed, the law: the mean of "
        f"sigma^(1 - s_2/s_1) over all masks, times one factor that lets it meet the smallest scale.{words}",
        2,
    )


def _by_exponent(ax, cell, exponent, count, among):
    """One line for each third of the masks, one for all of them, and the law."""
    scales, found = np.array(cell.values("init_scale")), count.transpose(*LIMIT, "seed").values
    all_of = np.isfinite(found) if among is None else among.transpose(*LIMIT, "seed").values
    ends = np.quantile(exponent.values, [0, 1 / 3, 2 / 3, 1])
    ends[-1] += 1e-9
    thirds = list(pairwise(ends))
    parts = [(exponent.values >= low) & (exponent.values < high) for low, high in thirds]
    everything = np.ones(exponent.shape, bool)
    colours, share = [*shades(len(parts)), INK], np.full(len(scales), np.nan)
    texts = [rf"$1 - s_2/s_1$ in {low:.2f} .. {high:.2f}" for low, high in thirds]
    for kept, colour, text in zip(
        [*parts, everything], colours, [*texts, "all masks"], strict=True
    ):
        total = np.nansum(all_of[:, kept], 1)
        share = np.nansum(found[:, kept], 1) / np.where(total > 0, total, np.nan)
        share[share == 0] = np.nan
        ax.plot(scales, share, "o-", color=colour, label=text)
    weight = np.nansum(all_of, 0) if among is not None else everything
    law = np.array([np.average(scale**exponent.values, weights=weight + 1e-12) for scale in scales])
    known = np.flatnonzero(np.isfinite(share))
    if known.size:
        ax.plot(
            scales,
            law * share[known[0]] / law[known[0]],
            **theory_line(label=r"law $\sigma^{1 - s_2/s_1}$"),
        )


FIGURES = {"all": drawn(draw)}
