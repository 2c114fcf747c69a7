"""The networks and what is counted and measured on them, all on the host in NumPy; the program hands it on."""

from itertools import pairwise

import numpy as np

from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.free_directions import free_directions
from foretrain.degeneracy.grams import grams, singular_values
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.sparsify import outputs, sparsified
from foretrain.degeneracy.synchronization import rise
from foretrain.study import CONVERGED, Program, generator

from .scales import over_scale, sampled
from .study import SHARES, SOURCES, TRAININGS, shown

_COUNTS = (
    "parameter_count", "hidden_neurons", "counted", "counted_by_squares", "deficit", "parameters_left", "sparsified_gap",
    "effective", "counted_at_scale", "counted_by_roots", "left_at_scale", "edges_at_scale", "weights_at_scale",
)  # fmt: skip
_HIDDEN = {"drawn": 1, "dependent": 1, "deep": 2, "deeper": 3}  # layers
_MEASURED = {
    "sampled": ("sampled", "smooth"),
    "approximate": ("disagreement", "mixing_loss", "transfer", "transfer_loss"),
    "decay": ("null_weight", "off_distribution", "fit"),
}


def inputs(p, seed):
    """What is measured of the networks of one run."""
    random = generator(seed, "weights")
    if p.kind == "decay":
        return trained(p, random)
    if p.kind == "sampled":
        several = [drawn(random, (3, 3, 4), "relu", False) for _ in range(p.networks)]
        return sampled(random, several, random.normal(size=(p.samples, 3)))
    made = [
        (approximate if p.kind == "approximate" else counts)(p, random) for _ in range(p.networks)
    ]
    return {name: np.stack([one[name] for one in made], -1) for name in made[0]}


def program(p):
    """Trains nothing: what `inputs` measured goes into the results."""
    import jax.numpy as jnp

    names = _MEASURED.get(p.kind, _COUNTS)
    return Program(
        init=lambda inputs: jnp.zeros((), jnp.int32),
        step=lambda inputs, state: state,
        observe=lambda inputs, state: {},
        done=lambda inputs, state, observed: jnp.asarray(CONVERGED, jnp.int8),
        finish=lambda inputs, state: {name: inputs[name] for name in names},
    )


def drawn(random, widths, activation, bias):
    """Gaussian weights and small biases."""
    weights = [random.normal(size=(b, a)) for a, b in pairwise(widths)]
    biases = [0.3 * random.normal(size=b) for b in widths[1:]] if bias else None
    return perceptron(weights, biases, activation)


def planted(random, spans, sizes, samples, flipped=0.0, activation="relu"):
    """One hidden layer in which block a has `sizes[a]` neurons that span `spans[a]` dimensions and share their gates.

    A block reads inputs of its own, of one random sign, with positive weights; each of its inputs has the other sign on a
    share of the examples.
    """
    x, first = [], np.zeros((sum(sizes), sum(spans)))
    row = column = 0
    for span, many in zip(spans, sizes, strict=True):
        sign = random.choice([-1.0, 1.0], size=(samples, 1))
        other = np.where(random.random((samples, span)) < flipped, -1.0, 1.0)
        x.append(sign * other * np.abs(random.normal(size=(samples, span))))
        first[row : row + many, column : column + span] = random.uniform(0.3, 1, (many, span))
        row, column = row + many, column + span
    outputs_ = sum(sizes) + random.integers(3)
    second = random.normal(size=(outputs_, sum(sizes)))
    return perceptron([first, second], None, activation), np.concatenate(x, 1)


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
    found = free_directions(network, x, found=gram)
    values = singular_values(network, x, 1e-10)
    rank = int(
        (values > 1e-8 * values.max(initial=0)).sum()
    )  # as `jacobian_rank`, from the same singular values
    sparse = sparsified(network, x, found=gram)
    exact = evaluated(network, x)[0][-1]
    largest = np.abs(exact).max() or 1.0  # 0 where all of a layer is off
    squares = sum(
        sum(block.dimension**2 for block in one.blocks) - sum(block.extra for block in one.blocks)
        for one in found.sections.values()
    )
    return {
        "parameter_count": float(found.parameters),
        "hidden_neurons": float(sum(len(w["weight"]) for w in network.params[:-1])),
        "counted": np.array([float(found.by_source()[name]) for name in SOURCES]),
        "counted_by_squares": float(found.free + squares),
        "deficit": float(found.parameters - rank),
        "parameters_left": float(sparse.parameters),
        "sparsified_gap": np.abs(outputs(sparse, network, x) - exact).max() / largest,
    } | over_scale(network, x, gram, values**2 / len(x), sparse)


def approximate(p, random):
    """Two neurons of nearly equal gates, mixed, or one passing on the other: loss, and what gates say of it.

    In the second case the loss has but one term, and neurons differ in size, so that it matters whose gate and whose
    preactivation is taken.
    """
    found = {name: [] for name in _MEASURED["approximate"]}
    move = p.mixing * random.normal(size=(2, 2))
    single = np.array([[0, p.mixing / 10], [0, 0]])
    for share in SHARES:
        network, x = planted(random, (2,), (2,), p.samples, share)
        outward = network.params[-1]["weight"]
        loss, moved = rise(network, x, 1, move)
        found["mixing_loss"].append(loss)
        found["disagreement"].append(moved * len(outward))
        network.params[0]["weight"][0] *= 3
        loss, moved = rise(network, x, 1, single)
        found["transfer_loss"].append(loss)
        found["transfer"].append(moved * (outward[:, 0] ** 2).sum())
    return {name: np.array(values) for name, values in found.items()}


def trained(p, random):
    """A network learns another's answers on data of two dimensions out of four, without and with decay of its weights."""
    basis = np.linalg.qr(random.normal(size=(4, 4)))[0]
    x = random.normal(size=(p.samples, 2)) @ basis[:2]
    teacher = random.normal(size=(4, 4)), random.normal(size=(2, 4))
    targets = np.maximum(x @ teacher[0].T, 0) @ teacher[1].T
    start = random.normal(size=(12, 4)) / 2, random.normal(size=(2, 12)) / 12**0.5
    off = x + random.normal(size=(p.samples, 2)) @ basis[2:] / 2**0.5
    found = {name: [] for name in _MEASURED["decay"]}
    for kind in TRAININGS:
        decay = p.weight_decay if kind == "with" else 0.0
        curves = _descent(p, x, targets, off, basis[2:], start, decay)
        for name, values in zip(found, np.array(curves).T, strict=True):
            found[name].append(values / values[0])
    return {name: np.array(values) for name, values in found.items()}


def _descent(p, x, targets, off, null, start, decay):
    """Plain descent of |f - y|²/2 + decay |w|²/2; weights along `null`, answers off the data, and the loss, at each point."""
    first, second = start
    curves, points = [], set(shown(p).tolist())
    for update in range(p.updates + 1):
        hidden = np.maximum(x @ first.T, 0)
        answers = hidden @ second.T
        if update in points:
            beyond = np.maximum(off @ first.T, 0) @ second.T
            gap = ((beyond - answers) ** 2).sum(1).mean()
            loss = ((answers - targets) ** 2).sum(1).mean()
            curves.append((np.linalg.norm(first @ null.T), gap, loss))
        error = (answers - targets) / len(x)
        back = (error @ second) * (hidden > 0)
        second = second - p.learning_rate * (error.T @ hidden + decay * second)
        first = first - p.learning_rate * (back.T @ x + decay * first)
    return curves
