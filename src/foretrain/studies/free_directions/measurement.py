"""The networks, and what is counted and measured on them."""

from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import grams
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.synchronization import rise
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.training.snapshots import snapshots

from .scales import answers, over_scale, sampled
from .sparsify import parameters, sparsified
from .study import SHARES, SOURCES, TRAININGS, shown

_HIDDEN = {"drawn": 1, "dependent": 1, "deep": 2, "deeper": 3}  # layers


def measure(p, seed):
    random = generator(seed, "weights")
    if p.kind == "decay":
        return trained(p, random)
    if p.kind == "sampled":
        networks = [drawn(random, (3, 3, 4), "relu", False) for _ in range(p.networks)]
        return sampled(seed, networks, random.normal(size=(p.samples, 3)))
    counter = approximate if p.kind == "approximate" else counts
    networks = [counter(p, random) for _ in range(p.networks)]
    return {name: np.stack([arrays[name] for arrays in networks], -1) for name in networks[0]}


def drawn(random, widths, activation, bias):
    weights = [random.normal(size=(b, a)) for a, b in pairwise(widths)]
    biases = [0.3 * random.normal(size=b) for b in widths[1:]] if bias else None
    return perceptron(weights, biases, activation)


def planted(random, spans, sizes, samples, flipped=0.0, activation="relu"):
    """One hidden layer in which block a has `sizes[a]` neurons that span `spans[a]` dimensions and share their gates.

    A block reads inputs of its own, of one random sign, with positive weights; each of its inputs has the other sign on a
    share of the examples.
    """
    x, first = [], []
    for span, many in zip(spans, sizes, strict=True):
        sign = random.choice([-1.0, 1.0], size=(samples, 1))
        other = np.where(random.random((samples, span)) < flipped, -1.0, 1.0)
        x.append(sign * other * np.abs(random.normal(size=(samples, span))))
        first.append(random.uniform(0.3, 1, (many, span)))
    second = random.normal(size=(sum(sizes) + random.integers(3), sum(sizes)))
    return perceptron([block_diag(*first), second], None, activation), np.concatenate(x, 1)


def made(p, random):
    """A network of the cell's kind and its data; outputs are never fewer than the last hidden neurons."""
    activation = str(random.choice(["relu", "leaky_relu"]))
    if p.kind == "synchronized":
        spans = random.integers(1, 4, random.integers(1, 4))
        sizes = spans + random.integers(0, 3, len(spans))
        return planted(random, spans, sizes, p.samples, activation=activation)
    wide = int(random.integers(3, 5))
    hidden = random.integers(2, 6, _HIDDEN[p.kind])
    widths = (wide, *hidden, hidden[-1] + int(random.integers(3)))
    x = random.normal(size=(p.samples, wide))
    if p.kind == "dependent":
        rank = random.integers(2, wide)
        x = x[:, :rank] @ random.normal(size=(rank, wide))
    return drawn(random, widths, activation, bool(random.integers(2))), x


def counts(p, random):
    """Counted, exact, and left after sparsification."""
    network, x = made(p, random)
    gram = grams(network, x)
    freedom = free_directions(network, x)
    spectrum = jacobian_spectrum(network, x)
    sparse = sparsified(network, x, gram)
    blocks = (block for section in freedom.sections.values() for block in section.blocks)
    squares = sum(block.dimension**2 - block.extra for block in blocks)
    return {
        "parameter_count": float(freedom.parameters),
        "counted": np.array([float(freedom.by_source()[name]) for name in SOURCES]),
        "counted_by_squares": float(freedom.free + squares),
        "deficit": float(freedom.parameters - spectrum.rank),
        "parameters_left": float(parameters(sparse)),
    } | over_scale(network, x, gram, spectrum.costs, sparse)


def approximate(p, random):
    """Two neurons of nearly equal gates, mixed: the loss, and the disagreement of their gates."""
    move = p.mixing * random.normal(size=(2, 2))
    losses, disagreements = [], []
    for share in SHARES:
        network, x = planted(random, (2,), (2,), p.samples, share)
        loss, moved = rise(network, x, 1, move)
        losses.append(loss)
        disagreements.append(moved * len(network.params[-1]["weight"]))
    return {"mixing_loss": np.array(losses), "disagreement": np.array(disagreements)}


def trained(p, random):
    """A network learns another's answers on data of two dimensions out of four, without and with decay of its weights."""
    basis = np.linalg.qr(random.normal(size=(4, 4)))[0]
    x = random.normal(size=(p.samples, 2)) @ basis[:2]

    def outputs(weights, z):
        return np.maximum(z @ weights[0].T, 0) @ weights[1].T

    targets = outputs((random.normal(size=(4, 4)), random.normal(size=(2, 4))), x)
    start = random.normal(size=(12, 4)) / 2, random.normal(size=(2, 12)) / 12**0.5
    off = x + random.normal(size=(p.samples, 2)) @ basis[2:] / 2**0.5
    null, change = [], []
    for kind in TRAININGS:
        decay = p.weight_decay if kind == "with" else 0.0
        moved = list(snapshots(loss, start, (x, targets), p.learning_rate, decay, shown(p)))
        null.append([np.linalg.norm(first @ basis[2:].T) for first, _ in moved])
        change.append([((outputs(w, off) - outputs(w, x)) ** 2).sum(1).mean() for w in moved])
    curves = {"null_weight": np.array(null), "off_distribution": np.array(change)}
    return {name: values / values[:, :1] for name, values in curves.items()}


def loss(weights, data):
    return ((answers(weights, data[0]) - data[1]) ** 2).sum(1).mean() / 2
