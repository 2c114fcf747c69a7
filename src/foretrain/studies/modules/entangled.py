"""Networks of equal function, modular and entangled, and what twice their learning coefficients are known to be.

Two modules of h neurons each, with inputs and an output of their own; one hidden layer, no biases, no weight is held. Two
more neurons are left over. Where these idle the modules are all there is; where they are a pair that cancels, they read and
write within one module or across both. Modules that compute the same features of the same inputs do so each by itself, or
once for both. Linear modules have h neurons each; rotated into each other they are the same function.

What twice the coefficients tend to, of D inputs and O outputs (theory in ``docs/studies/modules.md``): a neuron of tanh that
is used is regular and has D + O parameters, a rectified one one less, for its scale. A pair that cancels has as many, since
its outgoing weights must add to zero and its incoming ones agree. Neurons that idle are reduced-rank regression of rank zero,
widths D, idle, O: what a bent neuron has beyond its linear part vanishes where that does. Two neurons that compute one
feature for two outputs share the sum of their outgoing weights: O + 2 D.
"""

import numpy as np

from foretrain.degeneracy.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.theory.aoyagi import deep_linear

from .chains import coordinates, stacked
from .study import ENTANGLED, UNITS

IN, OUT, LINEAR = 6, 2, 6  # inputs, outputs, outputs of the linear networks
WIDE, EXAMPLES = 2 * max(UNITS) + 2, 100
ACTIVATIONS = ("identity", "tanh", "relu")
TOLD = ("activation",)
# Beta, gamma, and whether scatter is taken off, as in `held`. Gamma keeps chains away from networks of other coefficients.
SCALES = {"tanh": (1e7, 50.0, True), "identity": (1e3, 4.0, False), "relu": (1e4, 12.0, False)}
SIZE = 1.5  # of incoming weights of a neuron
TRIES, ITERATIONS, REACHED = 6, 400, 1e-10


def limits(units):
    """Twice the learning coefficient of each kind of network whose modules have so many neurons; nan for trained ones."""
    used = 2 * units * (OUT + IN)
    idle = 2 * deep_linear([IN, 2, OUT], 0).coefficient
    linear = 2 * deep_linear([IN, 2 * units, LINEAR], 2 * units).coefficient
    rectified = used - 2 * units
    found = {
        "blocks": linear,
        "rotated": linear,
        "idle": used + idle,
        "within": used + OUT + IN,
        "across": used + OUT + IN,
        "idle rectified": rectified + idle,
        "across rectified": rectified + OUT + IN - 1,
        "twice": units * (OUT + 2 * IN),
        "once": units * (OUT + IN) + 2 * deep_linear([IN, units, OUT], 0).coefficient,
    }
    return np.array([found.get(name, np.nan) for name in ENTANGLED])


def networks(p, random, data):
    """Inputs of chains: every kind of network at every size, kinds first."""
    x = data.standard_normal((EXAMPLES, IN))
    made = [[one for one in kinds(h, random, x)] for h in UNITS]
    each = [
        prepared(made[size][kind], x, p, random)
        for kind in range(len(ENTANGLED))
        for size in range(len(UNITS))
    ]
    found = stacked([one for one, *_ in each])
    shape = len(ENTANGLED), len(UNITS)
    ranks = np.array([rank for _, rank, _ in each]).reshape(shape)
    gaps = np.array([gap for *_, gap in each]).reshape(shape)
    limit = np.stack([limits(h) for h in UNITS], 1)
    return found | {"x": x, "exact_rank": ranks, "derived_parameters": limit, "function_gap": gaps}


def residuals(inputs, network, w):
    """Outputs less those that are wanted, (n, outputs)."""
    import jax.numpy as jnp

    incoming, outgoing = w[: WIDE * IN].reshape(WIDE, IN), w[WIDE * IN :].reshape(LINEAR, WIDE)
    pre, kind = inputs["x"] @ incoming.T, network["activation"]
    values = jnp.where(kind == 0, pre, jnp.where(kind == 1, jnp.tanh(pre), jnp.maximum(pre, 0)))
    return values @ outgoing.T - network["target"]


def finished(inputs, sampled):
    """What is stored."""
    import jax.numpy as jnp

    shape = len(ENTANGLED), len(UNITS)
    known = jnp.isfinite(inputs["function_gap"])
    names = ("exact_rank", "derived_parameters", "function_gap")
    return {name: inputs[name] for name in names} | {
        "sampled_parameters": jnp.where(known, sampled.reshape(shape), jnp.nan)
    }


def kinds(h, random, x):
    """Of each kind: activation, incoming (H, IN) and outgoing weights (OUT, H), and the function that it should have.

    The last is that of the modular network of its pair, on x. A pair of trained networks that was not fitted is None.
    """
    first, second = linear(h, random)
    turn = np.linalg.qr(random.standard_normal((2 * h, 2 * h)))[0]
    own, out = planted(h, random)
    wanted = np.tanh(x @ own.T) @ out.T
    feature, way = SIZE * directions(random, 1, IN)[0], direction(random, OUT)
    inside = SIZE * np.concatenate([directions(random, 1, IN // 2)[0], np.zeros(IN // 2)])
    both = np.where(np.arange(OUT) == 0, SIZE, 0.0), way
    rectified = np.maximum(x @ own.T, 0) @ out.T
    shared = SIZE * directions(random, h, IN)
    twice = np.zeros((OUT, 2 * h))
    twice[0, :h], twice[1, h:] = signed(random, h), signed(random, h)
    once = np.concatenate([twice[:, :h] + twice[:, h:], np.zeros((OUT, h))], 1)
    alike = np.tanh(x @ np.tile(shared, (2, 1)).T) @ twice.T
    made = {
        "blocks": ("identity", first, second, x @ first.T @ second.T),
        "rotated": ("identity", turn @ first, second @ turn.T, x @ first.T @ second.T),
        "idle": ("tanh", own, out, wanted),
        "within": ("tanh", *paired(own, out, inside, both[0]), wanted),
        "across": ("tanh", *paired(own, out, feature, way), wanted),
        "idle rectified": ("relu", own, out, rectified),
        "across rectified": ("relu", *paired(own, out, feature, way), rectified),
        "twice": ("tanh", np.tile(shared, (2, 1)), twice, alike),
        "once": ("tanh", np.concatenate([shared, 0 * shared]), once, alike),
    }
    for name, found in zip(("apart", "whole"), trained(h, random, x, wanted), strict=True):
        made[name] = None if found is None else ("tanh", *found, wanted)
    return [made[name] for name in ENTANGLED]


def directions(random, many, wide):
    """Orthonormal rows, (many, wide)."""
    return np.linalg.qr(random.standard_normal((wide, many)))[0].T


def direction(random, wide):
    """A column of length SIZE with no small entry."""
    way = signed(random, wide)
    return SIZE * way / np.linalg.norm(way)


def signed(random, many):
    """Outgoing weights, between 1.5 and 2, of either sign."""
    return random.uniform(1.5, 2, many) * random.choice([-1.0, 1.0], many)


def planted(h, random):
    """Two modules of h neurons, and two neurons that idle."""
    own, out = np.zeros((2 * h + 2, IN)), np.zeros((OUT, 2 * h + 2))
    for module in range(2):
        rows = slice(module * h, (module + 1) * h)
        own[rows, module * 3 : module * 3 + 3] = SIZE * directions(random, h, 3)
        out[module, rows] = signed(random, h)
    return own, out


def paired(own, out, feature, way):
    """The same with the last two neurons a pair that cancels."""
    own, out = own.copy(), out.copy()
    own[-2:], out[:, -2], out[:, -1] = feature, way, -way
    return own, out


def linear(h, random):
    """Two linear modules of h neurons, each of rank h."""
    first, second = np.zeros((2 * h, IN)), np.zeros((LINEAR, 2 * h))
    for module in range(2):
        inside, rows = slice(module * 3, module * 3 + 3), slice(module * h, module * h + h)
        first[rows, inside] = SIZE * directions(random, h, 3)
        second[inside, rows] = SIZE * directions(random, h, 3).T
    return first, second


def trained(h, random, x, wanted):
    """Incoming and outgoing weights, fitted with those between modules held at zero, and with none held; else None twice."""
    module = np.r_[np.repeat([0, 1], h), 0, 1]
    own = (module[:, None] == np.arange(IN) // 3, np.arange(OUT)[:, None] == module)
    inside = np.concatenate([part.ravel() for part in own])
    for _ in range(TRIES):
        start = random.standard_normal(inside.size)
        pair = [fitted(start * held, held, x, wanted) for held in (inside, np.ones_like(inside))]
        reached = [w for w in pair if w is not None]
        if len(reached) == len(pair):
            cut, wide = len(module) * IN, len(module)
            return [(w[:cut].reshape(wide, IN), w[cut:].reshape(OUT, wide)) for w in reached]
    return None, None


def fitted(w, moves, x, wanted):
    """Weights after damped Gauss-Newton steps on all examples; None where the function is not reached."""
    wide, damping, own = len(w) // (IN + OUT), 1.0, np.flatnonzero(moves)

    def told(w):
        incoming, outgoing = w[: wide * IN].reshape(wide, IN), w[wide * IN :].reshape(OUT, wide)
        values = np.tanh(x @ incoming.T)
        return values, outgoing, (values @ outgoing.T - wanted).ravel()

    values, outgoing, gap = told(w)
    for _ in range(ITERATIONS):
        loss = (gap**2).sum() / len(x)
        if loss < REACHED:
            return w
        back = (1 - values**2)[:, None] * outgoing  # (n, OUT, wide)
        by_in = (back[..., None] * x[:, None, None]).reshape(len(gap), -1)
        by_out = np.einsum("op,nk->nopk", np.eye(OUT), values).reshape(len(gap), -1)
        slopes = np.concatenate([by_in, by_out], 1)[:, own]
        square, force = slopes.T @ slopes, slopes.T @ gap
        for _ in range(20):
            tried = w.copy()
            tried[own] -= np.linalg.solve(square + damping * np.eye(len(own)), force)
            new = told(tried)
            if (new[2] ** 2).sum() / len(x) < loss:
                damping = max(damping / 5, 1e-12)
                w, (values, outgoing, gap) = tried, new
                break
            damping *= 4
        else:
            return None
    return None


def prepared(made, x, p, random):
    """What a chain needs of one network, padded; the rank of its Jacobian, and how far its function is from the wanted one."""
    d = WIDE * (IN + LINEAR)
    if made is None:
        nothing = {
            "place": np.zeros(d),
            "centre": np.zeros(d),
            "target": np.zeros((len(x), LINEAR)),
        }
        nothing |= {
            "scales": np.zeros((d, 1)),
            "share": np.zeros(1),
            "beta": 1.0,
            "pull": 1.0,
            "activation": 1,
        }
        return nothing, np.nan, np.nan
    activation, own, out, wanted = made
    moves = np.zeros((WIDE, IN), bool), np.zeros((LINEAR, WIDE), bool)
    moves[0][: len(own)], moves[1][: len(out), : len(own)] = True, True
    weights = np.zeros((WIDE, IN)), np.zeros((LINEAR, WIDE))
    weights[0][: len(own)], weights[1][: len(out), : len(own)] = own, out
    # Neurons that idle read something: the function is the same, and how steep it is in what they would say is seen.
    idle = ~out.any(0) & ~own.any(1)
    away = weights[0].copy()
    away[: len(own)][idle] = random.standard_normal((idle.sum(), IN)) / SCALES[activation][1] ** 0.5
    slopes = {
        name: jacobian(perceptron([one, weights[1]], None, activation), x)
        for name, one in (("at", weights[0]), ("away", away))
    }
    moving = np.concatenate([part.ravel() for part in moves])
    values = np.linalg.svd(slopes["at"][:, moving], compute_uv=False)
    pre = x @ weights[0].T
    target = (
        pre
        if activation == "identity"
        else np.tanh(pre)
        if activation == "tanh"
        else np.maximum(pre, 0)
    ) @ weights[1].T
    gap = np.sqrt(((target[:, : len(out)] - wanted) ** 2).sum(1).mean())
    found = {
        "place": np.concatenate([away.ravel(), weights[1].ravel()]),
        "centre": np.concatenate([one.ravel() for one in weights]),
        "target": target,
        "activation": ACTIVATIONS.index(activation),
        **coordinates(slopes["away"], moving, len(x), *SCALES[activation]),
    }
    return found, float((values > 1e-10 * values[0]).sum()), gap
