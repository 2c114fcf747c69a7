"""S-curves: a low-rank matrix learned by two factors, against rank, optimizer and loss."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from foretrain.quantities.learning_curves.learning_time import half_learning_times
from foretrain.study import Program, Seed, declare, default
from foretrain.theory.factorization.factorization_flow import decayed_loss, descent_curves
from foretrain.training import factorization
from foretrain.training.factorization import components, draw, learning_rate, weight_decay

SOURCE = "Jermyn & Shlegeris (2022), Multi-Component Learning and S-Curves, and its comments"
COST = "90 s"
REFERENCES = ("jermyn2022", "saxe2014")
EXPLORE = ("init_scale", "target_scale")
AXES = {
    "loss_function": ("mse", "cross_entropy"),
    "rank": (1, 2, 10, 100),
    "optimizer": ("sgd", "sgd_decay", "adam", "adamw"),
}
PRESETS = {"paper": {"seeds": 100}}
MODES = 10  # of the target, largest first, that are followed
FLOW_SEEDS = 60  # so many tell a share of nine in ten
FLOW = {"flow_loss": "relative_loss", "flow_inside": "inside", "flow_outside": "outside"}
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
        # Along (mode, component).
        left, right = inputs["span_left"] @ x.T, inputs["span_right"] @ y.T
        whole, inside = jnp.sum(x**2) + jnp.sum(y**2), jnp.sum(left**2) + jnp.sum(right**2)
        if p.rank >= p.dimension:  # it spans everything
            inside = whole
        return {
            **base.observe(inputs, state),
            "inside": inside / inputs["span_unit"],
            "outside": (whole - inside) / inputs["span_unit"],
            "mode_strengths": (jnp.sum(left * right, 1) / inputs["span_values"])[:followed],
        }

    return Program(base.init, base.step, observe, base.done, base.finish)


def follows(p):
    """Return True where descent trains a loss that is, or for small logits nearly is, the squared error."""
    return p.optimizer in ("sgd", "sgd_decay") and p.target_scale < p.dimension


def predict(p, step, seed):
    """The flow from the start of the first twenty seeds of descent, and the end under weight decay; nan elsewhere.

    Cross-entropy of small logits is the squared error over 2 n^2, which its learning rate gives back, over the target's scale.
    """
    unknown = np.full(step.size, np.nan)
    flow = dict.fromkeys(FLOW, unknown) | {"flow_half_step": np.full(MODES, np.nan)}
    if follows(p) and seed.number < FLOW_SEEDS:
        by = 1.0 if p.loss_function == "mse" else p.target_scale
        slower = {"relative_rate": p.relative_rate / by, "weight_decay": p.weight_decay * by}
        flow = _flow(replace(p, loss_function="mse", **slower), tuple(step.tolist()), seed)
    ends = p.loss_function == "mse" and p.optimizer == "sgd_decay"
    return {**flow, "decayed_loss": np.asarray(end_of_decay(p, seed) if ends else np.nan)}


def explore(p, step, seed):
    """The curves of the flow under the names of those that are run."""
    known = predict(p, step, seed)
    return {run: known[name] for name, run in FLOW.items()}


@lru_cache(maxsize=200)
def _flow(p, step, seed):
    target, start = draw(p, seed)
    rate, decay = learning_rate(p), weight_decay(p)
    curves = descent_curves(start, rate, np.array(step), target, decay)
    values = np.linalg.svd(target.left @ target.right.T, compute_uv=False)
    modes = slice(min(p.rank, MODES))
    ends = np.maximum(values[modes] - decay / 2, 1e-9)
    halves = half_learning_times(np.array(step), curves.modes[:, modes], ends)
    return {
        "flow_loss": curves.loss / np.sum(values**2),
        "flow_inside": curves.inside / (2 * values.sum()),
        "flow_outside": curves.outside / (2 * values.sum()),
        "flow_half_step": np.pad(halves, (0, MODES - halves.size), constant_values=np.nan),
    }


def end_of_decay(p, seed):
    target, _ = draw(p, seed)
    return decayed_loss(target.left @ target.right.T, components(p), weight_decay(p))
