"""The curvatures of a gated linear network along its reduction, exactly, and the number of those that are not zero."""

import numpy as np

from foretrain.tasks.masks import circulant
from foretrain.theory.aoyagi import deep_linear
from foretrain.theory.pathways.race import RaceFactors, descent, routing_factors
from foretrain.training.routing import items_task

from .curvature import effective
from .study import FINER, VARIANCE, domains, moments


def predict(p, step):
    """Effective parameters of the reduction, at every moment and scale; nothing where no network is linear."""
    if p.system not in ("routing", "s-curve"):
        return {}
    (m, k), data, scales = domains(p), items_task("unit"), p.scale * np.array(FINER)
    factors = [routing_factors(m), RaceFactors(1 / (k * m), 1 / (k * m))][: 1 + (m > 1)]
    starts = p.init_scale * np.array([[p.shared_scale], [1.0]])[: len(factors)]
    modes = data.singular_values, data.variances
    b1, b2 = descent((starts, starts), p.learning_rate, int(moments(p)[-1]), *modes, factors)
    shape, untrained = (len(data.output_modes), len(data.variances)), (p.init_scale, p.init_scale)
    spectra = [curvatures(b1[at], b2[at], circulant(m, k).T, shape, untrained) for at in moments(p)]
    return {"effective_parameters": np.array([effective(h, scales) for h in spectra])}


def curvatures(b1, b2, trained, shape, untrained):
    """Eigenvalues of the Hessian of the behavioural loss on all routes, in decoupled weights: 2 D/M^2 times those of all K.

    K of an entry (i, j) of the routes' maps is derived in ``docs/studies/degeneracy-over-training.md``. Strengths b1 of
    encoders and decoders and b2 of hidden matrices, (scheme, mode), are those of the shared pathway, then, if there are any,
    of those of trained routes; `untrained` are both strengths of the others, which stay where they were. `trained` is
    (output_domain, input_domain), `shape` outputs and inputs of a map.
    """
    m, modes = len(trained), b1.shape[1]
    beyond = ((0, 0), (0, max(shape) - modes))
    shared, *own = zip(np.pad(b1, beyond), np.pad(b2, beyond), strict=True)
    start = [np.pad(np.full(modes, strength), beyond[1]) for strength in untrained]
    outer, inner = np.divmod(np.arange(m * m), m)
    same_input, same_output = (domain[:, None] == domain for domain in (inner, outer))

    def three(strengths, i, j):
        first, g = strengths[0], strengths[0] * strengths[1]
        return np.array([g[i] ** 2, g[j] ** 2, first[i] ** 2 * first[j] ** 2])

    spectra = []
    for i, j in np.ndindex(shape):
        a, c, b = three(shared, i, j)
        k = a * same_input + c * same_output + b
        for route in own:
            values = three(route, i, j).sum(), three(start, i, j).sum()
            k = k + np.diag(np.where(trained.ravel() > 0, *values))
        spectra.append(np.linalg.eigvalsh(k))
    return 2 * VARIANCE / m**2 * np.concatenate(spectra)


def winner_count(p, shared=True):
    """Curvatures that are not zero once the race is over: of the shared pathway, or of K M separate ones.

    By Aoyagi's coefficient lambda(widths, r) - lambda(widths - r, 0), doubled: what is left is r (H_0 + H_L) - r^2.
    """
    (m, k), data = domains(p), items_task("unit")
    outputs, inputs = data.output_modes.shape[0], len(data.variances)
    r, width, many = len(data.variances), p.hidden_width, m if shared else 1
    widths = np.array([many * inputs, width, width, many * outputs])
    rest = deep_linear(widths - r, 0).coefficient if (widths > r).all() else 0.0
    return 2 * (deep_linear(widths, r).coefficient - rest) * (1 if shared else k * m)
