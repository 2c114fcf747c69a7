"""Figures of ``coordinate-check``."""

import numpy as np

from foretrain.study import figure, panel

from .claims import layers_of_kind, smallest
from .study import FIRST, HIDDEN

_LOGS = {"scale": "loglog", "theory": False}
_ACROSS = {"across": "parametrisation", **_LOGS}
_LATE = {"x": "learning_rate", "by": "width", "statistic": "median", **_ACROSS}


def shift(kind):
    """Return the geometric mean over layers of a kind of how far they move, nan without any, as a function of the cell."""

    def size(c):
        sizes = smallest(c.layer_change).isel(layer=layers_of_kind(c, kind))
        return np.exp(np.log(sizes).mean("layer"))

    return size


FIGURES = {
    "changes": figure(
        "Changes over the width",
        "How far the outputs of layers move, over their size at the start, at the smallest learning rate: after the "
        "first step of standard, after all steps of the others.",
        panel({"first layer": shift(FIRST), "hidden layers": shift(HIDDEN)}, x="width", **_ACROSS),
        sharey=True,
    ),
    "output": figure(
        "The network's output",
        "How far the network's output moves, after as many steps.",
        panel(lambda c: smallest(c.output_change), x="width", by="parametrisation", **_LOGS),
    ),
    "rates": figure(
        "Loss over the learning rate",
        "Mean loss over the last tenth of the steps, median over seeds: in standard the lowest moves with the width.",
        panel(lambda c: c.late_loss, ylim=(None, 10.0), **_LATE),
        sharey=True,
    ),
}
