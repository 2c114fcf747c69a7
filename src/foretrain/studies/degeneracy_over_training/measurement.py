"""Networks that are trained and measured: gated linear ones, and a perceptron that groks."""

import numpy as np

from foretrain.degeneracy.counts.grams import rank
from foretrain.degeneracy.counts.synchronization import disagreement, grouped
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.tasks.masks import circulant
from foretrain.training.routing import items_task
from foretrain.training.snapshots import snapshots

from .curvature import effective, of_network
from .selection import selection
from .study import FINER, VARIANCE, domains, moments

FRESH = 400  # examples that no run is trained on


def measure(p, seed):
    if p.system == "selection":
        return selection(p, seed)
    scales, records = p.scale * np.array(FINER), []
    for curvatures, arrays in (grokking if p.system == "grokking" else linear)(p, seed):
        arrays |= {"count": (curvatures >= p.scale).sum()}
        records.append(arrays | {"effective_parameters": effective(curvatures, scales)})
    return {name: np.array([record[name] for record in records], float) for name in records[0]}


def linear(p, seed):
    """A shared pathway and, where there are several domains, one for each route beside it: trained, looked at 41 times.

    Yields curvatures of the behavioural loss, and what else is measured, as does `grokking`.
    """
    (m, k), data = domains(p), items_task("unit")
    trained = circulant(m, k).T
    target = (data.output_modes * data.optimum) @ data.input_modes[0].T
    unseen = trained if k == m else 1 - trained
    weights = VARIANCE / trained.sum() * trained[..., None, None]
    numbers = p.learning_rate, 0.0, moments(p)
    for parts in snapshots(loss, start(p, seed), (target, weights), *numbers):
        error = target - np.asarray(maps(parts))
        curvatures = 2 * VARIANCE / m**2 * np.linalg.eigvalsh(kernel(parts))
        power = (error**2).sum((2, 3)) / (target**2).sum()
        fit, rest = ((power * routes).sum() / routes.sum() for routes in (trained, unseen))
        yield curvatures, {"fit_error": fit, "unseen_error": rest}


def maps(parts):
    """Of every route, (output_domain, input_domain, output, input)."""
    import jax

    from foretrain.networks.modular_routing import outputs

    with jax.enable_x64(True):
        identity = np.eye(parts[0].encoders.shape[-1])
        return sum(outputs(part, identity) for part in parts)


def loss(parts, data):
    """Half the squared error of the maps of all routes, weighted."""
    target, weights = data
    return 0.5 * (weights * (target - maps(parts)) ** 2).sum()


def start(p, seed):
    """Weights of each pathway's modules: encoders (b, a, i, h, d), hidden (b, a, h, h), decoders (b, a, j, o, h).

    Output domain j of group b, input domain i of group a. The shared pathway is one group, of others each route is one.
    """
    from foretrain.networks.modular_routing import Modules, decoupled_modules, random_modules

    random, (m, _), data = generator(seed, "weights"), domains(p), items_task("unit")
    u, v, parts = data.output_modes, data.input_modes[0], []
    schemes = [(m**2, p.shared_scale), (1, 1.0)][: 1 + (m > 1)]
    for paths, over in schemes:
        size = m, paths, p.hidden_width
        if p.start == "decoupled":
            modules = decoupled_modules(random, u, v, *size)
        else:
            modules = random_modules(random, *size, len(v), len(u))
        parts.append(Modules(*(p.init_scale * over * np.asarray(w) for w in modules)))
    return parts


def kernel(parts):
    """J J^T of all entries of all maps by all weights, entries in the order (output_domain, o, input_domain, d).

    A module is a deep linear network from all its inputs to all its outputs: with D, H, E its decoders one above the other,
    its hidden matrix and its encoders side by side, J J^T = DH(DH)^T (x) 1 + D D^T (x) E^T E + 1 (x) (HE)^T HE.
    """
    encoders, _, decoders = parts[0]
    m, width, outs = encoders.shape[1] * encoders.shape[2], encoders.shape[-1], decoders.shape[-2]
    total = np.zeros((m * outs * m * width,) * 2)
    for encoders, hidden, decoders in parts:
        count = len(hidden)
        place = np.arange(len(total)).reshape(count, -1, count, m // count * width)
        for b, a in np.ndindex(count, count):
            d = decoders[b, a].reshape(-1, decoders.shape[-1])
            e = encoders[b, a].transpose(1, 0, 2).reshape(encoders.shape[-2], -1)
            dh, he = d @ hidden[b, a], hidden[b, a] @ e
            own = np.kron(dh @ dh.T, np.eye(e.shape[1])) + np.kron(d @ d.T, e.T @ e)
            here = place[b, :, a].ravel()
            total[np.ix_(here, here)] += own + np.kron(np.eye(len(d)), he.T @ he)
    return total


def grokking(p, seed):
    """A perceptron that learns the parity of two bits by heart at once, and to generalise only later; all weights decay."""
    data, random = generator(seed, "data"), generator(seed, "weights")
    x, fresh = (data.choice([-1.0, 1.0], size=(n, p.bits)) for n in (p.samples, FRESH))
    y, truth = x[:, 0] * x[:, 1], fresh[:, 0] * fresh[:, 1]
    if p.answers == "drawn":
        y = data.choice([-1.0, 1.0], size=p.samples)
    first = random.standard_normal((p.neurons, p.bits)) * (2 / p.bits) ** 0.5
    start = first, np.zeros(p.neurons), random.standard_normal(p.neurons) / p.neurons**0.5
    numbers = p.descent_rate, p.weight_decay, moments(p)
    for first, shift, last in snapshots(parity_loss, start, (x, y), *numbers):
        network = perceptron([first, last[None]], [shift, None])
        hidden = np.maximum(fresh @ first.T + shift, 0)
        arrays = {
            "fit_error": ((np.maximum(x @ first.T + shift, 0) @ last - y) ** 2).mean(),
            "unseen_error": ((hidden @ last - truth) ** 2).mean(),
            "activation_rank": rank(hidden.T @ hidden / FRESH, scale=p.scale),
            "blocks": len(grouped(disagreement(network, fresh, 1), p.scale)),
        }
        yield of_network(network, fresh), arrays


def parity_loss(weights, data):
    import jax

    first, shift, last = weights
    return ((jax.nn.relu(data[0] @ first.T + shift) @ last - data[1]) ** 2).mean()
