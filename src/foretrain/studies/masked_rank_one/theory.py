"""Predictions of the linearised flow for each seed of the masked rank-one study, and at the S of its runs."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from foretrain.study import Grid, Seed
from foretrain.tasks.masks import components
from foretrain.theory.connectivity import across_scale
from foretrain.theory.factorization import masked_rank_one_escape as escape
from foretrain.theory.factorization.masked_rank_one import alignment_exponent
from foretrain.theory.factorization.masked_rank_one_end import component_signs, end_of_training
from foretrain.training.masked_rank_one import ESCAPE, STAGES

from .study import Parameters, drawn

# Seeds whose whole trajectory is held against the closed forms.
FOLLOWED = 20


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict:
    """Escape from a start of unit scale, rescaled: times are exactly proportional to 1/sigma."""
    unit = unit_prediction(replace(p, init_scale=1.0), seed)
    return {**unit, "blow_up_time": unit["blow_up_time"] / p.init_scale}


@lru_cache(maxsize=100_000)
def unit_prediction(p: Parameters, seed: Seed) -> dict:
    """Predict whether s changes sign, the time to infinite S and 1 - s_2/s_1, from the start of unit scale."""
    trained, *start = drawn(p, seed)
    early = escape.early_flow(start, trained)
    return {
        "turns": bool(np.isfinite(early.turning_point)),
        "blow_up_time": escape.blow_up_time(early),
        "alignment_exponent": alignment_exponent(early.singular_values),
    }


class PairEnds(NamedTuple):
    """Prediction of every pair from mask and start, each of shape (input_domain, output_domain).

    Attributes:
        trained: True where the pair is trained.
        within: True where both domains lie in one component.
        idle: True where one of both domains is never trained.
        size: |s u_i v_j| at zero loss.
        limit: Limit of the size for small weights, 1 within components and rho across; 0 for idle pairs.
        sign: Sign of s u_i v_j in that limit; 0 for idle pairs.
    """

    trained: np.ndarray
    within: np.ndarray
    idle: np.ndarray
    size: np.ndarray
    limit: np.ndarray
    sign: np.ndarray


@lru_cache(maxsize=10_000)
def pair_ends(domains: int, init_scale: float, seed: Seed) -> PairEnds:
    """Predict the pairs of the sparse mask and the start of one seed."""
    trained, left, right, scale = drawn(Parameters(domains=domains, mask="sparse"), seed)
    end = end_of_training((init_scale * left, init_scale * right, init_scale * scale), trained)
    inputs, outputs = components(trained)
    idle = np.logical_not(np.logical_and.outer(trained.sum(1) > 0, trained.sum(0) > 0))
    return PairEnds(
        trained=trained == 1,
        within=(inputs[:, None] == outputs[None, :]) & ~idle,
        idle=idle,
        size=end.products,
        limit=np.where(idle, 0.0, across_scale(trained)),
        sign=np.outer(*component_signs((left, right, scale), trained)),
    )


# From large starts the linearised flow leaves float64.
@np.errstate(over="ignore", invalid="ignore")
def fit(cell: Grid) -> dict[str, np.ndarray]:
    """The linearised flow along the first `FOLLOWED` runs until they escape, nan for others; the second mode of all."""
    p, data = cell.parameters, cell.simulation
    seeds, steps, stages = data.sizes["seed"], data.sizes.get("step", 0), len(STAGES)
    scale, amplitude = np.full((seeds, steps), np.nan), np.full((seeds, steps, p.domains), np.nan)
    names = ("stage_deviation", "stage_time_deviation", "stage_neglected")
    at_stages = np.full((len(names), seeds, stages), np.nan)
    draws = [drawn(p, cell.seed(seed)) for seed in range(seeds)]
    for seed, draw in enumerate(draws[:FOLLOWED]):
        start = (p.init_scale * weights for weights in (draw.left, draw.right, draw.scale))
        early = escape.early_flow(start, draw.trained_pairs)
        run = data.isel(seed=seed)
        before = run["solver_time"].values <= run["stage_time"].values[ESCAPE]
        for step in np.flatnonzero(before):
            progress, now = float(run["progress"][step]), float(run["shared_scale"][step])
            left, right, scale[seed, step] = escape.weights_at(early, progress, now)
            parts = early.left.T @ left, early.right.T @ right
            amplitude[seed, step] = np.hypot(*parts) / np.sqrt(2)
        for stage in np.flatnonzero(np.isfinite(run["stage_time"].values)):
            at_stages[:, seed, stage] = _at_stage(early, draw.trained_pairs, run.isel(stage=stage))
    trained = np.array([draw.trained_pairs for draw in draws])
    return {
        "early_scale": scale,
        "early_mode_amplitude": amplitude,
        **dict(zip(names, at_stages, strict=True)),
        "stage_second_mode": second_mode(data, trained),
    }


def second_mode(data, trained_pairs: np.ndarray) -> np.ndarray:
    """Amplitude of the second mode over that of the first, shape (seed, stage), on masks of shape (seed, n, n)."""
    left, _, right = np.linalg.svd(trained_pairs)
    weights = [data[name].transpose("seed", "stage", ...) for name in ("stage_left", "stage_right")]
    parts = [weights[0].values @ left[..., :2], weights[1].values @ right.swapaxes(1, 2)[..., :2]]
    first, second = np.moveaxis(np.hypot(*parts), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return second / first


def _at_stage(early, trained, run):
    """Return relative deviations of weights and of time from the closed forms, and the size of the neglected term."""
    u, v, s = run["stage_left"].values, run["stage_right"].values, float(run["stage_scale"])
    progress, time = float(run["stage_progress"]), float(run["stage_time"])
    left, right, scale = escape.weights_at(early, progress, s)
    deviation = max(
        np.linalg.norm(u - left) / np.linalg.norm(u),
        np.linalg.norm(v - right) / np.linalg.norm(v),
        abs(s - scale) / abs(s),
    )
    place, returning = early.sign * progress, early.sign * s < 0
    inside = place <= early.turning_point and (returning or place >= 0)
    reached = time > 0 and inside and (not returning or np.isfinite(early.turning_point))
    predicted = escape.time_at(early, place, returning=returning) if reached else np.nan
    neglected = np.linalg.norm(s * np.outer(u, v) * trained, 2) / early.singular_values[0]
    return deviation, abs(time / predicted - 1), neglected
