"""Ridge regression by plain descent, which notes the first step at which each of its two errors is small."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain import study as lab
from foretrain.study import parameter, size

CURVES = ("loss", "validation_error")
STEPS = ("fit_step", "generalisation_step")
lab.declare("step", validation_error="|w - w*|², that of isotropic inputs.")
lab.declare(
    unit="step",
    fit_step="First step of a small training error, nan = never.",
    generalisation_step="First step of a small validation error, nan = never.",
)


@dataclass(frozen=True)
class Parameters(lab.Run):
    """A linear teacher of length 1, Gaussian inputs, a linear student; weights of zero have both errors about 1."""

    samples: int = size(70, "training samples", 10**4, symbol="n")
    dimension: int = size(100, "dimension of the inputs", 10**4, symbol="d")
    init_scale: float = parameter(10.0, "length of a typical start", symbol="σ", minimum=0)
    weight_decay: float = parameter(0.003, "pull towards zero", symbol="λ", minimum=0)
    learning_rate: float = parameter(0.1, "step of descent", symbol="η", above=0)
    noise: float = parameter(0.0, "standard deviation of what is added to targets", minimum=0)
    fit_threshold: float = parameter(0.01, "training error that counts as fitted", above=0)
    threshold: float = parameter(0.5, "validation error that counts as generalised", above=0)
    steps: int = lab.default(25000)
    observe_every: int = lab.default(10)
    precision: str = lab.default("float64")


def inputs(p: Parameters, seed: lab.Seed) -> dict[str, Any]:
    """Data, teacher and start of one run; fewer samples are the first of more."""
    data = lab.generator(seed, "data").standard_normal((p.samples, p.dimension))
    teacher, start = lab.generator(seed, "weights").standard_normal((2, p.dimension))
    teacher, start = teacher / np.linalg.norm(teacher), start * p.init_scale / p.dimension**0.5
    noise = p.noise * lab.generator(seed, "noise").standard_normal(p.samples)
    return {"data": data, "targets": data @ teacher + noise, "teacher": teacher, "start": start}


def program(p: Parameters) -> lab.Program:
    """Full-batch descent of |X w - y|²/(2n) + lambda |w|²/2, until both errors have been small."""
    import jax.numpy as jnp

    def errors(inputs, weights):
        residual = inputs["data"] @ weights - inputs["targets"]
        return residual, (residual**2).mean(), ((weights - inputs["teacher"]) ** 2).sum()

    def step(inputs, state):
        weights, count, first = state
        residual, training, validation = errors(inputs, weights)
        small = training <= inputs["fit_threshold"], validation <= inputs["threshold"]
        first = jnp.where((first < 0) & jnp.stack(small), count, first)
        slope = residual @ inputs["data"] / p.samples + inputs["weight_decay"] * weights
        return weights - inputs["learning_rate"] * slope, count + 1, first

    return lab.Program(
        lambda inputs: (inputs["start"], jnp.zeros(()), jnp.full(2, -1.0)),
        step,
        lambda inputs, state: dict(zip(CURVES, errors(inputs, state[0])[1:], strict=True)),
        done=lambda inputs, state, _: jnp.int8(lab.CONVERGED) * (state[2] >= 0).all(),
        finish=lambda inputs, state: {
            name: jnp.where(step < 0, jnp.nan, step)
            for name, step in zip(STEPS, state[2], strict=True)
        },
    )
