"""What the closed forms of the race predict of a pathway-race study."""

import math
from dataclasses import replace

import numpy as np

from foretrain.quantities.learning_time import half_times_of_runs
from foretrain.study import Grid, Seed
from foretrain.theory.race import descent, race_factors
from foretrain.theory.race_planes import Planes, Strengths, flow, planes
from foretrain.theory.race_schemes import (
    effective_start,
    equal_scheme,
    final_gains,
    gains,
    half_time,
    loser_range,
    random_scheme,
)
from foretrain.training.routing import items_task

from .study import Parameters, handicap, part_factors
from .training import descent_step, inputs, part_scales

POINTS = 160  # of predicted curves, at times of their own: a run's steps adapt to it
FINER = 5  # times between two of them, where a half-learning time is read off
DUELS = ("mixed", "handicapped")


def predict(p: Parameters, step: np.ndarray) -> dict[str, np.ndarray]:
    """The modules of one P from wide random weights, the reduction from equal starts, and who wins the mixed race.

    With shared encoders there is no closed form from random weights: those entries are nan.
    """
    data, scale = items_task(p.level_weights), p.init_scale
    modes = data.singular_values, data.variances
    optima = data.singular_values / data.variances
    factors = part_factors(p)[0]
    equal = np.array(
        [
            half_time([equal_scheme(scale, factors, s / d)], s, d)
            for s, d in zip(*modes, strict=True)
        ]
    )
    names = ("half_learning_time", "full_sharing_share", "handicapped_share")
    found = dict.fromkeys(names, np.full(len(optima), np.nan))
    times = np.linspace(0, 8 * max(equal), POINTS)
    strength = np.full((POINTS, 1, len(optima)), np.nan)
    duel_time = np.tile(times, (2, 1))
    duel_strength = np.full((2, POINTS, 2, len(optima)), np.nan)
    if not p.shared_encoders:
        own = random_scheme(scale, factors)
        found["half_learning_time"] = half_time([own], *modes)
        times = _race_times([own], modes)
        strength = gains([own], times, *modes)
        for number, (name, ratio) in enumerate(zip(names[1:], _duel_scales(p), strict=True)):
            race = [own, random_scheme(scale * ratio, race_factors(p.domains, p.domains**2))]
            found[name] = final_gains(race, *modes)[1] / optima
            duel_time[number] = _race_times(race, modes)
            duel_strength[number] = gains(race, duel_time[number], *modes)
    curves = {"race_time": times, "race_strength": strength}
    duels = {"duel_time": duel_time, "duel_strength": duel_strength}
    return {**curves, **duels, "equal_start_half_time": equal, **found}


def _duel_scales(p: Parameters) -> tuple[float, float]:
    """Initial scale of full sharing over that of the modules, in either duel."""
    return p.full_sharing_scale, handicap(p)


def _race_times(race, modes) -> np.ndarray:
    return np.linspace(0, 1.6 * half_time(race, *modes).max(), POINTS)


def start(p: Parameters, seed: Seed) -> list[Planes]:
    """What the domains of every module have in common at the start of one run, for each of its parts."""
    fed = inputs(p, seed)
    found = []
    for number in range(len(part_scales(p))):
        encoders, hidden, decoders = (
            fed[f"part{number}_{name}"] for name in ("encoders", "hidden", "decoders")
        )
        first = (encoders @ fed["input_modes"]).mean(2)
        last = np.einsum("bajoh,om->bahm", decoders, fed["output_modes"]) / decoders.shape[2]
        width, modes = first.shape[2:]
        flat = (part.reshape(-1, width, modes) for part in (first, last))
        found.append(planes(next(flat), hidden.reshape(-1, width, width), next(flat)))
    return found


def foretell(p: Parameters, seed: Seed, times: np.ndarray) -> Strengths:
    """Strengths of all parts of one run at these times, from its own initial weights; modules own their encoders."""
    data = items_task(p.level_weights)
    return flow(start(p, seed), times, data.singular_values, data.variances, part_factors(p))


def overlap(p: Parameters, paths: int) -> float:
    """What the limit of wide layers leaves out of modules of P routes: overlaps of 1/sqrt(N_h), mean over M^2/P modules."""
    return math.sqrt(paths / p.hidden_width) / p.domains


def unshared(p: Parameters) -> float:
    """What the means of a module's domains leave out of the first mode's learning, relatively.

    A strength of sigma^3 at the start; and what domains do not share, sigma/B1 of an encoder, which over sqrt(N_h) moves
    routes of a module apart and their mean by the square of that.
    """
    data = items_task(p.level_weights)
    gain = float((data.singular_values / data.variances).max())
    outer = (gain / part_factors(p)[0].ratio ** 0.5) ** (1 / 3)
    return p.init_scale**3 / gain + (p.init_scale / outer) ** 2 / p.hidden_width


def loser_within(
    p: Parameters, full_scale: float, *, known_start: bool = False
) -> tuple[float, float]:
    """Between which factors of its prediction the share of the losing scheme may lie.

    Args:
        p: Parameters; the modules have P routes and start at `init_scale`.
        full_scale: Initial scale of the fully shared pathway over that of the modules.
        known_start: Whether the prediction knows the overlaps of the start, which leaves the finite step and what domains
            do not share; otherwise overlaps are as large as wide layers have them.
    """
    speeds, paths = (p.paths**0.5, p.domains * full_scale), (p.paths, p.domains**2)
    winner, loser = (0, 1) if speeds[0] > speeds[1] else (1, 0)
    slower = speeds[loser] / speeds[winner]
    if known_start:
        return loser_range(slower, unshared(p), p.step_fraction + unshared(p))
    moved = overlap(p, paths[winner]) + p.step_fraction / 2
    return loser_range(slower, overlap(p, paths[loser]), moved)


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Half-learning times of every seed, the equal start that has that of mode 1, and what its own start leads to."""
    p = cell.parameters
    data, factors = items_task(p.level_weights), part_factors(p)[0]
    s, d = data.singular_values[0], data.variances[0]
    times = half_times(cell.simulation, data)
    starts = [effective_start(time, s, d, factors) for time in times[:, 0]]
    measured = {"measured_half_time": times, "effective_overlap": np.array(starts) / p.init_scale}
    return measured | _foretold(cell)


def _foretold(cell: Grid) -> dict[str, np.ndarray]:
    """What every seed's initial weights lead to, alone and in both duels; nan where the means of domains do not close."""
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    modes = data.singular_values.size
    found = {
        "foretold_half_time": np.full((cell.seeds, modes), np.nan),
        "foretold_strength": np.full((cell.seeds, POINTS, len(part_factors(p)), modes), np.nan),
        "foretold_duel_strength": np.full((cell.seeds, 2, POINTS, 2, modes), np.nan),
    }
    if p.shared_encoders:
        return found
    coarse = cell.theory["race_time"].values
    fine = np.linspace(0, coarse[-1], FINER * (POINTS - 1) + 1)
    for number in range(cell.seeds):
        gain = foretell(p, cell.seed(number), fine).gain
        found["foretold_strength"][number] = gain[::FINER]
        half = half_times_of_runs(
            fine[None], gain.sum(1)[None], data.singular_values / data.variances
        )
        found["foretold_half_time"][number] = half[0]
    for place, name in enumerate(DUELS):
        both = replace(p, against_full_sharing=True, full_sharing_scale=_duel_scales(p)[place])
        seeds = cell.variants[name].sizes["seed"] if name in cell.variants else 0
        for number in range(min(seeds, cell.seeds)):
            gain = foretell(both, cell.seed(number), cell.theory["duel_time"].values[place]).gain
            found["foretold_duel_strength"][number, place] = gain
    return found


def half_times(runs, data) -> np.ndarray:
    """Times at which the modes are half learned by all parts together, shape (seed, mode); nan where they are not."""
    time = runs["elapsed"].transpose("seed", "step").values
    strength = runs["part_strength"].sum("part", skipna=False).transpose("seed", "step", "mode")
    return half_times_of_runs(time, strength.values, data.singular_values / data.variances)


def decoupled_run(p: Parameters) -> np.ndarray:
    """Strengths of all parts by Euler with the run's own step, shape (steps + 1, part, mode)."""
    data, scales = items_task(p.level_weights), np.array(part_scales(p))[:, None]
    modes = data.singular_values, data.variances
    b1, b2 = descent((scales, scales), descent_step(p), p.steps, *modes, part_factors(p))
    return b2 * b1**2
