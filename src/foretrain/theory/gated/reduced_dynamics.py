r"""The reduced equations of a gated deep linear network: one scalar per edge and mode.

$$ \tau \frac{d}{dt} B_e = \sum_{p \ni e} B_{p \setminus e} \Big[ S(p) - \sum_{j: t(j)=t(p)} B_j D(j,p) \Big] $$

Eq. (10) of Saxe, Sodhani & Lewallen (2022), with tau = 1. How often a term appears, and how strongly, follows from the
graph and the gates: an edge collects one term per trained path through it, and S and D carry Pr(path).

A state is a float64 array of shape (edge, mode), edges in the order of the graph's and modes as `Reduction` numbers
them; it is zero where an end of the edge lacks the mode, and stays so.
"""

from collections.abc import Callable, Mapping

import numpy as np
from scipy.integrate import solve_ivp

from foretrain.errors import ForetrainError, argument_error, finite_array, integer, nearest, real
from foretrain.quantities.learning_curves.learning_time import crossing_time
from foretrain.theory.gated.reduction import Reduction
from foretrain.theory.integration import iterate

_TOLERANCE = 1e-10  # relative, of the integrator


def decoupled_start(start: float | Mapping | np.ndarray, reduction: Reduction) -> np.ndarray:
    """Initial state B(0).

    The result is (edge, mode), zero where an edge does not carry the mode.

    Args:
        start: One number for every edge and mode; or edge name to a number or an array of shape (mode,), all edges
            that are trained; or an array of shape (edge, mode).
    """
    shape = reduction.carried.shape
    names = [edge.name for edge in reduction.graph.edges]
    if isinstance(start, Mapping):
        for name in start:
            if name not in names:
                raise argument_error("start", "name edges", f"has `{name}`", nearest(name, names))
        rows = np.zeros(shape)
        for row, name, has in zip(rows, names, reduction.carried, strict=True):
            if name not in start and has.any():
                raise argument_error(f"start.{name}", "be given", "is missing")
            value = finite_array(f"start.{name}", start.get(name, 0.0))
            if value.shape not in ((), shape[1:]):
                rule = f"be a number or have shape {shape[1:]}"
                raise argument_error(f"start.{name}", rule, f"has shape {value.shape}")
            row[:] = value
    else:
        rows = finite_array("start", start).astype(float)
        if rows.shape not in ((), shape):
            rule = f"be a number or have shape {shape} (edge, mode)"
            raise argument_error("start", rule, f"has shape {rows.shape}")
    return np.where(reduction.carried, rows, 0.0)


def grown_start(weights: dict[str, np.ndarray], reduction: Reduction) -> np.ndarray:
    """State of the reduction that small weights of parallel two-layer pathways grow from, shape (edge, mode).

    While weights are small the sum q = (W_in v + W_out^T u) / 2 of a mode grows and the difference decays, so that
    both edges tend to |q|; derived in docs/theory/gated-networks.md.
    """
    start = {}
    for group in reduction.groups:
        (first, second) = group.edges
        right, left = group.frames["x"], group.frames["y"]
        growing = (weights[first] @ right + weights[second].T @ left) / 2
        start[first] = start[second] = np.linalg.norm(growing, axis=0)
    return decoupled_start(start, reduction)


def velocity(state: np.ndarray, reduction: Reduction) -> np.ndarray:
    """Right-hand side of eq. (10): dB/dt, shape (edge, mode)."""
    factors = np.concatenate([state, np.ones((1, state.shape[1]))])[reduction.path_edges]
    before, after = np.ones_like(factors), np.ones_like(factors)
    for place in range(1, factors.shape[1]):
        before[:, place] = before[:, place - 1] * factors[:, place - 1]
        after[:, -1 - place] = after[:, -place] * factors[:, -place]
    strength = _sum_bundles(reduction, before[:, -1] * factors[:, -1])
    error = reduction.singular_values - explained(strength, reduction)
    terms = before * after * error[reduction.bundle_of_path, None, :]
    return reduction.incidence @ terms.reshape(-1, state.shape[1])


def mode_strengths(states: np.ndarray, reduction: Reduction) -> np.ndarray:
    """Strength of every mode in the summed map of every bundle's paths, shape (..., bundle, mode)."""
    padded = np.concatenate([states, np.ones_like(states[..., :1, :])], axis=-2)
    product = padded[..., reduction.path_edges[:, 0], :]
    for place in reduction.path_edges.T[1:]:
        product = product * padded[..., place, :]
    return _sum_bundles(reduction, product)


def _sum_bundles(reduction, products):
    first = np.searchsorted(reduction.bundle_of_path, np.arange(len(reduction.active)))
    return np.add.reduceat(products, first, axis=-2)


def explained(strengths: np.ndarray, reduction: Reduction) -> np.ndarray:
    """``sum_j B_j D(j, p)`` of every bundle p, what is learned of S(p): shape (..., bundle, mode).

    Args:
        strengths: From `mode_strengths`, shape (..., bundle, mode).
    """
    terms = strengths[..., reduction.pairs[:, 0], :] * reduction.input_variances
    first = np.searchsorted(reduction.pairs[:, 1], np.arange(len(reduction.active)))
    return np.add.reduceat(terms, first, axis=-2)


def loss(states: np.ndarray, reduction: Reduction) -> np.ndarray:
    r"""Loss of states of shape (..., edge, mode), shape (...): the loss of the full network where the residual is zero.

    $$ L = \tfrac12 \langle |y|^2 \rangle - \sum_p \sum_i S_i(p) B_{p,i}
           + \tfrac12 \sum_{j,p} \sum_i B_{j,i} D_i(j,p) B_{p,i} $$

    It is a mean of squares, and never negative: what falls below zero is rounding of a difference of large terms.
    """
    strengths = mode_strengths(states, reduction)
    error = reduction.singular_values - explained(strengths, reduction) / 2
    gained = np.sum(strengths * error, axis=(-2, -1))
    return np.asarray(np.maximum(reduction.target_power / 2 - gained, 0.0))


def flow(
    start: float | Mapping | np.ndarray, times: np.ndarray, reduction: Reduction
) -> np.ndarray:
    """Integrate the reduced gradient flow with LSODA, which is stiff where it must be.

    `start` is a state or anything that `decoupled_start` makes one of; the states at the times are (time, edge, mode).

    Cost: modes do not interact, so the Jacobian is banded; O(time * mode * edge^2) where stiff.
    """
    times = finite_array("times", times, ndim=1).astype(float)
    if times.size == 0 or times[0] < 0 or np.any(np.diff(times) <= 0):
        raise argument_error("times", "ascend from a time that is not negative", f"is {times}")
    start = decoupled_start(start, reduction)
    if times[-1] == 0:
        return start[None]
    solution = _solve(reduction, start, times[-1], t_eval=times)
    return _states(solution.y, times, start)


def flow_until(
    start: float | Mapping | np.ndarray, until: float, reduction: Reduction
) -> Callable[[np.ndarray], np.ndarray]:
    """The reduced gradient flow up to a positive time, integrated once, to be looked at wherever it turns out to matter.

    Returns:
        Times in [0, until], shape (time,), to states of shape (time, edge, mode), as `flow` gives them.
    """
    start = decoupled_start(start, reduction)
    solution = _solve(reduction, start, until, dense_output=True)
    return lambda times: _states(solution.sol(times), times, start)


def _solve(reduction, start, until, **how):
    edges, modes = start.shape

    def derivative(_, flat):
        return velocity(flat.reshape(modes, edges).T, reduction).T.ravel()

    solution = solve_ivp(
        derivative,
        (0.0, until),
        start.T.ravel(),
        method="LSODA",
        rtol=_TOLERANCE,
        atol=_TOLERANCE * 1e-3 * max(np.abs(start).max(), 1e-100),
        lband=edges - 1,
        uband=edges - 1,
        **how,
    )
    if not solution.success:
        raise ForetrainError(f"The reduced flow could not be integrated: {solution.message}")
    return solution


def _states(flat, times, start):
    edges, modes = start.shape
    states = flat.T.reshape(-1, modes, edges).swapaxes(1, 2).copy()
    states[times == 0] = start
    return states


def descent(
    start: float | Mapping | np.ndarray,
    learning_rate: float,
    steps: int,
    reduction: Reduction,
    *,
    every: int = 1,
) -> np.ndarray:
    """Gradient descent of the reduced network: Euler's scheme, exactly what the full network does.

    `start` is a state or anything that `decoupled_start` makes one of. States at steps 0, `every`, 2 `every`, .. have the
    shape (steps // every + 1, edge, mode); a descent that diverges holds infinities from then on.
    """
    learning_rate = real("learning_rate", learning_rate, above=0)
    steps, every = integer("steps", steps, minimum=0), integer("every", every, minimum=1)

    def step(state):
        return state + learning_rate * velocity(state, reduction)

    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(list(iterate(step, decoupled_start(start, reduction), steps, every)))


def half_learning_times(states: np.ndarray, times: np.ndarray, reduction: Reduction) -> np.ndarray:
    """First time at which a path's mode is half learned: ``sum_j B_j D(j, p) = S(p) / 2``.

    `states` are (time, edge, mode), linear between their `times`. Of shape (path, mode), in the unit of `times`: nan where a
    path has nothing to learn in a mode (S = 0), infinity where it is not half learned by the last time.
    """
    values = reduction.singular_values
    target = np.where(np.abs(values) > 1e-12 * np.abs(values).max(), values, np.nan)
    learned = explained(mode_strengths(states, reduction), reduction) / target
    crossing = crossing_time(times, np.moveaxis(learned, 0, -1), 0.5)
    crossing = np.where(np.isnan(crossing), np.inf, crossing)
    return np.where(np.isnan(target), np.nan, crossing)[reduction.bundle_of_path]


def hidden_frames(
    reduction: Reduction, generator: np.random.Generator
) -> list[dict[str, np.ndarray]]:
    """Random R_v for the hidden nodes of every group: orthonormal columns, zeros for modes that the node lacks.

    Any choice gives the same dynamics. Returns one dictionary per group, node to array of shape (width, mode).
    """
    frames = []
    for group in reduction.groups:
        of_group = {}
        for name, has in group.carried.items():
            if name in reduction.graph.hidden:
                width = reduction.graph.width[name]
                basis, _ = np.linalg.qr(generator.standard_normal((width, int(has.sum()))))
                of_group[name] = np.zeros((width, has.size))
                of_group[name][:, has] = basis
        frames.append(of_group)
    return frames


def decoupled_weights(
    state: np.ndarray, frames: list[dict[str, np.ndarray]], reduction: Reduction
) -> dict[str, np.ndarray]:
    """Weights of the full network in a state: ``W_e = R_t(e) B_e R_s(e)^T``, eq. (9).

    `frames` are those of the hidden nodes, from `hidden_frames`, the same at every time. The result maps edges to float64
    arrays (target width, source width), zero for edges that no trained path uses.
    """
    weights = {name: np.zeros(shape) for name, shape in reduction.graph.shape.items()}
    for group, hidden in zip(reduction.groups, frames, strict=True):
        frame = {**group.frames, **hidden}
        for index, edge in enumerate(reduction.graph.edges):
            if edge.name in group.edges:
                left, right = frame[edge.target], frame[edge.source]
                weights[edge.name] = (left * state[index, : left.shape[1]]) @ right.T
    return weights
