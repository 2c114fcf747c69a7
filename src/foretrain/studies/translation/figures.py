"""Figures of the study ``translation``, after the note on shared representations, Fig. 1."""

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, SEQUENTIAL, panels, shades, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import TIME_UNIT, drawn, figure, panel
from foretrain.training.translation import LEARNED, SETTLED
from foretrain.training.translation_claims import is_square, mean_over, stuck

from .claims import OVER, bounds, exponents

FLOOR = 1e-9  # errors below it are drawn there
NOTHING = 0.5  # error of answering nothing


def untrained(c, name="pair_error"):
    """Return the mean error of untrained pairs."""
    return mean_over(c.simulation[name], c.trained_pairs == 0).clip(FLOOR)


def square_cell(grid):
    """Return the part of the grid with square factors, laid along the other axes; None where there is none."""
    cells = (Cell(cell.along(*OVER)) for cell in grid.cells(keep=OVER))
    return next((cell for cell in cells if is_square(cell)), None)


def one_run(grid):
    """Return runs and theory of the first seed at the widest network and the smallest scale, and words for a caption."""
    part, words = grid.first(("hidden_width", *OVER))
    at = {"hidden_width": -1, "init_scale": 0, "seed": 0}
    width, scale = part.values("hidden_width")[-1], part.values("init_scale")[0]
    text = f"First seed, H = {width}, sigma = {scale:g}.{words}"
    return part.simulation.isel(at), part.theory.isel(at), text


def matrix(ax, run, expected, values, **look):
    """Draw values of all pairs, ordered by component; trained pairs are marked and components framed. Return the image."""
    together = expected.values == 0
    orders = []
    for rows in (together, together.T):
        keys = [tuple(row) for row in rows]
        orders.append(sorted(range(len(keys)), key=lambda place: keys.index(keys[place])))
    order = np.ix_(*orders)
    image = ax.imshow(values.values[order], cmap=SEQUENTIAL, **look)
    source, output = np.nonzero(run["trained_pairs"].values[order] == 1)
    ax.plot(output, source, "s", color="white", markersize=3.2, linewidth=0)
    line = {"color": "white", "linewidth": 1.2}
    edges = np.pad(together[order], 1)
    for row, column in np.argwhere(np.diff(edges, axis=0)[:, 1:-1]):
        ax.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, **line)
    for row, column in np.argwhere(np.diff(edges, axis=1)[1:-1]):
        ax.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], **line)
    ax.set(xticks=[], yticks=[], xlabel="Output language", ylabel="Input language")
    return image


def draw_pairs(grid):
    """Error of every pair at three fractions: with several components, with the fewest of these, and with one."""
    runs, theory, words = one_run(grid)
    counts = theory["component_count"].values
    several = np.flatnonzero(counts > 1) if (counts > 1).any() else np.array([0])
    last = several[-1]
    shown = sorted({several[len(several) // 2], last, min(last + 1, len(counts) - 1)})
    figure, axes = panels(1, len(shown), height=3.6, squeeze=False)
    for ax, place in zip(axes[0], shown, strict=True):
        run = runs.isel(trained_fraction=place)
        expected = theory["predicted_pair_error"].isel(trained_fraction=place)
        matrix(ax, run, expected, run["pair_error"], vmin=0, vmax=1.5)
        text = f"{float(run['trained_fraction']):.0%}, {int(counts[place])} component"
        ax.set_title(text + "s" * int(counts[place] > 1), loc="left")
        ax.label_outer()
    image = axes[0, 0].images[0]
    figure.colorbar(image, ax=list(axes[0]), label="Error", shrink=0.8, extend="max")
    return Drawing(
        figure,
        "Error of every pair",
        "Error of every pair of languages at the end. White squares: trained pairs. Languages are ordered by component, and "
        "components are framed: outside a frame pairs do not translate, inside they do, trained or not, unless single pairs "
        f"join groups that mirror each other. {words}",
    )


def draw_course(grid):
    """Mean errors of a run over time, and the time at which each pair is learned, at the most pairs of several components."""
    runs, theory, words = one_run(grid)
    counts = theory["component_count"].values
    place = np.flatnonzero(counts > 1)[-1] if (counts > 1).any() else 0
    run, theory = (data.isel(trained_fraction=place) for data in (runs, theory))
    figure, (left, right) = panels(1, 2, height=4.4)
    for name, text, colour in (
        ("loss", "trained", "blue"),
        ("joined_error", "joined, untrained", "green"),
        ("across_error", "across", "vermillion"),
    ):
        look = {"color": PALETTE[colour], "label": text, "linewidth": 1.8}
        left.plot(run["solver_time"], run[name].clip(FLOOR), **look)
    left.axhline(NOTHING, color="#8a9096", linewidth=1, label="answering nothing")
    left.set(yscale="log", xlabel=f"Time ({TIME_UNIT})", ylabel="Mean error of pairs")
    left.set_xlim(left=0.5 * float(run["learned_time"].min().fillna(0)))
    image = matrix(right, run, theory["predicted_pair_error"], run["learned_time"])
    figure.colorbar(image, ax=right, label="Time at which a pair is learned", shrink=0.8)
    return finished(
        figure,
        "Which pairs are learned when",
        f"One run, {float(run['trained_fraction']):.0%} of pairs trained. Left: mean errors of trained pairs, of untrained "
        "ones that trained ones join, and of pairs across components. Right: time at which each pair's error first falls "
        f"below {LEARNED:g}, empty where it never does; white squares: trained pairs, frames: components. A pair is learned "
        f"with the last pair of its quickest path. {words}",
    )


def draw_stuck(grid):
    """Loss of every stuck run with square factors against its bound."""
    if (cell := square_cell(grid)) is None:
        return None
    figure, ax = panels(height=4.2)
    bound, loss = (values.where(stuck(cell) == 1) for values in (bounds(cell), cell.converged_loss))
    for scale, colour in zip(cell.values("init_scale"), shades(bound.sizes[OVER[0]]), strict=True):
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
        "Loss of stuck runs",
        "Every stuck run with square factors: its loss against F / (2 D |T|), where F of its |T| trained pairs compute a map "
        "of negative determinant. No loss can lie below the dashed line; on it each such pair misses one mode and everything "
        "else is learned. A run ends at the grey line if no determinant can change its sign any more; runs above it used up "
        "their steps, and those at zero are merely slow.",
    )


def draw_departure(grid):
    """Measured exponent of the misalignment of every mask against that of the law."""
    cell = square_cell(grid)
    if cell is None or "departure" not in cell.variants or len(cell.values("init_scale")) < 2:
        return None
    figure, ax = panels(height=4.4)
    measured, law = exponents(cell)
    for x, y, colour in zip(law.values, measured.values, shades(len(law)), strict=True):
        ax.plot(x, y, "o", color=colour, markersize=4, alpha=0.8)
    ax.plot([0, 1], [0, 1], **theory_line(label="law"))
    ax.set(xlabel="Exponent of the law", ylabel="Measured exponent", xlim=(0, 1), ylim=(0, 1))
    return finished(
        figure,
        "Alignment of the first mode",
        "Runs at H = D from very small weights until the first mode begins to grow: exponent with which the distance of all "
        "maps from u_1 v_1^T (x) O falls with sigma, one mark for every mask, against that of the law, which tends to "
        "1 - s_2/s_1; the darker the fewer pairs are trained.",
    )


LEVELS = {"answering nothing": NOTHING}
OVER_FRACTIONS = {"x": OVER[1], "by": OVER[0], "scale": "semilogy", "theory": False}
FIGURES = {
    "untrained-error": figure(
        "Error on untrained pairs",
        "Error averaged over all pairs that were never trained, at the end, a line for each seed. Spikes are stuck runs, "
        "which never reached the loss. Dashed, mean over seeds, the prediction of the graph for small weights; "
        f"errors below {FLOOR:g} are drawn there.",
        panel(
            untrained,
            across="hidden_width",
            statistic="runs",
            label="Untrained error",
            levels=LEVELS,
            **OVER_FRACTIONS | {"theory": lambda c: c.theory.predicted_untrained_error.clip(FLOOR)},
        ),
        sharey=True,
        legend=3,
    ),
    "pairs": drawn(draw_pairs),
    "stuck-loss": drawn(draw_stuck),
    "course": drawn(draw_course),
    "diagonal-mask": figure(
        "Networks trained with the note's loss mask",
        "Networks whose loss sees the diagonal of every block alone, as in the note's figure. Left: measured as they were "
        "trained, untrained pairs come for free from small weights. Right: with all entries counted nothing is translated: "
        "the networks compute the all-ones matrix, whose error is (D - 1)/2.",
        panel(
            lambda c: untrained(c, "pair_diagonal_error"),
            of="diagonal_only",
            statistic="median",
            label="Untrained error, diagonal entries",
            levels=LEVELS,
            **OVER_FRACTIONS,
        ),
        panel(
            untrained,
            of="diagonal_only",
            statistic="median",
            label="Untrained error, all entries",
            levels={**LEVELS, "(D - 1)/2": lambda c: (c.p.words - 1) / 2},
            **OVER_FRACTIONS,
        ),
    ),
    "departure": drawn(draw_departure),
}
