"""What the reduction predicts of a routing study, from its decoupled start or from a fitted one."""

import numpy as np
import xarray as xr

from foretrain.dynamics.program import DIVERGED
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.routing import study
from foretrain.theory.routing_reduction import RoutingReduction, euler


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """The reduction, by Euler with the run's own step from the decoupled start at `init_scale`.

    Random masks and digits differ between seeds, and so does their prediction: then there is a `seed` dim.
    """
    varies = parameters.mask == "random_rows" or parameters.data == "digits"
    per_seed = [
        predict_from(parameters, root_seed, seed, parameters.init_scale)
        for seed in range(seeds if varies else 1)
    ]
    return xr.concat(per_seed, "seed") if varies else per_seed[0]


def predict_from(
    parameters: study.Parameters, root_seed: int, seed: int, start: float
) -> xr.Dataset:
    """The reduction of one seed's task, every mode and layer starting at strength `start`."""
    pairs = study.mask(parameters, root_seed, seed)
    data = study.task(parameters, root_seed, seed)
    run = reduction(parameters, root_seed, seed, start)
    error = run.pair_error() + data.unexplained_power / 2
    step = np.arange(0, parameters.steps + 1, parameters.observe_every)
    mean = lambda values, weight: (values * weight).sum((1, 2)) / max(weight.sum(), 1)  # noqa: E731
    layers = (run.encoders.mean(1), run.hidden, run.decoders.mean(1))
    strength = (run.route_strength() * pairs[:, :, None]).sum((1, 2)) / pairs.sum()
    return xr.Dataset(
        {
            "loss": ("step", mean(error, pairs)),
            "untrained_error": ("step", mean(error, 1 - pairs)),
            "singular_values": (("step", "layer", "mode"), np.stack(layers, 1)),
            "mode_strength": (("step", "mode"), strength),
            "mode_singular_value": ("mode", data.singular_values),
            "mode_variance": ("mode", data.variances),
        },
        coords={"step": step, **study.coordinates(parameters, step)},
    )


def reduction(parameters: study.Parameters, root_seed: int, seed: int, start) -> RoutingReduction:
    """Euler steps of the reduction of one seed's task, from one strength or an array of them."""
    data = study.task(parameters, root_seed, seed)
    return euler(
        data.singular_values,
        data.variances,
        study.mask(parameters, root_seed, seed),
        start,
        study.paper_rate(parameters),
        parameters.steps,
        parameters.observe_every,
    )


def fitted_start(
    parameters: study.Parameters, root_seed: int, seed: int, loss: np.ndarray
) -> float:
    """The start whose reduction lies closest to a measured loss curve, shape (step,), in mean absolute deviation.

    Searched from 1/100 to 3 times `init_scale`, to a relative precision of a tenth of a percent.
    """
    low, high = 0.01 * parameters.init_scale, 3 * parameters.init_scale
    unexplained = study.task(parameters, root_seed, seed).unexplained_power / 2
    for _ in range(2):
        starts = np.geomspace(low, high, 81)
        curves = reduction(parameters, root_seed, seed, starts).loss()[: loss.size] + unexplained
        best = int(np.abs(curves - loss[:, None]).mean(0).argmin())
        low, high = starts[max(best - 1, 0)], starts[min(best + 1, 80)]
    return float(starts[best])


def fit(runs: LabelledRuns) -> xr.Dataset:
    """Fitted start of every seed, with the reduction's loss and mode strengths from there; nan for a seed that diverged."""
    fitted = []
    for seed in range(runs.seeds):
        loss = runs.simulation["loss"].isel(seed=seed)
        whole = loss.dropna("step")
        usable = whole.size > 1 and int(runs.simulation["outcome"][seed]) != DIVERGED
        args = (runs.parameters, runs.root_seed, seed)
        start = fitted_start(*args, whole.values) if usable else np.nan
        theory = predict_from(*args, start if usable else runs.parameters.init_scale)
        names = {"loss": "fitted_loss", "mode_strength": "fitted_mode_strength"}
        curves = theory[list(names)].rename(names)
        fitted.append((curves if usable else curves * np.nan).assign(fitted_start=start))
    return xr.concat(fitted, "seed")
