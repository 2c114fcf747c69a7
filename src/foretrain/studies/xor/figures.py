"""Figures of the study ``xor``, after Saxe, Sodhani & Lewallen (2022), Fig. 3."""

import numpy as np

from foretrain.figures import Drawing
from foretrain.figures.gating_bars import draw_gating_bars, gating_table
from foretrain.figures.seed_curves import draw_seed_curves
from foretrain.figures.style import (
    INK,
    PALETTE,
    legend_below,
    panel_letters,
    panels,
    simulation_line,
    theory_line,
)
from foretrain.measures.gates import angle_clusters
from foretrain.plans.grid import Grid

_COLOURS = [PALETTE[name] for name in ("orange", "green", "purple", "sky")]


def draw(grid: Grid) -> dict[str, Drawing]:
    """Learning curves, the functional cell types, the four pathways, and the candidate gatings."""
    cell, where = grid.first()
    drawings = {"learning-curve": _learning_curve(cell, where)}
    if cell.parameters.network == "relu":
        drawings = {"cell-types": _cell_types(cell.simulation, where), **drawings}
    drawings["pathways"] = _pathways(cell, where)
    drawings["gatings"] = _gatings(cell, where)
    return drawings


def _cell_types(run, where):
    figure, ax = panels(height=5.6)
    weights = run["input_weights"].transpose("seed", "unit", "input").values
    weights = weights[np.isfinite(weights).all((1, 2))].reshape(-1, 2)
    if not len(weights):
        ax.text(0.5, 0.5, "all runs diverged", transform=ax.transAxes, ha="center")
        return Drawing(figure, "Functional cell types", "No run ended with finite weights." + where)
    groups, _ = angle_clusters(weights)
    reach = np.abs(weights).max()
    for group in range(groups.max() + 1):
        chosen = weights[groups == group]
        name = f"type {group + 1}: {len(chosen)} units"
        colour = _COLOURS[group % len(_COLOURS)]
        ax.plot(*chosen.T, "o", color=colour, markersize=4, alpha=0.6, label=name)
    corner = 1.35 * reach
    for x in (-1, 1):
        for y in (-1, 1):
            positive = x * y < 0
            ax.plot(
                x * corner,
                y * corner,
                "s",
                markersize=15,
                color=PALETTE["vermillion" if positive else "blue"],
                clip_on=False,
            )
            ax.annotate(
                "y = +1" if positive else "y = −1",
                (x * corner, y * corner),
                (-x * 16, 0),
                textcoords="offset points",
                ha="right" if x > 0 else "left",
                va="center",
            )
    ax.axhline(0, color="#c9ced3", linewidth=0.8, zorder=0)
    ax.axvline(0, color="#c9ced3", linewidth=0.8, zorder=0)
    limit = 1.55 * reach
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.set(xlabel="Weight from x1", ylabel="Weight from x2")
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Functional cell types",
        f"Input weights of every hidden unit of the ReLU networks at the end of training ({run.sizes['seed']} seeds), "
        "coloured by direction: groups are parted by more than 45 degrees. Squares, not to scale: the four examples. "
        "Each unit answers one example." + where,
    )


def _learning_curve(cell, where):
    figure, ax = panels()
    networks = (
        (cell.simulation, "loss", "vermillion", "trained"),
        (cell.variants["gated"], "gated_loss", "green", "gated network"),
    )
    for data, name, colour, label in networks:
        measured, predicted = (
            (one["time"].values, values.transpose("seed", "step").values)
            for one, values in ((data, data["loss"]), (cell.theory, cell.theory[name]))
        )
        labels = f"{label}, {data.sizes['seed']} seeds", "reduction, start derived"
        draw_seed_curves(ax, measured, predicted, colour, labels)
    p, theory = cell.parameters, cell.theory
    limits = _while_learning(theory["time"].values, theory["gated_loss"], theory["loss"])
    ax.set(xlabel="Time (step × learning rate)", ylabel="Loss", ylim=(0, None), xlim=limits)
    tau = p.time_constant
    upper = ax.secondary_xaxis("top", functions=(lambda t: tau * t, lambda t: t / tau))
    upper.set_xlabel(f"Time of the paper (τ = {tau:g} times as long)")
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Loss while learning",
        "Loss of networks that learn exclusive-or from small random weights, every seed drawn. Trained: the study's network. "
        "Gated network: four linear pathways of the same width each. Dashed: the reduction from the start that the weights of "
        "the earliest, the middle and the latest seed have, nothing fitted. The gated network is earlier since each of its "
        "pathways has all N_h units where a ReLU network shares them out." + where,
    )


def _while_learning(time, *losses):
    """From before the first of the curves has fallen by 1% to after the last has fallen by 99.9%."""
    curves = np.concatenate([one.transpose("seed", "step").values for one in losses])
    share = curves / curves[:, :1]
    begin = time[(share > 0.99).all(0)].max(initial=0)
    end = time[(share > 0.001).any(0)].max(initial=0)
    if not end > begin:
        return 0, time[-1]
    return max(begin - 0.2 * (end - begin), 0), min(end + 0.1 * (end - begin), time[-1])


def _pathways(cell, where):
    figure, (curves, starts) = panels(1, 2, height=4.2)
    run, theory = cell.simulation, cell.theory
    time, names = run["time"].values, run["example"].values.tolist()
    for number, name in enumerate(names):
        style = {"label": f"x = ({name.replace(' ', ', ').replace('-', '−')})"}
        measured = run["example_strength"].isel(seed=0, example=number).values
        predicted = theory["example_strength"].isel(seed=0, example=number).values
        curves.plot(time, measured, **simulation_line(_COLOURS[number], **style))
        curves.plot(theory["time"].values, predicted, **theory_line(_COLOURS[number]))
    later = theory["time"].values
    rise = theory["example_strength"].isel(seed=0).mean("example").values
    inside = (rise > 0.01 * rise[-1]) & (rise < 0.99 * rise[-1])
    if inside.any():
        curves.set_xlim(later[inside].min(), later[inside].max())
    curves.set(xlabel="Time (step × learning rate)", ylabel="Strength a(t) of a pathway")
    curves.plot([], [], **theory_line(label="predicted from initial weights"))
    derived = cell.fits["derived_descent_strength"].values
    fitted = cell.fits["fitted_descent_strength"].values
    largest = np.max(derived, initial=0, where=np.isfinite(derived))
    power = int(np.floor(np.log10(largest))) if largest > 0 else 0
    derived, fitted = derived / 10.0**power, fitted / 10.0**power
    both = np.concatenate([derived, fitted])
    both = both[np.isfinite(both)] if np.isfinite(both).any() else np.ones(1)
    ends = [0.92 * both.min(), 1.08 * both.max()]
    starts.plot(ends, ends, color=INK, linewidth=0.9, linestyle=":")
    starts.plot(derived, fitted, "o", color=PALETTE["vermillion"], markersize=7)
    unit = rf"$\times 10^{{{power}}}$"
    starts.set(xlim=ends, ylim=ends)
    starts.set(xlabel=f"a0 derived from weights ({unit})", ylabel=f"a0 fitted to loss ({unit})")
    panel_letters([curves, starts])
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Four pathways, each with its own start",
        "a: answer of the network of the first seed to each example (solid), and what its initial weights predict "
        "(dashed), nothing fitted. b: the start a0 that fits the measured loss of each seed, against the one that fits "
        "the loss predicted from its initial weights; dotted: equal." + where,
    )


def _gatings(cell, where):
    table = gating_table(cell)
    figure = draw_gating_bars(table, table["gating_consistent"].values.astype(bool))
    return Drawing(
        figure,
        "Candidate gatings",
        "All 15 ways to divide the four examples, 1 (+1, +1), 2 (+1, −1), 3 (−1, +1) and 4 (−1, −1), among linear "
        "pathways (a bar separates pathways), with the predicted time to half the loss. Green: self-consistent, that "
        "is, ReLU units along the weights that the pathways learn have the gates assumed. Agreement: of the gates of "
        "the trained ReLU networks with the gating, mean over seeds." + where,
    )
