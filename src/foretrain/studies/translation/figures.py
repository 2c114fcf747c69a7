"""Figures of the study ``translation``, after the note on shared representations, Fig. 1."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import (
    PALETTE,
    SECOND_DASHES,
    SEQUENTIAL,
    panels,
    shades,
    theory_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.studies.translation.claims import bounds
from foretrain.studies.translation.departure import departures, exponents
from foretrain.study import drawn
from foretrain.training.translation import LEARNED, SETTLED
from foretrain.training.translation_claims import is_square, mean_over, stuck
from foretrain.vocabulary import TIME_UNIT

_AXES = ("hidden_width", "init_scale", "trained_fraction")
_FLOOR = 1e-9  # errors below it are drawn there
_NOTHING = {"color": "#8a9096", "linewidth": 1, "label": "answering nothing"}


def draw(grid: Grid) -> dict[str, Callable[[], Drawing | None]]:
    """Untrained error against the trained fraction, errors of pairs, stuck losses, and the note's loss mask."""
    part, words = grid.first(_AXES)
    drawings = {
        "untrained-error": partial(_untrained, part, words),
        "pairs": partial(_pairs, part, words),
    }
    if part.parameters.words in part.values("hidden_width"):
        drawings["stuck-loss"] = partial(_stuck, part, words)
    drawings["course"] = partial(_course, part, words)
    drawings["diagonal-mask"] = partial(_diagonal, part, words)
    square = [cell.along(*_AXES[1:]) for cell in part.cells(keep=_AXES[1:]) if is_square(cell)]
    if square and (found := departures(square[0])) is not None:
        drawings["departure"] = partial(_departure, *found, words)
    return drawings


def _by_width(part, height):
    """A panel for every width."""
    widths, words = part.values("hidden_width"), part.parameters.words
    times = [f" = {width / words:g} D".replace(" 1 D", " D") for width in widths]
    titles = [f"H = {width}{text}" for width, text in zip(widths, times, strict=True)]
    labels = {"yscale": "log", "xlabel": "Trained fraction of pairs"}
    figure, axes = titled_panels(titles, height, "Untrained error", **labels)
    return figure, zip(widths, axes, strict=True)


def _scales(part):
    """Every scale with its colour, the darker the smaller."""
    scales = part.values("init_scale")
    return list(zip(scales, shades(len(scales)), strict=True))


def _untrained(part, words):
    figure, board = _by_width(part, 4.6)
    data, fraction = part.simulation, np.array(part.values("trained_fraction"))
    error = mean_over(data["pair_error"], data["trained_pairs"] == 0).clip(_FLOOR)
    stopped = stuck(data)
    predicted = part.by_seed("predicted_untrained_error").isel(init_scale=0).mean("seed")
    for width, ax in board:
        for place, (scale, colour) in enumerate(_scales(part)):
            at = {"hidden_width": width, "init_scale": scale}
            value, held = error.sel(at).values, stopped.sel(at).values
            shift = 0.008 * (place - (len(part.values("init_scale")) - 1) / 2)
            x = np.broadcast_to(fraction[:, None] + shift, value.shape)
            there, done = {"color": colour, "linewidth": 0}, held == 0
            label = rf"$\sigma$ = {scale:g}"
            ax.plot(x[done], value[done], "o", markersize=4, alpha=0.8, label=label, **there)
            cross = {"markersize": 6, "markeredgewidth": 1.6, "label": "" if place else "stuck run"}
            ax.plot(x[held == 1], value[held == 1], "x", **cross, **there)
        line = theory_line(drawstyle="steps-mid", label="from the graph, small weights")
        ax.plot(fraction, predicted.sel(hidden_width=width).clip(_FLOOR), **line)
        ax.axhline(0.5, **_NOTHING)
    return finished(
        figure,
        "Error on untrained pairs",
        "Each mark is one run: error averaged over all pairs that were never trained, at the end. Crosses are stuck runs, "
        "which never reached the loss: the note's spikes. Dashed, what the graph of trained pairs predicts for small "
        f"weights (mean over seeds); errors below {_FLOOR:g} are drawn there. Marks of different "
        f"scales are set apart a little.{words}",
        3,
    )


def _pairs(part, words):
    fractions = part.values("trained_fraction")
    scale, width = part.values("init_scale")[0], part.values("hidden_width")[-1]
    at = {"hidden_width": -1, "init_scale": 0, "seed": 0}
    data, predicted = part.simulation.isel(at), part.by_seed("predicted_pair_error").isel(at)
    counts = part.by_seed("component_count").isel(at).values
    several = [i for i in range(len(fractions)) if counts[i] > 1] or [0]
    last, middle = _shown(counts), several[len(several) // 2]
    shown = sorted({middle, last, min(last + 1, len(fractions) - 1)})
    figure, axes = panels(1, len(shown), height=3.6, squeeze=False)
    for ax, place in zip(axes[0], shown, strict=True):
        run = data.isel(trained_fraction=place)
        together = predicted.isel(trained_fraction=place).values == 0
        order = np.ix_(_order(together), _order(together.T))
        error = np.clip(run["pair_error"].values[order], 0, 1.5)
        ax.imshow(error, cmap=SEQUENTIAL, vmin=0, vmax=1.5)
        source, output = np.nonzero(run["trained_pairs"].values[order] == 1)
        ax.plot(output, source, "s", color="white", markersize=3.2, linewidth=0)
        _outline(ax, together[order])
        ax.set(xticks=[], yticks=[], xlabel="Output language")
        number = int(counts[place])
        text = f"{fractions[place]:.0%}, {number} component{'s' * (number > 1)}"
        ax.set_title(text, loc="left")
    axes[0, 0].set_ylabel("Input language")
    figure.colorbar(axes[0, 0].images[0], ax=list(axes[0]), label="Error", shrink=0.8, extend="max")
    return Drawing(
        figure,
        "Error of every pair",
        f"Error of every pair of languages at the end, first seed, H = {width}, sigma = {scale:g}. White squares: trained "
        "pairs. Languages are ordered by component, and components are framed: outside a frame pairs do not "
        f"translate, inside they do, trained or not, unless single pairs join groups that mirror each other.{words}",
    )


def _shown(counts):
    """Place of the last fraction with several components, which shows most."""
    several = [place for place in range(len(counts)) if counts[place] > 1]
    return several[-1] if several else 0


def _course(part, words):
    width = part.values("hidden_width")[-1]
    at = {"hidden_width": -1, "init_scale": 0, "seed": 0}
    place = _shown(part.by_seed("component_count").isel(at).values)
    run = part.simulation.isel(at | {"trained_fraction": place})
    predicted = part.by_seed("predicted_pair_error").isel(at | {"trained_fraction": place})
    figure, (left, right) = panels(1, 2, height=4.4)
    time = run["solver_time"].values
    for name, text, colour in (
        ("loss", "trained", "blue"),
        ("joined_error", "joined, untrained", "green"),
        ("across_error", "across", "vermillion"),
    ):
        look = {"color": PALETTE[colour], "label": text, "linewidth": 1.8}
        left.plot(time, np.clip(run[name].values, _FLOOR, None), **look)
    left.axhline(0.5, **_NOTHING)
    learned = run["learned_time"]
    start = 0.5 * float(learned.min()) if learned.notnull().any() else 0
    left.set(yscale="log", xlabel=f"Time ({TIME_UNIT})", ylabel="Mean error of pairs")
    left.set_xlim(left=start)
    together = predicted.values == 0
    order = np.ix_(_order(together), _order(together.T))
    image = right.imshow(learned.values[order], cmap=SEQUENTIAL)
    source, output = np.nonzero(run["trained_pairs"].values[order] == 1)
    right.plot(output, source, "s", color="white", markersize=3.2, linewidth=0)
    _outline(right, together[order])
    right.set(xticks=[], yticks=[], xlabel="Output language", ylabel="Input language")
    figure.colorbar(image, ax=right, label="Time at which a pair is learned", shrink=0.8)
    fraction = part.values("trained_fraction")[place]
    return finished(
        figure,
        "Which pairs are learned when",
        f"One run, {fraction:.0%} of pairs trained, H = {width}, sigma = {part.values('init_scale')[0]:g}, first seed. Left: "
        "mean errors of trained pairs, of untrained ones that trained ones join, and of pairs across components. Right: time "
        f"at which each pair's error first falls below {LEARNED:g}, empty where it never does; white squares: trained pairs, "
        f"frames: components. A pair is learned with the last pair of its quickest path.{words}",
    )


def _departure(runs, scales, words):
    figure, (left, right) = panels(1, 2, height=4.4)
    time, fractions = runs["final_time"].values, runs["trained_fraction"].values
    for place in sorted({0, len(fractions) // 2, len(fractions) - 1}):
        colour = shades(len(fractions))[place]
        label = f"{fractions[place]:.0%} trained"
        left.plot(scales, time[:, place], "o", color=colour, markersize=4, alpha=0.8, label="")
        left.plot(scales, np.nanmean(time[:, place], 1), color=colour, linewidth=1, label=label)
    first = np.nanmean(time[0])
    fine = np.geomspace(scales.min(), min(scales.max(), 0.5))
    left.plot(fine, first * scales[0] / fine, **theory_line(label=r"$1/\sigma$"))
    log = {"color": "#8a9096", "linewidth": 1.2, "label": r"$-\log\sigma$, the note"}
    left.plot(fine, first * np.log(fine) / np.log(scales[0]), **log)
    left.set(
        xscale="log", yscale="log", xlabel=r"Initial scale $\sigma$", ylabel=f"Time ({TIME_UNIT})"
    )
    measured, law = exponents(runs, scales)
    for place, colour in enumerate(shades(len(fractions))):
        right.plot(law[place], measured[place], "o", color=colour, markersize=4, alpha=0.8)
    right.plot([0, 1], [0, 1], **theory_line(label="law", linestyle=SECOND_DASHES))
    right.set(xlabel="Exponent of the law", ylabel="Measured exponent", xlim=(0, 1), ylim=(0, 1))
    return finished(
        figure,
        "How the first mode departs",
        "Runs at H = D from very small weights until the first mode begins to grow. Left: time of departure against the "
        "scale, every seed and their mean; dashed 1/sigma, grey the note's guess. Right: exponent with which the distance of "
        "all maps from u_1 v_1^T (x) O falls with sigma, one mark for every mask, against that of the law, which tends to "
        f"1 - s_2/s_1; the darker the fewer pairs are trained.{words}",
    )


def _order(together):
    """Order of rows that puts equal rows, which are components, side by side."""
    keys = [tuple(row) for row in together]
    return sorted(range(len(keys)), key=lambda index: (keys.index(keys[index]), index))


def _outline(ax, edges):
    """Frame the blocks of true entries."""
    line = {"color": "white", "linewidth": 1.2}
    padded = np.pad(edges, 1)
    for row, column in np.argwhere(np.diff(padded, axis=0)[:, 1:-1]):
        ax.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, **line)
    for row, column in np.argwhere(np.diff(padded, axis=1)[1:-1]):
        ax.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], **line)


def _stuck(part, words):
    figure, ax = panels(height=4.2)
    data = part.simulation.sel(hidden_width=part.parameters.words)
    held = stuck(data) == 1
    bound = bounds(data, part.parameters.words).fillna(0).where(held)
    loss = data["converged_loss"].where(held)
    for scale, colour in _scales(part):
        x, y = (values.sel(init_scale=scale).values.ravel() for values in (bound, loss))
        ax.plot(x, y, "o", color=colour, alpha=0.75, label=rf"$\sigma$ = {scale:g}")
    top = 1.15 * np.nanmax([float(bound.max()), float(loss.max()), 1e-3])
    ax.plot([0, top], [0, top], **theory_line(label="F / (2 D |T|)"))
    ends = {"color": "#8a9096", "linewidth": 1, "label": f"{SETTLED:g} of that: stuck runs end"}
    ax.plot([0, top], [0, SETTLED * top], **ends)
    ax.set(xlabel="Trained pairs of negative determinant, as a loss: F / (2 D |T|)")
    ax.set(ylabel="Loss of stuck runs", xlim=(-0.02 * top, top), ylim=(0, top))
    return finished(
        figure,
        "What stuck runs are stuck at",
        "Every stuck run with square factors: its loss against F / (2 D |T|), where F of its |T| trained pairs compute a map "
        "of negative determinant. No loss can lie below the dashed line; on it each such pair misses one mode and everything "
        "else is learned. A run ends at the grey line if no determinant can change its sign any more; runs above it used up "
        f"their steps, and those at zero are merely slow.{words}",
    )


def _diagonal(part, words):
    figure, board = _by_width(part, 4.2)
    runs, fraction = part.variants["diagonal_only"].isel(init_scale=0), part.values(_AXES[2])
    ones = (part.parameters.words - 1) / 2
    for width, ax in board:
        data = runs.sel(hidden_width=width)
        for name, text, colour in (
            ("pair_diagonal_error", "diagonal entries, as in the note", PALETTE["blue"]),
            ("pair_error", "all entries", PALETTE["vermillion"]),
        ):
            error = mean_over(data[name], data["trained_pairs"] == 0).clip(_FLOOR)
            ax.plot(fraction, error, "o", color=colour, markersize=3.5, alpha=0.5)
            ax.plot(fraction, error.median("seed"), color=colour, linewidth=1.2, label=text)
        ax.axhline(ones, **theory_line(label="(D - 1) / 2"))
        ax.axhline(0.5, **_NOTHING)
    return finished(
        figure,
        "What the note's loss mask learns",
        "Networks trained whose loss sees the diagonal of every block alone, as in the note's figure: every run and the "
        f"median over seeds, sigma = {part.values('init_scale')[0]:g}. Measured as they were trained, untrained pairs come "
        "for free; with all entries counted nothing is translated: the networks compute the all-ones matrix, whose error "
        f"is (D - 1)/2.{words}",
    )


FIGURES = {"all": drawn(draw)}
