"""Figures of ``rank-one``: learning beside the reduction, weight decay, and the plateau against n."""

import numpy as np

from foretrain.study import figure, panel

from .claims import lengths


def reach(c):
    """Return twice the time at which the last plateau of the flow ends, None where it is not known."""
    end = float(c.theory.plateau_end.max())
    return (0, 2 * end) if np.isfinite(end) and end > 0 else None


LEARNING = {"theory_label": "reduction to four numbers", "xlim": reach}
DECAYS = {"by": "weight_decay", "scale": "semilogy", "ylim": (5e-7, None), **LEARNING}
FIGURES = {
    "learning": figure(
        "Rank one, learned as predicted",
        "Loss, alignment with the target, and the two terms of the gradient for x: trained networks of 2n parameters, and "
        "dashed the mean of the reduction to four numbers from the same starts.",
        panel(lambda c: c.loss, label="Loss |C - Z|²", **LEARNING),
        panel(lambda c: c.alignment, label="Alignment", **LEARNING),
        panel(
            {"signal": lambda c: c.signal, "decay": lambda c: c.decay},
            label="Length in −gradient",
            **LEARNING,
        ),
        height=3.9,
        legend=3,
    ),
    "weight-decay": figure(
        "Weight decay",
        "Loss and the squared length of what is irrelevant in x, without and with weight decay; dashed, the reduction. Weight "
        "decay speeds the first fall, delays the second and ends at λ²/4.",
        panel(lambda c: c.loss, label="Loss |C - Z|²", **DECAYS),
        panel(lambda c: c.irrelevant_x, label="Irrelevant part of x, |x⊥|²", **DECAYS),
    ),
    "plateaus": figure(
        "Length of the plateau",
        "Time from loss 1.1 to loss .9 against n; dashed, the mean of the closed form. Ten times n adds (log 10)/4 = .58, a "
        "tenth of the scale σ twice that.",
        panel(
            lengths,
            x="dimension",
            by="init_scale",
            scale="semilogx",
            label="Length of the plateau (time)",
            theory=lambda c: c.theory.plateau_estimate,
            theory_label="closed form",
        ),
    ),
}
