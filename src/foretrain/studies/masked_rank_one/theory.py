"""What the linearised flow predicts of each seed of the masked rank-one study."""

import functools

import numpy as np
import xarray as xr

from foretrain.plans.grid import LabelledRuns
from foretrain.studies.masked_rank_one import study
from foretrain.theory.masked_rank_one import alignment_exponent
from foretrain.theory.masked_rank_one_escape import (
    EarlyFlow,
    blow_up_time,
    early_flow,
    early_weights,
    squared_scale,
    time_at,
)

# Seeds whose whole trajectory is held against the closed forms; the others are compared at their stages' times only.
FOLLOWED = 20


def predict(parameters: study.Parameters, root_seed: int, seeds: int) -> xr.Dataset:
    """Escape from a start of unit scale, rescaled: times are exactly proportional to 1/sigma."""
    values = [unit_prediction(_unit(parameters), root_seed, seed) for seed in range(seeds)]
    turns, times, largest, exponents = (np.array(column) for column in zip(*values, strict=True))
    return xr.Dataset(
        {
            "turns": ("seed", turns),
            "blow_up_time": ("seed", times / parameters.init_scale),
            "largest_singular_value": ("seed", largest),
            "alignment_exponent": ("seed", exponents),
        }
    )


def _unit(parameters):
    """The parameters that a draw depends on."""
    return study.Parameters(
        domains=parameters.domains, trained_fraction=parameters.trained_fraction
    )


@functools.lru_cache(maxsize=100_000)
def unit_prediction(parameters, root_seed, seed) -> tuple[bool, float, float, float]:
    """Whether s changes sign, time to infinite S, s_1 and 1 - s_2/s_1, from the start of unit scale."""
    early = early_flow(*study.draw(parameters, root_seed, seed))
    values = early.singular_values
    turns = bool(np.isfinite(early.turning_point))
    return turns, blow_up_time(early), float(values[0]), alignment_exponent(values)


def fit(runs: LabelledRuns) -> xr.Dataset:
    """The linearised flow along the runs of one cell until they escape, for the first `FOLLOWED` seeds, nan for others."""
    p, data = runs.parameters, runs.simulation
    seeds, steps, modes = data.sizes["seed"], data.sizes["step"], p.domains
    scale, amplitude = np.full((seeds, steps), np.nan), np.full((seeds, steps, modes), np.nan)
    names = ("stage_deviation", "stage_time_deviation", "stage_neglected")
    at_stages = {name: np.full((seeds, len(study.STAGES)), np.nan) for name in names}
    for seed in range(min(seeds, FOLLOWED)):
        drawn = study.draw(p, runs.root_seed, seed)
        sigma = p.init_scale
        early = early_flow(
            drawn.trained_pairs, sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale
        )
        run = data.isel(seed=seed)
        before = run["solver_time"].values <= run["stage_time"].values[study.ESCAPE]
        for step in np.flatnonzero(before):
            progress, now = float(run["progress"][step]), float(run["shared_scale"][step])
            left, right, scale[seed, step] = closed_form(early, progress, now)
            parts = early.left.T @ left, early.right.T @ right
            amplitude[seed, step] = np.sqrt((parts[0] ** 2 + parts[1] ** 2) / 2)
        for stage in np.flatnonzero(np.isfinite(run["stage_time"].values)):
            values = _at_stage(early, drawn.trained_pairs, run.isel(stage=stage))
            for name, value in zip(names, values, strict=True):
                at_stages[name][seed, stage] = value
    return xr.Dataset(
        {
            "early_scale": (("seed", "step"), scale),
            "early_mode_amplitude": (("seed", "step", "mode"), amplitude),
            **{name: (("seed", "stage"), values) for name, values in at_stages.items()},
        },
        coords={"step": data["step"], "stage": data["stage"]},
    )


def closed_form(
    early: EarlyFlow, progress: float, scale: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """u, v and s of the linearised flow at S; of the two signs of s, that of `scale`."""
    place = early.sign * progress
    left, right, log_size = early_weights(early, place)
    size = np.exp(log_size)
    # A run that is a rounding error away from its turning point may be past that of the linearised flow.
    magnitude = np.sqrt(max(squared_scale(early, place), 0.0))
    return size * left, size * right, float(np.copysign(magnitude, scale))


def _at_stage(early, trained, run):
    """Relative deviation of weights and of time from the closed forms, and the size of what these neglect."""
    u, v, s = run["stage_left"].values, run["stage_right"].values, float(run["stage_scale"])
    progress, time = float(run["stage_progress"]), float(run["stage_time"])
    left, right, scale = closed_form(early, progress, s)
    deviation = max(
        np.linalg.norm(u - left) / np.linalg.norm(u),
        np.linalg.norm(v - right) / np.linalg.norm(v),
        abs(s - scale) / abs(s),
    )
    place, returning = early.sign * progress, early.sign * s < 0
    inside = place <= early.turning_point and (returning or place >= 0)
    reached = time > 0 and inside and (not returning or np.isfinite(early.turning_point))
    predicted = time_at(early, place, returning=returning) if reached else np.nan
    neglected = np.linalg.norm(s * np.outer(u, v) * trained, 2) / early.singular_values[0]
    return deviation, abs(time / predicted - 1), neglected
