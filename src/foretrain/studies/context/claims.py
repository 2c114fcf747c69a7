"""What the paper says of the contextual task, and whether it is so."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import sentence
from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.curve_deviation import mean_deviation
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.trajectory import at_end
from foretrain.training.pathways import FASTEST, by_gating, describe, lead

PAPER = "Saxe, Sodhani & Lewallen (2022), appendix A.2"
WEIGHTS: dict[str, Any] = {
    "source": PAPER,
    "predicted": 0,
    "allowed": (0, 1e-3),
    "why": "What is left is the start's own parts that nothing drives, N_h sigma_0^2 (6e-5 at the default size), float32, and "
    "the last of an exponential approach: a thousandth is what three digits show.",
    "at_end": True,
    "note": "Largest deviation of a total weight at the end.",
}


def off(cell, network: str, target: np.ndarray) -> np.ndarray:
    """Largest deviation of the total weights of a gated network from a target of shape (.., pathway, input), by seed."""
    found = cell.variants[network]["total_weights"].transpose("seed", "pathway", "input").values
    pathways = 2 if network.startswith("per-context") else 1
    return np.abs(found[:, :pathways] - target[..., :pathways, :]).max((1, 2))


def off_solution(cell, network: str) -> np.ndarray:
    """The same from the least-squares weights of the network."""
    target = cell.theory["network_weights"].sel(condition=network)
    return off(cell, network, target.transpose("seed", "pathway", "input").values)


@sentence("The pathway of each context converges to [1 0] and [0 1].", **WEIGHTS, of="per-context")
def weights_per_context(cell):
    return off(cell, "per-context", np.eye(2))


@sentence("The single pathway that is always on converges to [1/2 1/2].", **WEIGHTS, of="always-on")
def weights_always_on(cell):
    return off(cell, "always-on", np.array([[0.5, 0.5]]))


@sentence(
    "On finite samples the pathway of each context converges to the least-squares solution of its own examples.",
    **WEIGHTS,
    of="per-context-samples",
)
def weights_per_context_samples(cell):
    return off_solution(cell, "per-context-samples")


@sentence(
    "On finite samples the single pathway that is always on converges to the least-squares solution of its own examples.",
    **WEIGHTS,
    of="always-on-samples",
)
def weights_always_on_samples(cell):
    return off_solution(cell, "always-on-samples")


LOSS: dict[str, Any] = {
    "source": PAPER,
    "why": "Quadratic in the weights' deviation, plus float32.",
    "at_end": True,
}


@sentence(
    "The best a linear network can do leaves half of the loss, 1/12.",
    **LOSS,
    predicted=1 / 12,
    allowed=(1 / 12 - 1e-5, 1 / 12 + 1e-5),
    of="always-on",
)
def loss_always_on(cell):
    return at_end(cell.variants["always-on"]["loss"]).values


@sentence(
    "One pathway per context solves the task exactly.",
    **LOSS,
    predicted=0,
    allowed=(0, 1e-5),
    of="per-context",
)
def loss_per_context(cell):
    return at_end(cell.variants["per-context"]["loss"]).values


CURVE: dict[str, Any] = {
    "source": "docs/theory/gated-networks.md",
    "predicted": 0,
    "note": "Mean |difference of loss| over the run, over its start.",
}
EULER = (
    "Steps of a finite size are late by a share rate x step / 2 of the time, which makes a curve differ from that of the "
    "flow by this share of the area above its end. Twice that, at the rate s of the network's correlation"
)


def predicted_loss(cell, network: str) -> np.ndarray:
    """What the reduction expects of a gated network, shape (seed, step)."""
    found = cell.theory["network_loss"].sel(condition=network)
    return found.transpose("seed", "step").values


def euler(cell, network: str, rate: float) -> tuple[float, float]:
    """Deviation by the finite step that is allowed of a network whose correlation is `rate`."""
    loss = predicted_loss(cell, network)
    area = ((loss - loss.min(1, keepdims=True)) / loss[:, :1]).mean()
    return 0, float(rate * cell.parameters.learning_rate * area)


def sampled(cell, network: str, rate: float) -> tuple[float, float]:
    """What is allowed of a network on samples: that of the finite step, and twice the square of the residual; at most .01."""
    residual = cell.theory["reduction_residual"].sel(condition=network).values
    return 0, min(0.01, euler(cell, network, rate)[1] + 2 * float((residual**2).mean()))


def curve(cell, network: str) -> PerSeed:
    """Deviation of a gated network's loss from the reduction's, by seed."""
    measured = cell.variants[network]["loss"].transpose("seed", "step").values
    residual = float(cell.theory["reduction_residual"].sel(condition=network).mean())
    deviation = mean_deviation(measured, predicted_loss(cell, network))
    return PerSeed(deviation, f"Residual of the reduction {residual:.2g} (mean).")


@sentence(
    "The general reduction predicts the loss from the initial weights, with nothing fitted.",
    **CURVE,
    allowed=lambda cell: euler(cell, "per-context", 1 / 6),
    why=EULER + ", 1/6.",
    of="per-context",
)
def curve_per_context(cell):
    return curve(cell, "per-context")


@sentence(
    "The general reduction predicts the loss of the pathway that is always on, with nothing fitted.",
    **CURVE,
    allowed=lambda cell: euler(cell, "always-on", np.sqrt(2) / 6),
    why=EULER + ", root two / 6.",
    of="always-on",
)
def curve_always_on(cell):
    return curve(cell, "always-on")


SAMPLED: dict[str, Any] = CURVE | {
    "why": EULER
    + "; and twice the square of the residual, the part that the reduction leaves out: loss is quadratic in what it misses. "
    "At most a line's width in a figure, a hundredth of its height.",
}


@sentence(
    "The general reduction predicts the loss of a pathway per context on samples, though their statistics do not commute.",
    **SAMPLED,
    allowed=lambda cell: sampled(cell, "per-context-samples", 1 / 6),
    of="per-context-samples",
)
def curve_per_context_samples(cell):
    return curve(cell, "per-context-samples")


@sentence(
    "The general reduction predicts the loss of the pathway that is always on on samples, though their statistics do not "
    "commute.",
    **SAMPLED,
    allowed=lambda cell: sampled(cell, "always-on-samples", np.sqrt(2) / 6),
    of="always-on-samples",
)
def curve_always_on_samples(cell):
    return curve(cell, "always-on-samples")


@sentence(
    "A ReLU network that is told the context and starts small comes to gate its units by context.",
    source=PAPER + ", after Flesch et al. (2022)",
    allowed=POSITIVE,
    why=FASTEST["why"],
    of="relu",
    at_end=True,
    note="Agreement of its gates with one pathway per context, less that with the next best of all gatings.",
)
def gates_per_context(cell):
    chosen, found = cell.fits["gating"].values == "context", by_gating(cell, "gating_agreement")
    own, others = found[:, chosen][:, 0], found[:, ~chosen]
    known = own[np.isfinite(own)]
    note = f"The former is {known.mean():.3f} (mean)." if known.size else ""
    return PerSeed(own - others.max(1), note)


@sentence(
    "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
    **FASTEST,
    of="relu",
)
def gates_fastest(cell):
    return PerSeed(lead(cell), describe(cell))
