"""Figures of the study ``image-routing``, after Saxe, Sodhani & Lewallen (2022), Figs 7 to 10."""

import numpy as np
import xarray as xr

from foretrain.figures import Drawing
from foretrain.figures.style import (
    INK,
    PALETTE,
    SEQUENTIAL,
    legend_below,
    panel_letters,
    panels,
    seed_band,
)
from foretrain.measures.trajectory import at_end

_TRAINED, _UNTRAINED = PALETTE["blue"], PALETTE["orange"]
_INNER = ("trained_outputs", "gain")


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Error against the fraction of trained routes and against gain, learning curves, accuracy of every route."""
    simulation, theory = tree["simulation"].to_dataset(), tree["theory"].to_dataset()
    others = [
        name
        for name in tree.attrs.get("axes", {})
        if name in simulation.dims and name not in _INNER
    ]
    drawings = {}
    for number in range(simulation.sizes[others[0]] if others else 1):
        chosen = {name: number if name == others[0] else 0 for name in others}
        cell = simulation.isel(chosen)
        known = theory.isel({name: at for name, at in chosen.items() if name in theory.dims})
        where = "".join(f" {name} = {simulation[name].values[at]}." for name, at in chosen.items())
        ending = f"-{number + 1}" if others else ""
        errors = _errors(cell)
        if "trained_outputs" in cell.dims:
            drawings[f"fraction{ending}"] = _fraction(errors, known, where)
        if "gain" in cell.dims:
            drawings[f"gain{ending}"] = _gain(errors, known, where)
        drawings[f"learning{ending}"] = _learning(cell, where)
        drawings[f"routes{ending}"] = _routes(cell, where)
    return drawings


def _errors(cell) -> xr.Dataset:
    """Error of classification at the end; nan where no route is untrained."""
    end = at_end(cell[["trained_accuracy", "untrained_accuracy"]])
    all_trained = cell["trained_pairs"].min(("input_domain", "output_domain")) == 1
    return xr.Dataset(
        {
            "trained": 1 - end["trained_accuracy"],
            "untrained": (1 - end["untrained_accuracy"]).where(~all_trained),
            "domains": cell.sizes["input_domain"],
        }
    )


def _limit(ax, known):
    value = 1 - float(known["least_squares_accuracy"].mean())
    if np.isfinite(value):
        ax.axhline(value, color=INK, linewidth=1, linestyle=":", label="least squares")


def _pair(ax, x, errors):
    for kind, colour in (("trained", _TRAINED), ("untrained", _UNTRAINED)):
        if np.isfinite(errors[kind].values).any():
            seed_band(ax, x, errors[kind].transpose("seed", ...), f"{kind} routes", color=colour)


def _fraction(errors, known, where):
    gains = errors["gain"].values if "gain" in errors.dims else [None]
    shown = _spread(len(gains), 3)
    figure, axes = panels(1, len(shown), sharey=True, height=3.6)
    x = errors["trained_outputs"].values / int(errors["domains"])
    for ax, number in zip(np.atleast_1d(axes), shown, strict=True):
        cell = errors.isel(gain=number) if gains[0] is not None else errors
        _pair(ax, x, cell)
        _limit(ax, known)
        ax.axvline(0.4, color="#9aa0a6", linewidth=1, zorder=0)
        title = f"gain {gains[number]:g}" if gains[0] is not None else ""
        ax.set_title(title, loc="left")
        ax.set(xlabel="Trained fraction K/M", ylim=(0, 1), xlim=(0, 1))
    np.atleast_1d(axes)[0].set_ylabel("Classification error")
    if len(shown) > 1:
        panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Error against the fraction of trained routes",
        "Error on held-out images on routes that were trained and on routes that never were, at the end of training. "
        "The grey line marks the 40% of the paper." + where,
    )


def _gain(errors, known, where):
    outputs = errors["trained_outputs"].values if "trained_outputs" in errors.dims else [None]
    shown = _crossing(outputs, int(errors["domains"]))
    figure, axes = panels(1, len(shown), sharey=True, height=3.6)
    for ax, number in zip(np.atleast_1d(axes), shown, strict=True):
        cell = errors.isel(trained_outputs=number) if outputs[0] is not None else errors
        _pair(ax, errors["gain"].values, cell)
        _limit(ax, known)
        title = f"K = {outputs[number]}" if outputs[0] is not None else ""
        ax.set_title(title, loc="left")
        ax.set(xlabel="Gain of the start", xscale="log", ylim=(0, 1))
    np.atleast_1d(axes)[0].set_ylabel("Classification error")
    if len(shown) > 1:
        panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Error against the size of the start",
        "Error on held-out images on trained and untrained routes against the factor on the initial weights, for some "
        f"numbers K of trained outputs of {int(errors['domains'])} domains." + where,
    )


def _spread(count, most):
    """At most `most` indices spread over `count`."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()


def _crossing(outputs, domains):
    """Up to three indices of K from 2 to M / 2, where transfer sets in; of all K if there is none."""
    if outputs[0] is None:
        return [0]
    within = np.flatnonzero((outputs > 1) & (outputs <= domains / 2))
    return [int(within[at]) for at in _spread(len(within), 3)] or _spread(len(outputs), 3)


def _middle(cell):
    """The cell in the middle of the grid, and what it is in words."""
    at = {name: (cell.sizes[name] - 1) // 2 for name in _INNER if name in cell.dims}
    words = "".join(f" {name} = {cell[name].values[index]:g}." for name, index in at.items())
    return cell.isel(at), words


def _learning(cell, where):
    chosen, words = _middle(cell)
    figure, ax = panels()
    for seed in range(chosen.sizes["seed"]):
        run = chosen.isel(seed=seed)
        time = run["flow_time"].values
        for name, colour in (("trained", _TRAINED), ("untrained", _UNTRAINED)):
            label = f"{name} routes" if seed == 0 else None
            values = run[f"{name}_accuracy"].values
            ax.plot(time, 1 - values, color=colour, linewidth=1.4, alpha=0.85, label=label)
    ax.set(
        xlabel="Continuous time (step × learning rate / (1 - momentum))",
        ylabel="Classification error",
        ylim=(0, 1),
        xlim=(0, None),
    )
    ax.legend()
    return Drawing(
        figure,
        "Error while learning",
        "Error on held-out images while the network learns, one line a seed, in one cell of the grid."
        + words
        + where,
    )


def _routes(cell, where):
    chosen, words = _middle(cell)
    figure, ax = panels(height=5)
    order = ("input_domain", "output_domain")
    values = chosen["heldout_accuracy"].mean("seed").transpose(*order).values
    image = ax.imshow(values, cmap=SEQUENTIAL, vmin=0, vmax=1)
    trained = chosen["trained_pairs"].isel(seed=0).transpose(*order).values
    rows, columns = np.nonzero(trained)
    if len(trained) <= 40:
        size = 150 / len(trained)
        ax.plot(columns, rows, ".", color="white", markersize=size / 2, markeredgecolor=INK)
    ax.set(xlabel="Output domain", ylabel="Input domain")
    figure.colorbar(image, label="Accuracy on held-out images")
    return Drawing(
        figure,
        "Accuracy on every route",
        "Fraction of held-out images classified right on every route at the end, mean over seeds. Dots mark the trained "
        "routes (with random masks: those of the first seed)." + words + where,
    )
