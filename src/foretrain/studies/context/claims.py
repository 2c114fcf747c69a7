"""Claims on the contextual task: pathways' weights and losses, and the gates that a ReLU network comes to have."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import POSITIVE
from foretrain.quantities.learning_curves.curve_deviation import mean_deviation
from foretrain.study import claim
from foretrain.training.pathways import FASTEST, lead

from .study import NETWORKS

PAPER = "Saxe, Sodhani & Lewallen (2022), appendix A.2"


def weight_gap(c, network, target):
    """Return the largest deviation of a gated network's total weights at the end from a target, dims (pathway, input)."""
    target = xr.DataArray(target, dims=("pathway", "input")) if isinstance(target, list) else target
    own = {"pathway": slice(c.p.contexts if network.startswith("per-context") else 1)}
    gaps = abs(c[network].total_weights.isel(own) - target.isel(own))
    return gaps.max(("pathway", "input"), skipna=False)


def sample_weight_gap(c):
    solution = c.theory.network_weights
    names = ("per-context-samples", "always-on-samples")
    gaps = (weight_gap(c, name, solution.sel(condition=name, drop=True)) for name in names)
    return np.maximum(*gaps)


def curves(c, ending=""):
    """Return the larger deviation of both networks' losses from the reduction's, over the allowed one, shape (seed,).

    The study's own network, where it is one of both, is another of it.
    """
    # Correlation that drives a network: its rate of growth.
    rates = {"per-context": 1 / c.p.contexts / 3, "always-on": 1 / np.sqrt(c.p.contexts) / 3}
    gaps = []
    for name, rate in rates.items():
        both = c[name + ending].loss, c.theory.network_loss.sel(condition=name + ending)
        area = ((both[1] - both[1].min("step")) / both[1].isel(step=0)).mean()
        allowed = float(rate * c.p.learning_rate * area)
        if ending:
            residual = c.theory.reduction_residual.sel(condition=name + ending)
            allowed = min(0.01, allowed + 2 * float((residual**2).mean()))
        own = {"network": c.p.network, "gating": c.p.gating, "moments": c.p.moments}
        pairs = [both] + [(c.loss, c.theory.loss)] * (own == NETWORKS[name + ending])
        for pair in pairs:
            gap = mean_deviation(*(loss.transpose("seed", "step").values for loss in pair))
            gaps.append(gap / allowed)
    return np.max(gaps, 0)


def lead_of_context(c):
    agreement = c.fits.gating_agreement
    others = agreement.where(agreement.gating != "context", drop=True)
    return agreement.sel(gating="context") - others.max("gating", skipna=False)


WEIGHTS = {
    "near": 0,
    "inside": (0, 1e-3),
    "source": PAPER,
    "why": "The start's own parts that nothing drives, N_h sigma_0^2 (6e-5 at the default size), float32, and the last of an "
    "exponential approach remain: a thousandth is what three digits show.",
    "note": "Largest deviation of a total weight at the end.",
    "at_end": True,
}
CURVE = {
    "near": 0,
    "inside": (0, 1),
    "source": "docs/theory/gated-networks.md",
    "note": "Mean |difference of loss| over the run, over its start and over what is allowed; the larger of both networks.",
}
TWO = {"where": lambda c: c.p.contexts == 2, "rank": "headline"}
GATES = {"of": "relu", "rank": "headline"}
STEPS = (
    "Steps of a finite size are late by a fraction rate x step / 2 of the time, which makes a curve differ from the flow's by "
    "this fraction of the area above its end; twice that is allowed"
)
CLAIMS = [
    claim(
        "weights-per-context",
        "With one pathway per context, the pathways converge to [1 0] and [0 1], which solves the task.",
        lambda c: weight_gap(c, "per-context", [[1, 0], [0, 1]]),
        **TWO,
        **WEIGHTS,
    ),
    claim(
        "weights-always-on",
        "A single pathway that is always on converges to [1/2 1/2], the best linear answer, which leaves half of the loss.",
        lambda c: weight_gap(c, "always-on", [[0.5, 0.5]]),
        **TWO,
        **WEIGHTS,
    ),
    claim(
        "weights-samples",
        "On finite samples every pathway converges to the least-squares solution of its own examples.",
        sample_weight_gap,
        **WEIGHTS,
    ),
    claim(
        "curves",
        "The general reduction predicts the loss of one pathway per context and of one that is always on from the initial "
        "weights, with nothing fitted.",
        curves,
        why=STEPS + ".",
        rank="headline",
        **CURVE,
    ),
    claim(
        "curves-samples",
        "The general reduction predicts both losses on samples, though their statistics do not commute.",
        lambda c: curves(c, "-samples"),
        why=STEPS
        + ", and twice the square of the residual that the reduction leaves out: loss is quadratic in it. At most a "
        "line's width in a figure, a hundredth of its height.",
        **CURVE,
    ),
    claim(
        "gates-per-context",
        "A ReLU network that receives the context and starts small comes to gate its units by context.",
        lead_of_context,
        inside=POSITIVE,
        source=PAPER + ", after Flesch et al. (2022)",
        why=FASTEST["why"],
        note="Agreement of its gates with one pathway per context, less that with the next best of all gatings.",
        at_end=True,
        **GATES,
    ),
    claim(
        "gates-fastest",
        "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
        lead,
        **GATES,
        **FASTEST,
    ),
]
