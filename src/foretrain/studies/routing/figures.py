"""Figures of the study ``routing``, after Saxe, Sodhani & Lewallen (2022), Fig. 4 e-h."""

from functools import partial

import numpy as np

from foretrain.figures import curves, finished
from foretrain.figures.routes import block_maps, draw_accuracy, output_blocks, trained_blocks
from foretrain.figures.style import panels
from foretrain.quantities.trajectory import learned_at
from foretrain.study import drawn, figure, panel
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items
from foretrain.training.routing import maps

from .readings import items
from .task_figure import draw_task

_RUNS = 3  # drawn by themselves
_ERRORS = {
    "loss": "trained routes",
    "untrained_error": "untrained routes",
    "heldout_error": "trained routes, held-out digits",
    "heldout_untrained_error": "untrained routes, held-out digits",
}
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
    """Return the panel of how alike domains of a network are."""
    quantities = {
        words: lambda c, name=name: c.simulation[f"alike_{name}"] for name, words in _HALVES.items()
    }
    return panel(quantities, theory_label="closed form, wide random weights", **options)


def draw_similarity(grid):
    """Draw the dot products of representations of all items in all domains, beside the closed form."""
    cell, where = grid.first()
    pictures = {"networks": cell.simulation["similarity"], "closed form": cell.theory["similarity"]}
    means = {title: values.mean("seed").values for title, values in pictures.items()}
    if not np.isfinite(means["closed form"]).all():
        del means["closed form"]
    figure, axes = panels(1, len(means), height=4.2, sharey=True, squeeze=False)
    domains = cell.parameters.domains
    of = f"Input domain ({len(means['networks']) // domains} items each)"
    block_maps(axes[0], means, domains, ("Dot product", of, "Input domain"), parted=True)
    return finished(
        figure,
        "Shared representation",
        "Dot products of first-hidden-layer activity between all items of all input domains at the end of training, "
        "mean over seeds, beside what the closed form says. Equal blocks everywhere: an item is represented alike in whatever "
        "domain it comes." + where,
    )


def draw_outputs(grid):
    """Draw the output of one network on every route, beside what is asked for."""
    cell, where = grid.first()
    figure, axes = panels(1, 2, height=4.6, sharey=True)
    p, run = cell.parameters, cell.simulation.isel(seed=0)
    _, wanted = hierarchical_items(LEVEL_WEIGHTS[p.level_weights])
    asked = np.kron(maps(p.domains, p.disagreement).T, wanted)
    features, number = wanted.shape
    of = f"Input domain ({number} items each)", f"Output domain ({features} features each)"
    pictures = {"network": output_blocks(run), "asked for": asked}
    block_maps(axes, pictures, p.domains, ("Output", *of), trained_blocks(run), aspect="auto")
    return finished(
        figure,
        "Output on every route",
        "Answer of the network of the first seed for every item on every route at the end of training, beside what is right, "
        "which theory says of all routes that chains of trained ones join. Framed routes were trained, the others never "
        "were." + where,
    )


LAYERS = {"across": "layer", "by": "mode"}
FIGURES = {
    "axes": drawn(lambda grid: curves.draw(grid, _ERRORS) if grid.axes else {}),
    "learning-curve": figure(
        "Loss while learning",
        "Training loss of networks from random weights (every seed drawn) and of one from decoupled weights of the same "
        "scale, with what theory says of each (dashed), nothing fitted: the race from wide random weights, and the reduction. "
        "Random weights share less with the modes of the data and so begin later.",
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
    "task": drawn(draw_task, where=items),
    "singular-values": figure(
        "Singular values of the three layers",
        "Largest singular values of each layer: solid, mean over seeds from random weights (encoders and decoders: mean over "
        "domains), in a band of its 95% interval; dashed, the race from wide random weights in closed form, nothing fitted.",
        panel(
            lambda c: c.singular_values,
            theory_label="race from wide random weights",
            label="Singular value",
            **LAYERS,
        ),
        sharey=True,
        legend=4,
    ),
    "own-start": figure(
        "Layers of single runs, each from its own start",
        f"Largest singular values of each layer of the first {_RUNS} runs (rows), less those of the race from wide random "
        "weights, which are the same for all runs; encoders and decoders: mean over domains. Dashed: the race from the run's "
        "own initial weights, nothing fitted.",
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
        where=lambda c: items(c) and bool(np.isfinite(c.theory.start_singular_values).all()),
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
        "Mean cosine between the first-hidden-layer activity of one item in two domains, of the same half of the domains and "
        "of different halves. Left: all routes ask for the same. Right: routes between the halves ask for half of the map, "
        "routes within for one and a half times, all routes trained. Dashed: closed form, nothing fitted.",
        _sharing(title="Routes that agree", label="Cosine across domains"),
        _sharing(
            of="disagreeing",
            theory={words: partial(_split_theory, name) for name, words in _HALVES.items()},
            title="Routes that disagree",
        ),
        where=lambda c: items(c) and c.p.domains > 1,
        sharey=True,
        height=4.4,
    ),
    "similarity": drawn(
        draw_similarity, "similarity", "small-init/similarity", "xavier/similarity", where=items
    ),
    "outputs": drawn(draw_outputs, where=items),
    "accuracy": drawn(draw_accuracy, where=lambda c: not items(c)),
}
