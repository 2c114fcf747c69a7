"""Claims on the contextual task: pathways' weights and losses, and the gates that a ReLU network comes to have."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.curve_deviation import mean_deviation
from foretrain.study import claim
from foretrain.training.pathways import FASTEST, lead

PAPER = "Saxe, Sodhani & Lewallen (2022), appendix A.2"
WEIGHTS = {
    "near": 0,
    "inside": (0, 1e-3),
    "source": PAPER,
    "why": "The start's own parts that nothing drives, N_h sigma_0^2 (6e-5 at the default size), float32, and the last of an "
    "exponential approach remain: a thousandth is what three digits show.",
    "note": "Largest deviation of a total weight at the end.",
    "at_end": True,
}
EULER = (
    "Steps of a finite size are late by a fraction rate x step / 2 of the time, which makes a curve differ from that of the "
    "flow by this fraction of the area above its end. Twice that, at the rate s of the network's correlation"
)
CURVE = {
    "near": 0,
    "source": "docs/theory/gated-networks.md",
    "note": "Mean |difference of loss| over the run, over its start.",
}
SAMPLED = {
    **CURVE,
    "why": EULER
    + "; and twice the square of the residual that the reduction leaves out: loss is quadratic in it. At most a "
    "line's width in a figure, a hundredth of its height.",
}


def off(c, network, target):
    """Return the largest deviation of a gated network's total weights at the end from a target, dims (pathway, input)."""
    chosen = {"pathway": slice(2 if network.startswith("per-context") else 1)}
    gaps = abs(c[network].total_weights.isel(chosen) - target.isel(chosen))
    return gaps.max(("pathway", "input"), skipna=False)


def off_solution(c, network):
    """Return the same from the network's least-squares weights."""
    return off(c, network, c.theory.network_weights.sel(condition=network, drop=True))


def constant(weights):
    """Return weights of shape (pathway, input) with names of their dims."""
    return xr.DataArray(np.array(weights), dims=("pathway", "input"))


def predicted_loss(c, network):
    """Return the loss of a gated network by the reduction, shape (seed, step)."""
    return c.theory.network_loss.sel(condition=network).transpose("seed", "step").values


def euler(c, network, rate) -> tuple[float, float]:
    """Return the allowed deviation by the finite step, of a network whose correlation is `rate`."""
    loss = predicted_loss(c, network)
    area = ((loss - loss.min(1, keepdims=True)) / loss[:, :1]).mean()
    return 0, float(rate * c.p.learning_rate * area)


def sampled(c, network, rate) -> tuple[float, float]:
    """Return the allowed deviation on samples: of the finite step, and twice the square of the residual; at most .01."""
    residual = c.theory.reduction_residual.sel(condition=network).values
    return 0, min(0.01, euler(c, network, rate)[1] + 2 * float((residual**2).mean()))


def curve(c, network):
    """Return the deviation of a gated network's loss from the reduction's, shape (seed,)."""
    measured = c[network].loss.transpose("seed", "step").values
    return mean_deviation(measured, predicted_loss(c, network))


def lead_of_context(c):
    """Return the agreement of the ReLU gates with one pathway per context, less that with the best other gating."""
    agreement = c.fits.gating_agreement
    own = agreement.gating == "context"
    return agreement.where(own, drop=True).squeeze("gating", drop=True) - agreement.where(
        ~own, drop=True
    ).max("gating", skipna=False)


CLAIMS = [
    claim(
        "weights-per-context",
        "With one pathway per context, the pathways converge to [1 0] and [0 1], which solves the task.",
        lambda c: off(c, "per-context", constant(np.eye(2))),
        rank="headline",
        **WEIGHTS,
    ),
    claim(
        "weights-always-on",
        "A single pathway that is always on converges to [1/2 1/2], the best linear answer, which leaves half of the loss.",
        lambda c: off(c, "always-on", constant([[0.5, 0.5]])),
        rank="headline",
        **WEIGHTS,
    ),
    claim(
        "curve-per-context",
        "The general reduction predicts the loss of one pathway per context from the initial weights, with nothing fitted.",
        lambda c: curve(c, "per-context"),
        inside=lambda c: euler(c, "per-context", 1 / 6),
        why=EULER + ", 1/6.",
        rank="headline",
        **CURVE,
    ),
    claim(
        "gates-per-context",
        "A ReLU network that receives the context and starts small comes to gate its units by context.",
        lead_of_context,
        inside=POSITIVE,
        rank="headline",
        source=PAPER + ", after Flesch et al. (2022)",
        why=FASTEST["why"],
        note="Agreement of its gates with one pathway per context, less that with the next best of all gatings.",
        of="relu",
        at_end=True,
    ),
    claim(
        "gates-fastest",
        "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
        lead,
        of="relu",
        rank="headline",
        **FASTEST,
    ),
    claim(
        "weights-per-context-samples",
        "On finite samples, the pathway of each context converges to the least-squares solution of its own examples.",
        lambda c: off_solution(c, "per-context-samples"),
        **WEIGHTS,
    ),
    claim(
        "weights-always-on-samples",
        "On finite samples, the pathway that is always on converges to the least-squares solution of its own examples.",
        lambda c: off_solution(c, "always-on-samples"),
        **WEIGHTS,
    ),
    claim(
        "curve-always-on",
        "The general reduction predicts the loss of the pathway that is always on, with nothing fitted.",
        lambda c: curve(c, "always-on"),
        inside=lambda c: euler(c, "always-on", np.sqrt(2) / 6),
        why=EULER + ", root two / 6.",
        **CURVE,
    ),
    claim(
        "curve-per-context-samples",
        "The general reduction predicts the loss of a pathway per context on samples, though their statistics do not commute.",
        lambda c: curve(c, "per-context-samples"),
        inside=lambda c: sampled(c, "per-context-samples", 1 / 6),
        **SAMPLED,
    ),
    claim(
        "curve-always-on-samples",
        "The general reduction predicts the loss of the pathway that is always on on samples, though their statistics do not "
        "commute.",
        lambda c: curve(c, "always-on-samples"),
        inside=lambda c: sampled(c, "always-on-samples", np.sqrt(2) / 6),
        **SAMPLED,
    ),
]
