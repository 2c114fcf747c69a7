"""What the closed forms of the race predict of a pathway-race study."""

import math

import numpy as np

from foretrain.measures.learning_time import half_learning_times
from foretrain.plans.grid import Grid
from foretrain.studies.pathway_race.study import Parameters, handicap, part_factors
from foretrain.studies.pathway_race.training import descent_step, part_scales
from foretrain.theory.mixed_race import (
    RANDOM_POLE,
    Scheme,
    decoupled_scheme,
    descend,
    final_gains,
    gains,
    half_time,
    random_growth,
    random_scheme,
)
from foretrain.theory.pathway_race import race_factors
from foretrain.theory.roots import bracketed_root
from foretrain.training.routing import items_task

POINTS = 160  # of predicted curves, at times of their own: a run's steps adapt to it


def predict(p: Parameters, step: np.ndarray) -> dict[str, np.ndarray]:
    """The modules of one P from wide random weights, the reduction from equal starts, and who wins the mixed race.

    With shared encoders there is no closed form from random weights: those entries are nan.
    """
    data, scale = items_task(p.level_weights), p.init_scale
    modes = list(zip(data.singular_values, data.variances, strict=True))
    factors = part_factors(p)[0]
    equal = np.array([half_time([_equal(scale, factors, s / d)], s, d) for s, d in modes])
    names = ("half_learning_time", "full_sharing_share", "handicapped_share")
    found = dict.fromkeys(names, np.full(len(modes), np.nan))
    elapsed = np.linspace(0, 8 * max(equal), POINTS)
    strength = np.full((POINTS, 1, len(modes)), np.nan)
    if not p.shared_encoders:
        own = random_scheme(scale, factors)
        times = np.array([half_time([own], s, d) for s, d in modes])
        elapsed = np.linspace(0, 1.6 * max(times), POINTS)
        strength = np.stack([gains(elapsed, [own], s, d) for s, d in modes], axis=-1)
        found["half_learning_time"] = times
        for name, ratio in zip(names[1:], (p.full_sharing_scale, handicap(p)), strict=True):
            race = [own, random_scheme(scale * ratio, race_factors(p.domains, p.domains**2))]
            found[name] = np.array([final_gains(race, s, d)[1] * d / s for s, d in modes])
    curves = {"elapsed": elapsed, "part_strength": strength}
    return {**curves, "equal_start_half_time": equal, **found}


def _equal(start, factors, optimum) -> Scheme:
    # A start beyond the half has no half-learning time: one just below it learns at once.
    start = min(start, 0.99 * (optimum / 2) ** (1 / 3))
    return decoupled_scheme(start, start, factors)


def overlap(p: Parameters, paths: int) -> float:
    """What the limit of wide layers leaves out of modules of P routes: overlaps of 1/sqrt(N_h), mean over M^2/P modules."""
    return math.sqrt(paths / p.hidden_width) / p.domains


def loser_range(p: Parameters, full_scale: float) -> tuple[float, float]:
    """Between which factors of its prediction the share of the losing scheme may lie, for overlaps of that size.

    On the clock at which wide random weights grow the loser is at tau < 1.2 when the winner reaches its pole. An overlap of
    the winner's vectors moves that moment by its own size, relatively, and steps are late by half the growth in one of
    them; an overlap of the loser's vectors is a head start on its clock, absolutely.

    Args:
        p: Parameters; the modules have P routes and start at `init_scale`.
        full_scale: Initial scale of the fully shared pathway over that of the modules.
    """
    speeds, paths = (p.paths**0.5, p.domains * full_scale), (p.paths, p.domains**2)
    winner, loser = (0, 1) if speeds[0] > speeds[1] else (1, 0)
    tau = RANDOM_POLE * speeds[loser] / speeds[winner]
    moved = overlap(p, paths[winner]) + p.step_fraction / 2
    shift, middle = overlap(p, paths[loser]), _grown(tau)
    low, high = _grown(tau * (1 - moved) - shift), _grown(tau * (1 + moved) + shift)
    return (low / middle, high / middle) if middle < math.inf else (0.0, math.inf)


def _grown(tau: float) -> float:
    """Strength from wide random weights in units of sigma^3/r, zero before the start and infinite from the pole on."""
    if tau >= RANDOM_POLE:
        return math.inf
    n = random_growth(max(tau, 0.0))
    return float(np.trace(n @ (n @ n - np.diag([0.0, 1.0]))))


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
    optimum = data.singular_values / data.variances
    found = []
    for seed in range(runs.sizes["seed"]):
        run = runs.isel(seed=seed)
        strength = run["part_strength"].sum("part", skipna=False).transpose("step", "mode").values
        kept = np.isfinite(strength).all(1)
        never = np.full(optimum.size, np.nan)
        times = run["elapsed"].values[kept]
        found.append(half_learning_times(times, strength[kept], optimum) if kept.any() else never)
    return np.stack(found)


def effective_start(time: float, singular_value, input_variance, factors) -> float:
    """The equal start b = B1 = B2 of the reduction whose half-learning time is `time`; nan if there is none."""
    top = (singular_value / input_variance / 2) ** (1 / 3)

    def excess(log_start):
        scheme = decoupled_scheme(math.exp(log_start), math.exp(log_start), factors)
        return half_time([scheme], singular_value, input_variance) - time

    low, high = np.log(1e-9 * top), np.log(0.999 * top)
    if not (np.isfinite(time) and excess(low) > 0 > excess(high)):
        return np.nan
    return math.exp(bracketed_root(excess, low, high, relative=1e-6))


def decoupled_run(p: Parameters) -> np.ndarray:
    """Strengths of all parts by Euler with the run's own step, shape (steps + 1, part, mode)."""
    data, scales = items_task(p.level_weights), np.array(part_scales(p))[:, None]
    modes = data.singular_values, data.variances
    b1, b2 = descend(descent_step(p), p.steps, scales, scales, *modes, part_factors(p))
    return b2 * b1**2
