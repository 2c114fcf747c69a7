"""The adiabatic limit: how a linear model whose inputs learn faster than its weights comes to attract pairs of one label."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import Program, Run, declare, default, generator, parameter

SOURCE = "Liu et al. (2022), Towards understanding grokking, appendix L"
COST = "20 s"
REFERENCES = ("liu2022",)
EXPLORE = ("rate_ratio", "init_scale")
AXES = {"rate_ratio": (0.01, 0.003, 0.03, 0.1, 1.0), "output_dim": (128, 32, 512)}
PRESETS = {"paper": {"seeds": 50, "rate_ratio": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)}}
declare(
    "step sample coordinate",
    deviations="Inputs less their mean; in theory with weights frozen at their start.",
)
declare(
    "step",
    pair_energy="Sum over inputs of squared deviations, the loss of pairs.",
    learned_bias="b . y / |y|²; in theory with weights frozen.",
    pair_gap="Deviations less those that A'A along the run gives, relative.",
)


@dataclass(frozen=True)
class Parameters(Run):
    """Inputs of one label y, the map A x + b, and the rates at which they learn; time is in units of 1/eta_x."""

    rate_ratio: float = parameter(
        0.01, "learning rate of the map over that of the inputs", symbol="η_A/η_x", minimum=0
    )
    samples: int = parameter(6, "inputs of the label", minimum=2, static=True)
    dimension: int = parameter(4, "dimension of an input", symbol="d", minimum=1, static=True)
    output_dim: int = parameter(
        128, "dimension of label and output", symbol="k", minimum=1, static=True
    )
    init_scale: float = parameter(1.0, "standard deviation of an input's entries", above=0)
    label_scale: float = parameter(1.0, "length of a typical label", above=0)
    weight_decay: float = parameter(0.0, "decay of the map A", symbol="γ", minimum=0)
    learning_rate: float = parameter(0.05, "step of the flow's solver", above=0, maximum=1)
    steps: int = default(100)
    observe_every: int = default(5)
    precision: str = default("float64")


def inputs(p, seed):
    """Draw label, inputs, and a map of independent entries of variance 1/k, so that A'A is about the identity."""
    weights = generator(seed, "weights").standard_normal((p.output_dim, p.dimension))
    data = generator(seed, "data")
    points = p.init_scale * data.standard_normal((p.samples, p.dimension))
    label = p.label_scale * data.standard_normal(p.output_dim)
    root = np.sqrt(p.output_dim)
    return {"map": weights / root, "points": points, "label": label / root}


def program(p):
    """Return the flow on |A x + b - y|²/2 + gamma/2 |A|², the mean over inputs for map and bias, and of the propagator."""
    import jax.numpy as jnp

    from foretrain.dynamics import adaptive

    def velocity(state, inputs):
        weights, bias, points, propagator = state
        error = points @ weights.T + bias - inputs["label"]
        slope = error.T @ points / p.samples + inputs["weight_decay"] * weights
        ratio = inputs["rate_ratio"]
        pulled = weights.T @ weights @ propagator
        return -ratio * slope, -ratio * error.mean(0), -error @ weights, -pulled

    def init(inputs):
        bias, propagator = jnp.zeros(p.output_dim), jnp.eye(p.dimension)
        return inputs["map"], bias, inputs["points"], propagator

    def step(inputs, state):
        return adaptive.fixed_step(velocity, state, inputs, inputs["learning_rate"])

    def observe(inputs, state):
        weights, bias, points, propagator = state
        centred, before = (x - x.mean(0) for x in (points, inputs["points"]))
        error, label = points @ weights.T + bias - inputs["label"], inputs["label"]
        return {
            "loss": (error**2).sum(1).mean() / 2 + inputs["weight_decay"] / 2 * (weights**2).sum(),
            "deviations": centred,
            "pair_energy": (centred**2).sum(),
            "learned_bias": bias @ label / (label @ label),
            "pair_gap": jnp.abs(centred - before @ propagator.T).max() / jnp.abs(before).max(),
        }

    return Program(init, step, observe)


def predict(p, step, seed):
    """Predict to first order in the ratio: deviations decay as exp(-A'A t), the bias integrates what the frozen map leaves.

    Directions that a map to fewer dimensions does not see, the other rows of `right`, stay as they are.
    """
    drawn, time = inputs(p, seed), step * p.learning_rate
    weights, points, label = drawn["map"], drawn["points"], drawn["label"]
    left, singular, right = np.linalg.svd(weights)
    left, mean, squares = left[:, : len(singular)], points.mean(0), singular**2
    rates = np.pad(squares, (0, len(right) - len(squares)))
    decayed = np.exp(-rates * time[:, None])[:, None] * ((points - mean) @ right.T)
    within = left.T @ (label - weights @ mean)
    integral = -np.expm1(-squares * time[:, None]) / squares * within @ left.T
    bias = p.rate_ratio * (integral + time[:, None] * (label - left @ (left.T @ label)))
    pairs = np.exp(-2 * time) * ((points - mean) ** 2).sum()
    learned = bias @ label / (label @ label)
    return {"deviations": decayed @ right, "pair_energy": pairs, "learned_bias": learned}
