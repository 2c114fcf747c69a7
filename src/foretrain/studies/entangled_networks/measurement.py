"""The networks of each pair, see ``docs/studies/entangled-networks.md``, and the rank of the Jacobian at their parameters."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.study import generator
from foretrain.training.modules import rank

from .study import IN, OUT

EXAMPLES = 100
SIZE = 1.5  # of incoming weights of a neuron
TRIES, REACHED = 6, 1e-10


def measure(p, seed):
    """Rank of the Jacobian at the parameters, and how far the function is from that of the modular network of the pair."""
    fitted_network = network(p.network, p.units, seed)
    if fitted_network is None:
        return {"exact_rank": np.nan, "function_gap": np.nan}
    activation, own, out, x, wanted = fitted_network
    gap = outputs(activation, own, out, x) - wanted
    slopes = jacobian(perceptron([own, out], None, activation), x)
    return {"exact_rank": rank(slopes), "function_gap": np.sqrt((gap**2).sum(1).mean())}


def outputs(activation, own, out, x):
    bend = {"identity": lambda pre: pre, "tanh": np.tanh, "relu": lambda pre: np.maximum(pre, 0)}
    return bend[activation](x @ own.T) @ out.T


@lru_cache(maxsize=4)
def network(name, h, seed):
    """A network by its name: activation, incoming (H, IN) and outgoing weights (OUT, H), x, and its function on x, (n, OUT).

    The networks of a pair have one function. None for a pair of trained networks of which one was not fitted.
    """
    random = generator(seed, f"weights of {h}")
    x = generator(seed, "data").standard_normal((EXAMPLES, IN))
    if name in ("blocks", "rotated"):
        parts = [SIZE * directions(random, h, 3) for _ in range(4)]
        first, second = (np.asarray(block_diag(*parts[k::2])) for k in (0, 1))
        second = second.T
        wanted = x @ first.T @ second.T
        if name == "rotated":
            turn = np.linalg.qr(random.standard_normal((2 * h, 2 * h)))[0]
            first, second = turn @ first, second @ turn.T
        return "identity", first, second, x, wanted
    if name in ("twice", "once"):
        feature, none = SIZE * directions(random, h, IN), np.zeros((h, IN))
        out = np.zeros((OUT, 2 * h))
        out[0, :h], out[1, h:] = signed(random, h), signed(random, h)
        own = np.concatenate([feature, feature])
        wanted = outputs("tanh", own, out, x)
        if name == "once":
            own = np.concatenate([feature, none])
            out = np.concatenate([out[:, :h] + out[:, h:], np.zeros((OUT, h))], 1)
        return "tanh", own, out, x, wanted
    activation = "relu" if name.endswith("rectified") else "tanh"
    own, out = planted(h, random)
    wanted = outputs(activation, own, out, x)
    if name in ("apart", "whole"):
        fits = trained(h, random, x, wanted)
        return None if fits is None else ("tanh", *fits[name == "whole"], x, wanted)
    if name == "within":
        inside = np.concatenate([directions(random, 1, IN // 2)[0], np.zeros(IN // 2)])
        own[-2:], out[0, -2:] = SIZE * inside, (SIZE, -SIZE)
    elif name.startswith("across"):
        own[-2:] = SIZE * directions(random, 1, IN)[0]
        way = signed(random, OUT)
        way *= SIZE / np.linalg.norm(way)
        out[:, -2], out[:, -1] = way, -way
    return activation, own, out, x, wanted


def directions(random, many, wide):
    """Orthonormal rows, (many, wide)."""
    return np.linalg.qr(random.standard_normal((wide, many)))[0].T


def signed(random, many):
    """Outgoing weights, between 1.5 and 2, of either sign."""
    return random.uniform(1.5, 2, many) * random.choice([-1.0, 1.0], many)


def planted(h, random):
    """Two modules of h neurons, and two neurons that idle."""
    modules = [(SIZE * directions(random, h, 3), signed(random, h)) for _ in range(2)]
    own, out = (np.asarray(block_diag(*both)) for both in zip(*modules, strict=True))
    return np.pad(own, ((0, 2), (0, 0))), np.pad(out, ((0, 0), (0, 2)))


def trained(h, random, x, wanted):
    """Weights fitted with those between modules held at zero, and with none held; None where no start reaches both."""
    module = np.r_[np.repeat([0, 1], h), 0, 1]
    own = (module[:, None] == np.arange(IN) // 3, np.arange(OUT)[:, None] == module)
    inside = np.concatenate([part.ravel() for part in own])
    for _ in range(TRIES):
        start = random.standard_normal(inside.size)
        fits = [fitted(start * moves, moves, x, wanted) for moves in (inside, np.ones_like(inside))]
        reached = [fit for fit in fits if fit is not None]
        if len(reached) == len(fits):
            return reached
    return None


def fitted(start, moves, x, wanted):
    """Weights by Levenberg and Marquardt on all examples; None where the function is not reached."""
    wide = len(start) // (IN + OUT)

    def layers(moved):
        w = start.copy()
        w[moves] = moved
        return w[: wide * IN].reshape(wide, IN), w[wide * IN :].reshape(OUT, wide)

    def residuals(moved):
        return (outputs("tanh", *layers(moved), x) - wanted).ravel()

    def slopes(moved):
        return jacobian(perceptron(layers(moved), None, "tanh"), x)[:, moves]

    exact: dict[str, Any] = dict.fromkeys(("ftol", "xtol", "gtol"), 1e-15) | {"jac": slopes}
    fit = least_squares(residuals, start[moves], method="lm", max_nfev=400, **exact)
    return layers(fit.x) if 2 * fit.cost / len(x) < REACHED else None
