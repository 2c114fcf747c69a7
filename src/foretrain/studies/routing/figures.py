"""Figures of the study ``routing``, after Saxe, Sodhani & Lewallen (2022), Fig. 4 e-h."""

import numpy as np

from foretrain.figures import Drawing, curves, finished
from foretrain.figures.routes import block_map, draw_accuracy, output_map
from foretrain.figures.routing_task import task_drawing
from foretrain.figures.seed_curves import learned_at
from foretrain.figures.style import (
    DIVERGING,
    INK,
    PALETTE,
    SECOND_DASHES,
    SEQUENTIAL,
    panels,
    seed_band,
    simulation_line,
    theory_line,
    titled_panels,
)
from foretrain.plans.grid import Grid
from foretrain.quantities.curves import axis_label
from foretrain.tasks.hierarchy import LEVEL_WEIGHTS, hierarchical_items
from foretrain.training.routing import LAYERS, maps, mask

_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky")]
_ROWS = 3  # runs drawn by themselves
_HALVES = (
    ("within", "domains of one half", "blue"),
    ("between", "domains of different halves", "vermillion"),
)
_KINDS = {
    "loss": ("trained routes", "blue"),
    "untrained_error": ("untrained routes", "orange"),
    "heldout_error": ("trained routes, held-out digits", "sky"),
    "heldout_untrained_error": ("untrained routes, held-out digits", "vermillion"),
}
SHOWS = {
    "learning-curve": (
        *("decoupled", "random-start", "half-times", "half-times-whitened", "half-times-raw"),
        "larger-first",
    ),
    "singular-values": ("end-point", "ratio", "ratio-always", "ratio-limit", "more-paths-faster"),
    "own-start": ("own-start",),
    "errors": ("zero-shot", "zero-shot-needs-chains", "zero-shot-stops-at-islands"),
    "sharing": ("split-first", "split-time", "split-alike"),
    "similarity": ("shared", "shared-limit", "shared-structure", "shared-xavier"),
    "accuracy": ("zero-shot",),
    "task": ("same-mask",),
}


def draw(grid: Grid) -> dict[str, Drawing]:
    """Learning curves, singular values, errors, and what the network represents and answers at the end."""
    cell, where = grid.first()
    drawings = curves.draw(grid, _KINDS) if grid.axes else {}
    drawings["learning-curve"] = _learning_curve(cell, where)
    if cell.parameters.data == "hierarchy":
        p, seed = cell.parameters, cell.seed(0)
        _, features = hierarchical_items(LEVEL_WEIGHTS[p.level_weights])
        drawings["task"] = task_drawing(features, mask(p, seed), where)
    drawings["singular-values"] = _singular_values(cell, where)
    own = cell.theory.get("start_singular_values")
    if own is not None and np.isfinite(own).all():
        drawings["own-start"] = _own_start(cell, where)
    drawings["errors"] = _errors(cell, where)
    if "similarity" in cell.simulation:
        if cell.parameters.domains > 1:
            drawings["sharing"] = _sharing(cell, where)
        drawings["similarity"] = _similarity(cell, where)
        drawings["outputs"] = _outputs(cell, where)
    else:
        drawings["accuracy"] = draw_accuracy(cell.simulation, where)
    return drawings


def _time(data):
    return data["time"].values, axis_label(data["time"], "Time")


def _learning_curve(cell, where):
    figure, ax = panels()
    runs, theory = cell.simulation, cell.by_seed("loss").mean("seed")
    time, label = _time(runs)
    name = f"random weights, {cell.seeds} seeds"
    line = simulation_line(PALETTE["vermillion"], label=name, linewidth=1.2, alpha=0.5)
    ax.plot(time, runs["loss"].transpose("step", "seed"), **line)
    line = theory_line(PALETTE["vermillion"], label="race from wide random weights")
    ax.plot(theory["time"], theory, **line)
    decoupled = cell.variants["decoupled"].isel(seed=0)
    line = simulation_line(PALETTE["green"], label="decoupled weights")
    ax.plot(decoupled["time"], decoupled["loss"], **line)
    reduction = cell.by_seed("reduction_loss").mean("seed")
    line = theory_line(PALETTE["green"], label="reduction, decoupled start")
    ax.plot(reduction["time"], reduction, **line | {"linestyle": SECOND_DASHES})
    end = min(1.2 * learned_at(runs["loss"].assign_coords(time=("step", time)), 1e-3), time[-1])
    ax.set(xlabel=label, ylabel="Training loss", ylim=(0, None), xlim=(0, end or time[-1]))
    return finished(
        figure,
        "Loss while learning",
        "Training loss of networks from random weights (every seed drawn) and of one from decoupled weights of the same "
        "scale, with what theory says of each (dashed), nothing fitted: the race from wide random weights, and the "
        "reduction. Random weights share less with the modes of the data and so begin later."
        + where,
    )


def _singular_values(cell, where):
    runs, theory = cell.simulation, cell.by_seed("singular_values").mean("seed")
    time, label = _time(runs)
    layers = ("encoders", "hidden", "decoders")
    figure, axes = titled_panels(layers, 3.4, "Singular value", xlim=(0, time[-1]))
    modes = min(runs.sizes["mode"], len(_COLOURS))
    for ax, layer in zip(axes, layers, strict=True):
        for mode in range(modes):
            values = runs["singular_values"].sel(layer=layer).isel(mode=mode)
            seed_band(ax, time, values, f"mode {mode + 1}", color=_COLOURS[mode])
            predicted = theory.sel(layer=layer).isel(mode=mode)
            line = theory_line(_COLOURS[mode], label="race from wide random weights")
            ax.plot(theory["time"], predicted, **line)
    axes[1].set_xlabel(label)
    return finished(
        figure,
        "Singular values of the three layers",
        f"The {modes} largest singular values of each layer: solid, mean over seeds from random weights (encoders and "
        "decoders: mean over domains), in a band of its 95% interval; dashed, the race from wide random weights in closed "
        "form, nothing fitted." + where,
        4,
    )


def _own_start(cell, where):
    found = (
        cell.simulation["singular_values"],
        cell.by_seed("start_singular_values"),
        cell.by_seed("singular_values"),
    )
    dims = ("seed", "layer", "mode", "step")
    run, own, wide = (data.transpose(*dims).values[:_ROWS] for data in found)
    time, label = _time(cell.simulation)
    figure, axes = panels(
        len(run), 3, height=1.4 + 1.9 * len(run), sharex=True, sharey="col", squeeze=False
    )
    for place, ax in np.ndenumerate(axes):
        for mode in range(min(run.shape[2], len(_COLOURS))):
            at, colour = (*place, mode), _COLOURS[mode]
            ax.plot(time, run[at], **simulation_line(colour, label=f"mode {mode + 1}"))
            line = theory_line(INK, label="race from wide random weights", linewidth=0.9)
            ax.plot(time, wide[at], **line | {"linestyle": ":"})
            ax.plot(time, own[at], **theory_line(colour, label="race from the run's own start"))
        ax.set(xlim=(0, time[-1]))
    for ax in axes.ravel():
        ax.set_ylim(0, None)
    for ax, layer in zip(axes[0], LAYERS, strict=True):
        ax.set_title(layer, loc="left")
    for ax, seed in zip(axes[:, 0], cell.simulation["seed"].values, strict=False):
        ax.set_ylabel(f"Singular value\nseed {seed}")
    axes[-1, 1].set_xlabel(label)
    return finished(
        figure,
        "Layers of single runs, each from its own start",
        f"Largest singular values of each layer of the first {len(run)} runs (encoders and decoders: mean over domains). "
        "Dashed, the race of the modes from the run's own initial weights; dotted, that from wide random weights, which is "
        "the same for all runs. Nothing is fitted." + where,
        4,
    )


def _errors(cell, where):
    figure, ax = panels()
    time, label = _time(cell.simulation)
    for name, (text, colour) in _KINDS.items():
        if name in cell.simulation and (cell.simulation[name] > 0).any():
            values = cell.simulation[name].where(cell.simulation[name] > 0)
            seed_band(ax, time, values, text, color=PALETTE[colour], statistic=np.median)
    ax.set(xlabel=label, ylabel="Error", xlim=(0, time[-1]))
    if ax.lines:
        ax.set_yscale("log")
    return finished(
        figure,
        "Trained and untrained routes",
        "Error, 1/2 |error|², on routes that were trained and on routes that never were. Lines are medians over seeds."
        + where,
    )


def _sharing(cell, where):
    figure, axes = panels(1, 2, height=4.4, sharey=True)
    both = (
        (cell.simulation, "alike", "Routes that agree"),
        (cell.variants["disagreeing"], "split", "Routes that disagree"),
    )
    for ax, (data, kind, title) in zip(axes, both, strict=True):
        time, label = _time(data)
        for name, text, colour in _HALVES:
            seed_band(ax, time, data[f"alike_{name}"], text, color=PALETTE[colour])
            predicted = cell.by_seed(f"{kind}_{name}").mean("seed").values[: time.size]
            line = theory_line(PALETTE[colour], label="closed form, wide random weights")
            ax.plot(time, predicted, **line)
        ax.set(xlim=(0, time[-1]), ylim=(None, 1.02), xlabel=label)
        ax.set_title(title, loc="left")
    axes[0].set_ylabel("Cosine across domains")
    return finished(
        figure,
        "When domains share, and when sharing splits",
        "Mean cosine between the first-hidden-layer activity of one item in two domains, of the same half of the domains and "
        "of different halves. Left: all routes ask for the same. Right: routes between the halves ask for half of the map, "
        "routes within for one and a half times, all routes trained. Dashed: closed form, nothing fitted."
        + where,
    )


def _similarity(cell, where):
    measured = cell.simulation["similarity"].mean("seed").values
    predicted = cell.by_seed("similarity").mean("seed").values
    both = [(measured, "networks")]
    if np.isfinite(predicted).all():
        both.append((predicted, "closed form"))
    figure, axes = panels(1, len(both), height=4.2, sharey=True, squeeze=False)
    domains = cell.parameters.domains
    items = len(measured) // domains
    top = np.nanmax(np.abs([values for values, _ in both]), initial=1e-12)
    low = -top if np.nanmin(measured, initial=0) < -0.05 * top else 0
    look = {"cmap": DIVERGING if low else SEQUENTIAL, "vmin": low, "vmax": top, "parted": True}
    for ax, (values, title) in zip(axes[0], both, strict=True):
        block_map(ax, values, domains, **look)
        ax.set_title(title, loc="left")
        ax.set_xlabel(f"Input domain ({items} items each)")
    axes[0, 0].set_ylabel("Input domain")
    figure.colorbar(axes[0, 0].images[0], ax=axes, label="Dot product", shrink=0.8)
    return finished(
        figure,
        "Shared representation",
        "Dot products of first-hidden-layer activity between all items of all input domains at the end of training, "
        "mean over seeds, beside what the closed form says. Equal blocks everywhere: an item is represented alike in whatever "
        "domain it comes." + where,
    )


def _outputs(cell, where):
    figure, axes = panels(1, 2, height=4.6, sharey=True)
    p, run = cell.parameters, cell.simulation.isel(seed=0)
    _, wanted = hierarchical_items(LEVEL_WEIGHTS[p.level_weights])
    asked = np.kron(maps(p.domains, p.disagreement).T, wanted)
    top = np.nanmax([float(np.abs(run["outputs"]).max()), asked.max()])
    low = -top if float(run["outputs"].min()) < -0.05 * top else 0
    look = {"cmap": DIVERGING if low else SEQUENTIAL, "vmin": low, "vmax": top}
    image = output_map(axes[0], run, **look)
    trained = run["trained_pairs"].transpose("output_domain", "input_domain").values
    block_map(axes[1], asked, p.domains, trained, aspect="auto", **look)
    items, features = (run["outputs"].sizes[name] for name in ("item", "feature"))
    for ax, title in zip(axes, ("network", "asked for"), strict=True):
        ax.set_title(title, loc="left")
        ax.set_xlabel(f"Input domain ({items} items each)")
    axes[0].set_ylabel(f"Output domain ({features} features each)")
    figure.colorbar(image, ax=axes, label="Output", shrink=0.8)
    return finished(
        figure,
        "Output on every route",
        "Answer of the network of the first seed for every item on every route at the end of training, beside what is right, "
        "which theory says of all routes that chains of trained ones join. Framed routes were trained, the others never "
        "were." + where,
    )
