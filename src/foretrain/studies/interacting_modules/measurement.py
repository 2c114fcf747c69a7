"""Losses of two modules that interact, the constrained one among them, and the rank of their Jacobian."""

import numpy as np

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.study import generator
from foretrain.training.modules import joined, of_first_layer, owners, rank

from .study import PARTS, WIDTHS

EXAMPLES = 60


def measure(p, seed):
    *_, slopes, moving = part(p, seed)
    return {"constrained_rank": rank(slopes[..., moving])}


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
    hidden, outputs = WIDTHS[1], WIDTHS[-1]
    slopes = jacobian(network, x).reshape(len(x), 2 * outputs, -1)
    inner = of_first_layer(network, x, p.activation)
    counted = np.zeros(2 * (outputs + hidden))
    counted[:outputs], counted[outputs : 2 * outputs] = first, second
    counted[2 * outputs : 2 * outputs + p.mediators] = mediators * p.strength
    every = np.concatenate([slopes, inner], 1) * counted[:, None]
    moving = np.isin(owners(network), [1] * mine + [2] * theirs)
    return network, x, counted, every, moving
