"""Planted modules: counts of their free directions, volumes along one of them, and the search for modules."""

from itertools import pairwise

import numpy as np

from foretrain.degeneracy import folded
from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.interactions import modularity
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph
from foretrain.study import generator
from foretrain.training.modules import joined, of_first_layer, owners, rank

from .chains import part
from .study import COUNTS, HIDDEN, INPUTS, OUTPUTS

WIDTHS = (INPUTS, HIDDEN, HIDDEN, OUTPUTS)
COUNTED = 150  # examples on which ranks are taken: twice as many equations as a module has parameters, and more


def measure(p, seed):
    """Counts of free directions; of rectified modules also volumes along one, and the modules that a search finds."""
    if p.part != COUNTS:
        *_, slopes, moving = part(p, seed)
        return {"constrained_rank": rank(slopes[..., moving])}
    random, data = generator(seed, "weights"), generator(seed, "data")
    pair = [module(random) for _ in range(2)]
    left, right = data.standard_normal((2, p.examples, INPUTS))
    x = np.concatenate([np.repeat(left, p.examples, 0), np.tile(right, (p.examples, 1))], 1)
    network = joined(pair, p.activation, p.mediators, p.strength)
    some = data.standard_normal((COUNTED, 2 * INPUTS))
    measured = counts(network, joined(pair, p.activation, 0, 0.0), some, p)
    if p.activation == "relu":
        values = np.maximum(left @ pair[0][0][0].T + pair[0][1][0], 0)
        measured |= costs((values**2).mean(0), p.strength, p.cutoff)
        measured |= search(network, x, p.cutoff)
    return measured


def module(random):
    """Weights (out, in) and biases of one module."""
    weights = [random.standard_normal((b, a)) * (2 / a) ** 0.5 for a, b in pairwise(WIDTHS)]
    shifts = zip((0.0, 1.0, 0.0), WIDTHS[1:], strict=True)  # few units are silent or always on
    return weights, [a + 0.3 * random.standard_normal(b) for a, b in shifts]


def counts(network, separated, x, p):
    """Effective parameters: ranks of Jacobians of outputs, and of mediators, by the weights within the modules."""
    own, n = owners(network), len(x)
    slopes = jacobian(network, x).reshape(n, 2 * OUTPUTS, -1)
    separate = jacobian(separated, x).reshape(n, 2 * OUTPUTS, -1)
    mediators = p.strength * of_first_layer(network, x, p.activation)[:, : p.mediators]
    mine, theirs = own == 1, own == 2
    both = np.concatenate([slopes[:, :OUTPUTS], mediators], 1)
    return {
        "apart_sum": rank(separate[:, :OUTPUTS, mine]) + rank(separate[:, OUTPUTS:, theirs]),
        "apart_together": rank(separate[:, :, own > 0]),
        "constrained": rank(both[:, :, mine]),
        "second": rank(slopes[:, OUTPUTS:, theirs]),
        "together": rank(slopes[:, :, own > 0]),
    }


def costs(squares, strength, eps):
    """Volumes along the free scale e^s of a rectified unit, |s| <= 1, where w² mean (v - v*)² must stay below eps."""
    first, other = strength * np.sqrt(np.maximum(squares[:2], 1e-12))  # w times the size of v

    def ends(weight, bound):
        reach = np.sqrt(bound) / weight  # w² q (e^s - 1)² < bound
        low = np.log(1 - reach) if reach < 1 else -np.inf
        return np.clip([low, np.log1p(reach)], -1, 1)

    def volume(weight, bound=eps):
        return float(np.diff(ends(weight, bound))[0])

    # Both at once: of each s of the first, as much of the second as the rest of eps allows.
    low, high = ends(first, eps)
    edges = np.linspace(low, high, 401)
    middle = (edges[1:] + edges[:-1]) / 2
    rest = eps - (first * np.expm1(middle)) ** 2
    both = sum(volume(other, max(left, 1e-300)) for left in rest) * (high - low) / len(middle)
    step = 1.01
    slope = 2 * np.log(volume(first, eps * step) / volume(first, eps / step)) / (2 * np.log(step))
    return {
        "secant_cost": modularity.secant_of_volumes(volume(first), 2.0, eps),
        "derivative_cost": slope,
        "pair_cost": modularity.secant_of_volumes(both, 4.0, eps),
        "other_cost": modularity.secant_of_volumes(volume(other), 2.0, eps),
        "secant_law": modularity.secant_freedom(first, eps),
        "derivative_law": modularity.derivative_freedom(first, eps),
    }


def search(network, x, eps):
    """Modules of the interaction graph in the local basis, against where each direction's activations vary most."""
    from sklearn.metrics import adjusted_rand_score

    basis = interaction_basis(network, x, kind="local", centre=True, few=True)
    graph = interaction_graph(network, x, basis, points=5)
    planted, values = [], folded.layers(folded.steps(network, False), x, False)
    for layer, f in zip(basis.layers, values, strict=True):
        halves = zip(
            *(np.split(rows, 2, 1) for rows in (f - layer.mean, layer.forward)), strict=True
        )
        own, other = ((f @ forward.T).var(0) for f, forward in halves)
        planted.append(other > own)
    labels, weights = np.concatenate(planted).astype(int), modularity.affinity(graph.strengths, eps)

    def agreement(objective):
        sought = modularity.partition(weights, 2, objective=objective).labels
        kept = sought >= 0
        return float(adjusted_rand_score(labels[kept], sought[kept]))

    return {"search_agreement": agreement("normalised cut"), "plain_agreement": agreement("cut")}
