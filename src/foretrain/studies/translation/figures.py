"""Figures of the study ``translation``, after the note on shared representations, Fig. 1."""

import numpy as np

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, SEQUENTIAL, Smooth, panels, shades, theory_line
from foretrain.quantities.cell import Cell
from foretrain.study import TIME_UNIT, drawn, figure, panel
from foretrain.training.translation import LEARNED, SETTLED
from foretrain.training.translation_claims import is_square, is_stuck, mean_over

from .claims import OVER, bounds

FLOOR = 1e-9  # errors below it are drawn there
NOTHING = 0.5  # error of answering nothing


def untrained_error(c, name="pair_error"):
    return mean_over(c.simulation[name], c.trained_pairs == 0).clip(FLOOR)


def one_run(grid):
    """Return runs and theory of the first seed at the widest network and the smallest scale, and words for a caption."""
    part, words = grid.first(("hidden_width", *OVER))
    at = {"hidden_width": -1, "init_scale": 0, "seed": 0}
    width, scale = part.values("hidden_width")[-1], part.values("init_scale")[0]
    text = f"First seed, H = {width}, sigma = {scale:g}.{words}"
    return part.simulation.isel(at), part.theory.isel(at), text


def matrix(ax, run, expected, values, **look):
    """Draw values of all pairs, ordered by component; trained pairs are marked and components framed."""
    together = expected.values == 0
    # Languages of one component have equal rows; argmax gives the first of these.
    equal = ((rows[:, None] == rows).all(2).argmax(1) for rows in (together, together.T))
    order = np.ix_(*(np.argsort(first, kind="stable") for first in equal))
    ax.imshow(values.values[order], cmap=SEQUENTIAL, **look)
    source, output = np.nonzero(run["trained_pairs"].values[order] == 1)
    ax.plot(output, source, "s", color="white", markersize=3.2, linewidth=0)
    edges, line = np.pad(together[order], 1), {"color": "white", "linewidth": 1.2}
    row, column = np.nonzero(np.diff(edges, axis=0)[:, 1:-1])
    ax.hlines(row - 0.5, column - 0.5, column + 0.5, **line)
    row, column = np.nonzero(np.diff(edges, axis=1)[1:-1])
    ax.vlines(column - 0.5, row - 0.5, row + 0.5, **line)
    ax.set(xticks=[], yticks=[], xlabel="Output language", ylabel="Input language")


def draw_pairs(grid):
    runs, theory, words = one_run(grid)
    counts = theory["component_count"].values
    several = np.flatnonzero(counts > 1) if (counts > 1).any() else np.array([0])
    shown = {several[len(several) // 2], several[-1], min(several[-1] + 1, len(counts) - 1)}
    figure, axes = panels(1, len(shown), height=3.6, squeeze=False)
    for ax, place in zip(axes[0], sorted(shown), strict=True):
        run = runs.isel(trained_fraction=place)
        expected = theory["predicted_pair_error"].isel(trained_fraction=place)
        matrix(ax, run, expected, run["pair_error"], vmin=0, vmax=1.5)
        text = f"{float(run['trained_fraction']):.0%}, {int(counts[place])} component"
        ax.set_title(text + "s" * int(counts[place] > 1), loc="left")
        ax.label_outer()
    figure.colorbar(axes[0, 0].images[0], ax=axes, label="Error", shrink=0.8, extend="max")
    return Drawing(
        figure,
        "Error of every pair",
        "Error of every pair at the end. Small squares: trained pairs; frames: components. Outside a frame pairs do not "
        f"translate, inside they do, trained or not, unless single pairs join groups that mirror each other. {words}",
    )


def draw_course(grid):
    runs, theory, words = one_run(grid)
    counts = theory["component_count"].values
    place = np.flatnonzero(counts > 1)[-1] if (counts > 1).any() else 0
    run, theory = (data.isel(trained_fraction=place) for data in (runs, theory))
    run = run.dropna(run["solver_time"].dims[0], subset=["solver_time"])
    figure, (left, right) = panels(1, 2, height=4.4)
    labels = {"trained": "loss", "joined, untrained": "joined_error", "across": "across_error"}
    for (text, name), colour in zip(labels.items(), ("blue", "green", "vermillion"), strict=True):
        look = {"color": PALETTE[colour], "label": text, "path_effects": [Smooth()]}
        left.plot(run["solver_time"], run[name].clip(FLOOR), ".-", **look)
    left.axhline(NOTHING, color="#8a9096", linewidth=1, label="answering nothing")
    left.set(yscale="log", xlabel=f"Time ({TIME_UNIT})", ylabel="Mean error of pairs")
    left.set_xlim(left=0.5 * float(run["learned_time"].min().fillna(0)))
    matrix(right, run, theory["predicted_pair_error"], run["learned_time"])
    figure.colorbar(right.images[0], ax=right, label=f"Learned at time ({TIME_UNIT})", shrink=0.8)
    return finished(
        figure,
        "Which pairs are learned when",
        f"One run, {float(run['trained_fraction']):.0%} of pairs trained. Left: mean errors of trained pairs, of untrained "
        "ones that trained ones join, and of pairs across components. Right: time at which each pair's error falls below "
        f"{LEARNED:g}, empty where it never does; small squares: trained pairs, frames: components. {words}",
    )


def draw_stuck(grid):
    part, words = grid.first(("hidden_width", *OVER))
    cells = (Cell(cell.along(*OVER)) for cell in part.cells(keep=OVER))
    if (cell := next(filter(is_square, cells), None)) is None:
        return None
    figure, ax = panels(height=4.2)
    stuck = is_stuck(cell) == 1
    bound, loss = (values.where(stuck) for values in (bounds(cell), cell.converged_loss))
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
        "Every stuck run with square factors, where F of |T| trained pairs compute a map of negative determinant. On the "
        "dashed line each such pair misses one mode and all else is learned. Runs end at the grey line if no determinant can "
        f"change its sign any more; those above it used up their steps, those at zero are merely slow.{words}",
    )


LEVELS = {"answering nothing": NOTHING}
OVER_FRACTIONS = {"x": OVER[1], "by": OVER[0], "scale": "semilogy", "theory": False}
FIGURES = {
    "untrained-error": figure(
        "Error on untrained pairs",
        "Error averaged over all pairs that were never trained, at the end, a line for each seed. Spikes are stuck runs, "
        "which never reached the loss. Dashed, mean over seeds, the prediction of the graph for small weights; "
        f"errors below {FLOOR:g} are drawn there.".replace("e-0", "e-"),
        panel(
            untrained_error,
            across="hidden_width",
            statistic="runs",
            label="Untrained error",
            levels=LEVELS,
            **OVER_FRACTIONS | {"theory": lambda c: c.theory.predicted_untrained_error.clip(FLOOR)},
        ),
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
        *(
            panel(
                lambda c, name=name: untrained_error(c, name),
                of="diagonal_only",
                statistic="median",
                title=f"{entries} entries",
                label="Error",
                levels=LEVELS | levels,
                **OVER_FRACTIONS,
            )
            for entries, name, levels in (
                ("diagonal", "pair_diagonal_error", {}),
                ("all", "pair_error", {"(D - 1)/2": lambda c: (c.p.words - 1) / 2}),
            )
        ),
    ),
}
