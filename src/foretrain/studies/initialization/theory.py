"""The two ends of initialisation: the reduction of the race, and the network linearised at its start."""

import dataclasses
import functools
import math

import numpy as np
import xarray as xr

from foretrain.networks.routing_start import orthogonal_start
from foretrain.plans.grid import LabelledRuns
from foretrain.streams import generator
from foretrain.studies.initialization import study
from foretrain.studies.trained_fraction import study as trained_fraction
from foretrain.theory.mixed_race import gains, random_scheme
from foretrain.theory.pathway_race import half_learning_time, routing_factors
from foretrain.theory.routing_reduction import RoutingReduction, euler
from foretrain.theory.tangent_kernel import TangentKernel, tangent_kernel

# A curve is compared while its loss falls to this share of its start: a long flat end would dilute the deviation.
LEARNED = 0.01


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Both theories on the step grid of the runs, as long as the reduction needs to learn all modes four times over."""
    data = trained_fraction.task(parameters)
    half = half_learning_time(
        parameters.init_scale,
        parameters.init_scale,
        data.singular_values,
        data.variances,
        routing_factors(parameters.domains),
    )
    # nan or negative where a large start is beyond the half: such a mode takes no time.
    slowest = np.nan_to_num(half).max()
    horizon = math.ceil(max(4 * slowest / study.rate(parameters), 400))
    steps = min(parameters.steps, horizon)
    step = np.arange(0, steps + 1, parameters.observe_every)
    learned, race = strongest(parameters), race_loss(parameters, step)
    per_seed = []
    for seed in range(seeds):
        run = reduction(parameters, root_seed, seed, min(parameters.init_scale, learned), steps)
        kernel = kernel_of_seed(parameters, root_seed, seed)
        scale, rate = parameters.init_scale, study.rate(parameters)
        loss, untrained = kernel.errors(step, rate, scale)
        limit = kernel.errors(np.array([np.inf]), rate, scale)[1]
        per_seed.append(
            xr.Dataset(
                {
                    "loss": ("step", run.loss()),
                    "race_loss": ("step", race),
                    "lazy_loss": ("step", loss),
                    "lazy_untrained_error": ("step", untrained),
                    "lazy_limit": ((), float(limit[0])),
                }
            )
        )
    return xr.concat(per_seed, "seed").assign_coords(
        {"step": step, **study.coordinates(parameters, step)}
    )


def strongest(parameters) -> float:
    """(S/D)^(1/3) of the first mode: a reduction that starts above it has nothing to learn, and may diverge."""
    data = trained_fraction.task(parameters)
    return float((data.singular_values / data.variances).max() ** (1 / 3))


def race_loss(parameters: study.Parameters, step: np.ndarray) -> np.ndarray:
    """Loss of the race from wide random weights, in closed form, at numbers of steps, shape (step,)."""
    data, time = trained_fraction.task(parameters), step * study.rate(parameters)
    scheme = [random_scheme(parameters.init_scale, routing_factors(parameters.domains))]
    loss = np.full(len(step), data.unexplained_power / 2)
    for s, d in zip(data.singular_values, data.variances, strict=True):
        loss += 0.5 * (s - d * gains(time, scheme, s, d)[:, 0]) ** 2 / d
    return loss


def reduction(parameters, root_seed: int, seed: int, start, steps: int) -> RoutingReduction:
    """Euler steps of the reduction of one seed's mask, from one strength or an array of them."""
    data = trained_fraction.task(parameters)
    pairs = trained_fraction.mask(parameters, root_seed, seed)
    return euler(
        data.singular_values,
        data.variances,
        pairs,
        start,
        study.rate(parameters),
        steps,
        parameters.observe_every,
    )


def kernel_of_seed(parameters: study.Parameters, root_seed: int, seed: int) -> TangentKernel:
    """The tangent kernel at a seed's draw of weights, scale 1; kept, since it serves every scale and step."""
    return _kernel(dataclasses.replace(parameters, **_NOT_IN_KERNEL), root_seed, seed)


_NOT_IN_KERNEL = {
    "init_scale": 1.0,
    "learning_rate": 1.0,
    "loss_tolerance": 1.0,
    "patience": 1,
    "steps": 1,
    "observe_every": 1,
    "precision": "float64",
}


@functools.lru_cache(maxsize=16)
def _kernel(parameters, root_seed, seed):
    data = trained_fraction.task(parameters)
    inputs, targets = data.inputs[0], data.targets[0]
    start = orthogonal_start(
        generator(root_seed, seed, "weights"),
        parameters.domains,
        parameters.hidden_width,
        len(inputs),
        len(targets),
    )
    pairs = trained_fraction.mask(parameters, root_seed, seed)
    return tangent_kernel(*start, inputs, targets, pairs)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """How far each seed's loss is from the linearised network and from the reduction with a fitted start, by seed."""
    p, parts = runs.parameters, []
    for seed in range(runs.seeds):
        loss = runs.simulation["loss"].isel(seed=seed).dropna("step").values
        rich = lazy = start = race = np.nan
        if loss.size > 1 and np.isfinite(loss).all():
            window = falling(loss)
            step = np.arange(window.size) * p.observe_every
            kernel = kernel_of_seed(p, runs.root_seed, seed)
            linear, _ = kernel.errors(step, study.rate(p), p.init_scale)
            lazy = np.abs(linear - window).mean() / window[0]
            race = np.abs(race_loss(p, step) - window).mean() / window[0]
            start, rich = _closest_reduction(p, runs.root_seed, seed, window)
        parts.append(
            xr.Dataset(
                {
                    "rich_deviation": rich,
                    "race_deviation": race,
                    "lazy_deviation": lazy,
                    "fitted_start": start,
                },
            )
        )
    return xr.concat(parts, "seed")


def falling(loss: np.ndarray) -> np.ndarray:
    """The part of a loss curve until it has fallen to 1% of its start for good, at least two observations."""
    high = np.flatnonzero(loss > LEARNED * loss[0])
    return loss[: max(int(high[-1]) + 2, 2)]


def _closest_reduction(p, root_seed, seed, loss) -> tuple[float, float]:
    low, high = 0.01 * p.init_scale, min(3 * p.init_scale, strongest(p))
    steps = (loss.size - 1) * p.observe_every
    for _ in range(2):
        starts = np.geomspace(low, high, 61)
        curves = reduction(p, root_seed, seed, starts, steps).loss()
        gap = np.abs(curves - loss[:, None]).mean(0)
        best = int(gap.argmin())
        low, high = starts[max(best - 1, 0)], starts[min(best + 1, starts.size - 1)]
    return float(starts[best]), float(gap[best] / loss[0])
