"""Sentences of every study of routing networks: that the routes which were trained are those the mask names."""

from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import sentence
from foretrain.quantities.measured import Exact
from foretrain.quantities.trajectory import at_end
from foretrain.training.routing import mask

OURS = "docs/theory/routing.md"
AXES = ("trained_outputs", "init_scale")
NO_RUN = "No run has an end that could be looked at."


@sentence(
    "The routes that were trained are those of the mask; the loss is the mean error of just these, the untrained error that "
    "of the others.",
    source=OURS,
    predicted=0,
    allowed=(0, 1e-5),
    over=AXES,
    why="Masks are drawn again and compared: one route more or less counts one. Errors compare by their roots, over that of "
    "the loss at the start, where single precision leaves some 1e-6.",
)
def same_mask(cell):
    drawn, error = drawn_masks(cell), by_pair(cell, "pair_error")
    first = np.sqrt(by_run(cell.simulation["loss"].isel(step=0)))
    gaps = [np.abs(by_pair(cell, "trained_pairs") - drawn).max((-2, -1))]
    for name, chosen in (("loss", drawn), ("untrained_error", 1 - drawn)):
        mean = (error * chosen).sum((-2, -1)) / np.maximum(chosen.sum((-2, -1)), 1)
        last = np.maximum(by_run(at_end(cell.simulation[name])), 0)
        gaps.append(np.abs(np.sqrt(last) - np.sqrt(mean)) / first)
    return worst(np.array(gaps)[:, np.isfinite(error).all((-2, -1)) & np.isfinite(first)])


def drawn_masks(cell) -> np.ndarray:
    """The masks of all runs drawn again, shape (K, 1, seed, input_domain, output_domain)."""
    each = [replace(cell.parameters, trained_outputs=k) for k in cell.values("trained_outputs")]
    numbers = range(cell.seeds)
    return np.array([[[mask(p, cell.seed(number)) for number in numbers]] for p in each])


def by_run(values) -> np.ndarray:
    """A number of every run, shape (K, init_scale, seed)."""
    return values.transpose(*AXES, "seed").values.astype(float)


def by_pair(cell, name: str) -> np.ndarray:
    """A number of every pair of every run, shape (K, init_scale, seed, input_domain, output_domain)."""
    order = (*AXES, "seed", "input_domain", "output_domain")
    return cell.simulation[name].transpose(*order).values.astype(float)


def worst(gaps: np.ndarray) -> Exact:
    """The largest of some deviations."""
    return Exact(float(gaps.max()) if gaps.size else np.nan, "" if gaps.size else NO_RUN)


@sentence(
    "Weights move along the descent direction of the trained routes alone: no gradient comes from an untrained one.",
    source=OURS,
    predicted=0,
    allowed=lambda cell: (0, 1e-3 if cell.parameters.precision == "float32" else 1e-10),
    over=AXES,
    why="Two ways to one gradient differ by rounding, one route more or less of KM by about its share, 1/(KM).",
    note="Largest distance of the first step's direction from that of the error on the stored routes, over its length.",
)
def trained_routes_alone(cell):
    return Exact(float(cell.simulation["gradient_gap"].max()))
