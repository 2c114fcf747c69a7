"""Cross-entropy: signal and decay along training, probability and accuracy beside the loss, and what is slow but not stuck."""

from dataclasses import dataclass, replace

import numpy as np

from foretrain.study import Program, declare, default, figure, panel
from foretrain.theory.factorization.factorization_flow import descent_curves
from foretrain.theory.softmax_curve import descent
from foretrain.training import factorization

SOURCE = "Jermyn & Shlegeris (2022), comments on cross-entropy and softmax"
COST = "15 s"
REFERENCES = ("jermyn2022",)
EXPLORE = ("init_scale",)
SEEDS = 20
AXES = {"rank": (2, 10), "target_scale": (1.0, 100.0)}
PRESETS = {"paper": {"seeds": 20, "rank": (2, 10, 100), "steps": 12000, "observe_every": 40}}
LARGE_SCALE = 100.0  # entries of a unit component at n = 100 are then of order one
DIRECT_SEEDS, END, SUBSTEPS = 20, 60.0, 4
_PART = "part of the gradient that trains the first factor, over all components"
declare(
    "step",
    signal_length=f"Length of the signal, (P - u) Y, {_PART}.",
    decay_length=f"Length of the decay, all but the signal, {_PART}.",
    decay_ratio="Length of the decay over that of the squared error's, (Z - mean) Y / n^2.",
    probability_share="Rise of the probability, given its row, of the target's likeliest entry from 1/n, mean over rows, "
    "over that of the target's own.",
    row_accuracy="Share of the rows whose likeliest entry is that of the target.",
    direct_probability="Probability of the target's likeliest entry where logits themselves are trained to it, at even times.",
)


@dataclass(frozen=True)
class Parameters(factorization.Factorization):
    """Parameters of the cross-entropy study."""

    loss_function: str = default("cross_entropy")
    steps: int = default(3000)
    observe_every: int = default(10)


check, time, inputs = factorization.check, factorization.time, factorization.inputs


def program(p: Parameters) -> Program:
    """Return the program of the S-curves, which also observes both parts of the gradient and the softmax of every row."""
    import jax
    import jax.numpy as jnp

    from foretrain.networks import factorization_rows as network

    base = factorization.program(p)

    def observe(inputs, state):
        factors = state[0]
        goal = network.Goal(*(inputs[f"goal_{name}"] for name in network.Goal._fields))
        parts = network.split(p.loss_function, factors, goal)
        wanted, own = goal.left.T @ goal.right, factors.left.T @ factors.right
        likeliest = wanted.argmax(1)[:, None]
        target, learned = (
            jnp.take_along_axis(jax.nn.softmax(logits, axis=1), likeliest, 1).mean()
            for logits in (wanted, own)
        )
        chance = 1 / own.shape[1]
        return {
            **base.observe(inputs, state),
            **{f"{name}_length": jnp.linalg.norm(part) for name, part in parts.items()},
            "decay_ratio": network.decay_ratio(p.loss_function, factors, goal),
            "probability_share": (learned - chance) / (target - chance),
            "row_accuracy": (own.argmax(1)[:, None] == likeliest).mean(dtype=own.dtype),
        }

    return Program(base.init, base.step, observe, base.done, base.finish)


def predict(p, step, seed):
    """Probability of the likeliest entry of the target, stored at even times up to `END`, of the first twenty seeds."""
    if p.target_scale < LARGE_SCALE or seed.number >= DIRECT_SEEDS or step.size < 2:
        return {"direct_probability": np.full(step.size, np.nan)}
    target, start = (f.left @ f.right.T for f in factorization.draw(p, seed))
    rate, steps = END / (step.size - 1) / SUBSTEPS, (step.size - 1) * SUBSTEPS
    path = descent(start.ravel(), rate, steps, int(target.argmax()), every=SUBSTEPS)
    return {"direct_probability": path}


def explore(p, step, seed):
    """The loss that descent of the squared error has from the same start; that of small logits is nearly the same."""
    if p.target_scale >= LARGE_SCALE or p.optimizer != "sgd":
        return {}
    target, start = factorization.draw(p, seed)
    rate = factorization.learning_rate(replace(p, loss_function="mse"))
    loss = descent_curves(start, rate, np.arange(step[-1] + 1), target).loss[step]
    return {"relative_loss": loss / np.sum((target.left @ target.right.T) ** 2)}


OVER_STEPS = {"across": "target_scale", "x": "step", "scale": "semilogx", "theory": False}
SHARES = {
    "loss over its first": lambda c: c.relative_loss / float(c.start.relative_loss.mean()),
    "probability of the likeliest": lambda c: c.probability_share,
    "accuracy": lambda c: c.row_accuracy,
}
PARTS = {"signal": lambda c: c.signal_length, "decay": lambda c: c.decay_length}
FIGURES = {
    "course": figure(
        "Cross-entropy along training",
        "Top: loss over its mean at the start; probability, given the row, of the entry that the target holds for likeliest, "
        "from chance to the target's own; share of rows whose likeliest entry is right. Bottom: length of the gradient's two "
        "parts, signal and decay. Panels: scale s of the target (s = 100 makes logits of order one at n = 100).",
        panel(SHARES, label="Share", ylim=(0, 1.1), **OVER_STEPS),
        panel(PARTS, label="Length in -gradient", **OVER_STEPS),
        columns=2,
    ),
}
