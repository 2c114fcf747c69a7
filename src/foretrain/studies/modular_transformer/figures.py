"""Figures of ``modular-transformer``, after Liu et al. (2022), Figs. 1, 7, 21 and 22."""

from functools import partial

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap

from foretrain.figures import Drawing, finished
from foretrain.figures.style import PALETTE, legend_below, panels, simulation_line
from foretrain.quantities.frequency import frequency_shares, principal_axes
from foretrain.study import drawn
from foretrain.training.embedding import PHASES
from foretrain.training.transformer import AXES_OF

from .claims import MAP, snapshots

_COLOURS = [PALETTE[name] for name in ("sky", "orange", "vermillion", "black")]
_LOOKS = {"final": "-", "current": ":", "random": (0, (1, 3))}


def draw(grid):
    """Curves, circles and projections of the run of the median delay; the map of phases."""
    drawings = {}
    cell, words = grid.first()
    seed = _late(cell.simulation)
    run = cell.simulation.isel(seed=seed)
    words = f" Seed {seed}.{words}"
    drawings["learning-curve"] = partial(_curves, run, words)
    if run.sizes["coordinate"] > 1:
        drawings["circles"] = partial(_circles, cell.simulation, seed, words)
    drawings["projections"] = partial(_projections, run, words)
    if all(len(grid.axes.get(name, ())) > 1 for name in MAP):
        part, words = grid.first(keep=MAP)
        drawings["phases"] = partial(_phases, part.along(*MAP), words)
    return drawings


def _late(data):
    """The run of the median delay from fit to generalisation, of those that generalised; else the first."""
    delay = (data["validation_step"] - data["train_step"]).values
    order = np.argsort(delay)  # with nan last
    return int(order[max(0, np.isfinite(delay).sum() - 1) // 2])


def _marks(ax, run):
    for name, style, words in (
        ("train_step", ":", "fitted"),
        ("validation_step", "--", "generalised"),
    ):
        if np.isfinite(run[name]):
            line = {"color": "#9aa0a6", "linestyle": style, "linewidth": 1.2, "label": words}
            ax.axvline(max(1, float(run[name])), **line)


def _curves(run, words):
    figure, (left, right) = panels(1, 2, height=3.6)
    step = np.maximum(run["step"].values, 1)
    for name, colour in (("train", "blue"), ("validation", "vermillion")):
        line = simulation_line(PALETTE[colour], label=name)
        left.plot(step, run[f"{name}_accuracy"], **line)
    right.plot(step, run["effective_dimension"], **simulation_line(PALETTE["green"]))
    for ax, label in ((left, "Accuracy"), (right, "Effective dimension")):
        ax.set(xscale="log", xlabel="Step", ylabel=label)
        _marks(ax, run)
    caption = "Accuracies, and exponential of the entropy of the embeddings' principal variances. Vertical lines: first steps "
    caption += "with the accuracy wanted in training (dotted) and in validation (dashed)."
    return finished(figure, "Learning curves", caption + words)


def _circles(data, seed, words):
    one = data.isel(seed=[seed])
    times = {
        "start": np.zeros(1),
        "fitted": one["train_step"].values,
        "generalised": one["validation_step"].values,
        "end": np.full(1, np.inf),
    }
    found = {name: snapshots(one, np.nan_to_num(at))[0] for name, at in times.items()}
    end, start = found["end"], found["start"]
    symbols, frequency = len(end), int(frequency_shares(end).argmax()) + 1
    angle = 2 * np.pi * frequency * np.arange(symbols) / symbols
    waves = np.stack([np.cos(angle), np.sin(angle)]) @ (end - end.mean(0))
    along = np.linalg.svd(waves, full_matrices=False)[2]
    shown = [(name, values, principal_axes(values, 2)) for name, values in found.items()]
    shown.append((f"end, frequency {frequency}", end, along))
    shown.append(("start, axes of the end", start, principal_axes(end, 2)))
    figure, axes = panels(2, 3, height=5.2)
    order = np.argsort(np.arange(symbols) * frequency % symbols)
    order = np.append(order, order[0])
    for ax, (name, values, of) in zip(axes.flat, shown, strict=True):
        plane = (values - values.mean(0)) @ of.T
        ax.plot(*plane[order].T, color="#c5c9cd", linewidth=0.8)
        ax.scatter(*plane.T, c=np.arange(symbols), cmap="cividis", s=4)
        for number in _apart(plane):
            ax.annotate(str(number), plane[number], fontsize=8)
        ax.set(xticks=[], yticks=[])
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_title(name, loc="left")
    caption = (
        "Embeddings on their first two principal axes, at the last snapshot not after each step; those of the end on the axes "
        f"of frequency {frequency}, the strongest there; those of the start on the principal axes of the end. Lines join "
        "symbols in the order of that frequency; numbers that would meet are left out."
    )
    return Drawing(figure, "Circles", caption + words)


def _apart(plane) -> list[int]:
    """Points, of (point, 2), of which none lies so near to another that their numbers would meet."""
    least = np.array([0.075, 0.05]) * np.ptp(plane, axis=0).max()
    found: list[int] = []
    for number, place in enumerate(plane):
        if (np.abs(plane[found] - place) > least).any(1).all():
            found.append(number)
    return found


def _projections(run, words):
    ranks = run["rank"].values
    figure, axes = panels(1, len(ranks), sharey=True, height=3.4, squeeze=False)
    step = np.maximum(run["snapshot_step"].values, 1)
    for ax, rank in zip(axes[0], ranks, strict=True):
        for of, colour in zip(AXES_OF, ("vermillion", "blue", "black"), strict=True):
            values = run["projected_accuracy"].sel(rank=rank, axes_of=of)
            line = simulation_line(PALETTE[colour], linestyle=_LOOKS[of], linewidth=2)
            ax.plot(step, values.transpose("snapshot"), label=f"{of} axes", **line)
        whole = run["validation_accuracy"]
        ax.plot(np.maximum(run["step"], 1), whole, color="#9aa0a6", label="all axes", linewidth=1)
        ax.set(xscale="log", xlabel="Step")
        ax.set_title(f"{rank} axes", loc="left")
        _marks(ax, run)
    axes[0, 0].set_ylabel("Validation accuracy")
    legend_below(figure, 4)
    caption = "Validation accuracy of the network of each snapshot with its embeddings on a few axes only: principal axes of "
    caption += "the end, those of the snapshot, or random ones."
    return Drawing(figure, "Projected embeddings", caption + words)


def _phases(grid, words):
    phase = grid.simulation["phase"].transpose(*MAP, "seed").values
    rates, decays = (grid.values(name) for name in MAP)
    figure, axes = panels(1, 2, height=3.8)
    share = np.stack([(phase == code).mean(2) for code in range(len(PHASES))])
    shown = np.where(np.isin(phase, range(len(PHASES))).all(2), share.argmax(0), np.nan)
    colours = ListedColormap(_COLOURS)
    axes[0].imshow(
        shown.T,
        origin="lower",
        cmap=colours,
        norm=BoundaryNorm(np.arange(5) - 0.5, 4),
        aspect="auto",
    )
    for place in np.ndindex(*shown.shape):
        if np.isfinite(shown[place]):
            axes[0].text(
                *place, f"{share[:, *place].max():.0%}", ha="center", va="center", color="white"
            )
    for name, colour in zip(PHASES, _COLOURS, strict=True):
        axes[0].plot([], [], "s", color=colour, label=name)
    steps = grid.simulation["validation_step"].transpose(*MAP, "seed").values
    middle = np.sort(np.where(np.isnan(steps), np.inf, steps), axis=2)[..., steps.shape[2] // 2]
    picture = axes[1].imshow(np.log10(middle).T, origin="lower", aspect="auto")
    figure.colorbar(picture, ax=axes[1], label="Log10 of median step")
    for ax in axes:
        ax.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        ax.set_yticks(range(len(decays)), [f"{decay:g}" for decay in decays])
        ax.set(xlabel="Learning rate of the decoder", ylabel="Decay of the decoder")
    axes[0].set_title("Commonest phase", loc="left")
    axes[1].set_title("Generalisation (blank: never)", loc="left")
    legend_below(figure, 4)
    caption = "Left: the commonest phase of each cell and its share of seeds. Right: median step of generalisation."
    return Drawing(figure, "Phases", caption + words)


FIGURES = {"all": drawn(draw)}
