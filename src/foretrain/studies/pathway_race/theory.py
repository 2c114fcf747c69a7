"""What the closed forms of the race predict of a pathway-race study."""

import math

import numpy as np

from foretrain.measures.learning_time import half_times_of_runs
from foretrain.plans.grid import Grid
from foretrain.studies.pathway_race.study import Parameters, handicap, part_factors
from foretrain.studies.pathway_race.training import descent_step, part_scales
from foretrain.theory.mixed_race import (
    descend,
    effective_start,
    equal_scheme,
    final_gains,
    gains,
    half_time,
    loser_range,
    random_scheme,
)
from foretrain.theory.pathway_race import race_factors
from foretrain.training.routing import items_task

POINTS = 160  # of predicted curves, at times of their own: a run's steps adapt to it


def predict(p: Parameters, step: np.ndarray) -> dict[str, np.ndarray]:
    """The modules of one P from wide random weights, the reduction from equal starts, and who wins the mixed race.

    With shared encoders there is no closed form from random weights: those entries are nan.
    """
    data, scale = items_task(p.level_weights), p.init_scale
    modes = list(zip(data.singular_values, data.variances, strict=True))
    factors = part_factors(p)[0]
    equal = np.array([half_time([equal_scheme(scale, factors, s / d)], s, d) for s, d in modes])
    names = ("half_learning_time", "full_sharing_share", "handicapped_share")
    found = dict.fromkeys(names, np.full(len(modes), np.nan))
    times = np.linspace(0, 8 * max(equal), POINTS)
    strength = np.full((POINTS, 1, len(modes)), np.nan)
    if not p.shared_encoders:
        own = random_scheme(scale, factors)
        half = np.array([half_time([own], s, d) for s, d in modes])
        times = np.linspace(0, 1.6 * max(half), POINTS)
        strength = np.stack([gains(times, [own], s, d) for s, d in modes], axis=-1)
        found["half_learning_time"] = half
        for name, ratio in zip(names[1:], (p.full_sharing_scale, handicap(p)), strict=True):
            race = [own, random_scheme(scale * ratio, race_factors(p.domains, p.domains**2))]
            found[name] = np.array([final_gains(race, s, d)[1] * d / s for s, d in modes])
    curves = {"race_time": times, "race_strength": strength}
    return {**curves, "equal_start_half_time": equal, **found}


def overlap(p: Parameters, paths: int) -> float:
    """What the limit of wide layers leaves out of modules of P routes: overlaps of 1/sqrt(N_h), mean over M^2/P modules."""
    return math.sqrt(paths / p.hidden_width) / p.domains


def loser_within(p: Parameters, full_scale: float) -> tuple[float, float]:
    """Between which factors of its prediction the share of the losing scheme may lie, for overlaps of that size.

    Args:
        p: Parameters; the modules have P routes and start at `init_scale`.
        full_scale: Initial scale of the fully shared pathway over that of the modules.
    """
    speeds, paths = (p.paths**0.5, p.domains * full_scale), (p.paths, p.domains**2)
    winner, loser = (0, 1) if speeds[0] > speeds[1] else (1, 0)
    moved = overlap(p, paths[winner]) + p.step_fraction / 2
    return loser_range(speeds[loser] / speeds[winner], overlap(p, paths[loser]), moved)


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Half-learning times of every seed, and the equal start of the reduction that has that of mode 1."""
    p = cell.parameters
    data, factors = items_task(p.level_weights), part_factors(p)[0]
    s, d = data.singular_values[0], data.variances[0]
    times = half_times(cell.simulation, data)
    starts = [effective_start(time, s, d, factors) for time in times[:, 0]]
    return {"measured_half_time": times, "effective_overlap": np.array(starts) / p.init_scale}


def half_times(runs, data) -> np.ndarray:
    """Times at which the modes are half learned by all parts together, shape (seed, mode); nan where they are not."""
    time = runs["elapsed"].transpose("seed", "step").values
    strength = runs["part_strength"].sum("part", skipna=False).transpose("seed", "step", "mode")
    return half_times_of_runs(time, strength.values, data.singular_values / data.variances)


def decoupled_run(p: Parameters) -> np.ndarray:
    """Strengths of all parts by Euler with the run's own step, shape (steps + 1, part, mode)."""
    data, scales = items_task(p.level_weights), np.array(part_scales(p))[:, None]
    modes = data.singular_values, data.variances
    b1, b2 = descend(descent_step(p), p.steps, scales, scales, *modes, part_factors(p))
    return b2 * b1**2
