"""Predictions of the closed forms of the race for a pathway-race study."""

import math
from dataclasses import replace

import numpy as np

from foretrain.quantities.learning_curves.learning_time import half_times_of_runs
from foretrain.study import Grid, Seed
from foretrain.theory.pathways import race_schemes as schemes
from foretrain.theory.pathways.race import descent, race_factors
from foretrain.theory.pathways.race_planes import Strengths, flow, planes
from foretrain.training.routing import items_task

from .study import DUELS, Parameters, duel_scales, part_factors
from .training import descent_step, inputs, part_scales

POINTS = 160  # of predicted curves, at times of their own: a run's steps adapt to it
PAST = 1.6  # times the last half-learning time, at which a race has ended
FINER = 5  # times between two of them, where a half-learning time is read off


def predict(p: Parameters, step: np.ndarray) -> dict[str, np.ndarray]:
    """Modules from wide random weights (nan with shared encoders), the reduction from equal starts, and who wins."""
    data, scale = items_task(p.level_weights), p.init_scale
    modes, optima = (data.singular_values, data.variances), data.singular_values / data.variances
    factors = part_factors(p)[0]
    start = lambda s, d: [schemes.equal_scheme(scale, factors, s / d)]  # noqa: E731
    equal = [schemes.half_time(start(s, d), s, d) for s, d in zip(*modes, strict=True)]
    names = ("half_learning_time", "full_sharing_share", "handicapped_share")
    predicted = dict.fromkeys(names, np.full(len(optima), np.nan))
    times = np.linspace(0, 8 * max(equal), POINTS)
    strength = np.full((POINTS, 1, len(optima)), np.nan)
    if not p.shared_encoders:
        own = schemes.random_scheme(scale, factors)
        half = predicted["half_learning_time"] = schemes.half_time([own], *modes)
        times = np.linspace(0, PAST * half.max(), POINTS)
        strength = schemes.gains([own], times, *modes)
        for name, ratio in zip(names[1:], duel_scales(p).values(), strict=True):
            predicted[name] = schemes.final_gains(_race(p, ratio), *modes)[1] / optima
    curves = {"race_time": times, "race_strength": strength}
    return {**curves, "equal_start_half_time": np.array(equal), **predicted}


def _race(p: Parameters, ratio: float) -> list[schemes.Scheme]:
    """The modules, and full sharing from this ratio of their scale, from wide random weights."""
    full = schemes.random_scheme(p.init_scale * ratio, race_factors(p.domains, p.domains**2))
    return [schemes.random_scheme(p.init_scale, race_factors(p.domains, p.paths)), full]


def foretell(p: Parameters, seed: Seed, times: np.ndarray) -> Strengths:
    """Strengths of all parts of one run at these times, from its own initial weights; modules own their encoders."""
    start, data, starts = inputs(p, seed), items_task(p.level_weights), []
    names = ("encoders", "hidden", "decoders")
    for number in range(len(part_scales(p))):
        encoders, hidden, decoders = (start[f"part{number}_{name}"] for name in names)
        # The mean over the domains of every module.
        first = (encoders @ start["input_modes"]).mean(2)
        last = np.einsum("bajoh,om->bahm", decoders, start["output_modes"]) / decoders.shape[2]
        width, modes = first.shape[2:]
        first, last = (part.reshape(-1, width, modes) for part in (first, last))
        starts.append(planes(first, hidden.reshape(-1, width, width), last))
    return flow(starts, times, data.singular_values, data.variances, part_factors(p))


def overlap(p: Parameters, paths: int) -> float:
    """Return the error of the limit of wide layers for modules of P routes: 1/sqrt(N_h), mean over M^2/P modules."""
    return math.sqrt(paths / p.hidden_width) / p.domains


def unshared_part(p: Parameters) -> float:
    """Return the relative error, in the first mode's learning, of taking the mean of a module's domains.

    A strength of sigma^3 at the start; and what domains do not share, sigma/B1 of an encoder, which over sqrt(N_h) moves
    routes of a module apart and their mean by the square of that.
    """
    data = items_task(p.level_weights)
    gain = float((data.singular_values / data.variances).max())
    outer = (gain / part_factors(p)[0].ratio ** 0.5) ** (1 / 3)
    return p.init_scale**3 / gain + (p.init_scale / outer) ** 2 / p.hidden_width


def loser_within(p: Parameters, full_scale: float) -> tuple[float, float]:
    """Bound the loser's share over the prediction of its own start by the finite step and what domains do not share."""
    slower, faster = sorted((p.paths**0.5, p.domains * full_scale))
    left_out = unshared_part(p)
    return schemes.loser_range(slower / faster, left_out, p.step_fraction + left_out)


def fit(cell: Grid) -> dict[str, np.ndarray]:
    """Half-learning times of every seed, and what its initial weights predict; nan with shared encoders, not closed."""
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    modes, optima = (data.singular_values, data.variances), data.singular_values / data.variances
    half = np.full((cell.seeds, len(optima)), np.nan)
    shares = np.full((cell.seeds, len(DUELS), len(optima)), np.nan)
    times = np.linspace(0, cell.theory["race_time"].values[-1], FINER * (POINTS - 1) + 1)
    for number in range(cell.seeds) if not p.shared_encoders else ():
        gain = foretell(p, cell.seed(number), times).gain.sum(1)
        half[number] = half_times_of_runs(times[None], gain[None], optima)[0]
        for place, (name, scale) in enumerate(duel_scales(p).items()):
            if name in cell.variants and number < cell.variants[name].sizes["seed"]:
                both = replace(p, against_full_sharing=True, full_sharing_scale=scale)
                end = PAST * schemes.half_time(_race(p, scale), *modes).max()
                gain = foretell(both, cell.seed(number), np.linspace(0, end, POINTS)).gain[-1]
                shares[number, place] = gain[place] / gain.sum(0)  # modules lose the first duel
    return {
        "measured_half_time": half_times(cell.simulation, data),
        "foretold_half_time": half,
        "foretold_share": shares,
    }


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
