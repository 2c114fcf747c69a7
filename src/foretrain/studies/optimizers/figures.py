"""Figures of ``optimizers``: one time-scale or not, and the loss that strong decay leaves."""

import numpy as np

from foretrain.study import figure, panel, skip_if
from foretrain.theory.published_rules import forgetting

from .claims import relative_loss
from .study import STRONG, forgetting_steps


def strong_loss(c):
    return relative_loss(c["strong_decay"])


def law(c):
    """Return the loss of v without a gradient, slowed by decay, from the median loss after the steps of learning on."""
    first, last = forgetting_steps(c.p)
    left = strong_loss(c)
    skip_if(first not in left["step"], "the runs are too short")
    steps = left["step"].where((left["step"] >= first) & (left["step"] <= last), drop=True)
    fell = [forgetting(int(step)) / forgetting(first) for step in steps.values]
    slowed = 1 - 5 * STRONG**2 / c.p.dimension
    return left.sel(step=first).median("seed") * steps.copy(data=np.array(fell) ** slowed)


FIGURES = {
    "rescaled": figure(
        "One time-scale or not",
        "Loss at the same starts and learning rate, each seed, a panel for every start scale. On a logarithmic axis an "
        "optimizer that only accelerated would shift the curves of SGD. AdamW covers Adam where they agree.",
        panel(
            lambda c: c.loss,
            x="step",
            by="optimizer",
            across="init_scale",
            statistic="runs",
            scale="semilogx",
            label="Loss |C - Z|²",
            ylim=(0, 2),
            theory=False,
        ),
        legend=3,
    ),
    "forgotten": figure(
        "What strong decay leaves is forgotten",
        f"AdamW with λ = {STRONG:g}, each seed of each rank; dashed, how v/(1 - β₂ᵗ) falls without a gradient, slowed by "
        "5λ²/n, from the median after the steps of learning on. Decay leaves no loss for ever.",
        panel(
            strong_loss,
            x="step",
            by="rank",
            statistic="runs",
            scale="semilogy",
            label="Loss, 1 at zero weights",
            theory=law,
            theory_label="v alone, no gradient",
        ),
    ),
}
