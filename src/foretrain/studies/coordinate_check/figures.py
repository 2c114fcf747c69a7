"""Figures of ``coordinate-check``."""

from foretrain.study import figure, panel

from .claims import smallest

_ACROSS = {"across": "parametrisation", "scale": "loglog", "theory": False}
FIGURES = {
    "changes": figure(
        "Changes over the width",
        "How far the outputs of every layer move, over their size at the start, at the smallest learning rate: after the "
        "first step of standard, after all steps of the others.",
        panel(lambda c: smallest(c.layer_change), x="width", by="layer", **_ACROSS),
        sharey=True,
    ),
    "output": figure(
        "The network's output",
        "How far the network's output moves, after as many steps.",
        panel(
            lambda c: smallest(c.output_change),
            x="width",
            by="parametrisation",
            scale="loglog",
            theory=False,
        ),
    ),
    "rates": figure(
        "Loss over the learning rate",
        "Mean loss over the last tenth of the steps: in standard the lowest moves with the width.",
        panel(lambda c: c.late_loss, x="learning_rate", by="width", ylim=(None, 10.0), **_ACROSS),
        sharey=True,
    ),
}
