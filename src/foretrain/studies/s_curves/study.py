"""S-curves: a low-rank matrix learned by two factors, against rank, optimizer and loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.study import Program, Seed, declare, default
from foretrain.training import factorization

SOURCE = "Jermyn & Shlegeris (2022), Multi-Component Learning and S-Curves, and its comments"
COST = "90 s"
REFERENCES = ("jermyn2022", "saxe2014")
AXES = {
    "loss_function": ("mse", "cross_entropy"),
    "rank": (1, 2, 10, 100),
    "optimizer": ("sgd", "sgd_decay", "adam", "adamw"),
}
PRESETS = {"paper": {"seeds": 100}}
MODES = 10  # of the target, largest first, that are followed

declare(decayed_loss="Squared error at which descent with weight decay ends.")
declare(
    "step",
    flow_loss="Squared error over that of the zero matrix, predicted from the start.",
    inside="Squared length of both factors in the span of the target, over twice the sum of its singular values.",
    outside="The same outside of the span.",
    flow_inside="`inside` as predicted from the start.",
    flow_outside="`outside` as predicted from the start.",
)
declare(
    "step mode",
    mode_strengths="Strength of the first singular modes of the target in the learner, over its own.",
)
declare("mode", flow_half_step="Step at which half of a mode is predicted.")


@dataclass(frozen=True)
class Parameters(factorization.Factorization):
    """Parameters of the S-curves."""

    steps: int = default(600)
    observe_every: int = default(2)


check, time = factorization.check, factorization.time


def inputs(p: Parameters, seed: Seed) -> dict[str, Any]:
    """Return the inputs of one run: those of the other studies, and singular vectors of the target."""
    target, start = factorization.draw(p, seed)
    left, values, right = np.linalg.svd(target.left @ target.right.T)
    count = p.rank if p.rank < p.dimension else min(MODES, p.dimension)
    spans = {"span_left": left[:, :count].T, "span_right": right[:count]}
    spans |= {"span_values": values[:count], "span_unit": np.float64(2 * values.sum())}
    return factorization.inputs_from(p, target, start) | spans


def program(p: Parameters) -> Program:
    """The network of `foretrain.training.factorization`, observed along the singular modes of its target."""
    import jax.numpy as jnp

    base, followed = factorization.program(p), min(MODES, p.rank)

    def observe(inputs, state):
        x, y = state[0]
        values = inputs["span_values"]
        # Along (mode, component).
        left, right = inputs["span_left"] @ x.T, inputs["span_right"] @ y.T
        whole, inside = jnp.sum(x**2) + jnp.sum(y**2), jnp.sum(left**2) + jnp.sum(right**2)
        if p.rank >= p.dimension:  # it spans everything
            inside = whole
        return {
            **base.observe(inputs, state),
            "inside": inside / inputs["span_unit"],
            "outside": (whole - inside) / inputs["span_unit"],
            "mode_strengths": (jnp.sum(left * right, 1) / values)[:followed],
        }

    return Program(base.init, base.step, observe, base.done, base.finish)
