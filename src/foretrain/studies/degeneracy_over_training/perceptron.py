"""A perceptron that learns the parity of two bits among many by heart at once, and to generalise only later."""

import numpy as np

from foretrain.degeneracy.grams import rank
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.synchronization import disagreement, grouped
from foretrain.study import generator

from .curvature import effective, of_network
from .study import FINER, moments

FRESH = 400  # examples that no run is trained on


def grokking(p, seed):
    """Descent of the mean squared error with decay of all weights, from a start that answers at random."""
    data, random = generator(seed, "data"), generator(seed, "weights")
    x, fresh = (data.choice([-1.0, 1.0], size=(n, p.bits)) for n in (p.samples, FRESH))
    y, truth = x[:, 0] * x[:, 1], fresh[:, 0] * fresh[:, 1]
    drawn = data.choice([-1.0, 1.0], size=p.samples)
    y = y if p.answers == "true" else drawn
    first = random.standard_normal((p.neurons, p.bits)) * (2 / p.bits) ** 0.5
    shift, last = np.zeros(p.neurons), random.standard_normal(p.neurons) / p.neurons**0.5
    scales, found, rate = p.scale * np.array(FINER), [], p.descent_rate
    kept = 1 - rate * p.weight_decay
    for update in range(p.updates + 1):
        before = x @ first.T + shift
        hidden = np.maximum(before, 0)
        error = hidden @ last - y
        if update in moments(p):
            network = perceptron([first, last[None]], [shift, None])
            on_fresh = np.maximum(fresh @ first.T + shift, 0)
            curvatures = of_network(network, fresh)
            found.append(
                {
                    "effective_parameters": effective(curvatures, scales),
                    "count": (curvatures >= p.scale).sum(),
                    "fit_error": (error**2).mean(),
                    "unseen_error": ((on_fresh @ last - truth) ** 2).mean(),
                    "activation_rank": rank(on_fresh.T @ on_fresh / FRESH, scale=p.scale),
                    "shared_similarity": explained(on_fresh, fresh[:, :2]),
                    "blocks": len(grouped(disagreement(network, fresh, 1), p.scale)),
                }
            )
        error = 2 * error / p.samples
        back = np.outer(error, last) * (before > 0)
        last = kept * last - rate * (error @ hidden)
        first = kept * first - rate * (back.T @ x)
        shift = kept * shift - rate * back.sum(0)
    return {name: np.array([one[name] for one in found], float) for name in found[0]}


def explained(activity, relevant):
    """Share of the variance of hidden activity between examples that differ in the relevant bits."""
    total, code = activity.var(0).sum(), relevant @ (1, 2)
    groups = [activity[code == one] for one in np.unique(code)]
    middle = activity.mean(0)
    between = sum(len(one) * ((one.mean(0) - middle) ** 2).sum() for one in groups)
    return between / len(activity) / total if total > 0 else 0.0
