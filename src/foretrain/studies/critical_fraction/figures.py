"""Figures of ``critical-fraction``, after Liu et al. (2022), Figs 4 and 5."""

from functools import partial

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, panels, seed_band, shades, simulation_line, theory_line
from foretrain.study import drawn
from foretrain.theory.parallelograms import normalised
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import by_size

from .claims import measured
from .theory import critical_sizes


def draw(grid):
    """Probabilities, rates and steps against the training size, predicted against measured steps, and one pair of paths."""
    cell, where = grid.first(("training_size",))
    cell = cell.along("training_size")
    drawings = {"steps": partial(_steps, cell, where)}
    if "flow_embedding" in cell.theory:
        drawings["predictions"] = partial(_predictions, cell, where)
        drawings["paths"] = partial(_paths, cell, where)
    return drawings


def _spread(values, like):
    return np.broadcast_to(np.asarray(values)[:, None], like.shape)


def _steps(cell, where):
    p, task, found = cell.parameters, operation(cell.parameters), measured(cell)
    share = np.array(cell.values("training_size")) / len(task.samples)
    figure, (left, middle, right) = panels(1, 3, height=3.9)
    reached = np.isfinite(found).astype(float)
    seed_band(left, share, reached.T, "networks", color=PALETTE["blue"])
    if "unique_probability" in cell.theory:
        count = np.arange(1, len(task.samples) + 1)
        sizes = critical_sizes(p.operation, p.symbols)
        unique = (sizes[:, None] <= count).mean(0)
        left.plot(count / len(task.samples), unique, **theory_line(label="unique, theory"))
    left.set(ylabel=f"Probability of RQI > {p.rqi_threshold:g}", ylim=(-0.03, 1.03))
    never = 1.5 * p.steps
    shown = np.where(np.isfinite(found), found, never)
    middle.plot(_spread(share, found), shown, "o", color=PALETTE["blue"], markersize=3, alpha=0.5)
    middle.axhline(1.2 * p.steps, color="#c5c9cd", linewidth=1)
    middle.text(share[0], 1.62 * p.steps, "never", fontsize=10)
    middle.set(ylabel="Steps", yscale="log", ylim=(None, 2.3 * p.steps))
    rate = by_size(cell.simulation["lambda_3"])
    right.plot(_spread(share, rate), rate, "o", color=PALETTE["green"], markersize=3, alpha=0.5)
    right.plot(share, np.median(rate, 1), color=PALETTE["green"], label="median $\\lambda_3$")
    right.set(ylabel="$\\lambda_3$")
    for ax in (left, middle, right):
        ax.set(xlabel="Share trained", xlim=(0, 1.03))
    return finished(
        figure,
        "Which training sets are enough, and how long it takes",
        f"Left: share of runs that learn the representation, and the probability that a random training set determines it, "
        f"for which nothing is trained. Middle: first step with RQI > {p.rqi_threshold:g}, every run. Right: grokking rate of "
        "every training set, zero where the set leaves freedom." + where,
    )


def _predictions(cell, where):
    found = measured(cell)
    share = np.array(cell.values("training_size")) / len(operation(cell.parameters).samples)
    names = (
        ("theory_step", "$1/(\\lambda_3\\eta)$"),
        ("flow_step", "Flow from the start"),
        ("adam_step", "Adam on $\\ell_{\\rm eff}$"),
    )
    figure, board = panels(1, 3, height=3.7, sharey=True)
    never = 1.5 * cell.parameters.steps
    for (name, words), ax in zip(names, board, strict=True):
        predicted = by_size(cell.theory[name].fillna(np.inf))
        known = np.isfinite(predicted)
        shown = np.where(np.isfinite(found), found, never)
        x, y, colour = (one[known] for one in (predicted, shown, _spread(share, found)))
        ax.scatter(x, y, c=colour, s=14)
        ends = np.array([100, never])
        ax.plot(ends, ends, **theory_line(label="measured as predicted"))
        ax.axhline(1.2 * cell.parameters.steps, color="#c5c9cd", linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel=words)
        ax.xaxis.label.set_size(10.5)
    board[0].set_ylabel("Measured step")
    board[0].text(board[0].get_xlim()[0] * 1.1, 1.62 * cell.parameters.steps, "never", fontsize=10)
    board[0].set_ylim(None, 2.3 * cell.parameters.steps)
    figure.colorbar(board[0].collections[0], ax=board, label="Share trained")
    return finished(
        figure,
        "Predicted and measured steps of grokking",
        "Every run whose training set determines the representation: steps of grokking as 1/(lambda_3 eta), as the flow of "
        "the effective loss from the start of the run, and Adam on that loss predict them; dashed, equal. Nothing is fitted."
        + where,
    )


def _paths(cell, where):
    found = measured(cell)
    sizes = cell.values("training_size")
    place = int(np.isfinite(found).any(1).nonzero()[0][-1]) if np.isfinite(found).any() else -1
    seed = int(found[place].argmin())
    run, theory = (
        data.isel(training_size=place, seed=seed) for data in (cell.simulation, cell.theory)
    )
    figure, board = panels(1, 2, height=3.7, sharey=True)
    network = run["embedding"].transpose("step", "symbol", "coordinate").values
    flow = theory["flow_embedding"].transpose("step", "symbol", "coordinate").values
    kept = np.isfinite(network).all((1, 2))
    step = cell.simulation["step"].values[kept]
    paths = (normalised(network[kept]), "network"), (flow[kept], "effective flow")
    for (path, title), ax in zip(paths, board, strict=True):
        for symbol, colour in enumerate(shades(path.shape[1])):
            ax.plot(step, path[:, symbol, 0], **simulation_line(colour, linewidth=2, alpha=0.9))
        ax.set_title(title, loc="left")
        ax.set(xlabel="Step")
    board[0].set_ylabel("Normalised embedding")
    return finished(
        figure,
        "Embeddings of the network and of the effective flow, from one start",
        f"{sizes[place]} training samples, the seed that learns first; mean 0 and variance 1, symbol 0 dark; of the "
        "flow a step is so much time as the embeddings' learning rate." + where,
    )


FIGURES = {"all": drawn(draw)}
