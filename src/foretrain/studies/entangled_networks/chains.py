"""The posterior around the parameters of a network."""

import numpy as np

from foretrain import study
from foretrain.training.modules import ACTIVATIONS, SCALES, activated

from .measurement import network, outputs
from .study import LINEAR

WIDE = 8
LINEAR_SCALE = (1e3, 4.0)


def posterior(p, seed):
    """The posterior of the squared distance from the network's own function; None for a network that training missed."""
    fitted = network(p.network, p.units, seed)
    if fitted is None:
        return None
    activation, own, out, x, _ = fitted
    beta, localisation = SCALES.get(activation, LINEAR_SCALE)
    spare = WIDE - len(own)
    beyond = ((0, spare), (0, 0)), ((0, LINEAR - len(out)), (0, spare))
    first, second = (np.pad(part, by) for part, by in zip((own, out), beyond, strict=True))
    moves = [
        np.pad(np.ones_like(part, bool), by) for part, by in zip((own, out), beyond, strict=True)
    ]
    target = outputs(activation, first, second, x)
    data = {"x": x, "target": target, "activation": ACTIVATIONS.index(activation)}
    data = {name: np.asarray(values)[None] for name, values in data.items()}  # one example
    return study.posterior(
        losses, [first, second], data, beta=beta, pull=localisation, moving=moves
    )


def losses(weights, data):
    """Mean squared distance of the outputs from the target, of the one example that stands for all, shape (1,)."""
    parts = {name: values[0] for name, values in data.items()}
    incoming, outgoing = weights
    hidden = activated(parts["x"] @ incoming.T, parts["activation"])
    return ((hidden @ outgoing.T - parts["target"]) ** 2).sum(-1).mean()[None]
