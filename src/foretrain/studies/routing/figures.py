"""Figures of the study ``routing``, after Saxe, Sodhani & Lewallen (2022), Fig. 4 e-h."""

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    DIVERGING,
    PALETTE,
    SEQUENTIAL,
    axis_label,
    legend_below,
    panel_letters,
    panels,
    seed_band,
    simulation_line,
    theory_line,
)
from foretrain.measures.trajectory import at_end

_COLOURS = [PALETTE[name] for name in ("blue", "vermillion", "green", "purple", "orange", "sky")]


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Learning curves, singular values, errors, and what the network represents and answers at the end."""
    axes = [name for name in tree.attrs.get("axes", {}) if name in tree["simulation"].dims]
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    decoupled = tree["variants/decoupled"].to_dataset()
    drawings = {"grid": _grid(simulation, axes)} if axes else {}
    first = {name: 0 for name in axes}
    where = "".join(f" {name} = {simulation[name].values[0]}." for name in axes)
    cell, theory, decoupled = (
        data.isel({name: 0 for name in first if name in data.dims})
        for data in (simulation, theory, decoupled)
    )
    drawings["learning-curve"] = _learning_curve(cell, theory, decoupled, where)
    drawings["singular-values"] = _singular_values(cell, theory, where)
    drawings["errors"] = _errors(cell, where)
    if "similarity" in cell:
        drawings["similarity"] = _similarity(cell, where)
        drawings["outputs"] = _outputs(cell, where)
    else:
        drawings["accuracy"] = _accuracy(cell, where)
    return drawings


def _time(data):
    return data["time"].values, axis_label(data["time"], "Time")


def _one(theory):
    return theory.isel(seed=0) if "seed" in theory.dims else theory


def _learning_curve(cell, theory, decoupled, where):
    figure, ax = panels()
    time, label = _time(cell)
    loss = cell["loss"].transpose("seed", "step").values
    for number, curve in enumerate(loss):
        name = f"random weights, {len(loss)} seeds" if number == 0 else None
        ax.plot(time, curve, **simulation_line(PALETTE["vermillion"], label=name, linewidth=1.6))
    ax.plot(
        decoupled["time"].values,
        decoupled["loss"].isel(seed=0).values,
        **simulation_line(PALETTE["green"], label="decoupled weights"),
    )
    ax.plot(
        theory["time"].values,
        _one(theory)["loss"].values,
        **theory_line(label="reduction, decoupled start"),
    )
    for number, curve in enumerate(theory["fitted_loss"].transpose("seed", "step").values):
        name = "reduction, fitted start" if number == 0 else None
        style = theory_line(PALETTE["vermillion"], label=name, linewidth=0.9)
        ax.plot(theory["time"].values, curve, **style)
    ax.set(xlabel=label, ylabel="Training loss", ylim=(0, None), xlim=(0, time[-1]))
    ax.legend()
    return Drawing(
        figure,
        "Loss while learning",
        "Training loss of networks from random weights (every seed drawn), of one from decoupled weights of the same "
        "scale, and of the reduction: from the same decoupled start, and from the start fitted to each seed. Random "
        "starts share less with the modes of the data and so begin later." + where,
    )


def _singular_values(cell, theory, where):
    figure, axes = panels(1, 3, sharey=True)
    time, label = _time(cell)
    modes = min(cell.sizes["mode"], len(_COLOURS))
    for ax, layer in zip(axes, ("encoders", "hidden", "decoders"), strict=True):
        for mode in range(modes):
            values = cell["singular_values"].sel(layer=layer).isel(mode=mode)
            name = f"mode {mode + 1}" if layer == "hidden" else ""
            _, band = seed_band(ax, time, values, name, color=_COLOURS[mode])
            if band is not None:
                band.set_label("_nolegend_")
            predicted = _one(theory)["singular_values"].sel(layer=layer).isel(mode=mode)
            ax.plot(theory["time"].values, predicted.values, **theory_line(_COLOURS[mode]))
        ax.set_title(layer, loc="left")
        ax.set(xlim=(0, time[-1]))
    axes[0].set_ylabel("Singular value")
    panel_letters(axes)
    axes[1].set_xlabel(label)
    legend_below(figure, 4)
    return Drawing(
        figure,
        "Singular values of the three layers",
        f"The {modes} largest singular values of each layer: solid, mean over seeds from random weights (encoders and "
        "decoders: mean over domains), in a band of its 95% bootstrap interval; dashed, the reduction from the "
        "decoupled start." + where,
    )


def _errors(cell, where):
    figure, ax = panels()
    time, label = _time(cell)
    kinds = {
        "loss": ("trained routes", "blue"),
        "untrained_error": ("untrained routes", "orange"),
        "heldout_error": ("trained routes, held-out digits", "sky"),
        "heldout_untrained_error": ("untrained routes, held-out digits", "vermillion"),
    }
    for name, (text, colour) in kinds.items():
        if name in cell and np.nanmax(cell[name].values) > 0:
            seed_band(ax, time, cell[name], text, color=PALETTE[colour], statistic=np.median)
    ax.set(xlabel=label, ylabel="Error (1/2 |error|², mean)", yscale="log", xlim=(0, time[-1]))
    legend_below(figure, 1)
    return Drawing(
        figure,
        "Trained and untrained routes",
        "Error on routes that were trained and on routes that never were. Lines are medians over seeds."
        + where,
    )


def _similarity(cell, where):
    figure, ax = panels(height=5)
    values = cell["similarity"].mean("seed").values
    domains = cell.sizes["input_domain"]
    items = len(values) // domains
    image = ax.imshow(values, cmap=DIVERGING, vmin=-np.abs(values).max(), vmax=np.abs(values).max())
    for edge in range(1, domains):
        ax.axhline(edge * items - 0.5, color="white", linewidth=0.6)
        ax.axvline(edge * items - 0.5, color="white", linewidth=0.6)
    centres = (np.arange(domains) + 0.5) * items - 0.5
    ax.set_xticks(centres, np.arange(1, domains + 1))
    ax.set_yticks(centres, np.arange(1, domains + 1))
    ax.set(xlabel=f"Input domain ({items} items each)", ylabel="Input domain")
    figure.colorbar(image, label="Dot product")
    return Drawing(
        figure,
        "Shared representation",
        "Dot products of first-hidden-layer activity between all items of all input domains at the end of training, "
        "mean over seeds. Equal blocks everywhere: an item is represented alike in whatever domain it comes."
        + where,
    )


def _outputs(cell, where):
    figure, ax = panels(height=6.4)
    outputs = (
        cell["outputs"].isel(seed=0).transpose("output_domain", "feature", "input_domain", "item")
    )
    domains, features, _, items = outputs.shape
    values = outputs.values.reshape(domains * features, domains * items)
    top = np.abs(values).max()
    image = ax.imshow(values, cmap=DIVERGING, vmin=-top, vmax=top, aspect="auto")
    trained = cell["trained_pairs"].isel(seed=0).transpose("output_domain", "input_domain").values
    for output, source in np.argwhere(trained > 0):
        corner = (source * items - 0.5, output * features - 0.5)
        ax.add_patch(_frame(corner, items, features))
    ax.set_xticks((np.arange(domains) + 0.5) * items - 0.5, np.arange(1, domains + 1))
    ax.set_yticks((np.arange(domains) + 0.5) * features - 0.5, np.arange(1, domains + 1))
    ax.set(
        xlabel=f"Input domain ({items} items each)",
        ylabel=f"Output domain ({features} features each)",
    )
    figure.colorbar(image, label="Output")
    return Drawing(
        figure,
        "Output on every route",
        "Answer of the network of the first seed for every item on every route at the end of training. Framed routes "
        "were trained, the others never were." + where,
    )


def _frame(corner, width, height):
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, fill=False, edgecolor="black", linewidth=1.4)


def _accuracy(cell, where):
    figure, ax = panels(height=5)
    values = cell["heldout_accuracy"].mean("seed").transpose("input_domain", "output_domain").values
    image = ax.imshow(values, cmap=SEQUENTIAL)
    trained = cell["trained_pairs"].isel(seed=0).transpose("input_domain", "output_domain").values
    for source, output in np.argwhere(trained > 0):
        ax.add_patch(_frame((output - 0.5, source - 0.5), 1, 1))
    ticks = np.arange(len(values))
    ax.set_xticks(ticks, ticks + 1)
    ax.set_yticks(ticks, ticks + 1)
    ax.set(xlabel="Output domain", ylabel="Input domain")
    figure.colorbar(image, label="Held-out accuracy")
    return Drawing(
        figure,
        "Accuracy on every route",
        "Fraction of held-out digits classified right on every route, mean over seeds. Framed routes were trained "
        "(with random masks: in the first seed)." + where,
    )


def _grid(simulation, axes):
    figure, ax = panels()
    name = axes[0]
    end = at_end(simulation[["loss", "untrained_error"]])
    end = end.isel({other: 0 for other in axes[1:]})
    values = simulation[name].values
    x = values if values.dtype.kind in "fiu" else np.arange(len(values))
    for variable, text, colour in (
        ("loss", "trained routes", "blue"),
        ("untrained_error", "untrained routes", "vermillion"),
    ):
        seed_band(ax, x, end[variable], text, color=PALETTE[colour], statistic=np.median)
    if values.dtype.kind not in "fiu":
        ax.set_xticks(x, values)
    rest = "".join(f" {other} = {simulation[other].values[0]}." for other in axes[1:])
    ax.set(xlabel=name, ylabel="Error at the end", yscale="log")
    ax.legend()
    return Drawing(
        figure,
        f"Error against {name}",
        f"Error on trained and untrained routes at the end of training, median over seeds.{rest}",
    )
