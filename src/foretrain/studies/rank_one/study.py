"""Rank one: 2n parameters that learn exactly as four numbers do, plateau, signal and decay."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Program, Run, Seed, declare, default, generator, parameter, size
from foretrain.theory.factorization import rank_one as reduction
from foretrain.theory.factorization.rank_one import FIELDS
from foretrain.theory.factorization.rank_one_plateau import plateau, plateau_estimate

SOURCE = "Jermyn & Shlegeris (2022), rank one, and its comments; docs/theory/s-curves.md"
COST = "30 s"
REFERENCES = ("jermyn2022", "saxe2014")
EXPLORE = ("init_scale",)
SEEDS = 20
AXES = {"weight_decay": (0.0, 0.2), "init_scale": (1.0, 0.1), "dimension": (100, 10, 1000)}
PRESETS = {"paper": {"seeds": 200, "learning_rate": 0.005, "steps": 2400, "observe_every": 5}}

_CURVES = {
    "overlap_x": "a . x, the learned part of x.",
    "overlap_y": "b . y, the learned part of y.",
    "irrelevant_x": "Squared length of x orthogonal to a.",
    "irrelevant_y": "Squared length of y orthogonal to b.",
    "alignment": "cos(x, a) cos(y, b).",
    "signal": "Length of the part of -gradient for x along the target, 2 |b . y|.",
    "decay": "Length of the part of -gradient for x along x itself, weight decay included.",
}
_TIMES = {
    "plateau_length": "Time from loss 1.1 to loss .9: by the flow of the reduction.",
    "plateau_end": "Time of loss .9 by the flow of the reduction.",
    "plateau_estimate": "Time from loss 1.1 to loss .9: in closed form.",
}
declare("step", _CURVES, source="docs/theory/s-curves.md")
declare("", _TIMES, unit="step × learning rate", source="docs/theory/s-curves.md")


@dataclass(frozen=True)
class Parameters(Run):
    """Parameters of the rank-one study, each with its rule."""

    # The loss is that of the n x n matrix, a GB from some 10,000 on.
    dimension: int = size(100, "length of both factors", 10**4, minimum=2, symbol="n")
    init_scale: float = parameter(
        1.0, "standard deviation of the initial entries times sqrt(n)", symbol="σ", above=0
    )
    weight_decay: float = parameter(
        0.0, "strength of weight decay, a pull towards zero", symbol="λ", minimum=0, maximum=100
    )
    learning_rate: float = parameter(0.01, "learning rate of descent", symbol="η", above=0)
    steps: int = default(1200, "number of steps")
    observe_every: int = default(5)
    precision: str = default("float64")


def inputs(p: Parameters, seed: Seed) -> dict[str, np.ndarray]:
    """Target (a, b) and start (x, y) of one run, unit vectors and Gaussian ones, shape (n,)."""
    from foretrain.networks.factorization_start import draw_start, draw_target

    target = draw_target(generator(seed, "data"), p.dimension, 1)
    start = draw_start(generator(seed, "weights"), p.dimension, 1, p.init_scale)
    vectors = (columns[:, 0] for columns in (*target, *start))
    return dict(zip(("a", "b", "x", "y"), vectors, strict=True))


def program(p: Parameters) -> Program:
    import jax.numpy as jnp

    from foretrain.dynamics import descent
    from foretrain.networks import factorization as network
    from foretrain.quantities.alignment import alignment

    def target(inputs):
        return network.Factors(inputs["a"][:, None], inputs["b"][:, None])

    def init(inputs):
        start = network.Factors(inputs["x"][:, None], inputs["y"][:, None])
        return start, descent.start("sgd", start)

    def step(inputs, state):
        factors, memory = state
        signal, decay = network.mse_parts(factors, target(inputs))
        slope = network.Factors(*(push - pull for push, pull in zip(decay, signal, strict=True)))
        rates = inputs["learning_rate"], inputs["weight_decay"]
        return descent.step("sgd", factors, slope, memory, *rates)

    def observe(inputs, state):
        factors, goal = state[0], target(inputs)
        signal, decay = network.mse_parts(factors, goal)
        (x, y), (a, b) = factors, goal
        overlap_x, overlap_y = (a * x).sum(), (b * y).sum()
        pull = decay.left + inputs["weight_decay"] * x
        return {
            "loss": network.mse_loss(factors, goal),
            "overlap_x": overlap_x,
            "overlap_y": overlap_y,
            "irrelevant_x": ((x - overlap_x * a) ** 2).sum(),
            "irrelevant_y": ((y - overlap_y * b) ** 2).sum(),
            "alignment": alignment(x, y, a, b)[0, 0],
            "signal": jnp.sqrt((signal.left**2).sum()),
            "decay": jnp.sqrt((pull**2).sum()),
        }

    return Program(init, step, observe)


def predict(p, step, seed):
    return from_start(p, reduction.reduce(**inputs(p, seed)))


def from_start(p, start):
    """Descent of the four numbers at the run's own step, and the plateau that the start gives."""
    path = reduction.descent(start, p.learning_rate, p.steps, p.weight_decay, every=p.observe_every)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        signal, decay = reduction.gradient_terms(path, p.weight_decay)
        norms = np.sqrt(path.squared_norm_x * path.squared_norm_y)
        curves = {
            "loss": reduction.loss(path),
            **{name: getattr(path, name) for name in FIELDS},
            "alignment": path.overlap_x * path.overlap_y / norms,
            "signal": signal,
            "decay": decay,
        }
    # A run that diverges is cut where its numbers stop being finite; so is its prediction.
    finite = np.logical_and.reduce([np.isfinite(curve) for curve in curves.values()])
    exact = plateau(start, weight_decay=p.weight_decay)
    estimate = plateau_estimate(start, weight_decay=p.weight_decay)
    times = dict(zip(_TIMES, (exact.length, exact.end, estimate.length), strict=True))
    return {
        **{name: np.where(finite, curve, np.nan) for name, curve in curves.items()},
        **{name: np.where(np.isfinite(time), time, np.nan) for name, time in times.items()},
    }
