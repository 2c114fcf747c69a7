"""Parameters that a network needs at noise scale eps: by its Jacobian, by counting, by cutting, and by sampling."""

import numpy as np

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import jacobian, rank
from foretrain.degeneracy.derivatives import evaluated
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph
from foretrain.degeneracy.sampled.effective_parameters import sampled_parameters
from foretrain.degeneracy.sampled.posterior import behavioural
from foretrain.study import generator
from foretrain.training.ablation import all_bases, edge_curve

from .sparsify import outputs, parameters, sparsified
from .study import SAMPLED, SCALES

GRADIENTS = 1_000_000  # of each network, at both scales


def over_scale(network, x, gram, squares, sparse):
    """Numbers that a network needs, each (noise_scale,); `squares` are those of singular values over examples."""
    answers = evaluated(network, x)[0][-1]
    unit = answers.var(0).sum() or 1.0  # 0 where all of a layer is off
    scales = SCALES * unit
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
    losses = edge_curve(network, x, basis, graph, counts.tolist())
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
        smooth = (values / (values + SCALES[:, None] * unit)).sum(1)
        pairs.append((estimates.value, smooth))
    first, second = (np.stack(values, 1) for values in zip(*pairs, strict=True))
    return {"sampled": first, "smooth": second}


def answers(weights, x):
    """Outputs of a network of one hidden layer of rectifiers, (example, output)."""
    import jax

    return jax.nn.relu(x @ weights[0].T) @ weights[1].T
