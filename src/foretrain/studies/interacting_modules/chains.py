"""The posterior around the planted parameters, of one part of the loss."""

from itertools import pairwise

import numpy as np

from foretrain import study
from foretrain.degeneracy.derivatives import evaluated
from foretrain.training.modules import ACTIVATIONS, SCALES, activated

from .measurement import part
from .study import WIDTHS


def posterior(p, seed):
    """The posterior of one part of the loss, its weights moving."""
    network, x, counted, _, moving = part(p, seed)
    seen = evaluated(network, x)[0]
    leaves = [section[name].ravel() for section in network.params for name in ("bias", "weight")]
    beta, localisation = SCALES.get(p.activation, SCALES["relu"])
    target = np.concatenate([seen[-1], seen[1]], 1)
    kind = ACTIVATIONS.index(p.activation)
    data = {"x": x, "target": target, "counted": counted, "activation": kind}
    data = {name: np.asarray(values)[None] for name, values in data.items()}  # one example
    centre = np.concatenate(leaves)
    return study.posterior(losses, centre, data, beta=beta, pull=localisation, moving=moving)


def losses(w, data):
    """Mean squared distance of outputs and mediating variables, weighted by what counts, of the one example, shape (1,)."""
    import jax.numpy as jnp

    parts = {name: values[0] for name, values in data.items()}
    f, begin, seen = parts["x"], 0, []
    for below, above in pairwise(WIDTHS):
        a, b = 2 * below, 2 * above
        bias, weight = w[begin : begin + b], w[begin + b : begin + b + a * b].reshape(b, a)
        begin += b + a * b
        pre = f @ weight.T + bias
        f = activated(pre, parts["activation"])
        seen += [pre, f]
    values = jnp.concatenate([seen[-2], seen[1]], 1)
    return (((values - parts["target"]) * parts["counted"]) ** 2).sum(-1).mean()[None]
