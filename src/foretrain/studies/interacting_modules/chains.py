"""Losses of two modules that interact, the constrained one among them, and the posterior around the planted parameters."""

from itertools import pairwise

import numpy as np

from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.training.modules import (
    ACTIVATIONS,
    RECTIFIED,
    TANH,
    activated,
    around,
    joined,
    owners,
    rank,
)

from .study import PARTS, WIDTHS

EXAMPLES = 60


def posterior(p, seed):
    """The posterior of one part of the loss, its weights moving."""
    network, x, counted, slopes, moving = part(p, seed)
    seen = evaluated(network, x)[0]
    leaves = [one[name].ravel() for one in network.params for name in ("bias", "weight")]
    return around(
        losses,
        np.concatenate(leaves),
        slopes,
        moving,
        TANH if p.activation == "tanh" else RECTIFIED,
        x=x,
        target=np.concatenate([seen[-1], seen[1]], 1),
        counted=counted,
        activation=ACTIVATIONS.index(p.activation),
    )


def measure(p, seed):
    """Rank of the Jacobian of the part."""
    *_, slopes, moving = part(p, seed)
    return {"constrained_rank": rank(slopes[..., moving])}


def losses(y, data):
    """Mean squared distance of outputs and mediating variables, weighted by what counts, of the one example, shape (1,)."""
    import jax.numpy as jnp

    given = {name: values[0] for name, values in data.items()}
    w, f, begin, seen = given["origin"] + given["basis"] @ y, given["x"], 0, []
    for below, above in pairwise(WIDTHS):
        a, b = 2 * below, 2 * above
        bias, weight = w[begin : begin + b], w[begin + b : begin + b + a * b].reshape(b, a)
        begin += b + a * b
        pre = f @ weight.T + bias
        f = activated(pre, given["activation"])
        seen += [pre, f]
    found = jnp.concatenate([seen[-2], seen[1]], 1)
    return (((found - given["target"]) * given["counted"]) ** 2).sum(-1).mean()[None]


def module(random):
    """Weights, 1.5 times orthogonal ones, so that no direction is nearly free, and biases of one module."""
    weights = [1.5 * np.linalg.qr(random.standard_normal((a, a)))[0] for a in WIDTHS[1:]]
    biases = [a + 0.3 * random.standard_normal(WIDTHS[1]) for a in (0, 0.5, 0)]
    return weights, biases


def part(p, seed):
    """Network, x, weight of each output and mediator in the loss, their Jacobian, (n, outputs, d), and the moving weights."""
    random = generator(seed, "weights")
    x = generator(seed, "data").standard_normal((EXAMPLES, 2 * WIDTHS[0]))
    first, second, mediators, mine, theirs, between = PARTS[p.part]
    pair = [module(random) for _ in range(2)]
    network = joined(pair, p.activation, p.mediators, p.strength * between)
    leaves = network.params[0]
    below = perceptron([leaves["weight"]], [leaves["bias"]], [p.activation])
    n, hidden, outputs = len(x), WIDTHS[1], WIDTHS[-1]
    slopes = jacobian(network, x).reshape(n, 2 * outputs, -1)
    inner = jacobian(below, x).reshape(n, 2 * hidden, -1)
    rest = np.zeros((n, 2 * hidden, slopes.shape[-1] - inner.shape[-1]))
    counted = np.zeros(2 * (outputs + hidden))
    counted[:outputs], counted[outputs : 2 * outputs] = first, second
    counted[2 * outputs : 2 * outputs + p.mediators] = mediators * p.strength
    every = np.concatenate([slopes, np.concatenate([inner, rest], -1)], 1) * counted[:, None]
    moving = np.isin(owners(network), [1] * mine + [2] * theirs)
    return network, x, counted, every, moving
