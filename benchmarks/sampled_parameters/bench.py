"""Networks and landscapes of which N(eps) is known otherwise: in closed form, by quadrature, by a determinant, or by NUTS.

Networks of a family share shapes and one loss function, so that each family is compiled once.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from foretrain.errors import argument_error
from foretrain.theory.aoyagi import deep_linear
from foretrain.theory.reduced_rank import coefficient_at

from . import exact

WIDEST = 8  # of deep linear networks
POINTS = np.linspace(-1.5, 2.0, 8)  # inputs of one-dimensional networks


@dataclass(frozen=True)
class Case:
    """A loss around w*, and what is known of it.

    Attributes:
        losses, params, data: As `foretrain.study.posterior` takes them.
        mask: Like the parameters, 1 where they move; None where all do.
        known: ``known(eps)``: N and its standard error; None asks for a reference by NUTS.
        trap: True where chains cannot come round, so that nothing is to be trusted.
        batch: Examples of a minibatch; None for all.
        share: Of the gradients that are allowed.
    """

    losses: Any
    params: Any
    data: Any
    known: Any = None
    mask: Any = None
    trap: bool = False
    batch: int | None = None
    share: float = 1.0


def quadratic(w, data):
    """Sum of c (w - shift)^2 of eight parameters."""
    return data["none"] + (data["c"] * (w - data["shift"]) ** 2).sum()


def _quadratic(costs, shift=0.0, **options):
    c = np.resize(np.asarray(costs, float), 8)
    data = {"c": c[None], "shift": np.full((1, 8), shift), "none": np.zeros(1)}

    def known(eps):
        p = c / eps + 1  # the start's own loss is subtracted
        return float((c / eps / p - c / eps * shift**2 * (1 - 1 / p**2)).sum()), 0.0

    return Case(quadratic, np.zeros(8), data, known, **options)


def powers(w, data):
    """Sum over blocks of a product of even powers of its variables; parameters (block, variable)."""
    import jax.numpy as jnp

    square = w**2
    table = jnp.stack([jnp.ones_like(w), square, square**2, square**3])
    terms = jnp.take_along_axis(table, data["k"][0][None], 0)[0].prod(1)
    return data["none"] + (data["on"][0] * terms).sum()


def _powers(k, copies=1, centre=(0.0, 0.0, 0.0), **options):
    exponents = np.zeros((6, 3), int)
    exponents[:copies, : len(k)] = k
    on = np.arange(6) < copies
    start = np.zeros((6, 3))
    start[:copies] = centre
    data = {"k": exponents[None], "on": on[None].astype(float), "none": np.zeros(1)}
    known = lambda eps: (copies * exact.product(k, centre, eps), 0.0)  # noqa: E731
    return Case(powers, start, data, known, **options)


def scalars(w, data):
    """(w_1 ... w_4 - its value)^2; a factor that does not move is 1."""
    return (w.prod() - data) ** 2


def _scalars(depth, at, **options):
    start = np.ones(4)
    start[:depth] = at
    known = lambda eps: (exact.chain(depth, at, eps), 0.0)  # noqa: E731
    moves = (np.arange(4) < depth).astype(float)
    return Case(scalars, start, start.prod()[None], known, moves, **options)


def hidden(params, data):
    """Squared distance of V act(U x) from its value at w*; two units, two outputs."""
    import jax.numpy as jnp

    z = data["x"][:, None] * params["into"]
    kinds = jnp.stack([jnp.tanh(z), jnp.maximum(z, 0), z])
    units = (data["kind"][0][:, None, None] * kinds).sum(0)
    return (((units @ params["out"].T) - data["y"]) ** 2).sum(1)


KINDS = (np.tanh, lambda z: np.maximum(z, 0), lambda z: z)


def _hidden(kind, into, out, **options):
    into, out = np.array(into, float), np.array(out, float)
    act = KINDS[("tanh", "relu", "linear").index(kind)]
    y = act(POINTS[:, None] * into) @ out.T
    chosen = np.eye(3)[[("tanh", "relu", "linear").index(kind)]]
    data = {"x": POINTS, "y": y, "kind": np.repeat(chosen, len(POINTS), 0)}
    known = lambda eps: (exact.last_layer(act, POINTS, into, out, eps), 0.0)  # noqa: E731
    return Case(hidden, {"into": into, "out": out}, data, known, **options)


def deep(weights, target):
    """Squared distance of the product of three matrices from the target."""
    return ((weights[2] @ weights[1] @ weights[0] - target) ** 2).sum((1, 2))


def _deep(text, **options):
    shape, rank = text.split(" r")
    widths, rank = [int(width) for width in shape.split("-")], int(rank)
    moves, start = np.zeros((2, 3, WIDEST, WIDEST))
    for layer, (below, above) in enumerate(pairwise(widths)):
        moves[layer, :above, :below] = 1
        start[layer, range(rank), range(rank)] = 1
    start[len(widths) - 1 :] = np.eye(WIDEST)
    target = (start[2] @ start[1] @ start[0])[None]
    known = None
    if options.get("trap"):  # the limit, about which chains that are cut short cannot know anything
        known = lambda eps: (2 * deep_linear(widths, rank).coefficient, 0.0)  # noqa: E731
    elif len(widths) == 3 and not rank:
        known = lambda eps: (2 * coefficient_at(widths, 1 / (2 * eps)), 0.0)  # noqa: E731
    return Case(deep, start, target, known, moves, **options)


def perceptron(params, data):
    """Squared distance of a tanh network of two inputs, four units and two outputs from its outputs at w*."""
    import jax.numpy as jnp

    units = jnp.tanh(data["x"] @ params["into"].T + params["bias"])
    return ((units @ params["out"].T - data["y"]) ** 2).sum(1)


def _perceptron(twice=0, dead=0, **options):
    """The last units copy the first ones, or lead nowhere."""
    random = np.random.default_rng(5)
    x = random.standard_normal((20, 2))
    params = {
        "into": random.standard_normal((4, 2)),
        "bias": 0.5 * random.standard_normal(4),
        "out": random.standard_normal((2, 4)),
    }
    for at in range(twice):
        params["into"][3 - at], params["bias"][3 - at] = params["into"][at], params["bias"][at]
    params["out"][:, 4 - dead :] = 0
    y = np.tanh(x @ params["into"].T + params["bias"]) @ params["out"].T
    return Case(perceptron, params, {"x": x, "y": y}, **options)


def basins(w, data):
    """A double well along w_1, at 0 and 1.5, in which the other five are stiff as `near` and `far` say."""
    import jax.numpy as jnp

    along = (w[0] / 1.5) ** 2
    cost = data["near"] * (1 - jnp.clip(along, 0, 1)) + data["far"] * jnp.clip(along, 0, 1)
    return 8 * w[0] ** 2 * (w[0] - 1.5) ** 2 + cost * (w[1:] ** 2).sum()


def _basins(near, far):
    data = {"near": np.array([near]), "far": np.array([far])}
    known = lambda eps: (exact.basins(near, far, eps), 0.0)  # noqa: E731
    return Case(basins, np.zeros(6), data, known, trap=True)


def hole(w, data):
    """A plateau with a hole at w*: chains in it are at rest there, and those outside do not find it."""
    import jax.numpy as jnp

    return data["depth"] * (1 - jnp.exp(-data["steep"] * (w**2).sum()))


def _hole():
    depth, steep = 0.47, 60.0
    data = {"depth": np.array([depth]), "steep": np.array([steep])}
    known = lambda eps: (exact.hole(depth, steep, 6, eps), 0.0)  # noqa: E731
    return Case(hole, np.zeros(6), data, known, trap=True)


def regression(w, data):
    """Squared error of a linear map of four inputs."""
    return (data["x"] @ w - data["y"]) ** 2


def _minibatches():
    random = np.random.default_rng(7)
    x = random.standard_normal((200, 4))
    y = x @ np.ones(4) + 2 * random.standard_normal(200)
    w = np.linalg.lstsq(x, y, rcond=None)[0]
    c = np.linalg.eigvalsh(x.T @ x / 200)
    known = lambda eps: (float((c / (c + eps)).sum()), 0.0)  # noqa: E731
    return Case(regression, w, {"x": x, "y": y}, known, trap=True, batch=2)


# Name to what makes it; those behind PAPER have a reference by NUTS, which takes about a minute each.
MADE = {
    "quadratic, even": partial(_quadratic, [1.0]),
    "quadratic, decades": partial(_quadratic, 10.0 ** np.arange(2, -6, -1)),
    "quadratic, half flat": partial(_quadratic, [1.0, 0.0]),
    "quadratic, one stiff": partial(_quadratic, [1e4, 1, 1, 0.1, 0.1, 0.01, 0, 0]),
    "quadratic, at the scale": partial(_quadratic, [0.02, 0.01, 0.005]),
    "w⁴": partial(_powers, (2,)),
    "w⁶ × 3": partial(_powers, (3,), 3),
    "w⁴ × 6": partial(_powers, (2,), 6),
    "w₁² w₂²": partial(_powers, (1, 1)),
    "w₁² w₂² × 6": partial(_powers, (1, 1), 6),
    "w₁² w₂⁴": partial(_powers, (1, 2)),
    "w₁² w₂² w₃²": partial(_powers, (1, 1, 1)),
    "w₁² w₂² × 3 at (.5, 0)": partial(_powers, (1, 1), 3, (0.5, 0.0, 0.0)),
    "scalars, 2 at 0": partial(_scalars, 2, 0.0),
    "scalars, 2 at 1": partial(_scalars, 2, 1.0),
    "scalars, 3 at 0": partial(_scalars, 3, 0.0),
    "scalars, 3 at 1": partial(_scalars, 3, 1.0),
    "scalars, 3 at 0.5": partial(_scalars, 3, 0.5),
    "tanh, apart": partial(_hidden, "tanh", [1.0, -0.4], [[1, 0], [0, 1]]),
    "tanh, pair": partial(_hidden, "tanh", [1.0, 1.0], [[1, 0.5], [0, 1]]),
    "tanh, opposed": partial(_hidden, "tanh", [1.0, -1.0], [[1, 0.5], [0, 1]]),
    "tanh, one in use": partial(_hidden, "tanh", [1.0, 0.5], [[1, 0], [1, 0]]),
    "tanh, none in use": partial(_hidden, "tanh", [0.0, 0.0], [[0, 0], [0, 0]]),
    "ReLU, pair": partial(_hidden, "relu", [1.0, 1.0], [[1, 0.5], [0, 1]]),
    "ReLU, opposed": partial(_hidden, "relu", [1.0, -1.0], [[1, 0.5], [0, 1]]),
    "linear 1-2-2 r1": partial(_hidden, "linear", [1.0, 0.5], [[1, 0.5], [0, 1]]),
    "linear 1-2-2 r0": partial(_hidden, "linear", [0.0, 0.0], [[0, 0], [0, 0]]),
    "5-3-5 r0": partial(_deep, "5-3-5 r0"),
    "4-1-3 r0": partial(_deep, "4-1-3 r0"),
    "8-4-6 r0": partial(_deep, "8-4-6 r0"),
    "trap: two basins": partial(_basins, 1.0, 0.1),
    "trap: a wide one": partial(_basins, 2.0, 0.0),
    "trap: a hole": _hole,
    "trap: no minimum": partial(_quadratic, [1.0, 0.3], 0.3, trap=True),
    "trap: minibatches": _minibatches,
    "trap: cut short": partial(_deep, "8-4-4-8 r2", trap=True, share=0.3),
}
PAPER = {
    **{name: partial(_deep, name) for name in (
        "3-3-3 r0", "6-2-6 r0", "3-3-3 r1", "4-4-4 r2", "5-3-5 r1",
        "3-3-3-3 r0", "4-4-4-4 r2", "6-3-3-6 r1", "2-3-4-5 r0", "4-2-2-4 r2",
    )},
    "tanh 2-4-2": _perceptron,
    "tanh 2-4-2, one twice": partial(_perceptron, 1),
    "tanh 2-4-2, all twice": partial(_perceptron, 2),
    "tanh 2-4-2, half dead": partial(_perceptron, 0, 2),
}  # fmt: skip
DEFAULT = tuple(MADE)
DRAWN = tuple(f"drawn {number}" for number in range(40))


def drawn(number: int) -> Case:
    """A case of five families in turn, its sizes and numbers drawn by a seed; all are known exactly."""
    random = np.random.default_rng([2026, number])
    family = number % 5
    if family == 0:
        costs = 10 ** random.uniform(-5, 2, 8)
        return _quadratic(np.where(random.random(8) < 0.25, 0, costs))
    if family == 1:
        k = random.integers(1, 4, random.integers(1, 3))
        centre = random.uniform(-1, 1, 3) * (random.random(3) < 0.5) * [0, 1, 1]  # a minimum
        return _powers(k, int(random.integers(1, 7)), centre)
    if family == 2:
        return _scalars(int(random.integers(2, 4)), float(random.uniform(0, 1)))
    if family == 3:
        into, out = random.standard_normal(2), random.standard_normal((2, 2))
        return _hidden(("tanh", "relu", "linear")[random.integers(3)], into, out)
    return _deep("-".join(map(str, random.integers(1, WIDEST + 1, 3))) + " r0")


@lru_cache(maxsize=64)
def case(name: str) -> Case:
    """The case of a name; a deep linear network may be any, as ``6-4-6 r1``, and of those that are drawn any number."""
    cases = {**MADE, **PAPER}
    if name in cases:
        return cases[name]()
    try:
        return drawn(int(name[6:])) if name.startswith("drawn ") else _deep(name)
    except (ValueError, IndexError):
        raise argument_error(
            "network", "be one of the bench, or like 5-3-5 r0 or drawn 7", f"is {name!r}"
        ) from None
