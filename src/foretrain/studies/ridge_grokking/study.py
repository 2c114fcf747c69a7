"""Grokking with a theorem: ridge regression fits its data at once and forgets its start only as fast as weights decay."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain import study as lab
from foretrain.study import declare, figure, panel, parameter, size
from foretrain.theory.grokking import ridge as theory

SOURCE = "docs/theory/ridge-grokking.md"
COST = "1 min"
REFERENCES = ("xu2026", "liu2022omnigrok", "levi2024")
SEEDS = 20
AXES = {"weight_decay": (0.003, 0.0, 0.006, 0.012), "samples": (70, 30, 60, 80)}
PRESETS = {"paper": {"seeds": 100, "dimension": 200, "samples": (140, 60, 120, 160)}}
EXPLORE = ("samples", "init_scale")
CURVES = ("loss", "validation_error")
STEPS = ("fit_step", "generalisation_step")
declare("step", validation_error="|w - w*|², that of isotropic inputs.")
declare(
    unit="step",
    fit_step="First step of a small training error, nan = never.",
    generalisation_step="First step of a small validation error, nan = never.",
)
declare(unit="step", law="What the null space forgets by, inf = never.")
declare(law_room="How far rigorous bounds are from it, relatively, nan = none.")


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


def variants(p):
    return {"small": {"init_scale": p.init_scale / 1000}} if p.init_scale > 1 else {}


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


def predict(p, step, seed):
    """The closed form of descent, and the law of the null space alone."""
    rates = {"learning_rate": p.learning_rate, "weight_decay": p.weight_decay}
    run = theory.descent(**rates, **inputs(p, seed))
    first = run.first_steps((p.fit_threshold, p.threshold), p.steps - 1)
    bounds = np.array(run.generalisation(p.threshold))
    steps = *np.where(np.isinf(first), np.nan, first), bounds[1], theory.room(bounds, p.steps)
    names = *CURVES, *STEPS, "law", "law_room"
    return dict(zip(names, (*run.errors(step), *steps), strict=True))


OVER_STEPS = {"x": "step", "by": "weight_decay", "scale": "loglog", "statistic": "median"}
FIGURES = {
    "grokking": figure(
        "Errors and steps of generalisation",
        "Left: both errors, dashed the closed form of each run's data. Right: median step of generalisation; theory is that "
        "at which the null space of a run has forgotten its start. Runs that never generalise are left out.",
        panel(
            lambda c: c.loss,
            label="Training error",
            levels={"fitted or generalised below": lambda c: c.p.fit_threshold},
            ylim=lambda c: (c.p.fit_threshold**2, None),
            **OVER_STEPS,
        ),
        panel(
            lambda c: c.validation_error,
            label="Validation error",
            levels={"": lambda c: c.p.threshold},
            **OVER_STEPS,
        ),
        panel(
            lambda c: c.generalisation_step,
            x="samples",
            by="weight_decay",
            statistic="median",
            theory=lambda c: c.theory.law.median("seed"),
            scale="semilogy",
            label="Step of generalisation",
        ),
        height=4.6,
    )
}
