"""What the reduction predicts of networks that learn exclusive-or, from derived starts and from fitted ones."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.curve_deviation import closest
from foretrain.study import DIVERGED, Grid, Seed
from foretrain.theory.exclusive_or import (
    closed_form,
    descent,
    gated_strengths,
    loss_of,
    rectified_strengths,
)

from .gatings import agreement, candidates
from .study import Parameters, decoupled_strength, natural_strength
from .training import start_weights

_FITTED = np.geomspace(1e-3, 10, 201)  # starts that are tried, in units of N_h sigma_0^2


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """A seed's loss and strengths from the start derived from its own initial weights; nothing is fitted.

    The network's own prediction is that of `p.network`; beside it stand the gated network, the closed form from the
    decoupled start, and the candidate gatings.
    """
    gated = own = gated_strengths(start_weights(replace(p, network="gated"), seed))
    if p.network == "relu":
        own = rectified_strengths(start_weights(p, seed))
    strengths = descent(np.array([own, gated]), p.learning_rate, p.steps, every=p.observe_every)
    decoupled = np.array([decoupled_strength(p) ** 2])
    return {
        "loss": loss_of(strengths[:, 0]),
        "example_strength": strengths[:, 0],
        "start_strength": own,
        "gated_start_strength": gated,
        "gated_loss": loss_of(strengths[:, 1]),
        "closed_form_loss": closed_form(decoupled, step * p.learning_rate)[:, 0],
        **candidates(decoupled_strength(p)),
    }


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Fitted a_0 of every seed, by the closed form and by descent of the reduction; nan for a seed that diverged.

    Beside it how far a ReLU network's gates agree with each gating, and, fitted by descent: the loss of the gated network,
    and the loss predicted from the derived start, for comparison.
    """
    p, run = cell.parameters, cell.simulation
    time = np.arange(0, p.steps + 1, p.observe_every) * p.learning_rate
    starts = _FITTED * natural_strength(p)
    pathways = descent(starts, p.learning_rate, p.steps, every=p.observe_every)
    descents = loss_of(np.repeat(pathways[..., None], 4, -1))
    fitted = lambda losses: [closest(starts, descents, loss) for loss in losses]  # noqa: E731
    own, flows = _losses(run), closed_form(starts, time)
    closed = np.array([closest(starts, flows, loss) for loss in own])
    curves = np.full((cell.seeds, run.sizes["step"]), np.nan)
    known = np.isfinite(closed)
    curves[known] = closed_form(closed[known], run["step"].values * p.learning_rate).T
    found = {
        "fitted_strength": closed,
        "fitted_descent_strength": fitted(own),
        "fitted_gated_strength": fitted(_losses(cell.variants["gated"])),
        "derived_descent_strength": fitted(cell.by_seed("loss").transpose("seed", "step").values),
        "fitted_closed_form_loss": curves,
    }
    if p.network == "relu":
        seeds = range(cell.seeds)
        found["gating_agreement"] = [agreement(run.isel(seed=number)) for number in seeds]
    return {name: np.array(values) for name, values in found.items()}


def _losses(data) -> list[np.ndarray]:
    """Loss of every run as far as it went; empty for one that diverged."""
    whole = data["outcome"].transpose("seed").values != DIVERGED
    rows = data["loss"].transpose("seed", "step").values
    return [row[np.isfinite(row) & kept] for row, kept in zip(rows, whole, strict=True)]
