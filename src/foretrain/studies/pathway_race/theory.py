"""What the closed forms of the race predict of a pathway-race study."""

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from foretrain.measures.learning_time import half_learning_times
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.pathway_race import study
from foretrain.theory.mixed_race import (
    Scheme,
    decoupled_scheme,
    descend,
    final_gains,
    gains,
    half_time,
    random_scheme,
)
from foretrain.theory.pathway_race import race_factors

POINTS = 160


def predict(parameters: study.Parameters) -> xr.Dataset:
    """The modules of one P from wide random weights, the reduction from equal starts, and who wins the mixed race.

    With shared encoders there is no closed form from random weights: those entries are nan.
    """
    data = study.task(parameters)
    modes = list(zip(data.singular_values, data.variances, strict=True))
    m, scale = parameters.domains, parameters.init_scale
    factors = study.part_factors(parameters)[0]
    equal = [half_time([_equal(scale, factors, s / d)], s, d) for s, d in modes]
    unknown = np.full(len(modes), np.nan)
    found = {
        "half_learning_time": unknown,
        "full_sharing_share": unknown,
        "handicapped_share": unknown,
    }
    elapsed = np.linspace(0, 8 * max(equal), POINTS)
    strength = np.full((POINTS, 1, len(modes)), np.nan)
    if not parameters.shared_encoders:
        own = random_scheme(scale, factors)
        elapsed = np.linspace(0, 1.6 * max(half_time([own], s, d) for s, d in modes), POINTS)
        strength = np.stack([gains(elapsed, [own], s, d) for s, d in modes], axis=-1)
        found["half_learning_time"] = np.array([half_time([own], s, d) for s, d in modes])
        for name, ratio in (
            ("full_sharing_share", parameters.full_sharing_scale),
            ("handicapped_share", study.handicap(parameters)),
        ):
            race = [own, random_scheme(scale * ratio, race_factors(m, m**2))]
            found[name] = np.array([final_gains(race, s, d)[1] * d / s for s, d in modes])
    return xr.Dataset(
        {
            "elapsed": ("step", elapsed),
            "part_strength": (("step", "part", "mode"), strength),
            "equal_start_half_time": ("mode", np.array(equal)),
            **{name: ("mode", values) for name, values in found.items()},
        },
        coords={"step": np.arange(POINTS), "part": ["modules"]},
    )


def _equal(start, factors, optimum) -> Scheme:
    # A start beyond the half has no half-learning time: one just below it learns at once.
    return decoupled_scheme(*2 * (min(start, 0.99 * (optimum / 2) ** (1 / 3)),), factors)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """Half-learning times of every seed, and the equal start of the reduction that has that of mode 1."""
    data, factors = study.task(runs.parameters), study.part_factors(runs.parameters)[0]
    s, d = data.singular_values[0], data.variances[0]
    times = half_times(runs.simulation, data)
    return xr.Dataset(
        {
            "measured_half_time": (("seed", "mode"), times),
            "effective_overlap": (
                "seed",
                [
                    effective_start(time, s, d, factors) / runs.parameters.init_scale
                    for time in times[:, 0]
                ],
            ),
        }
    )


def half_times(simulation: xr.Dataset, data) -> np.ndarray:
    """Times at which the modes are half learned by all parts together, shape (seed, mode); nan where they are not."""
    optimum = data.singular_values / data.variances
    found = []
    for seed in range(simulation.sizes["seed"]):
        run = simulation.isel(seed=seed)
        strength = run["part_strength"].sum("part", skipna=False).transpose("step", "mode").values
        kept = np.isfinite(strength).all(1)
        found.append(half_learning_times(run["elapsed"].values[kept], strength[kept], optimum))
    return np.stack(found)


def effective_start(time: float, singular_value, input_variance, factors) -> float:
    """The equal start b = B1 = B2 of the reduction whose half-learning time is `time`; nan if there is none."""
    top = (singular_value / input_variance / 2) ** (1 / 3)

    def excess(log_start):
        scheme = decoupled_scheme(np.exp(log_start), np.exp(log_start), factors)
        return half_time([scheme], singular_value, input_variance) - time

    low, high = np.log(1e-9 * top), np.log(0.999 * top)
    if not (np.isfinite(time) and excess(low) > 0 > excess(high)):
        return np.nan
    return float(np.exp(brentq(excess, low, high, rtol=1e-6)))


def decoupled_run(parameters: study.Parameters, steps: int) -> np.ndarray:
    """Strengths of all parts by Euler with the run's own step, shape (steps + 1, part, mode)."""
    data, scales = study.task(parameters), np.array(study.part_scales(parameters))[:, None]
    b1, b2 = descend(
        study.descent_step(parameters),
        steps,
        scales,
        scales,
        data.singular_values,
        data.variances,
        study.part_factors(parameters),
    )
    return b2 * b1**2
