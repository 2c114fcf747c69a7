"""The posterior around the planted parameters, of one part of the loss."""

from itertools import pairwise

import numpy as np

from foretrain import study
from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.derivatives import evaluated
from foretrain.training.modules import (
    ACTIVATIONS,
    SCALES,
    activated,
    joined,
    of_first_layer,
    owners,
)

from .study import COUNTS, PARTS, SAMPLED_WIDTH

WIDTHS = (SAMPLED_WIDTH,) * 4
EXAMPLES = 60


def posterior(p, seed):
    """The posterior of one part of the loss, its weights moving; None where counts alone are asked for."""
    if p.part == COUNTS:
        return None
    network, x, counted, _, moving = part(p, seed)
    seen = evaluated(network, x)[0]
    leaves = [section[name].ravel() for section in network.params for name in ("bias", "weight")]
    beta, localisation = SCALES.get(p.activation, SCALES["relu"])
    target = np.concatenate([seen[-1], seen[1]], 1)
    kind = ACTIVATIONS.index(p.activation)
    data = {"x": x, "target": target, "counted": counted, "activation": kind}
    data = {name: np.asarray(values)[None] for name, values in data.items()}  # one example
    centre = np.concatenate(leaves)
    return study.posterior(losses, centre, data, beta=beta, pull=localisation, moving=moving)


def losses(w, data):
    """Mean squared distance of outputs and mediating variables, weighted by what counts, of the one example, shape (1,)."""
    import jax.numpy as jnp

    parts = {name: values[0] for name, values in data.items()}
    f, begin, seen = parts["x"], 0, []
    for below, above in pairwise(WIDTHS):
        a, b = 2 * below, 2 * above
        bias, weight = w[begin : begin + b], w[begin + b : begin + b + a * b].reshape(b, a)
        begin += b + a * b
        pre = f @ weight.T + bias
        f = activated(pre, parts["activation"])
        seen += [pre, f]
    values = jnp.concatenate([seen[-2], seen[1]], 1)
    return (((values - parts["target"]) * parts["counted"]) ** 2).sum(-1).mean()[None]


def module(random):
    """Weights, 1.5 times orthogonal ones, so that no direction is nearly free, and biases of one module."""
    weights = [1.5 * np.linalg.qr(random.standard_normal((a, a)))[0] for a in WIDTHS[1:]]
    biases = [a + 0.3 * random.standard_normal(WIDTHS[1]) for a in (0, 0.5, 0)]
    return weights, biases


def part(p, seed):
    """Network, x, weight of each output and mediator in the loss, their Jacobian, (n, outputs, d), and the moving weights."""
    random = study.generator(seed, "weights")
    x = study.generator(seed, "data").standard_normal((EXAMPLES, 2 * WIDTHS[0]))
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
