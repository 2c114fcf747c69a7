"""Figures of the study ``connectivity``: the predicted threshold, errors by kind of pair, precision and recall."""

import json

import numpy as np
import xarray as xr

from foretrain.dynamics.program import CONVERGED
from foretrain.figures import Drawing
from foretrain.figures.style import INK, PALETTE, legend_below, panel_letters, panels, theory_line

_AXES = ("hidden_width", "init_scale", "trained_count")
_COLOURS = [PALETTE[name] for name in ("blue", "green", "orange", "vermillion", "sky", "purple")]
_PAIR = ("input_domain", "output_domain")


def draw(tree: xr.DataTree) -> dict[str, Drawing]:
    """Measured over predicted threshold, distributions of errors, precision and recall."""
    parameters = json.loads(tree.attrs["config"])["parameters"]
    data, theory = (tree[name].to_dataset() for name in ("simulation", "theory"))
    # Of axes that are not the study's own the first value is drawn.
    others = [name for name in tree.attrs["axes"] if name not in _AXES]
    data, theory = (
        part.isel({name: 0 for name in others if name in part.dims}) for part in (data, theory)
    )
    for name in reversed(_AXES):
        if name not in data.dims:
            data, theory = (
                part.drop_vars(name, errors="ignore").expand_dims({name: [parameters[name]]})
                for part in (data, theory)
            )
    below = parameters["generalises_below"]
    converged = data["outcome"] == CONVERGED
    return {
        "threshold": _threshold(data, theory, converged, below),
        "pair-errors": _errors(data, theory, converged, parameters),
        "precision-recall": _precision(data, theory, converged, below),
    }


def _panels_of(widths, **options):
    figure, axes = panels(1, len(widths), sharey=True, squeeze=False, **options)
    for ax, width in zip(axes[0], widths, strict=True):
        ax.set_title(f"H = {width}", loc="left")
    panel_letters(axes)
    return figure, axes[0]


def _threshold(data, theory, converged, below):
    figure, axes = _panels_of(data["hidden_width"].values, height=4.4)
    came = ((data["pair_error"] < below) | (data["trained_pairs"] > 0)).all(_PAIR)
    for ax, width in zip(axes, data["hidden_width"].values, strict=True):
        for scale, colour in zip(data["init_scale"].values, _COLOURS, strict=False):
            at = {"hidden_width": width, "init_scale": scale}
            held = converged.sel(at)
            share = came.where(held).sel(at).mean("seed")
            error = np.sqrt(share * (1 - share) / held.sum("seed"))
            ax.errorbar(
                data["trained_count"],
                share,
                error,
                fmt="o-",
                markersize=4.5,
                linewidth=1.6,
                color=colour,
                alpha=0.85,
                label=rf"$\sigma$ = {scale:g}",
            )
        first = theory.sel(hidden_width=width).isel(init_scale=0)
        ax.plot(
            first["trained_count"],
            first["connection_probability"],
            **theory_line(label="probability that the graph is connected", linewidth=2),
        )
        ax.set(xlabel="Trained pairs", ylim=(-0.04, 1.04))
    axes[0].set_ylabel("Runs in which all pairs generalise")
    legend_below(figure, 3)
    return Drawing(
        figure,
        "Threshold, predicted and measured",
        "Fraction of random masks with which every untrained pair generalises, against the number of trained pairs; bars: "
        "standard error of the fraction. Stuck runs are left out. Dashed, the exact probability that the graph of trained "
        "pairs is connected, computed before training.",
    )


def _errors(data, theory, converged, parameters):
    figure, axes = panels(1, 2, sharey=True, height=4.4)
    expected = theory["predicted_pair_error"]
    untrained = data["trained_pairs"] == 0
    width = data["hidden_width"].values[-1]
    largest, smallest = data["init_scale"].values.max(), data["init_scale"].values.min()
    edges = np.concatenate([[1e-12], np.geomspace(1e-9, 10, 61)])
    for ax, scale in zip(axes, (largest, smallest), strict=True):
        at = {"hidden_width": width, "init_scale": scale}
        for value, text, colour in (
            (0.0, "within a component", "blue"),
            (1.0, "across components", "vermillion"),
            (0.5, "with a language never trained", "orange"),
        ):
            chosen = (untrained & (expected == value) & converged).sel(at)
            errors = (
                data["pair_error"]
                .sel(at)
                .values[chosen.transpose(*data["pair_error"].sel(at).dims).values]
            )
            if errors.size:
                ax.hist(
                    np.maximum(errors, 2e-9),
                    edges,
                    weights=np.full(errors.size, 1 / errors.size),
                    color=PALETTE[colour],
                    alpha=0.7,
                    label=text,
                )
        ax.axvline(
            parameters["generalises_below"], color=INK, linestyle=(0, (4, 2.2)), linewidth=1.3
        )
        ax.set(xscale="log", xlabel="Error of a pair at the end", xlim=(1e-9, 10), yscale="log")
        ax.set_title(rf"$\sigma$ = {scale:g}", loc="left")
    axes[0].set_ylabel("Fraction of the pairs of its kind")
    panel_letters(axes)
    legend_below(figure, 2)
    return Drawing(
        figure,
        "Errors of untrained pairs by their place in the graph",
        f"Errors of all untrained pairs of converged runs at H = {width}, for the largest and the smallest initial scale. "
        "Dashed: below it a pair counts as generalising. Small weights part the kinds by orders of magnitude, "
        "but for pairs across a reflection, near 1/(2 D) and above.",
    )


def _precision(data, theory, converged, below):
    figure, axes = _panels_of(data["hidden_width"].values, height=3.8)
    untrained = (data["trained_pairs"] == 0) & converged
    predicted = untrained & (theory["predicted_pair_error"] == 0)
    came = untrained & (data["pair_error"] < below)
    over = ("seed", "trained_count", *_PAIR)
    hits = (predicted & came).sum(over)
    for ax, width in zip(axes, data["hidden_width"].values, strict=True):
        for share, text, colour, mark in (
            (hits / predicted.sum(over), "precision", "blue", "o-"),
            (hits / came.sum(over), "recall", "vermillion", "s-"),
            (converged.mean(("seed", "trained_count")), "runs that converged", "green", "^--"),
        ):
            ax.plot(
                data["init_scale"],
                share.sel(hidden_width=width),
                mark,
                color=PALETTE[colour],
                label=text,
            )
        ax.set(xscale="log", xlabel=r"Initial scale $\sigma$", ylim=(0.4, 1.03))
    axes[0].set_ylabel("Fraction")
    legend_below(figure, 3)
    return Drawing(
        figure,
        "How well the graph predicts which pairs generalise",
        "Precision: of the untrained pairs predicted to generalise, the fraction that does. Recall: of those that "
        "generalise, the fraction that was predicted. Runs that did not converge are left out of both.",
    )
