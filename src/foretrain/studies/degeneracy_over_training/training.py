"""What is trained and measured, on the host in NumPy; this file holds the linear networks, the program hands all on."""

import numpy as np

from foretrain.study import CONVERGED, Program, generator
from foretrain.tasks.masks import circulant
from foretrain.training.routing import items_task

from .curvature import effective
from .perceptron import grokking
from .selection import selection
from .study import FINER, domains, moments

VARIANCE = 0.25  # of every input, four items one-hot
_CURVES = ("effective_parameters", "count", "fit_error", "unseen_error")
_CURVES += ("activation_rank", "shared_similarity")
_NAMES = {
    "grokking": (*_CURVES, "blocks"),
    "selection": ("rank_agreement", "model_effective", "model_heldout"),
}


def program(p):
    """Trains nothing: what `inputs` measured goes into the results."""
    import jax.numpy as jnp

    names = _NAMES.get(p.system, _CURVES)
    return Program(
        init=lambda inputs: jnp.zeros((), jnp.int32),
        step=lambda inputs, state: state,
        observe=lambda inputs, state: {},
        done=lambda inputs, state, observed: jnp.asarray(CONVERGED, jnp.int8),
        finish=lambda inputs, state: {name: inputs[name] for name in names},
    )


def inputs(p, seed):
    """What is measured of one run, by name."""
    return {"grokking": grokking, "selection": selection}.get(p.system, linear)(p, seed)


def linear(p, seed):
    """A shared pathway and, where there are several domains, one for each route beside it: trained, looked at 41 times."""
    parts, (m, k) = start(p, seed), domains(p)
    data, trained = items_task("unit"), circulant(m, k).T
    target = (data.output_modes * data.optimum) @ data.input_modes[0].T
    asked = trained if k == m else 1 - trained
    scales, found = p.scale * np.array(FINER), []
    for update in range(moments(p)[-1] + 1):
        error = target - sum(maps(part) for part in parts)
        if update in moments(p):
            curvatures = 2 * VARIANCE / m**2 * np.linalg.eigvalsh(kernel(parts))
            power = (error**2).sum((2, 3)) / (target**2).sum()
            found.append(
                {
                    "effective_parameters": effective(curvatures, scales),
                    "count": (curvatures >= p.scale).sum(),
                    "fit_error": (power * trained).sum() / trained.sum(),
                    "unseen_error": (power * asked).sum() / asked.sum(),
                    **activity(parts, p.scale),
                }
            )
        error = error * (VARIANCE / trained.sum() * trained[..., None, None])
        slopes = [slope(part, error) for part in parts]
        parts = [
            [w + p.learning_rate * s for w, s in zip(part, of, strict=True)]
            for part, of in zip(parts, slopes, strict=True)
        ]
    return {name: np.array([one[name] for one in found], float) for name in found[0]}


def start(p, seed):
    """Weights of each pathway's modules: encoders (b, a, i, h, d), hidden (b, a, h, h), decoders (b, a, j, o, h).

    Output domain j of group b, input domain i of group a. The shared pathway is one group, of others each route is one.
    """
    from foretrain.networks.modular_routing import decoupled_modules, random_modules

    random, (m, _), data = generator(seed, "weights"), domains(p), items_task("unit")
    u, v, parts = data.output_modes, data.input_modes[0], []
    schemes = [(m**2, p.shared_scale), (1, 1.0)][: 1 + (m > 1)]
    for paths, over in schemes:
        size = m, paths, p.hidden_width
        made = (
            decoupled_modules(random, u, v, *size)
            if p.start == "decoupled"
            else random_modules(random, *size, len(v), len(u))
        )
        parts.append([p.init_scale * over * np.asarray(w) for w in made])
    return parts


def maps(part):
    """Of every route, (output_domain, input_domain, o, d)."""
    encoders, hidden, decoders = part
    second = hidden[:, :, None] @ encoders
    out = (decoders[:, :, :, None] @ second[:, :, None]).transpose(0, 2, 1, 3, 4, 5)
    return out.reshape(out.shape[0] * out.shape[1], out.shape[2] * out.shape[3], *out.shape[4:])


def slope(part, error):
    """What descent adds to the weights per rate, from the weighted errors of all routes."""
    encoders, hidden, decoders = part
    count, size = len(hidden), encoders.shape[2]
    error = error.reshape(count, size, count, size, *error.shape[2:]).transpose(0, 2, 1, 3, 4, 5)
    second = hidden[:, :, None] @ encoders
    back = (decoders.swapaxes(-1, -2)[:, :, :, None] @ error).sum(2)
    return [
        hidden.swapaxes(-1, -2)[:, :, None] @ back,
        (back @ encoders.swapaxes(-1, -2)).sum(2),
        (error @ second.swapaxes(-1, -2)[:, :, None]).sum(3),
    ]


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


def activity(parts, scale):
    """Rank of the first hidden layer over routes and items, and mean cosine of one item in two input domains."""
    first = parts[0][0][0, 0]  # (i, h, d)
    m, _, items = first.shape
    products = np.einsum("ihd,khe->idke", first, first)
    gram = np.einsum("idke,jl->jidlke", products, np.ones((m, m)))
    if len(parts) > 1:
        own = parts[1][0][:, :, 0]  # (j, i, h, d)
        own = np.einsum("jihd,jihe->jide", own, own)
        for j, i in np.ndindex(m, m):
            gram[j, i, :, j, i] += own[j, i]
    flat = gram.reshape(m * m * items, -1)
    length = np.sqrt(np.diag(flat))
    cosines = (flat / np.outer(length, length)).reshape(gram.shape)
    pairs = [cosines[j, i, d, j, k, d] for j, i, k, d in np.ndindex(m, m, m, items) if i != k]
    return {
        "activation_rank": (np.linalg.eigvalsh(flat / len(flat)) >= scale).sum(),
        "shared_similarity": np.mean(pairs) if pairs else np.nan,
    }
