"""The posterior around the parameters of a network."""

import numpy as np

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.training.modules import ACTIVATIONS, RECTIFIED, TANH, activated, around

from .measurement import network, outputs
from .study import IN, LINEAR

WIDE = 8
LINEAR_SCALE = (1e3, 4.0, False)


def posterior(p, seed):
    """The posterior of the squared distance from the network's own function; None for a network that training missed."""
    made = network(p.network, p.units, seed)
    if made is None:
        return None
    activation, own, out, x, _ = made
    scale = {"tanh": TANH, "identity": LINEAR_SCALE, "relu": RECTIFIED}[activation]
    spare = WIDE - len(own)
    beyond = ((0, spare), (0, 0)), ((0, LINEAR - len(out)), (0, spare))
    first, second = (np.pad(part, by) for part, by in zip((own, out), beyond, strict=True))
    moves = [
        np.pad(np.ones_like(part, bool), by) for part, by in zip((own, out), beyond, strict=True)
    ]
    # Neurons that idle read something at `away`: an equal function, which tells the curvature by their outgoing weights.
    idle, away = ~out.any(0) & ~own.any(1), first.copy()
    away[: len(own)][idle] = generator(seed, "away").standard_normal((idle.sum(), IN))
    away[: len(own)][idle] /= scale[1] ** 0.5
    slopes = jacobian(perceptron([away, second], None, activation), x).reshape(len(x), LINEAR, -1)
    return around(
        losses,
        np.concatenate([first.ravel(), second.ravel()]),
        slopes,
        np.concatenate([part.ravel() for part in moves]),
        scale,
        0.2,
        place=np.concatenate([away.ravel(), second.ravel()]),
        x=x,
        target=outputs(activation, first, second, x),
        activation=ACTIVATIONS.index(activation),
    )


def losses(y, data):
    """Mean squared distance of the outputs from the target, of the one example that stands for all, shape (1,)."""
    given = {name: values[0] for name, values in data.items()}
    w = given["origin"] + given["basis"] @ y
    incoming, outgoing = w[: WIDE * IN].reshape(WIDE, IN), w[WIDE * IN :].reshape(LINEAR, WIDE)
    hidden = activated(given["x"] @ incoming.T, given["activation"])
    return ((hidden @ outgoing.T - given["target"]) ** 2).sum(-1).mean()[None]
