"""Sentences of every study of routing networks: that the routes which were trained are those the mask names."""

from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import Exact, sentence
from foretrain.measures.trajectory import at_end
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
    data, gaps = cell.simulation, []
    end = at_end(data[["loss", "untrained_error"]])
    for outputs in cell.values("trained_outputs"):
        p = replace(cell.parameters, trained_outputs=outputs)
        for number in range(cell.seeds):
            pairs, place = mask(p, cell.seed(number)), {"trained_outputs": outputs}
            for run in range(data.sizes["init_scale"]):
                at = {"seed": number, "init_scale": run}
                error = _by_pair(data["pair_error"].sel(place).isel(at))
                first = float(data["loss"].sel(place).isel(at).isel(step=0))
                if not np.isfinite([first, *error.ravel()]).all():
                    continue
                gaps.append(
                    np.abs(_by_pair(data["trained_pairs"].sel(place).isel(at)) - pairs).max()
                )
                for name, chosen in (("loss", pairs == 1), ("untrained_error", pairs == 0)):
                    mean = error[chosen].mean() if chosen.any() else 0.0
                    last = max(float(end[name].sel(place).isel(at)), 0.0)
                    gaps.append(abs(np.sqrt(last) - np.sqrt(mean)) / np.sqrt(first))
    return Exact(float(np.max(gaps)) if gaps else np.nan, "" if gaps else NO_RUN)


def _by_pair(values) -> np.ndarray:
    return values.transpose("input_domain", "output_domain").values.astype(float)


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
