r"""The gradient flow of a gated linear network on any data, from the statistics alone and from any weights.

$$ \dot W_e = \sum_{p \ni e} W_{\bar t(p,e)}^T\, E(p)\, W_{\bar s(p,e)}^T, \qquad
   E(p) = \Sigma^{yx}(p) - \sum_{j: t(j)=t(p)} W_j\, \Sigma^x(j, p) $$

(Saxe, Sodhani & Lewallen 2022, eqs. 3-4), integrated in float64 with no basis in which anything is diagonal.

**Never a negative loss.** With z the gated inputs of all paths that end at an output, G = <z z^T>, Y = <y z^T>, W the maps
side by side and Q Q^T the pseudoinverse of G, the loss of that output is (|y|^2 - |Y Q|^2) / 2 + |W G Q - Y Q|^2 / 2: what
least squares leaves, and a square.

**Fewer units, the same flow.** A hidden bank meets the rest in the columns of what enters it and the rows of what leaves it.
If it has more units than these, an orthogonal basis of their span carries all of it: W_e -> Q^T W_e, W_f -> W_f Q obeys the
same equations, since gates are numbers. A bank between inputs and outputs needs no more units than these have together.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from foretrain.errors import ForetrainError
from foretrain.networks.gated import bundle_products, conserved, statistics_gradient
from foretrain.tasks.statistics import Statistics

# Eigenvalues of G below this part of the largest are directions that do not occur; a loss below this part of the power
# of the targets is rounding of a difference of equal numbers.
_ROUNDING = 1e-12
_TOLERANCE = 1e-9
_AT_REST = 1e-14
_POINTS = 5  # looked at within every step of the integrator


@dataclass(frozen=True, eq=False)
class Output:
    """Statistics of one output: what least squares leaves and explains.

    `bundles` are the numbers of the trained bundles that end here, `edges` the columns at which every one but the first
    begins; `inputs` is G, (column, column), `root` G Q, (column, direction), `wanted` Y Q, (width, direction), `least` half
    the mean square that least squares leaves.
    """

    bundles: tuple[int, ...]
    edges: np.ndarray
    inputs: np.ndarray
    root: np.ndarray
    wanted: np.ndarray
    least: float


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One network along its flow.

    Attributes:
        times, loss: Shape (time,); step x learning rate ascending from 0, and a loss that is never negative.
        explained: ``U^T (sum_j W_j Sigma_x(j, p)) V`` along the diagonal of the frames given, shape (time, bundle, mode).
        weights: Edge name to its matrix at the end, in banks of as many units as are needed.
        drift: Largest change of a quantity that the flow conserves, relative to that of the squared weights.
        finished: True if the loss came down to `enough`, False if time or evaluations ran out.
    """

    times: np.ndarray
    loss: np.ndarray
    explained: np.ndarray
    weights: dict[str, np.ndarray]
    drift: float
    finished: bool


def outputs(statistics: Statistics) -> tuple[Output, ...]:
    """The outputs with their statistics side by side, once for many losses. Cost: O(column^3) for every output."""
    by_target: dict[str, list[int]] = {}
    for p in statistics.target_input:
        if np.any(statistics.input_pair(p, p)):
            by_target.setdefault(statistics.bundles[p].target, []).append(p)
    ends = []
    for name, power in statistics.target_power.items():
        bundles = by_target.get(name, [])
        if not bundles:
            none = np.zeros(0)
            ends.append(Output((), none, none, none, none, power / 2))
            continue
        inputs, values, vectors = gated_inputs(statistics, bundles)
        root = vectors * np.sqrt(values)
        together = np.concatenate([statistics.target_input[p] for p in bundles], axis=1)
        target = together @ (vectors / np.sqrt(values))
        least = (power - np.sum(target**2)) / 2
        least = float(least) if least > _ROUNDING * power else 0.0
        edges = column_edges(statistics, bundles)
        ends.append(Output(tuple(bundles), edges, inputs, root, target, least))
    return tuple(ends)


def gated_inputs(statistics: Statistics, bundles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G of the gated inputs of these bundles side by side, and its eigenvalues and eigenvectors above rounding."""
    widths = [statistics.graph.width[statistics.bundles[p].source] for p in bundles]
    pairs = [[statistics.input_pair(j, p) for p in bundles] for j in bundles]
    blocks = [
        [
            np.zeros((wide, high)) if gate is None else gate
            for high, gate in zip(widths, row, strict=True)
        ]
        for wide, row in zip(widths, pairs, strict=True)
    ]
    inputs = np.block(blocks)
    values, vectors = np.linalg.eigh(inputs)
    kept = values > _ROUNDING * max(values[-1], 0.0)
    return inputs, values[kept], vectors[:, kept]


def column_edges(statistics: Statistics, bundles) -> np.ndarray:
    """Columns at which the inputs of every bundle but the first begin, for `numpy.split`."""
    return np.cumsum([statistics.graph.width[statistics.bundles[p].source] for p in bundles])[:-1]


def loss(totals: Mapping[int, np.ndarray], ends: tuple[Output, ...]) -> float:
    """Loss of a network with these maps, never negative: half the mean square error, summed over outputs."""
    total = 0.0
    for end in ends:
        total += end.least
        if end.bundles:
            whole = np.concatenate([totals[p] for p in end.bundles], axis=1)
            total += 0.5 * float(np.sum((whole @ end.root - end.wanted) ** 2))
    return total


def explained(totals: Mapping[int, np.ndarray], ends: tuple[Output, ...]) -> dict[int, np.ndarray]:
    """``sum_j W_j Sigma_x(j, p)``, what a network with these maps has learned of ``Sigma_yx(p)``, for every bundle p."""
    learned = {}
    for end in ends:
        if end.bundles:
            whole = np.concatenate([totals[p] for p in end.bundles], axis=1) @ end.inputs
            learned |= zip(end.bundles, np.split(whole, end.edges, axis=1), strict=True)
    return learned


def compressed(weights: Mapping[str, np.ndarray], statistics: Statistics) -> dict[str, np.ndarray]:
    """Weights with the same flow of all maps, in hidden banks no wider than what enters and leaves them."""
    graph, small = statistics.graph, {name: np.asarray(w, float) for name, w in weights.items()}
    shrunk = True
    while shrunk:
        shrunk = False
        for node in graph.hidden:
            into = [edge.name for edge in graph.incoming[node]]
            out_of = [edge.name for edge in graph.outgoing[node]]
            meets = np.concatenate(
                [*(small[e] for e in into), *(small[e].T for e in out_of)], axis=1
            )
            if meets.shape[1] < meets.shape[0]:
                basis = np.linalg.qr(meets)[0]
                small |= {e: basis.T @ small[e] for e in into}
                small |= {e: small[e] @ basis for e in out_of}
                shrunk = True
    return small


def multiplications(weights: Mapping[str, np.ndarray], statistics: Statistics) -> float:
    """About how many multiplications one evaluation of the gradient takes, by the widths of `compressed` weights."""
    count = 0.0
    for p in statistics.target_input:
        for index in statistics.bundles[p].paths:
            shapes = [weights[edge].shape for edge in statistics.paths[index].edges]
            ends = shapes[-1][0] + shapes[0][1]
            # The product along the path, before and after every edge.
            count += sum(math.prod(shape) * 1.5 * ends for shape in shapes)
    for (j, p), matrix in statistics.inputs.items():
        target = statistics.graph.width[statistics.bundles[j].target]
        count += (1 if j == p else 2) * target * matrix.size
    return count


def largest_curvature(weights: Mapping[str, np.ndarray], statistics: Statistics) -> float:
    """Largest eigenvalue of the Hessian of the loss, by sixty power iterations: descent needs a smaller rate than 2 / it."""
    generator = np.random.default_rng(0)
    names = list(weights)
    way = {name: generator.standard_normal(weights[name].shape) for name in names}
    size = max(float(np.abs(weights[name]).max(initial=0.0)) for name in names) or 1.0
    for _ in range(60):
        length = math.sqrt(sum(float(np.sum(w**2)) for w in way.values()))
        if not length:
            return 0.0
        step = 1e-5 * size / length
        up = statistics_gradient(statistics, {n: weights[n] + step * way[n] for n in names})
        down = statistics_gradient(statistics, {n: weights[n] - step * way[n] for n in names})
        way = {n: (up[n] - down[n]) / (2e-5 * size) for n in names}
    return math.sqrt(sum(float(np.sum(w**2)) for w in way.values()))


def flow_until(
    start: Mapping[str, np.ndarray],
    until: float,
    statistics: Statistics,
    *,
    ends: tuple[Output, ...] | None = None,
    frames: Mapping[int, tuple[np.ndarray, np.ndarray]] | None = None,
    enough: float = 0.0,
    at_least: float = 0.0,
    settle_after: float = math.inf,
    most: int = 40_000,
) -> Trajectory:
    """Integrate the exact gradient flow (DOP853, relative tolerance 1e-9).

    Args:
        start: Edge name to its matrix at time 0, shape (target width, source width).
        until: Time at which to stop, positive.
        ends: From `outputs`, where it is at hand.
        frames: Number of a bundle to U and V, shape (width, mode) each, for `Trajectory.explained`.
        enough: Loss at which to stop before, but not before the time `at_least`.
        settle_after: Time from which on to stop where the loss falls by less than 1e-14 of itself in as much time again.
        most: Evaluations of the gradient after which to stop before.

    Raises:
        ForetrainError: the integrator gave up.

    Cost: `multiplications` for each evaluation; twelve to a step, which is at most about 6 / `largest_curvature` long.
    Memory: one set of weights, ten times.
    """
    ends = outputs(statistics) if ends is None else ends
    small = compressed(start, statistics)
    names, shapes = list(small), [small[name].shape for name in small]
    cuts = np.cumsum([math.prod(shape) for shape in shapes])[:-1]

    def unpacked(flat):
        parts = np.split(flat, cuts)
        return {n: p.reshape(s) for n, p, s in zip(names, parts, shapes, strict=True)}

    def velocity(_, flat):
        gradient = statistics_gradient(statistics, unpacked(flat))
        return -np.concatenate([gradient[name].ravel() for name in names])

    def looked(flat):
        totals = bundle_products(statistics, unpacked(flat))
        learned = explained(totals, ends) if frames else {}
        strengths = [
            np.sum((u.T @ learned[p]) * v.T, axis=1) for p, (u, v) in (frames or {}).items()
        ]
        return loss(totals, ends), np.array(strengths)

    state = np.concatenate([small[name].ravel() for name in names])
    size = math.sqrt(float(np.mean(state**2)))
    solver = DOP853(
        velocity, 0.0, state, until, rtol=_TOLERANCE, atol=_TOLERANCE * max(size, 1e-150)
    )
    records = [(0.0, *looked(state))]
    while solver.status == "running" and solver.nfev < most:
        begun = float(solver.t)
        reason = solver.step()
        if solver.status == "failed":
            raise ForetrainError(f"The flow could not be integrated: {reason}")
        between = solver.dense_output()
        inner = np.linspace(begun, float(solver.t), _POINTS + 1)[1:]
        records += [(time, *looked(between(time))) for time in inner[:-1]]
        records.append((solver.t, *looked(solver.y)))
        if solver.t < at_least:
            continue
        # Towards a minimum the gradient falls to rounding; past a saddle it does not before it grows again.
        rest = float(np.sum(solver.f**2)) * solver.t
        if records[-1][1] <= enough or (
            solver.t >= settle_after and rest < _AT_REST * records[0][1]
        ):
            break
    times, losses, by_mode = (np.array(column) for column in zip(*records, strict=True))
    end = unpacked(solver.y)
    before, after = conserved(statistics.graph, small), conserved(statistics.graph, end)
    change = max((float(np.abs(after[v] - before[v]).max()) for v in before), default=0.0)
    largest = max(float(np.abs(w).max()) for w in end.values()) ** 2
    done = bool(losses[-1] <= enough)
    return Trajectory(times, losses, by_mode, end, change / (largest or 1.0), done)
