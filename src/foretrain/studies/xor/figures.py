"""Figures of the study ``xor``, after Saxe, Sodhani & Lewallen (2022), Fig. 3."""

import itertools

import numpy as np

from foretrain.figures import finished
from foretrain.figures.gating_bars import draw_gatings
from foretrain.figures.schemes import Pathway, draw_scheme
from foretrain.figures.seed_curves import draw_seed_curves, learned_at
from foretrain.figures.style import INK, PALETTE, panels, simulation_line, theory_line
from foretrain.quantities.gates import angle_clusters
from foretrain.study import drawn

_COLOURS = [PALETTE[name] for name in ("orange", "green", "purple", "sky")]


def draw_candidates(grid):
    """Draw the candidate gatings."""
    cell, where = grid.first()
    caption = (
        "All 15 ways to divide the four examples, 1 (+1, +1), 2 (+1, −1), 3 (−1, +1) and 4 (−1, −1), among linear "
        "pathways (a bar separates pathways), with the predicted time to half the loss. Green: self-consistent, that "
        "is, ReLU units along the weights that the pathways learn have the gates assumed. Agreement: of the gates of "
        "the trained ReLU networks with the gating, mean over seeds."
    )
    return draw_gatings(cell, lambda table: table["gating_consistent"] > 0, caption + where)


def draw_network(grid):
    """Draw the gated network and its open gates."""
    cell, _ = grid.first()
    figure, (scheme, gates) = panels(1, 2, height=3.9)
    examples = cell.simulation["example"].values.tolist()
    names = [name.replace(" ", "\n").replace("-", "−") for name in examples]
    draw_scheme(
        scheme,
        ("x1", "x2"),
        [Pathway((0, 1), (0,), colour, f"W{n + 1}") for n, colour in enumerate(_COLOURS)],
        ("y",),
    )
    for number, colour in enumerate(_COLOURS):
        gates.fill_between((number - 0.5, number + 0.5), number - 0.5, number + 0.5, color=colour)
    for place in np.arange(len(names) + 1) - 0.5:
        for line in (gates.axhline, gates.axvline):
            line(place, color="#c9ced3", linewidth=0.8, zorder=0)
    gates.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5), aspect="equal")
    gates.set_xticks(range(len(names)), names)
    gates.set_yticks(range(len(names)), [f"W{n + 1}" for n in range(len(names))])
    gates.set(xlabel="Example, x1 over x2", ylabel="Pathway")
    gates.set_title("open gates", loc="left")
    return finished(
        figure,
        "Four gated pathways, one per example",
        "a: the gated network, four linear pathways from both bits to the answer; squares are hidden layers. b: when the "
        "gate of each pathway is open: each on one example alone. In each pathway's subproblem the answer is linear.",
    )


def draw_cell_types(grid):
    """Draw the input weights of every hidden unit."""
    cell, where = grid.first()
    run = cell.simulation
    figure, ax = panels(height=5.6)
    ax.set(xlabel="Weight from x1", ylabel="Weight from x2")
    weights = run["input_weights"].transpose("seed", "unit", "input").values
    weights = weights[np.isfinite(weights).all((1, 2))].reshape(-1, 2)
    if not len(weights):
        ax.text(0.5, 0.5, "all runs diverged", transform=ax.transAxes, ha="center")
        return finished(
            figure, "Functional cell types", "No run ended with finite weights." + where
        )
    groups, _ = angle_clusters(weights)
    for group in range(groups.max() + 1):
        chosen = weights[groups == group]
        look = {"color": _COLOURS[group % len(_COLOURS)], "markersize": 4, "alpha": 0.6}
        ax.plot(*chosen.T, "o", label=f"type {group + 1}: {len(chosen)} units", **look)
    reach = np.abs(weights).max()
    for x, y in itertools.product((-1, 1), repeat=2):
        text, colour = ("y = +1", "vermillion") if x * y < 0 else ("y = −1", "blue")
        at = 1.35 * reach * x, 1.35 * reach * y
        ax.plot(*at, "s", markersize=15, color=PALETTE[colour], clip_on=False)
        look = {"ha": "right" if x > 0 else "left", "va": "center"}
        ax.annotate(text, at, (-x * 16, 0), textcoords="offset points", **look)
    for line in (ax.axhline, ax.axvline):
        line(0, color="#c9ced3", linewidth=0.8, zorder=0)
    limit = 1.55 * reach
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.locator_params(nbins=6)  # labels of small weights are long
    return finished(
        figure,
        "Functional cell types",
        f"Input weights of every hidden unit of the ReLU networks at the end of training ({run.sizes['seed']} seeds), "
        "coloured by direction: groups are parted by more than 45 degrees. Squares, not to scale: the four examples. "
        "Each unit answers one example." + where,
    )


def draw_losses(grid):
    """Draw the loss of both networks beside the reduction."""
    cell, where = grid.first()
    figure, ax = panels()
    theory, seeds = cell.theory, cell.seeds
    own = "ReLU network" if cell.parameters.network == "relu" else "trained"
    for run, name, colour, label in (
        (cell.simulation, "loss", "vermillion", own),
        (cell.variants["gated"], "gated_loss", "green", "gated network"),
    ):
        draw_seed_curves(ax, run["loss"], theory[name], colour, f"{label}, {seeds} seeds")
    start = (theory["gated_loss"] > 0.99 * theory["gated_loss"].isel(step=0)).all("seed")
    begin = theory["time"].values[start.values].max(initial=0)
    end = max(learned_at(theory[name], 0.001) for name in ("loss", "gated_loss"))
    if end > begin:
        margin = end - begin
        ax.set_xlim(max(begin - 0.2 * margin, 0), end + 0.1 * margin)
    ax.set(xlabel="Time (step × learning rate)", ylabel="Loss", ylim=(0, None))
    tau = cell.parameters.time_constant
    upper = ax.secondary_xaxis("top", functions=(lambda t: tau * t, lambda t: t / tau))
    upper.set_xlabel(f"Time of the paper (τ = {tau:g} times as long)")
    return finished(
        figure,
        "Loss while learning",
        "Loss of networks that learn exclusive-or from small random weights, every seed drawn. "
        "Gated network: four linear pathways of the same width each. Dashed: the reduction from the start that the weights of "
        "the earliest, the middle and the latest seed have, nothing fitted. The gated network is earlier since each of its "
        "pathways has all N_h units where a ReLU network shares them out." + where,
    )


def draw_pathways(grid):
    """Draw the four answers over time, and the starts a0."""
    cell, where = grid.first()
    figure, (curves, starts) = panels(1, 2, height=4.2)
    run, theory = cell.simulation, cell.theory
    time, names = run["time"].values, run["example"].values.tolist()
    measured, predicted = (one["example_strength"].isel(seed=0) for one in (run, theory))
    for number, name in enumerate(names):
        label = f"x = ({name.replace(' ', ', ').replace('-', '−')})"
        line = simulation_line(_COLOURS[number], label=label)
        curves.plot(time, measured.isel(example=number), **line)
        line = theory_line(_COLOURS[number])
        curves.plot(theory["time"], predicted.isel(example=number), **line)
    rise = predicted.mean("example").values
    inside = theory["time"].values[(rise > 0.01 * rise[-1]) & (rise < 0.99 * rise[-1])]
    if inside.size:
        curves.set_xlim(inside.min(), inside.max())
    curves.set(xlabel="Time (step × learning rate)", ylabel="Strength a(t) of a pathway")
    curves.plot([], [], **theory_line(label="predicted from initial weights"))
    both = np.array([cell.fits[f"{one}_descent_strength"] for one in ("derived", "fitted")])
    known = both[np.isfinite(both)]
    power = int(np.floor(np.log10(known.max()))) if known.max(initial=0) > 0 else 0
    ends = (
        np.array([0.92 * known.min(), 1.08 * known.max()] if known.size else (0, 1)) / 10.0**power
    )
    starts.plot(ends, ends, color=INK, linewidth=1.2, linestyle=":", label="equal")
    starts.plot(*both / 10.0**power, "o", color=PALETTE["vermillion"], markersize=7)
    unit = rf"$\times 10^{{{power}}}$"
    starts.set(xlim=ends, ylim=ends)
    starts.set(xlabel=f"a0 derived from weights ({unit})", ylabel=f"a0 fitted to loss ({unit})")
    return finished(
        figure,
        "Four pathways, each with its own start",
        "a: answer of the network of the first seed to each example (solid), and what its initial weights predict "
        "(dashed), nothing fitted. b: the start a0 that fits the measured loss of each seed, against the one that fits "
        "the loss predicted from its initial weights; dotted: equal." + where,
        3,
    )


FIGURES = {
    "learning-curve": drawn(draw_losses),
    "network": drawn(draw_network),
    "cell-types": drawn(draw_cell_types, where=lambda c: c.p.network == "relu"),
    "pathways": drawn(draw_pathways),
    "gatings": drawn(draw_candidates),
}
