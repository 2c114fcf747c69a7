"""The simple case of shared representations: a masked rank-one fit escapes from small weights, in closed form."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from foretrain import study as lab
from foretrain.study import Seed, choice, declare, parameter
from foretrain.tasks import masks
from foretrain.theory.connectivity import across_scale
from foretrain.theory.factorization import masked_rank_one_escape as escape
from foretrain.theory.factorization.masked_rank_one import alignment_exponent
from foretrain.theory.factorization.masked_rank_one_end import component_signs, end_of_training
from foretrain.training import masked_rank_one as flight

SOURCE = "Note on shared representations, section 3"
COST = "30 s"
REFERENCES = ("saxe2022",)
SEEDS = 400
EXPLORE = ("init_scale", "trained_fraction")
AXES = {"init_scale": (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)}
PRESETS = {
    "paper": {
        "trained_fraction": (0.3, 0.5),
        "init_scale": (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8),
        "seeds": 500,
    }
}

DEGREES = (0.5, 4.0)  # outputs of an input, on average, of sparse masks
LIMIT = 1e-32  # stands for the limit of small weights
STAGE = [f"stage_{name}" for name in ("left", "right", "scale", "progress", "time")]
SPARSE = 100  # seeds of the networks on sparse masks
FOLLOWED = 20  # seeds whose whole trajectory is held against the closed forms


@dataclass(frozen=True)
class Parameters(flight.Domains):
    """The flow on a random mask."""

    mask: str = choice(
        "law of the mask: nested (square, with its diagonal), or sparse (half as many outputs again, independent pairs, on "
        "average a half to four outputs of an input)",
        ("nested", "sparse"),
        sweepable=False,  # variants and claims depend on it
    )
    trained_fraction: float = parameter(
        0.4,
        "fraction of all pairs that is trained: the diagonal, then others at random, nested",
        above=0,
        maximum=1,
    )


declare(kind="bool", turns="Whether s changes sign in the linearised flow.")
declare(unit=lab.TIME_UNIT, blow_up_time="Time to infinite S in the linearised flow.")
declare("step", early_scale="s of the linearised flow at the run's S.")
declare(
    "step mode",
    early_mode_amplitude="Amplitude of each mode in the linearised flow at the run's S.",
)
declare(
    "stage",
    stage_deviation="Largest relative deviation of u, v and s from the linearised flow at the run's S, at a stage.",
    stage_time_deviation="Relative deviation of the time at a stage from t(S) of the linearised flow.",
    stage_neglected="Spectral norm of (s u v^T) o T, which the linearised flow leaves out, over that of T, at a stage.",
    stage_second_mode="Amplitude of the second singular mode of the mask over that of the first, at a stage.",
)

program, labels, estimate = flight.program, flight.labels, flight.estimate


def check(p: Parameters) -> None:
    if p.trained_fraction * p.domains < 1:
        rule = f"be at least 1 / `domains` = {1 / p.domains:g}, the diagonal"
        raise lab.argument_error("trained_fraction", rule, f"is {p.trained_fraction:g}")
    flight.check_precision(p)


def variants(p: Parameters) -> dict[str, dict]:
    """Return networks on sparse, rectangular masks, most of which fall into components, also from weights in the limit."""
    if p.mask == "sparse":
        return {}
    any_mask = {"mask": "sparse", "trained_fraction": 0.4, "seeds": SPARSE}
    return {"sparse": any_mask, "limit": {**any_mask, "init_scale": LIMIT, "steps": 4000}}


def draw(p: Parameters, seed: Seed) -> flight.Draw:
    """Mask and unit start of one seed; a sparse mask has half as many outputs again as inputs."""
    random, outputs = lab.generator(seed, "mask"), p.domains
    if p.mask == "sparse":
        outputs += p.domains // 2
        trained = masks.sparse(p.domains, outputs, min(random.uniform(*DEGREES), outputs), random)
    else:
        trained = masks.nested(p.domains, round(p.trained_fraction * p.domains**2), random)
    return flight.Draw(trained.astype(float), *flight.unit_start(p.domains, seed, outputs))


def inputs(p: Parameters, seed: Seed) -> dict:
    return flight.flight_inputs(draw(p, seed), p.init_scale)


unit_draw = lru_cache(maxsize=10_000)(draw)


def predict(p: Parameters, step: np.ndarray, seed: Seed) -> dict:
    """Escape from a start of unit scale, rescaled: times are exactly proportional to 1/sigma."""
    unit = unit_prediction(replace(p, init_scale=1.0), seed)
    for scale in (p.init_scale, LIMIT) if seed.number < SPARSE else ():
        pair_ends(p.domains, scale, seed)  # claims ask for it, and while runs train there is time
    return {**unit, "blow_up_time": unit["blow_up_time"] / p.init_scale}


@lru_cache(maxsize=100_000)
def unit_prediction(p: Parameters, seed: Seed) -> dict:
    """Predict whether s changes sign, the time to infinite S and 1 - s_2/s_1, from the start of unit scale."""
    trained, *start = unit_draw(p, seed)
    early = escape.early_flow(start, trained)
    return {
        "turns": bool(np.isfinite(early.turning_point)),
        "blow_up_time": escape.blow_up_time(early),
        "alignment_exponent": alignment_exponent(early.singular_values),
    }


@lru_cache(maxsize=10_000)
def pair_ends(domains: int, init_scale: float, seed: Seed) -> dict[str, np.ndarray]:
    """Predict every pair, shape (input_domain, output_domain), of the sparse mask and the start of one seed.

    ``trained``, ``within`` a component, or ``idle`` (one of both domains is never trained); ``size``: |s u_i v_j| at zero
    loss; ``limit``: that for small weights, 1 within components, rho across; ``sign``: that of s u_i v_j there; 0 if idle.
    """
    trained, left, right, scale = draw(Parameters(domains=domains, mask="sparse"), seed)
    end = end_of_training((init_scale * left, init_scale * right, init_scale * scale), trained)
    return {**pair_limits(domains, seed), "size": end.products}


@lru_cache(maxsize=10_000)
def pair_limits(domains: int, seed: Seed) -> dict[str, np.ndarray]:
    """Predict of `pair_ends` what no scale of the start changes."""
    trained, *start = draw(Parameters(domains=domains, mask="sparse"), seed)
    inputs, outputs = masks.components(trained)
    idle = np.logical_not(np.logical_and.outer(trained.sum(1) > 0, trained.sum(0) > 0))
    return {
        "trained": trained == 1,
        "within": (inputs[:, None] == outputs[None, :]) & ~idle,
        "idle": idle,
        "limit": np.where(idle, 0.0, across_scale(trained)),
        "sign": np.outer(*component_signs(start, trained)),
    }


# From large starts the linearised flow leaves float64.
@np.errstate(over="ignore", invalid="ignore")
def fit(cell: lab.Grid) -> dict[str, np.ndarray]:
    """The linearised flow along the first `FOLLOWED` runs until they escape, nan for others; the second mode of all."""
    p, data = cell.parameters, cell.simulation[["solver_time", "progress", "shared_scale", *STAGE]]
    seeds, steps, stages = data.sizes["seed"], data.sizes.get("step", 0), len(flight.STAGES)
    scale, amplitude = np.full((seeds, steps), np.nan), np.full((seeds, steps, p.domains), np.nan)
    names = ("stage_deviation", "stage_time_deviation", "stage_neglected")
    at_stages = np.full((len(names), seeds, stages), np.nan)
    draws = [unit_draw(replace(p, init_scale=1.0), cell.seed(n)) for n in range(seeds)]
    stored = [data[name].transpose("seed", "stage", ...).values for name in STAGE]
    paths = [data[n].values for n in ("progress", "shared_scale", "solver_time")]
    for seed, (trained, *start) in enumerate(draws[:FOLLOWED]):
        early = escape.early_flow([p.init_scale * weights for weights in start], trained)
        times = stored[-1][seed]
        *places, clock = (path[seed] for path in paths)
        for step in np.flatnonzero(clock <= times[flight.ESCAPE]):
            place = (float(values[step]) for values in places)
            left, right, scale[seed, step] = escape.weights_at(early, *place)
            parts = early.left.T @ left, early.right.T @ right
            amplitude[seed, step] = np.hypot(*parts) / np.sqrt(2)
        for stage in np.flatnonzero(np.isfinite(times)):
            at_stages[:, seed, stage] = _at_stage(early, trained, *(v[seed, stage] for v in stored))
    return {
        "early_scale": scale,
        "early_mode_amplitude": amplitude,
        **dict(zip(names, at_stages, strict=True)),
        "stage_second_mode": second_mode(data, [drawn.trained_pairs for drawn in draws]),
    }


def second_mode(data, trained_pairs) -> np.ndarray:
    """Amplitude of the second mode over that of the first, shape (seed, stage), on masks of shape (seed, n, n)."""
    left, _, right = np.linalg.svd(trained_pairs)
    weights = [data[name].transpose("seed", "stage", ...) for name in ("stage_left", "stage_right")]
    parts = [weights[0].values @ left[..., :2], weights[1].values @ right.swapaxes(1, 2)[..., :2]]
    first, second = np.moveaxis(np.hypot(*parts), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return second / first


def _at_stage(early, trained, u, v, s, progress, time):
    """Return relative deviations of weights and of time from the closed forms, and the size of the neglected term."""
    s, progress, time = float(s), float(progress), float(time)
    pairs = zip((u, v, s), escape.weights_at(early, progress, s), strict=True)
    deviation = max(np.linalg.norm(own - law) / np.linalg.norm(own) for own, law in pairs)
    place, returning = early.sign * progress, early.sign * s < 0
    inside = place <= early.turning_point and (returning or place >= 0)
    reached = time > 0 and inside and (not returning or np.isfinite(early.turning_point))
    predicted = escape.time_at(early, place, returning=returning) if reached else np.nan
    neglected = np.linalg.norm(s * np.outer(u, v) * trained, 2) / early.singular_values[0]
    return deviation, abs(time / predicted - 1), neglected
