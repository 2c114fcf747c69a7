"""Figures of the study ``routing``, after Saxe, Sodhani & Lewallen (2022), Fig. 4 e-h."""

from functools import partial

import numpy as np
from matplotlib.patches import Rectangle

from foretrain.figures import curves, finished
from foretrain.figures.routes import block_maps, draw_accuracy, output_blocks, trained_blocks
from foretrain.figures.style import INK, PALETTE, panels
from foretrain.quantities.trajectory import learned_at
from foretrain.study import drawn, figure, panel
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items
from foretrain.training.routing import maps, mask

from .claims import has_items

_RUNS = 3  # drawn by themselves
_MOST = 12  # domains in the picture of the task; more nodes would run into each other
_WIDEST = 11.0  # points, of the edge that all routes pass
_ERRORS = {
    "loss": "trained routes",
    "untrained_error": "untrained routes",
    "heldout_error": "trained routes, held-out digits",
    "heldout_untrained_error": "untrained routes, held-out digits",
}
_STARTS = {"small-init": "smaller initial weights", "xavier": "Xavier start"}
_HALVES = {"within": "domains of one half", "between": "domains of different halves"}


def _while_learning(c):
    """Return the times from the start until the slowest run has learned."""
    loss, last = c.loss, float(c.time[-1])
    slowest = learned_at(loss.assign_coords(time=("step", loss.time.values)), 1e-3)
    return 0, min(1.2 * slowest, last) or last


def _of_run(number, runs, c):
    """Return how far the layers of one run, or of the race from its start, are from those of wide random weights."""
    return (runs(c) - c.theory.singular_values).isel(seed=slice(number, number + 1))


def _split_theory(name, c):
    """Return a curve of the theory at the observations of the network whose routes disagree."""
    clock = c["disagreeing"].loss
    curve = c.theory[f"split_{name}"].rename(split_step="step")
    return curve[..., : clock.sizes["step"]].assign_coords(step=clock.step, time=clock.time)


def _sharing(**options):
    quantities = {w: lambda c, n=n: c.simulation[f"alike_{n}"] for n, w in _HALVES.items()}
    return panel(quantities, theory_label="closed form, wide random weights", **options)


def draw_task(grid):
    cell, where = grid.first()
    pairs = mask(cell.parameters, cell.seed(0))
    figure, axes = panels(1, 2, height=3.5)
    route, total = np.minimum(np.argwhere(pairs > 0)[0], _MOST - 1), int(pairs.sum())
    middle = {"ha": "center", "va": "center", "fontsize": 11}
    for ax, title in zip(axes, ("Gates of one example", "Trained routes per edge"), strict=True):
        gates = ax is axes[0]
        colour, width = (PALETTE["vermillion"], 2.6) if gates else (PALETTE["blue"], _WIDEST)
        ax.set(xlim=(-0.32, 3.32), ylim=(-0.16, 1.06), xticks=[], yticks=[])
        ax.set_title(title, loc="left")
        ax.spines[:].set_visible(False)
        ax.plot([1, 2], [0.5, 0.5], color=colour, linewidth=width, zorder=2, solid_capstyle="butt")
        for x in (1, 2):
            look = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.2, "zorder": 3}
            ax.add_patch(Rectangle((x - 0.05, 0.28), 0.1, 0.44, **look))
        for x, text in enumerate(("inputs", "hidden", "hidden", "outputs")):
            ax.text(x, -0.12, text, **middle)
        for side, (x, inner) in enumerate(((0, 1), (3, 2))):
            shown = min(len(pairs), _MOST)
            for number, y in enumerate(np.linspace(0.94, 0.06, shown) if shown > 1 else [0.5]):
                on, count = number == route[side], int(pairs.sum(1 - side)[number])
                own, ys = colour if on or not gates else "#c9ced3", (y, 0.5 + 0.36 * (y - 0.5))
                width = (2.6 if on else 1.2) if gates else max(_WIDEST * count / total, 0.4)
                ax.plot((x, inner), ys, color=own, linewidth=width, zorder=1 + on)
                ax.plot(x, y, "o", color=own, markersize=8, zorder=4)
                look = {"color": own if on else "white", "markeredgecolor": own, "markersize": 5.5}
                if gates:
                    ax.plot((x + inner) / 2, np.mean(ys), "s", zorder=4, **look)
                else:
                    place = {**middle, "ha": "left" if side else "right"}
                    ax.text(x + (0.1 if side else -0.1), y, str(count), **place)
    axes[1].text(1.5, 0.62, str(total), **{**middle, "va": "bottom"})
    return finished(
        figure,
        "Task and gates",
        "a: domains come in through encoders of their own and go out through decoders of their own; for every example the "
        "gates let one of each through (filled squares), the hidden matrix is always on. b: so many of the trained routes "
        f"pass an edge, which is as thick as they are many: the hidden matrix has all of them and learns faster.{where}",
    )


def draw_similarity(grid):
    cell, where = grid.first()
    pictures = {"networks": cell.simulation, "closed form": cell.theory}
    pictures |= {_STARTS[n]: cell.variants[n] for n in _STARTS if n in cell.variants}
    means = {title: data["similarity"].mean("seed").values for title, data in pictures.items()}
    means = {title: values for title, values in means.items() if np.isfinite(values).all()}
    columns = min(2, len(means))
    rows = -(-len(means) // columns)
    figure, axes = panels(rows, columns, height=0.9 + 3.3 * rows, sharey=True, squeeze=False)
    for ax in axes.ravel()[len(means) :]:
        ax.set_visible(False)
    domains = cell.parameters.domains
    of = f"Input domain ({len(next(iter(means.values()))) // domains} items each)"
    words, shown = ("Dot product", of, "Input domain"), list(axes.ravel()[: len(means)])
    block_maps(shown, means, domains, words, parted=True)
    return finished(
        figure,
        "Shared representation",
        "Dot products of first-hidden-layer activity between all items of all input domains at the end, mean over seeds. "
        f"Where all blocks are equal an item is represented alike in whatever domain it comes.{where}",
    )


def draw_outputs(grid):
    cell, where = grid.first()
    figure, axes = panels(1, 2, height=4.6, sharey=True)
    p, run = cell.parameters, cell.simulation.isel(seed=0)
    _, wanted = hierarchical_items(LEVEL_WEIGHTS[p.level_weights])
    targets = np.kron(maps(p.domains, p.disagreement).T, wanted)
    features, number = wanted.shape
    of = f"Input domain ({number} items each)", f"Output domain ({features} features each)"
    pictures = {"network": output_blocks(run), "asked for": targets}
    block_maps(axes, pictures, p.domains, ("Output", *of), trained_blocks(run), aspect="auto")
    return finished(
        figure,
        "Output on every route",
        "Answer of the network of the first seed for every item on every route at the end of training, beside what is right, "
        "which theory says of all routes that chains of trained ones join. Framed routes were trained."
        + where,
    )


LAYERS = {"across": "layer", "by": "mode"}
FIGURES = {
    "axes": drawn(lambda grid: curves.draw(grid, _ERRORS) if grid.axes else {}),
    "learning-curve": figure(
        "Loss while learning",
        "Training loss of networks from random weights (every seed drawn) and of one from decoupled weights of the same "
        "scale. Random weights share less with the modes of the data and so begin later. Nothing is fitted.",
        panel(
            {
                "random weights": lambda c: c.loss,
                "decoupled weights": lambda c: c["decoupled"].loss,
            },
            theory={"random weights": True, "decoupled weights": lambda c: c.theory.reduction_loss},
            theory_label="race from wide random weights, reduction",
            statistic="runs",
            label="Training loss",
            xlim=_while_learning,
            ylim=(0, None),
        ),
    ),
    "task": drawn(draw_task, where=has_items),
    "singular-values": figure(
        "Singular values of the three layers",
        "Largest singular values of each layer (encoders and decoders: mean over domains), mean over seeds from random "
        "weights; dashed, the race from wide random weights in closed form, nothing fitted.",
        panel(
            lambda c: c.singular_values,
            theory_label="race from wide random weights",
            label="Singular value",
            **LAYERS,
        ),
        legend=4,
    ),
    "own-start": figure(
        "Layers of single runs, each from its own start",
        f"Largest singular values of each layer of the first {_RUNS} runs (rows), less those of the race from wide random "
        "weights. Dashed: the race from the run's own initial weights, nothing fitted.",
        *(
            panel(
                partial(_of_run, number, lambda c: c.singular_values),
                theory=partial(_of_run, number, lambda c: c.theory.start_singular_values),
                theory_label="race from the run's own start",
                label="Deviation",
                **LAYERS,
            )
            for number in range(_RUNS)
        ),
        where=lambda c: has_items(c) and bool(np.isfinite(c.theory.start_singular_values).all()),
        height=7.0,
        legend=4,
    ),
    "errors": figure(
        "Trained and untrained routes",
        "Error, 1/2 |error|², on routes that were trained and on routes that never were. Lines are medians over seeds.",
        panel(
            {words: lambda c, name=name: c[""][name] for name, words in _ERRORS.items()},
            theory=False,
            statistic="median",
            scale="semilogy",
            label="Error",
        ),
    ),
    "sharing": figure(
        "When domains share, and when sharing splits",
        "Mean cosine between the first-hidden-layer activity of one item in two domains. Right: routes between the halves of "
        "the domains ask for half of the map, routes within for one and a half times, all routes trained.",
        _sharing(title="Routes that agree", label="Cosine across domains"),
        _sharing(
            of="disagreeing",
            theory={words: partial(_split_theory, name) for name, words in _HALVES.items()},
            title="Routes that disagree",
        ),
        where=lambda c: has_items(c) and c.p.domains > 1,
        sharey=True,
        height=4.4,
    ),
    "similarity": drawn(draw_similarity, where=has_items),
    "outputs": drawn(draw_outputs, where=has_items),
    "accuracy": drawn(draw_accuracy, where=lambda c: not has_items(c)),
}
