"""N(eps) = 2 beta E[L - L*] at beta = 1/(2 eps) under a unit prior around w*, by sums over grids: nothing is sampled."""

import numpy as np

FAR = 7.5  # deviations of the prior that a grid reaches


def mean_cost(log_weights, costs, eps: float) -> float:
    """N of a mean loss that is `costs` on a grid, with logarithms of weights."""
    weights = np.exp(log_weights - log_weights.max())
    return float((weights * costs).sum() / weights.sum() / eps)


def _line(centre: float, points: int) -> np.ndarray:
    return centre + np.linspace(-FAR, FAR, points)


def product(k, centre, eps: float) -> float:
    """Of one product of powers w_v^(2 k_v)."""
    used = [(power, at) for power, at in zip(k, centre, strict=False) if power]
    points = {1: 20_001, 2: 3001, 3: 401}[len(used)]
    # sinh puts points where the loss is steep: near 0, at which it vanishes.
    grid = np.linspace(-1, 1, points)
    bend = 6.0
    axis = (FAR + 1) * np.sinh(bend * grid) / np.sinh(bend)
    measure = np.log(np.cosh(bend * grid))
    cost, log = np.ones(()), np.zeros(())
    for number, (power, at) in enumerate(used):
        shape = [-1 if other == number else 1 for other in range(len(used))]
        cost = cost * (axis ** (2 * power)).reshape(shape)
        log = log + (measure - (axis - at) ** 2 / 2).reshape(shape)
    return mean_cost(log - cost / (2 * eps), cost, eps)


def chain(depth: int, at: float, eps: float) -> float:
    """Of (w_1 ... w_depth - at^depth)^2: Gaussian in the last factor, the others on a grid."""
    points = {2: 20_001, 3: 4001}[depth]
    rest = _line(at, points)
    log = -((rest - at) ** 2) / 2
    if depth == 3:
        log = log[:, None] + log[None]
        rest = rest[:, None] * rest[None]
    beta = 1 / (2 * eps)
    precision, gap = 2 * beta * rest**2 + 1, (rest - at ** (depth - 1)) * at
    mean = -2 * beta * rest * gap / precision
    cost = (rest * mean + gap) ** 2 + rest**2 / precision
    log = log - np.log(precision) / 2 - beta * gap**2 + precision * mean**2 / 2
    return mean_cost(log, cost, eps)


def last_layer(act, x, into, out, eps: float, points: int = 1201) -> float:
    """Of V act(U x), two units: Gaussian in V, given U on a grid, of which all that is needed are products of two units."""
    beta, n = 1 / (2 * eps), len(x)
    lines = [_line(at, points) for at in into]
    units = [act(line[:, None] * x) for line in lines]
    moved = [unit - act(at * x) for unit, at in zip(units, into, strict=True)]

    def products(left, right):
        """Means over inputs of left_a right_b for all pairs of units, each on the whole grid or along one side."""
        own = [(unit * other).sum(1) / n for unit, other in zip(left, right, strict=True)]
        cross = left[0] @ right[1].T / n, (left[1] @ right[0].T / n).T
        return (own[0][:, None], cross[0]), (cross[1], own[1][None])

    gram, shift, gap = products(units, units), products(units, moved), products(moved, moved)
    (a, c), (_, b) = gram
    p, q, r = 1 + 2 * beta * a, 1 + 2 * beta * b, 2 * beta * c
    determinant = p * q - r**2
    log = -((lines[0] - into[0]) ** 2)[:, None] / 2 - ((lines[1] - into[1]) ** 2)[None] / 2
    log = log - len(out) / 2 * np.log(determinant)
    cost = len(out) * (a * q + b * p - 2 * c * r) / determinant
    for v, w in out:
        first, second = (v * row[0] + w * row[1] for row in shift)
        rest = v**2 * gap[0][0] + 2 * v * w * gap[0][1] + w**2 * gap[1][1]
        m = -2 * beta * (q * first - r * second) / determinant
        k = -2 * beta * (p * second - r * first) / determinant
        linear = m * first + k * second
        cost = cost + a * m**2 + 2 * c * m * k + b * k**2 + 2 * linear + rest
        log = log - beta * (rest + linear)
    return mean_cost(log, cost, eps)


def basins(near: float, far: float, eps: float, others: int = 5) -> float:
    """Of the double well: Gaussian in the others, given the place along it."""
    beta = 1 / (2 * eps)
    place = _line(0.0, 100_001)
    along = np.clip((place / 1.5) ** 2, 0, 1)
    cost = near * (1 - along) + far * along
    well, precision = 8 * place**2 * (place - 1.5) ** 2, 2 * beta * cost + 1
    log = -(place**2) / 2 - beta * well - others / 2 * np.log(precision)
    return mean_cost(log, well + others * cost / precision, eps)


def hole(depth: float, steep: float, d: int, eps: float) -> float:
    """Of depth (1 - exp(-steep |w|^2)) in d dimensions, along the radius."""
    radius = np.geomspace(1e-6, 2 * FAR, 200_001)
    cost = -depth * np.expm1(-steep * radius**2)
    log = d * np.log(radius) - radius**2 / 2 - cost / (2 * eps)
    return mean_cost(log, cost, eps)
