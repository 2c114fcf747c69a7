"""A perceptron that learns the parity of two bits among many by heart at once, and to generalise only later."""

import numpy as np

from foretrain.degeneracy.counts.grams import rank
from foretrain.degeneracy.counts.synchronization import disagreement, grouped
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.training.snapshots import snapshots

from .curvature import effective, of_network
from .study import FINER, moments

FRESH = 400  # examples that no run is trained on


def grokking(p, seed):
    """Descent of the mean squared error with decay of all weights, from a start that answers at random."""
    data, random = generator(seed, "data"), generator(seed, "weights")
    x, fresh = (data.choice([-1.0, 1.0], size=(n, p.bits)) for n in (p.samples, FRESH))
    y, truth = x[:, 0] * x[:, 1], fresh[:, 0] * fresh[:, 1]
    if p.answers == "drawn":
        y = data.choice([-1.0, 1.0], size=p.samples)
    first = random.standard_normal((p.neurons, p.bits)) * (2 / p.bits) ** 0.5
    start = first, np.zeros(p.neurons), random.standard_normal(p.neurons) / p.neurons**0.5
    scales, records = p.scale * np.array(FINER), []
    numbers = p.descent_rate, p.weight_decay, moments(p)
    for first, shift, last in snapshots(loss, start, (x, y), *numbers):
        network = perceptron([first, last[None]], [shift, None])
        hidden = np.maximum(fresh @ first.T + shift, 0)
        curvatures = of_network(network, fresh)
        records.append(
            {
                "effective_parameters": effective(curvatures, scales),
                "count": (curvatures >= p.scale).sum(),
                "fit_error": ((np.maximum(x @ first.T + shift, 0) @ last - y) ** 2).mean(),
                "unseen_error": ((hidden @ last - truth) ** 2).mean(),
                "activation_rank": rank(hidden.T @ hidden / FRESH, scale=p.scale),
                "blocks": len(grouped(disagreement(network, fresh, 1), p.scale)),
            }
        )
    return {name: np.array([record[name] for record in records], float) for name in records[0]}


def loss(weights, data):
    import jax

    first, shift, last = weights
    return ((jax.nn.relu(data[0] @ first.T + shift) @ last - data[1]) ** 2).mean()
