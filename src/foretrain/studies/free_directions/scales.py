"""What a network is worth at noise scale eps: by its Jacobian, by counting, by what is left of it, and by sampling."""

import numpy as np

from foretrain.degeneracy.ablation import all_bases, edge_curve
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.free_directions import free_directions
from foretrain.degeneracy.grams import jacobian, rank
from foretrain.degeneracy.interaction_graph import interaction_graph
from foretrain.degeneracy.sparsify import outputs, sparsified

from .study import SAMPLED, SCALES

# Of Hamiltonian sampling; a quarter of the paths fit the step and do not count.


def over_scale(network, x, gram, squares, sparse):
    """Of one network, each (noise_scale,); scales are shares of the variance of its outputs.

    Args:
        network: A perceptron.
        x: (example, d_0).
        gram: Its Gram matrices.
        squares: Squared singular values of its Jacobian over the number of examples.
        sparse: `Sparsified`, exactly.
    """
    answers = evaluated(network, x)[0][-1]
    unit = answers.var(0).sum() or 1.0  # 0 where all of a layer is off
    scales = SCALES * unit
    counted, by_roots = [], []
    for eps in scales:
        found = free_directions(network, x, scale=eps, found=gram)
        counted.append(found.effective)
        pairs = sum(
            rank(gram.jacobians[at], scale=eps) * rank(_read(network, gram, at), scale=eps)
            for at in found.sections
        )
        by_roots.append(max(0, pairs - found.by_source()["synchronized"]))
    made = [sparse, *(sparsified(network, x, scale=eps, found=gram) for eps in scales)]
    losses = [((outputs(one, network, x) - answers) ** 2).sum(1).mean() for one in made]
    left = np.array([one.parameters for one in made])
    kept = {name: _edges(network, x, basis, scales) for name, basis in _bases(network, x).items()}
    return {
        "effective": (squares >= scales[:, None]).sum(1),
        "counted_at_scale": np.array(counted),
        "counted_by_roots": np.array(by_roots),
        "left_at_scale": np.array([left[np.array(losses) <= eps].min() for eps in scales]),
        "edges_at_scale": kept["global"],
        "weights_at_scale": kept["neurons"],
    }


def _read(network, gram, at):
    return gram.augmented(at) if network.sections[at].bias is not None else gram.activations[at]


def _bases(network, x):
    return all_bases(network, x, few=True, names=("global", "neurons"))


def _edges(network, x, basis, scales):
    """Fewest of the strongest edges, as many in each section, that keep the loss below each scale, out of 25 numbers."""
    graph = interaction_graph(network, x, basis, points=5)
    sizes = np.array([part.size for part in graph.strengths])
    counts = np.unique(np.linspace(0, sizes.max(initial=1), 25).astype(int))
    losses = edge_curve(network, x, basis, graph, counts.tolist())
    fewest = [counts[np.flatnonzero(losses <= max(eps, losses[-1]))[0]] for eps in scales]
    return np.minimum(np.array(fewest)[:, None], sizes).sum(1)


def sampled(random, networks, x):
    """2 lambda_Z at beta = 1/(2 eps) with a prior of unit width, by Hamiltonian paths, and what the Jacobian says of it.

    Args:
        random: What to draw from.
        networks: Of one hidden layer of rectifiers and one shape, without biases.
        x: (example, d_0).

    Returns:
        `sampled`, (sampled_scale, network), and `smooth`, (noise_scale, network).

    Chains begin near the network and live in coordinates in which a quadratic loss has a standard normal density. By parts
    ``E[z_i dU/dz_i] = 1``, so ``sum_i a_i (z_i dU/dz_i - 1)`` with a_i = beta h_i/(beta h_i + 1) is taken from ``2 beta L``:
    what scatters is what is not quadratic.
    """
    found = []
    for network in networks:
        first, second = (np.asarray(p["weight"], float) for p in network.params)
        start = np.concatenate([first.ravel(), second.ravel()])
        answers = np.maximum(x @ first.T, 0) @ second.T
        unit = answers.var(0).sum()
        eps = np.repeat(SAMPLED * unit, CHAINS)[:, None]
        slopes = jacobian(network, x)
        values, vectors = np.linalg.eigh(slopes.T @ slopes / len(x))
        values = np.maximum(values, 0)
        share = values / (values + eps)
        spread = np.sqrt(1 - share)  # (beta h + 1)^(-1/2), beta h = values / eps

        def energy(
            z,
            start=start,
            vectors=vectors,
            spread=spread,
            eps=eps,
            first=first,
            second=second,
            answers=answers,
        ):
            away = (spread * z) @ vectors.T
            w = start + away
            a = w[:, : first.size].reshape(-1, *first.shape)
            b = w[:, first.size :].reshape(-1, *second.shape)
            hidden = np.maximum(np.einsum("nd,chd->cnh", x, a), 0)
            gap = hidden @ b.transpose(0, 2, 1) - answers
            loss = (gap**2).sum((1, 2))[:, None] / len(x)
            slope_b = gap.transpose(0, 2, 1) @ hidden
            slope_a = np.einsum("cnh,nd->chd", (gap @ b) * (hidden > 0), x)
            slope = np.concatenate([s.reshape(len(z), -1) for s in (slope_a, slope_b)], 1)
            force = spread * ((slope / (len(x) * eps) + away) @ vectors)
            return loss / (2 * eps) + (away**2).sum(1, keepdims=True) / 2, force, loss

        means = _paths(random, energy, share, eps).reshape(-1, CHAINS).mean(1)
        found.append((means, (values / (values + SCALES[:, None] * unit)).sum(1)))
    return {
        "sampled": np.array([one for one, _ in found]).T,
        "smooth": np.array([one for _, one in found]).T,
    }


@np.errstate(all="ignore")  # paths that run off are refused
def _paths(random, energy, share, eps):
    """Means of 2 beta L over Hamiltonian paths of every chain, (chain,)."""
    z = random.normal(size=share.shape) / 10
    size, state, total, kept = np.full((len(z), 1), 0.3), energy(z), np.zeros((len(z), 1)), 0
    for path in range(PATHS):
        momentum = random.normal(size=z.shape)
        step = size * 2 ** (-2 * random.random((len(z), 1)))
        place, now, moving = z, state, momentum
        for _ in range(LEAPS):
            moving = moving - step / 2 * now[1]
            place = place + step * moving
            now = energy(place)
            moving = moving - step / 2 * now[1]
        more = now[0] - state[0] + ((moving**2).sum(1) - (momentum**2).sum(1))[:, None] / 2
        chance = np.exp(-np.maximum(np.nan_to_num(more, nan=np.inf), 0))
        taken = random.random(chance.shape) < chance
        z = np.where(taken, place, z)
        state = tuple(np.where(taken, a, b) for a, b in zip(now, state, strict=True))
        if path < PATHS // 4:
            size = size * np.exp(0.1 * (chance - 0.8))
            continue
        total, kept = (
            total + state[2] / eps - (share * (z * state[1] - 1)).sum(1, keepdims=True),
            kept + 1,
        )
    return (total / kept)[:, 0]


LEAPS, PATHS, CHAINS = 10, 240, 4
