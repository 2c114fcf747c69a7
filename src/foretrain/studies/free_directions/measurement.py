"""The networks, and what is counted and measured on them: also at noise scale eps, by counting, cutting and sampling."""

from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag
from scipy.special import softmax

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import grams, jacobian, rank
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.counts.synchronization import rise
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural
from foretrain.study import generator
from foretrain.training.ablation import ablation_curve, all_bases
from foretrain.training.snapshots import snapshots

from .sparsify import outputs, parameters, sparsified
from .study import SAMPLED, SCALES, SHARES, SOURCES, TRAININGS, shown

GRADIENTS = 1_000_000  # of each sampled network, at both scales
TOKENS, WIDE = 5, 12  # of the inputs and outputs of attention
_HIDDEN = {"drawn": 1, "dependent": 1, "deep": 2, "deeper": 3}  # layers


def measure(p, seed):
    random = generator(seed, "weights")
    if p.kind == "decay":
        return trained(p, random)
    if p.kind == "sampled":
        networks = [drawn(random, (3, 3, 4), "relu", False) for _ in range(p.networks)]
        return sampled(seed, networks, random.normal(size=(p.samples, 3)))
    counter = {"approximate": approximate, "heads": heads}.get(p.kind, counts)
    networks = [counter(p, random) for _ in range(p.networks)]
    return {name: np.stack([arrays[name] for arrays in networks], -1) for name in networks[0]}


def drawn(random, widths, activation, bias):
    weights = [random.normal(size=(b, a)) for a, b in pairwise(widths)]
    biases = [0.3 * random.normal(size=b) for b in widths[1:]] if bias else None
    return perceptron(weights, biases, activation)


def planted(random, spans, sizes, samples, flipped=0.0, activation="relu"):
    """One hidden layer in which block a has `sizes[a]` neurons that span `spans[a]` dimensions and share their gates.

    A block reads inputs of its own, of one random sign, with positive weights; on a share of examples each is negated.
    """
    x, first = [], []
    for span, many in zip(spans, sizes, strict=True):
        sign = random.choice([-1.0, 1.0], size=(samples, 1))
        other = np.where(random.random((samples, span)) < flipped, -1.0, 1.0)
        x.append(sign * other * np.abs(random.normal(size=(samples, span))))
        first.append(random.uniform(0.3, 1, (many, span)))
    second = random.normal(size=(sum(sizes) + random.integers(3), sum(sizes)))
    return perceptron([block_diag(*first), second], None, activation), np.concatenate(x, 1)


def draw(p, random):
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
    network, x = draw(p, random)
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


def approximate(p, random) -> dict:
    """Two neurons of nearly equal gates, mixed: the loss, and the disagreement of their gates."""
    move = p.mixing * random.normal(size=(2, 2))
    pairs = []
    for share in SHARES:
        network, x = planted(random, (2,), (2,), p.samples, share)
        loss, moved = rise(network, x, 1, move)
        pairs.append((loss, moved * len(network.params[-1]["weight"])))
    return dict(zip(("mixing_loss", "disagreement"), np.array(pairs).T, strict=True))


def heads(p, random) -> dict:
    """Attention heads on few tokens, some of one pattern: what is free of values and outputs beyond each head alone."""
    many, wide = random.integers(2, 5), random.integers(1, 4)
    alike = random.integers(many, size=many)  # heads of equal numbers have one pattern
    x = random.normal(size=(p.samples // 20, TOKENS, WIDE))
    scores = np.einsum("nid,hde,nje->hnij", x, random.normal(size=(many, WIDE, WIDE))[alike], x)
    read = (softmax(scores / WIDE, -1) @ x).reshape(many, -1, WIDE)
    values, out = random.normal(size=(2, many, WIDE, wide))
    slopes = np.kron(np.concatenate(read @ values, 1), np.eye(WIDE))
    of_values = np.einsum("hnd,how->nohdw", read, out).reshape(len(slopes), -1)
    slopes = np.concatenate([slopes, of_values], 1)
    free = slopes.shape[1] - rank(slopes.T @ slopes) - many * wide**2
    alike = np.bincount(alike)
    numbers = free / wide**2, (alike - 1).clip(0).sum(), (alike * (alike - 1) // 2).sum()
    names = "free_of_heads", "heads_alike", "pairs_alike"
    return dict(zip(names, map(float, numbers), strict=True))


def trained(p, random):
    """A network learns another's answers on data of two dimensions out of four, without and with decay of its weights."""
    basis = np.linalg.qr(random.normal(size=(4, 4)))[0]
    x = random.normal(size=(p.samples, 2)) @ basis[:2]

    def rectified(weights, z):
        return np.maximum(z @ weights[0].T, 0) @ weights[1].T

    targets = rectified((random.normal(size=(4, 4)), random.normal(size=(2, 4))), x)
    start = random.normal(size=(12, 4)) / 2, random.normal(size=(2, 12)) / 12**0.5
    off = x + random.normal(size=(p.samples, 2)) @ basis[2:] / 2**0.5
    null, change = [], []
    for kind in TRAININGS:
        decay = p.weight_decay if kind == "with" else 0.0
        moved = list(snapshots(loss, start, (x, targets), p.learning_rate, decay, shown(p)))
        null.append([np.linalg.norm(first @ basis[2:].T) for first, _ in moved])
        change.append([((rectified(w, off) - rectified(w, x)) ** 2).sum(1).mean() for w in moved])
    curves = {"null_weight": np.array(null), "off_distribution": np.array(change)}
    return {name: values / values[:, :1] for name, values in curves.items()}


def loss(weights, data):
    return ((answers(weights, data[0]) - data[1]) ** 2).sum(1).mean() / 2


def over_scale(network, x, gram, squares, sparse):
    """Numbers that a network needs, each (noise_scale,); `squares` are those of singular values over examples."""
    answers = evaluated(network, x)[0][-1]
    scales = SCALES * (answers.var(0).sum() or 1.0)  # 0 where all of a layer is off
    counted, by_roots = [], []
    for eps in scales:
        freedom = free_directions(network, x, scale=eps, matrices=gram)
        counted.append(freedom.effective)
        pairs = 0
        for at in freedom.sections:
            bare = network.sections[at].bias is None
            read = gram.activations[at] if bare else gram.augmented(at)
            pairs += rank(gram.jacobians[at], scale=eps) * rank(read, scale=eps)
        by_roots.append(max(0, pairs - freedom.by_source()["synchronized"]))
    cut = [sparse, *(sparsified(network, x, gram, eps) for eps in scales)]
    losses = [((outputs(each, network, x) - answers) ** 2).sum(1).mean() for each in cut]
    left = np.array([parameters(each) for each in cut])
    bases = all_bases(network, x, names=("global", "neurons"))
    kept = {name: fewest_edges(network, x, basis, scales) for name, basis in bases.items()}
    return {
        "effective": (squares >= scales[:, None]).sum(1),
        "counted_at_scale": np.array(counted),
        "counted_by_roots": np.array(by_roots),
        "left_at_scale": np.array([left[np.array(losses) <= eps].min() for eps in scales]),
        "edges_at_scale": kept["global"],
        "weights_at_scale": kept["neurons"],
    }


def fewest_edges(network, x, basis, scales):
    """Fewest of the strongest edges, as many in each section, that keep the loss below each scale, out of 25 numbers."""
    graph = interaction_graph(network, x, basis, points=5)
    sizes = np.array([part.size for part in graph.strengths])
    counts = np.unique(np.linspace(0, sizes.max(initial=1), 25).astype(int))
    losses = ablation_curve(network, x, basis, counts.tolist(), graph=graph)
    fewest = [counts[np.flatnonzero(losses <= max(eps, losses[-1]))[0]] for eps in scales]
    return np.minimum(np.array(fewest)[:, None], sizes).sum(1)


def sampled(seed, networks, x):
    """2 lambda_Z at beta = 1/(2 eps) with a prior of unit width, by the library's sampler and, smoothed, by the Jacobian."""
    import jax

    numbers, pairs = generator(seed, "chains").integers(2**31, size=len(networks)), []
    for network, number in zip(networks, numbers, strict=True):
        unit = evaluated(network, x)[0][-1].var(0).sum()
        slopes = jacobian(network, x)
        values = np.maximum(np.linalg.eigvalsh(slopes.T @ slopes / len(x)), 0)
        params = [leaves["weight"] for leaves in network.params]
        with jax.enable_x64(True):
            around, eps = behavioural(answers, params, x), SAMPLED * unit
            estimates = sampled_parameters(
                around, eps, gradients=GRADIENTS, until_trusted=False, seed=int(number)
            )
        pairs.append((estimates.value, (values / (values + SCALES[:, None] * unit)).sum(1)))
    first, second = (np.stack(values, 1) for values in zip(*pairs, strict=True))
    return {"sampled": first, "smooth": second}


def answers(weights, x):
    """Outputs of a network of one hidden layer of rectifiers, (example, output)."""
    import jax

    return jax.nn.relu(x @ weights[0].T) @ weights[1].T
