"""Predictions of the reduction for networks that learn exclusive-or, from derived starts and from fitted ones."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.learning_curves.curve_deviation import closest
from foretrain.study import DIVERGED, Grid, Seed
from foretrain.theory.pathways import exclusive_or

from .study import Parameters, agreement, candidates, decoupled_strength, natural_strength
from .training import start_weights

_FITTED = np.geomspace(1e-3, 10, 201)  # starts that are tried, in units of N_h sigma_0^2


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict[str, np.ndarray]:
    """Predict a seed's loss and strengths from the start derived from its own initial weights; nothing is fitted.

    The network's own prediction is that of `p.network`; beside it stand the gated network, the closed form from the
    decoupled start, and the candidate gatings.
    """
    gated = own = exclusive_or.gated_strengths(start_weights(replace(p, network="gated"), seed))
    if p.network == "relu":
        own = exclusive_or.rectified_strengths(start_weights(p, seed))
    strengths = exclusive_or.descent(
        np.array([own, gated]), p.learning_rate, p.steps, every=p.observe_every
    )
    decoupled = np.array([decoupled_strength(p) ** 2])
    return {
        "loss": exclusive_or.loss_of(strengths[:, 0]),
        "example_strength": strengths[:, 0],
        "start_strength": own,
        "gated_start_strength": gated,
        "gated_loss": exclusive_or.loss_of(strengths[:, 1]),
        "closed_form_loss": exclusive_or.closed_form(decoupled, step * p.learning_rate)[:, 0],
        **candidates(decoupled_strength(p)),
    }


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Fit the a_0 of every seed by the closed form, with the curve from it; nan for a seed that diverged.

    Beside them is how far a ReLU network's gates agree with each gating.
    """
    p, run = cell.parameters, cell.simulation
    time = np.arange(0, p.steps + 1, p.observe_every) * p.learning_rate
    starts = _FITTED * natural_strength(p)
    flows, fitted = exclusive_or.closed_form(starts, time), np.full(cell.seeds, np.nan)
    losses, kept = run["loss"].transpose("seed", "step").values, run["outcome"].values != DIVERGED
    for number in np.flatnonzero(kept):
        fitted[number] = closest(starts, flows, losses[number][np.isfinite(losses[number])])
    known, curves = np.isfinite(fitted), np.full(losses.shape, np.nan)
    curves[known] = exclusive_or.closed_form(fitted[known], run["step"].values * p.learning_rate).T
    fits = {"fitted_strength": fitted, "fitted_closed_form_loss": curves}
    if p.network == "relu":
        seeds = range(cell.seeds)
        fits["gating_agreement"] = np.array([agreement(run.isel(seed=n)) for n in seeds])
    return fits
