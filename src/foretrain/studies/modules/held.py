"""Losses of modules that interact, the constrained one among them: chains at the parameters of two planted modules.

As in `planted`, M2 reads units of M1's first hidden layer by weights that are held. The parts, by the outputs that count and
the weights that move: those of M1, the same with its mediating variables kept, those of M2, and all of both; and with
nothing between the modules those of M2, and all of both.
"""

from itertools import pairwise

import numpy as np

from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.grams import jacobian
from foretrain.degeneracy.network import perceptron

from .chains import coordinates, stacked
from .planted import THRESHOLD, joined, owners
from .study import ACTIVATIONS, PARTS

WIDTHS = (2, 2, 2, 2)  # of each module
EXAMPLES = 60
TOLD = ("activation", "counted")
# Beta, gamma, and whether scatter is taken off: of linear and rectified networks whole bent surfaces are free, which at lower
# beta are crossed in fewer steps, and where coordinates made at w* are of no use.
SCALES = {"tanh": (1e7, 50.0, True), "identity": (1e4, 12.0, False), "relu": (1e4, 12.0, False)}
# Outputs of M1 and of M2, mediating variables, weights of M1 and of M2, weights between: what counts and what moves.
_COUNTS = {
    "first": (1, 0, 0, 1, 0, 1),
    "first, held": (1, 0, 1, 1, 0, 1),
    "second": (0, 1, 0, 0, 1, 1),
    "both": (1, 1, 0, 1, 1, 1),
    "second, apart": (0, 1, 0, 0, 1, 0),
    "both, apart": (1, 1, 0, 1, 1, 0),
}


def networks(p, random, data):
    """Inputs of chains: every activation's parts, activations first."""
    x = data.standard_normal((EXAMPLES, 2 * WIDTHS[0]))
    pair = [module(random) for _ in range(2)]
    made = [part(p, pair, x, name, kind) for name in ACTIVATIONS for kind in PARTS]
    ranks = np.array([rank for _, rank in made]).reshape(len(ACTIVATIONS), len(PARTS))
    return stacked([one for one, _ in made]) | {"x": x, "constrained_rank": ranks}


def module(random):
    """Weights, 1.5 times orthogonal ones, so that no direction is nearly free, and biases of one module."""
    weights = [1.5 * np.linalg.qr(random.standard_normal((a, a)))[0] for a in WIDTHS[1:]]
    biases = [a + 0.3 * random.standard_normal(WIDTHS[1]) for a in (0, 0.5, 0)]
    return weights, biases


def residuals(inputs, network, w):
    """Outputs and mediating variables less those that are wanted, (n, any), 0 where they do not count."""
    import jax.numpy as jnp

    f, begin, seen = inputs["x"], 0, []
    for below, above in pairwise(WIDTHS):
        a, b = 2 * below, 2 * above
        bias, weight = w[begin : begin + b], w[begin + b : begin + b + a * b].reshape(b, a)
        begin += b + a * b
        pre, kind = f @ weight.T + bias, network["activation"]
        seen.append(pre)
        f = jnp.where(kind == 0, jnp.maximum(pre, 0), jnp.where(kind == 1, pre, jnp.tanh(pre)))
        seen.append(f)
    found = jnp.concatenate([seen[-2], seen[1]], 1)
    return (found - network["target"]) * network["counted"]


def finished(inputs, sampled):
    """What is stored."""
    shape = len(ACTIVATIONS), len(PARTS)
    return {
        "constrained_parameters": sampled.reshape(shape),
        "constrained_rank": inputs["constrained_rank"],
    }


def part(p, pair, x, activation, kind):
    """What a chain needs of one part, and the rank of the Jacobian of what counts by what moves."""
    first, second, mediators, mine, theirs, between = _COUNTS[kind]
    network = joined(pair, activation, p.mediators, p.strength * between)
    leaves = network.params[0]
    below = perceptron([leaves["weight"]], [leaves["bias"]], [activation])
    n, hidden, outputs = len(x), WIDTHS[1], WIDTHS[-1]
    slopes = jacobian(network, x).reshape(n, 2 * outputs, -1)
    inner = jacobian(below, x).reshape(n, 2 * hidden, -1)
    rest = np.zeros((n, 2 * hidden, slopes.shape[-1] - inner.shape[-1]))
    counted = np.zeros(2 * (outputs + hidden))
    counted[:outputs], counted[outputs : 2 * outputs] = first, second
    counted[2 * outputs : 2 * outputs + p.mediators] = mediators * p.strength
    every = np.concatenate([slopes, np.concatenate([inner, rest], -1)], 1) * counted[:, None]
    own = owners(network)
    moving = np.isin(own, [module for module, moves in ((1, mine), (2, theirs)) if moves])
    rows = every.reshape(-1, len(own))
    values = np.linalg.svd(rows[:, moving], compute_uv=False)
    seen = evaluated(network, x)[0]
    w = np.concatenate(
        [leaf.ravel() for one in network.params for leaf in (one["bias"], one["weight"])]
    )
    return {
        "place": w,
        "centre": w,
        "target": np.concatenate([seen[-1], seen[1]], 1),
        "counted": counted,
        "activation": ACTIVATIONS.index(activation),
        **coordinates(rows, moving, n, *SCALES[activation]),
    }, float((values > THRESHOLD * values[0]).sum())
