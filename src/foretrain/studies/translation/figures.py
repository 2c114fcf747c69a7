"""Figures of the study ``translation``, after the note on shared representations, Fig. 1."""

import json

import numpy as np
import xarray as xr

from foretrain.dynamics.program import CONVERGED
from foretrain.figures import Drawing
from foretrain.figures.style import INK, PALETTE, SEQUENTIAL, legend_below, panel_letters, panels

_COLOURS = [PALETTE[name] for name in ("blue", "green", "orange", "vermillion", "sky", "purple")]
_AXES = ("hidden_width", "init_scale", "trained_fraction")
_PAIR = ("input_domain", "output_domain")
_FLOOR = 1e-9  # errors below it are drawn there


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Untrained error against the trained fraction, errors of pairs, stuck losses, and the note's loss mask."""
    data, theory = (_grid(tree[name].to_dataset(), tree) for name in ("simulation", "theory"))
    artefact = _grid(tree["variants/diagonal_only"].to_dataset(), tree)
    words = json.loads(tree.attrs["config"])["parameters"]["words"]
    drawings = {"untrained-error": _untrained(data, theory, words)}
    drawings["pairs"] = _pairs(data, theory)
    if words in data["hidden_width"].values:
        drawings["stuck-loss"] = _stuck(data.sel(hidden_width=words), words)
    drawings["diagonal-mask"] = _diagonal(artefact, words)
    return drawings


def _grid(data, tree):
    fixed = json.loads(tree.attrs["config"])["parameters"]
    # Of axes that are not the study's own the first value is drawn.
    data = data.isel(
        {name: 0 for name in tree.attrs["axes"] if name not in _AXES and name in data.dims}
    )
    for name in reversed(_AXES):
        if name not in data.dims:
            data = data.drop_vars(name, errors="ignore").expand_dims({name: [fixed[name]]})
    return data


def _width_title(width, words):
    ratio = width / words
    return f"H = {width}" + (
        " = D" if ratio == 1 else f" = {ratio:g} D" if ratio.is_integer() else ""
    )


def _mean(errors, pairs):
    return errors.where(pairs).mean(_PAIR)


def _untrained(data, theory, words):
    widths, scales = data["hidden_width"].values, data["init_scale"].values
    figure, axes = panels(1, len(widths), sharey=True, squeeze=False, height=4.6)
    error = _mean(data["pair_error"], data["trained_pairs"] == 0)
    stuck = data["outcome"] != CONVERGED
    fraction = data["trained_fraction"].values
    spread = (np.arange(len(scales)) - (len(scales) - 1) / 2) * 0.008
    for ax, width in zip(axes[0], widths, strict=True):
        for scale, colour, shift in zip(scales, _COLOURS, spread, strict=False):
            at = {"hidden_width": width, "init_scale": scale}
            value = error.sel(at).transpose("trained_fraction", "seed").values
            held = stuck.sel(at).transpose("trained_fraction", "seed").values
            x = np.broadcast_to(fraction[:, None] + shift, value.shape)
            value = np.maximum(value, _FLOOR)
            ax.plot(
                x[~held],
                value[~held],
                "o",
                color=colour,
                markersize=4,
                alpha=0.8,
                linewidth=0,
                label=rf"$\sigma$ = {scale:g}",
            )
            ax.plot(
                x[held],
                value[held],
                "x",
                color=colour,
                markersize=6,
                markeredgewidth=1.6,
                label="stuck run" if scale == scales[0] else None,
            )
        predicted = theory["predicted_untrained_error"].sel(hidden_width=width)
        predicted = predicted.isel(init_scale=0).mean("seed").values
        ax.plot(
            fraction,
            np.maximum(predicted, _FLOOR),
            color=INK,
            linestyle=(0, (4, 2.2)),
            linewidth=1.5,
            drawstyle="steps-mid",
            label="from the graph, small weights",
        )
        ax.axhline(0.5, color="#8a9096", linewidth=1, label="answering nothing")
        ax.set(yscale="log", xlabel="Trained fraction of pairs")
        ax.set_title(_width_title(width, words), loc="left")
    axes[0, 0].set_ylabel("Untrained error")
    panel_letters(axes)
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Error on untrained pairs",
        "Each mark is one run: error averaged over all pairs that were never trained, at the end. Crosses are stuck runs, "
        "which never reached the loss: the note's spikes. Dashed, what the graph of trained pairs predicts for small "
        f"weights (mean over seeds); errors below {_FLOOR:g} are drawn there. Marks of different "
        "scales are set apart a little.",
    )


def _pairs(data, theory):
    fractions = data["trained_fraction"].values
    scale, width = data["init_scale"].values.min(), data["hidden_width"].values[-1]
    counts = theory["component_count"].sel(hidden_width=width, init_scale=scale).isel(seed=0)
    # The last fraction with several components is the one that shows most.
    several = [i for i in range(len(fractions)) if counts.values[i] > 1]
    last = several[-1] if several else 0
    shown = sorted(
        {several[len(several) // 2] if several else 0, last, min(last + 1, len(fractions) - 1)}
    )
    figure, axes = panels(1, len(shown), height=3.6, squeeze=False)
    for ax, place in zip(axes[0], shown, strict=True):
        at = {"hidden_width": width, "init_scale": scale, "trained_fraction": fractions[place]}
        run = data.sel(at).isel(seed=0)
        together = theory["predicted_pair_error"].sel(at).isel(seed=0).transpose(*_PAIR).values == 0
        rows, columns = _order(together, 1), _order(together.T, 1)
        error = run["pair_error"].transpose(*_PAIR).values[np.ix_(rows, columns)]
        trained = run["trained_pairs"].transpose(*_PAIR).values[np.ix_(rows, columns)]
        image = ax.imshow(np.clip(error, 0, 1.5), cmap=SEQUENTIAL, vmin=0, vmax=1.5)
        source, output = np.nonzero(trained)
        ax.plot(output, source, "s", color="white", markersize=3.2, linewidth=0)
        edges = together[np.ix_(rows, columns)]
        _outline(ax, edges)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel("Output language")
        number = int(counts.values[place])
        title = f"{fractions[place]:.0%}, {number} component{'s' * (number > 1)}"
        ax.set_title(title, loc="left")
    axes[0, 0].set_ylabel("Input language")
    figure.colorbar(image, ax=list(axes[0]), label="Error", shrink=0.8, extend="max")
    return Drawing(
        figure,
        "Error of every pair",
        f"Error of every pair of languages at the end, first seed, H = {width}, sigma = {scale:g}. White squares: trained "
        "pairs. Languages are ordered by component, and components are framed: outside a frame pairs do not "
        "translate, inside they do, trained or not, unless single pairs join groups that mirror each other.",
    )


def _order(together, start):
    """Order of rows that puts equal rows, which are components, side by side."""
    keys = [tuple(row) for row in together]
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    return sorted(range(len(keys)), key=lambda index: (first[keys[index]], index))


def _outline(ax, edges):
    """Frame the blocks of true entries."""
    padded = np.pad(edges, 1)
    for row in range(edges.shape[0] + 1):
        for column in range(edges.shape[1]):
            if padded[row, column + 1] != padded[row + 1, column + 1]:
                ax.plot([column - 0.5, column + 0.5], [row - 0.5] * 2, color="white", linewidth=1.2)
    for row in range(edges.shape[0]):
        for column in range(edges.shape[1] + 1):
            if padded[row + 1, column] != padded[row + 1, column + 1]:
                ax.plot([column - 0.5] * 2, [row - 0.5, row + 0.5], color="white", linewidth=1.2)


def _stuck(data, words):
    figure, ax = panels(height=4.2)
    trained = data["trained_pairs"] > 0
    count = ((data["orientation"] < 0) & trained).sum(_PAIR)
    bound = count / (2 * words * trained.sum(_PAIR))
    stuck = data["outcome"] != CONVERGED
    for scale, colour in zip(data["init_scale"].values, _COLOURS, strict=False):
        held = stuck.sel(init_scale=scale).values
        x, y = (
            array.sel(init_scale=scale).values[held] for array in (bound, data["converged_loss"])
        )
        ax.plot(x, y, "o", color=colour, alpha=0.75, label=rf"$\sigma$ = {scale:g}")
    top = 1.15 * max(
        float(bound.where(stuck).max().fillna(0)),
        float(data["converged_loss"].where(stuck).max().fillna(0)),
        1e-3,
    )
    ax.plot([0, top], [0, top], color=INK, linestyle=(0, (4, 2.2)), label="F / (2 D |T|)")
    ax.set(
        xlabel="Trained pairs of negative determinant, as a loss: F / (2 D |T|)",
        ylabel="Loss of stuck runs",
        xlim=(-0.02 * top, top),
        ylim=(0, top),
    )
    ax.legend()
    return Drawing(
        figure,
        "What stuck runs are stuck at",
        "Every stuck run with square factors: its loss against F / (2 D |T|), where F of its |T| trained pairs compute a map "
        "of negative determinant. No loss can lie below the line; on it each such pair misses one mode and everything "
        "else is learned. Runs at zero are merely slow.",
    )


def _diagonal(artefact, words):
    figure, axes = panels(1, artefact.sizes["hidden_width"], sharey=True, squeeze=False, height=4.2)
    untrained = artefact["trained_pairs"] == 0
    scale = artefact["init_scale"].values.min()
    for ax, width in zip(axes[0], artefact["hidden_width"].values, strict=True):
        for name, text, colour in (
            ("pair_diagonal_error", "diagonal entries, as in the note", "blue"),
            ("pair_error", "all entries", "vermillion"),
        ):
            error = _mean(artefact[name], untrained).sel(hidden_width=width, init_scale=scale)
            value = np.maximum(error.transpose("trained_fraction", "seed").values, _FLOOR)
            ax.plot(
                artefact["trained_fraction"].values,
                value,
                "o-",
                color=PALETTE[colour],
                markersize=4,
                linewidth=1.2,
                label=text,
            )
        ax.axhline(
            (words - 1) / 2, color=INK, linestyle=(0, (4, 2.2)), linewidth=1.3, label="(D - 1) / 2"
        )
        ax.axhline(0.5, color="#8a9096", linewidth=1, label="answering nothing")
        ax.set(yscale="log", xlabel="Trained fraction of pairs")
        ax.set_title(_width_title(width, words), loc="left")
    axes[0, 0].set_ylabel("Untrained error")
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "What the note's loss mask learns",
        "Networks trained whose loss sees the diagonal of every block alone, as in the note's figure "
        f"(one seed, sigma = {scale:g}). Measured as they were trained, untrained pairs come for free; with all "
        "entries counted nothing is translated: the networks compute the all-ones matrix, whose error is (D - 1)/2.",
    )
