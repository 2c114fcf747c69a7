"""Networks of the study, and measurements on them."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.degeneracy import folded
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph
from foretrain.degeneracy.interactions.modularity import affinity, partition
from foretrain.degeneracy.network import perceptron
from foretrain.degeneracy.transformer import of_arrays, pairs
from foretrain.study import generator
from foretrain.training import transformer
from foretrain.training.ablation import ablation_curve, all_bases
from foretrain.training.modules import joined

from .study import BASES, DRAWN, EDGES, KEPT, SAMPLES

ACCURACY, SHUFFLES = 0.95, 20  # accuracy on training samples that counts as fitted
CUTOFF = 1e-3  # of the importance of the first direction: edges below it join no modules
SOME = 400  # images on which edges are cut
PAIRS = 25  # networks of two blocks


def measure(p, seed):
    kinds = {"transformer": measure_transformer, "linear": measure_linear, "blocks": measure_blocks}
    return kinds.get(p.task, measure_classifier)(p, seed)


def draw_layers(random, widths):
    """Weights (out, in) and biases, uniform within 1 / sqrt(fan in)."""
    weights = [random.uniform(-1, 1, (b, a)) / a**0.5 for a, b in pairwise(widths)]
    return weights, [random.uniform(-1, 1, b) / a**0.5 for a, b in pairwise(widths)]


@lru_cache(maxsize=1)
def _adamw():
    import jax
    import optax

    from foretrain.dynamics import descent

    def loss(params, x, labels):
        *hidden, (last, shift) = zip(*params, strict=True)
        for weight, bias in hidden:
            x = jax.nn.relu(x @ weight.T + bias)
        logits = x @ last.T + shift
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def run(params, numbers, data, rows):
        def step(carry, batch):
            slopes = jax.grad(loss)(carry[0], *(array[batch] for array in data))
            return descent.step("adamw", carry[0], slopes, carry[1], *numbers), None

        return jax.lax.scan(step, (params, descent.start("adamw", params)), rows)[0][0]

    return jax.jit(run)


def examples(p):
    """Inputs and labels: all digits, or all pairs of symbols as two one-hot vectors and their sum modulo p."""
    if p.task == "digits":
        from sklearn.datasets import load_digits

        digits: Any = load_digits()
        return digits.data / 16, digits.target
    symbols = np.arange(p.modulus)
    return pairs(p.modulus), (np.add.outer(symbols, symbols) % p.modulus).ravel()


def count_needed(counts, losses, allowed):
    """Return the count from which on a loss stays within a bound, between counts by straight lines of logarithms.

    nan where it does not; the smallest count where it always does.
    """
    bad = np.flatnonzero(~(losses <= allowed))
    if not bad.size:
        return float(counts[0])
    at = bad[-1]
    if at == len(losses) - 1:
        return np.nan
    x, y = np.log(counts[at : at + 2]), np.log(np.maximum(losses[at : at + 2], 1e-12))
    return float(np.exp(x[0] + (np.log(allowed) - y[0]) / (y[1] - y[0]) * (x[1] - x[0])))


def measure_classifier(p, seed):
    """Train a rectified perceptron by minibatch AdamW on the cross-entropy, and cut it in every basis."""
    import jax

    x, targets = examples(p)
    widths = (x.shape[1], p.hidden_width, p.hidden_width, int(targets.max()) + 1)
    start, random = draw_layers(generator(seed, "weights"), widths), generator(seed, "batch")
    rows = np.array([random.permutation(len(x))[: p.batch_size] for _ in range(p.updates)])
    numbers = p.learning_rate, p.weight_decay
    with jax.enable_x64(True):
        params = jax.tree.map(np.asarray, _adamw()(start, numbers, (x, targets), rows))
    return cut_network(perceptron(*params), x, targets, p)


def measure_transformer(p, seed):
    """Train a transformer, cut it in every basis, and measure the frequencies of its bases at both moments."""
    networks, x, targets, own = train_transformer(p, seed)
    values = cut_network(networks[-1], x, targets, p)
    random = generator(seed, "shuffles")
    options = {"names": BASES, "centre": p.centring == "mean"}
    by_moment = [frequencies(net, x, all_bases(net, x, **options), random) for net in networks]
    values |= {name: np.stack([arrays[name] for arrays in by_moment]) for name in by_moment[0]}
    best = values["direction_frequency"] = by_moment[-1]["direction_frequency"]
    values |= agreement(values["module"], best, random)
    heldout = [is_right(net, x, targets)[~own].mean() if not own.all() else 1.0 for net in networks]
    return values | {"unseen_accuracy": np.array(heldout)}


def is_right(network, x, targets):
    return folded.layers(folded.steps(network, False), x, False)[-1].argmax(1) == targets


def cut_network(network, x, targets, p):
    """Cut a network in every basis: losses, and the directions and edges that are needed."""
    centre = p.centring == "mean"
    some = x[:: max(1, len(x) // SOME)]
    names = ("direction_loss", "edge_loss", "directions_needed", "edges_needed")
    lists: dict[str, Any] = {name: [] for name in names}
    for name, basis in all_bases(network, x, names=BASES, centre=centre).items():
        graph = interaction_graph(network, x, basis, points=p.points)
        allowed = p.tolerance * ablation_curve(network, x, basis, [0], loss="kl")[0]
        directions = ablation_curve(network, x, basis, KEPT, loss="kl")
        edges = ablation_curve(network, some, basis, EDGES, graph=graph, loss="kl")
        limits = count_needed(KEPT, directions, allowed), count_needed(EDGES, edges, allowed)
        for place, values in zip(names, (directions, edges, *limits), strict=True):
            lists[place].append(values)
        if name == "local" and p.task != "modular":
            lists |= graph_arrays(graph)
    measured = {name: np.asarray(values) for name, values in lists.items()}
    return measured | {"fitted_accuracy": is_right(network, x, targets).mean()}


def graph_arrays(graph):
    """Return edges of the most important directions, and their modules, whose number is chosen too."""
    top = max(part.max() for part in graph.strengths)
    roots = [np.sqrt(part[:DRAWN, :DRAWN]) for part in graph.strengths]
    kept = [np.pad(part, [(0, DRAWN - size) for size in part.shape]) for part in roots]
    chosen = partition(affinity([(part / top**0.5) ** 2 for part in kept], CUTOFF), None)
    modules = np.array(chosen.by_layer([DRAWN] * (len(kept) + 1)))
    return {"edge_strength": np.array(kept), "module": modules}


def measure_linear(p, seed):
    """Measure how far four linear layers of random widths are from the identity in their bases, the worst of both kinds."""
    random = generator(seed, "weights")
    widths = random.integers(3, 12, 5)
    network = perceptron(*draw_layers(random, widths), "identity")
    x = generator(seed, "data").standard_normal((200, widths[0])) + 0.5
    gaps = []
    for kind in ("global", "local"):
        basis = interaction_basis(network, x, kind=kind, centre=p.centring == "mean")
        graph = interaction_graph(network, x, basis, points=p.points)
        chain = zip(folded.steps(network, basis.folded), pairwise(basis.layers), strict=True)
        top = basis.layers[-1].importance
        for (step, (below, above)), edges in zip(chain, graph.strengths, strict=True):
            slopes = step.jacobians(np.ones((1, below.forward.shape[1])))[0]
            off = (
                above.forward @ slopes @ below.backward - np.eye(len(top)),
                (below.importance - top) / top[0],
                (edges - np.diag(below.importance)) / top[0],
            )
            gaps.append([np.abs(gap).max() for gap in off])
    names = ("identity_gap", "importance_gap", "edge_gap")
    return dict(zip(names, np.max(gaps, axis=0), strict=True))


def cross_edges(network, x, widths, points):
    """Return largest and sum of the edges between two blocks of so many activations, over those of all edges."""
    basis = interaction_basis(network, x, centre=True)
    graph = interaction_graph(network, x, basis, points=points)
    first = [
        (layer.forward[:, :w] ** 2).sum(1) > (layer.forward[:, w:] ** 2).sum(1)
        for layer, w in zip(basis.layers, widths, strict=True)
    ]
    whole, ends = graph.strengths, pairwise(first)
    between = [e * (up[:, None] != low) for e, (low, up) in zip(whole, ends, strict=True)]
    largest = max(map(np.max, between)) / max(map(np.max, whole))
    return largest, sum(map(np.sum, between)) / sum(map(np.sum, whole))


def measure_blocks(p, seed):
    """Measure networks of two blocks that share nothing, on a product of two samples, and on independent samples."""
    random, data = generator(seed, "weights"), generator(seed, "data")
    widths = (3, 6, 5, 2)
    worst, sampled = 0.0, []
    for _ in range(PAIRS):
        network = joined([draw_layers(random, widths) for _ in range(2)], "tanh", 0, 0.0)
        left, right = data.standard_normal((2, 30, 3))
        product = np.concatenate([np.repeat(left, 30, 0), np.tile(right, (30, 1))], 1)
        worst = max(worst, cross_edges(network, product, widths, p.points)[0])
        x = data.standard_normal((max(SAMPLES), 6))
        sampled.append([cross_edges(network, x[:n], widths, p.points)[1] for n in SAMPLES])
    return {"cross_on_product": np.sqrt(worst), "cross_on_samples": np.median(sampled, axis=0)}


@lru_cache(maxsize=8)
def _compiled(p):
    """Compile the first state from inputs, and the training from a state to the end or until the training set is fitted."""
    import jax

    program = transformer.program(p)

    def until(inputs, state, fitted):
        def going(state):
            return (state.taken < inputs["max_steps"]) & ~(fitted & (state.first[0] >= 0))

        return jax.lax.while_loop(going, lambda state: program.step(inputs, state), state)

    return jax.jit(program.init), jax.jit(until)


def train_transformer(p, seed):
    """Return the networks of both moments, all pairs, their labels, and which pairs were trained."""
    names = ("embedding_dim", "hidden_width", "training_share")
    sizes = {name: getattr(p, name) for name in names}
    modular = transformer.Modular(symbols=p.modulus, snapshots=2, circles=1, **sizes)
    arrays = transformer.inputs(modular, seed) | transformer.shared(modular)
    for part in ("embedding", "decoder"):
        arrays |= {f"{part}_learning_rate": p.learning_rate, f"{part}_decay": p.weight_decay}
    arrays["accuracy_threshold"] = ACCURACY
    with arithmetic("float32"):
        values: dict = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        values["max_steps"] = np.int32(p.updates)
        init, until = _compiled(modular)
        fitted = until(values, init(values), True)
        states = fitted, until(values, fitted, False)
    networks = [of_arrays(end.decoder._asdict() | {"embedding": end.embedding}) for end in states]
    labels, training = arrays["chosen"].argmax(-1).ravel(), arrays["training"].ravel() > 0
    return networks, pairs(p.modulus), labels, training


def powers(values):
    """Power of functions of two symbols at each frequency, as shares of all that varies: (k, p, p) to (k, p // 2).

    What is of frequency v has only Fourier modes 0, v and -v along both symbols; cos(a) cos(2 b) is of none.
    """
    p = values.shape[-1]
    power = np.abs(np.fft.fft2(values)) ** 2
    power[:, 0, 0] = 0
    whole = power.sum((1, 2))
    whole = np.where(whole > 1e-12 * whole.max(initial=1e-300), whole, np.inf)
    size = np.minimum(np.arange(p), p - np.arange(p))
    by_frequency = [(size == 0) | (size == v) for v in range(1, p // 2 + 1)]
    parts = [power[:, modes][:, :, modes].sum((1, 2)) for modes in by_frequency]
    return np.stack(parts, 1) / whole[:, None]


def frequencies(network, x, bases, random):
    """Measure how far the directions of every layer have one frequency each, in each of the bases.

    A direction weighs by its variance times its mean squared effect on the outputs, by the first basis, of which symbols are
    shuffled too. The declarations of the study explain the arrays, here of one moment.
    """
    p = round(len(x) ** 0.5)
    first = next(iter(bases.values()))
    values = folded.layers(folded.steps(network, first.folded), x, first.folded)
    shares = np.zeros((len(bases), len(values)))
    shuffled, spectra = np.zeros(len(values)), np.zeros((len(bases), DRAWN, p // 2))
    best = np.full((len(values), DRAWN), -1)
    for number, (name, basis) in enumerate(bases.items()):
        layers = zip(basis.layers, first.layers, values, strict=True)
        for at, (layer, whole, f) in enumerate(layers):
            coordinates = layer.coordinates(f)
            weight = coordinates.var(0) * ((whole.forward @ layer.backward) ** 2).sum(0)
            weight = weight / weight.sum()
            grid = coordinates.T.reshape(-1, p, p)
            power = powers(grid)
            shares[number, at] = weight @ power.max(1)
            if number == 0:
                orders = [random.permutation(p) for _ in range(SHUFFLES)]
                mixed = [weight @ powers(grid[:, order][:, :, order]).max(1) for order in orders]
                shuffled[at] = np.mean(mixed)
            if at == 0:
                most = np.argsort(-weight, kind="stable")[:DRAWN]
                spectra[number, : len(most)] = power[most]
            if name == "local":
                best[at, : len(power)] = power.argmax(1)[:DRAWN] + 1
    return {
        "frequency_share": shares,
        "shuffled_share": shuffled,
        "input_spectrum": spectra,
        "direction_frequency": best,
    }


def agreement(modules, best, random):
    """Measure how far modules of a graph are frequencies, both (layer, direction), -1 for none: agreement and purity."""
    from sklearn.metrics import adjusted_rand_score

    labels, own = modules[modules >= 0], best[modules >= 0]

    def purity(own):
        commonest = [np.bincount(own[labels == module]).max() for module in np.unique(labels)]
        return sum(commonest) / len(own)

    chance = np.mean([purity(random.permutation(own)) for _ in range(5 * SHUFFLES)])
    return {
        "module_agreement": adjusted_rand_score(own, labels),
        "module_purity": (purity(own) - chance) / (1 - chance) if chance < 1 else np.nan,
    }
