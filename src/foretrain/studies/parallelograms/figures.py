"""Figures of ``parallelograms``, after Liu et al. (2022), Figs 2, 3, 10 and 12."""

from dataclasses import replace
from functools import partial

import numpy as np

from foretrain.figures import finished
from foretrain.figures.style import PALETTE, SEQUENTIAL, panels, seed_band, theory_line
from foretrain.quantities.trajectory import at_end
from foretrain.study import drawn
from foretrain.theory.parallelograms import implied
from foretrain.training.embedding import mapped_places, operation
from foretrain.training.embedding_claims import by_size, ends

from .claims import four, shares
from .study import CIRCLE

_GREY = "#9aa0a6"
_NODES = {  # places of the five representations of four numbers, by what they have
    (False, False, False): (1, 0),
    (True, False, False): (0, 1),
    (False, True, False): (1, 1),
    (False, False, True): (2, 1),
    (True, True, True): (1, 2),
}
_NAMES = ("none", "$E_0+E_2=2E_1$", "$E_0+E_3=E_1+E_2$", "$E_1+E_3=2E_2$", "all three")


def draw(grid):
    """Accuracy and RQI against the training size, and the variants that there are."""
    cell, where = grid.first(("training_size",))
    cell = cell.along("training_size")
    drawings = {"accuracy": partial(_accuracy, cell, where)}
    if "slow" in cell.variants and "fast" in cell.variants:
        drawings["lattice"] = partial(_lattice, cell, where)
    if "plane" in cell.variants:
        drawings["predictors"] = partial(_predictors, cell, where)
        drawings["plane"] = partial(_plane, cell, where)
        drawings["areas"] = partial(_areas, cell, where)
    return drawings


def _accuracy(cell, where):
    p, end = cell.parameters, ends(cell.simulation, cell.parameters)
    total = len(operation(p).samples)
    share = np.array(cell.values("training_size")) / total
    figure, board = panels(2, 2, height=6.6)
    rows = (("accuracy", "Accuracy"), ("rqi", "RQI"))
    for (name, words), ax in zip(rows, board[:, 0], strict=True):
        seed_band(ax, share, by_size(end[name]).T, "network", color=PALETTE["blue"])
        spread = np.broadcast_to(share[:, None], by_size(end[name]).shape)
        ax.plot(spread, by_size(end[name]), "o", color=PALETTE["blue"], markersize=3, alpha=0.35)
        ideal = by_size(end[f"ideal_{name}"]).mean(1)
        ax.plot(share, ideal, **theory_line(label="ideal model, mean"))
        ax.set(xlabel="Share of samples trained", ylabel=words, ylim=(-0.03, 1.03))
    board[0, 0].plot([0, 1], [0, 1], ":", color=_GREY, label="memorised only")
    against = (
        ("predicted_accuracy", "accuracy", "Predicted accuracy", "Real accuracy"),
        ("ideal_accuracy", "accuracy", "Ideal accuracy", "Real accuracy"),
    )
    for (x, y, xlabel, ylabel), ax in zip(against, board[:, 1], strict=True):
        picture = ax.scatter(
            by_size(end[x]), by_size(end[y]), c=np.broadcast_to(share[:, None], end[x].shape), s=16
        )
        ax.plot([0, 1], [0, 1], **theory_line())
        ax.set(xlabel=xlabel, ylabel=ylabel)
        figure.colorbar(picture, ax=ax, label="Share trained")
    return finished(
        figure,
        "Accuracy and parallelograms against the number of training samples",
        f"Every run after {p.steps:,} steps; accuracy counts all {total} samples. Upper right: what the parallelograms "
        "of a representation predict. Lower right: what the ideal model would reach; runs above the diagonal beat it by luck."
        + where,
    )


def _lattice(cell, where):
    figure, board = panels(1, 2, height=3.6)
    runs = 0
    for name, ax in zip(("slow", "fast"), board, strict=True):
        if (found := four(cell, name)) is None:
            continue
        held, task = found
        runs = len(held)
        kinds = [tuple(bool(one) for one in row) for row in implied(task, held)]
        for below, (x, y) in _NODES.items():
            for above, (x2, y2) in _NODES.items():
                if y2 == y + 1 and all(b <= a for b, a in zip(below, above, strict=True)):
                    ax.plot([x, x2], [y, y2], color=_GREY, linewidth=1, zorder=1)
        for (kind, (x, y)), words in zip(_NODES.items(), _NAMES, strict=True):
            share = kinds.count(kind) / len(kinds)
            ax.scatter(x, y, s=150 + 1500 * share, color=PALETTE["sky"], zorder=2)
            ax.text(x, y, kinds.count(kind), ha="center", va="center", fontsize=11)
            place = {0: y - 0.32, 1: y - 0.3, 2: y + 0.36}[y]
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.text(x, place, words, ha="center", va="center", fontsize=9, bbox=box, zorder=3)
        rate = cell.parameters.decoder_learning_rate * (1 if name == "slow" else 10)
        ax.set_title(f"decoder's rate {rate:g}", loc="left")
        ax.set(xlim=(-0.6, 2.6), ylim=(-0.5, 2.5))
        ax.set_axis_off()
    return finished(
        figure,
        "Representations that networks end with, four numbers",
        f"Number of runs, of {runs}, that end with each of the five representations that four numbers can have, although "
        "all ten samples are trained, so that the ideal model has all three parallelograms. Any two imply the third."
        + where,
    )


def _predictors(cell, where):
    end = ends(cell.variants["plane"], cell.parameters)
    figure, board = panels(1, 2, height=3.4, sharey=True)
    names = (("rqi", "RQI"), ("decoder_rqi", "RQI after the decoder"))
    share = np.array(cell.values("training_size")) / len(operation(cell.parameters).samples)
    for (name, words), ax in zip(names, board, strict=True):
        x, y = by_size(end[name]), by_size(end["validation_accuracy"])
        ax.scatter(x, y, c=np.broadcast_to(share[:, None], x.shape), s=20)
        ax.set(xlabel=words, xlim=(-0.03, 1.03))
    board[0].set_ylabel("Validation accuracy")
    figure.colorbar(board[0].collections[0], ax=board, label="Share trained")
    return finished(
        figure,
        "Which RQI tells validation accuracy in the plane",
        "Every run of embeddings of two dimensions: parallelograms of the embeddings, and pairs of samples that "
        "the decoder answers alike." + where,
    )


def _best(data):
    """The run with the best validation accuracy."""
    return data.isel(seed=int(data["validation_accuracy"].isel(step=-1).values.argmax()))


def _moments(run):
    """Embeddings of a run when training was learned, and at the end."""
    first = int((run["train_accuracy"].values >= 0.9).argmax())
    for place in (first, -1):
        one = run.isel(step=place)
        train, rest = (float(one[f"{name}_accuracy"]) for name in ("train", "validation"))
        title = f"step {int(one['step']):,}: {train:.2f}, {rest:.2f}"
        yield one["embedding"].transpose("symbol", "coordinate").dropna("symbol").values, title


def _nearest(cell, size):
    """Place of the training size nearest to so many of 55 samples."""
    sizes = np.array(cell.values("training_size"))
    return int(np.abs(sizes - size / 55 * len(operation(cell.parameters).samples)).argmin())


def _plane(cell, where):
    sizes = cell.values("training_size")
    chosen = _nearest(cell, 45)
    rows = [("addition", cell.variants["plane"].isel(training_size=chosen))]
    if "circle" in cell.variants:
        rows.append(("addition modulo 11", cell.variants["circle"].isel(training_size=0)))
    figure, board = panels(len(rows), 2, height=3.5 * len(rows), squeeze=False)
    for (name, data), axes in zip(rows, board, strict=True):
        turn = 1
        pair = list(_moments(_best(data)))
        if name != "addition":
            turn = int(shares(pair[1][0]).argmax()) + 1
        for (place, title), ax in zip(pair, axes, strict=True):
            count = len(place)
            # Neighbours on the circle of frequency nu differ by the inverse of nu.
            stride = pow(turn, -1, count) if name != "addition" else 1
            order = np.arange(count + (name != "addition")) * stride % count
            ax.plot(*place[order].T, color=_GREY, linewidth=1)
            ax.scatter(*place.T, s=170, color=PALETTE["sky"], zorder=3)
            for symbol, (x, y) in enumerate(place):
                ax.text(x, y, symbol, ha="center", va="center", fontsize=9, zorder=4)
            ax.set_title(f"{name}\n{title}", loc="left")
            ax.set_aspect("equal", "datalim")
    figure.supxlabel("First coordinate of the embedding", fontsize=13)
    figure.supylabel("Second coordinate of the embedding", fontsize=13)
    return finished(
        figure,
        "Embeddings in the plane, before and after generalisation",
        "The run with the best validation accuracy; above each panel accuracy in training and in validation. Left: "
        "when training accuracy reaches 0.9; right: at the end. "
        f"Addition with {sizes[chosen]} training samples: lines join consecutive numbers. Addition modulo 11: lines "
        "join the neighbours of the frequency that is largest at the end." + where,
    )


def _areas(cell, where):
    plane, sizes = cell.variants["plane"], cell.values("training_size")
    task = operation(cell.parameters)
    runs = [
        (f"addition, {sizes[place]} samples", _best(plane.isel(training_size=place)), task)
        for place in (_nearest(cell, 20), _nearest(cell, 45))
    ]
    if "circle" in cell.variants:
        task = operation(replace(cell.parameters, **CIRCLE))
        data = cell.variants["circle"].isel(training_size=0)
        worst = data.isel(seed=int(data["validation_accuracy"].isel(step=-1).values.argmin()))
        runs += [("modulo 11, worst run", worst, task), ("modulo 11, best run", _best(data), task)]
    figure, board = panels(len(runs) // 2, 2, height=1.8 * len(runs), squeeze=False)
    for (name, run, task), ax in zip(runs, board.ravel(), strict=True):
        _answers(ax, run, task, name)
    return finished(
        figure,
        "What the decoder answers over the plane, and where it is asked",
        "Colour: the label that the decoder answers at the end of training where two symbols have this point as their middle. "
        "Large circles: symbols; small ones: the middles of all pairs. A circle has the colour of its right answer: one that "
        "can be seen against its ground is answered wrong. Above each panel accuracy in training and in validation."
        + where,
    )


def _answers(ax, run, task, name):
    end = at_end(run)
    place = end["embedding"].transpose("symbol", "coordinate").dropna("symbol").values
    answer = end["answer"].transpose("column", "row").values
    points = mapped_places(place, len(answer)).reshape(*answer.shape, 2)
    colours = {"cmap": SEQUENTIAL if task.outcomes > task.symbols else "twilight"}
    colours |= {"vmin": 0, "vmax": task.outcomes - (task.outcomes > task.symbols)}
    x, y = np.moveaxis(points, 2, 0)
    ax.pcolormesh(x, y, answer, shading="nearest", rasterized=True, **colours)
    middles = place[task.samples].mean(1)
    twice = task.samples[:, 0] == task.samples[:, 1]
    for which, size in ((~twice, 22), (twice, 150)):
        ax.scatter(
            *middles[which].T,
            c=task.labels[which],
            s=size,
            edgecolors="white",
            linewidths=0.7,
            **colours,
        )
    for symbol, point in enumerate(place):
        ax.text(*point, symbol, ha="center", va="center", fontsize=8, color="white")
    levels = (float(end[f"{part}_accuracy"]) for part in ("train", "validation"))
    ax.set_title(f"{name}\n" + ", ".join(f"{level:.2f}" for level in levels), loc="left")
    ax.set(xticks=[], yticks=[])


FIGURES = {"all": drawn(draw)}
