r"""Orthogonal frames, one per space, in which a set of matrices between the spaces is diagonal at once.

Given spaces a of width |a| and matrices C_k from space c(k) to space r(k), find orthogonal F_a such that every
$F_{r(k)}^T C_k F_{c(k)}$ is diagonal, where columns of different frames belong together if they have the same mode.

How: put all matrices, with generic coefficients, into one symmetric matrix A on the direct sum of the spaces. In the
frames sought A falls apart into one small matrix a_i per mode, and so does exp(A), whose block from space r to space b
is $F_b \, diag_i([\exp a_i]_{br}) \, F_r^T$: it sums over all walks from r to b. Hence the eigenvectors of a diagonal
block are a root's frame, and the block from the root carries that frame to every other space. Modes that do not reach
the root are found the same way in what is left. Modes that are equal in every matrix stay one eigenspace, inside which
any basis of the root will do since all others follow it. What noise remains is reduced by ascent of the diagonal mass.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Matrix = tuple[str, str, np.ndarray]

# Relative size below which a coupling counts as rounding: float64 epsilon times a few hundred operations.
_ROUNDING = 1e-13
# Relative size below which a column carried over from the root is too uncertain to be used as a direction.
_REACHED = 1e-10
# Residual up to which frames count as exact: rounding of the statistics and of a few close eigenvalues.
_EXACT = 1e-11
# Draws of generic coefficients tried where noise is left: one draw in some hundred is nearly degenerate by chance, and
# mixes modes too far for the ascent to part them.
_DRAWS = 6
# The ascent ends when a sweep removes less than this part of the off-diagonal mass.
_PROGRESS = 1e-4
_SWEEPS = 200  # most of the ascent


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames found for a set of matrices.

    Attributes:
        columns: Space to array of shape (width, mode), float64: orthonormal columns that span the space, and columns of
            zeros for the modes that the space lacks. Modes are ordered by the diagonal mass in the first family.
        carried: Space to bool array of shape (mode,): True if it has a column of that mode.
        residuals: For every family, the off-diagonal mass relative to the mass, both Frobenius norms over the family.
    """

    columns: dict[str, np.ndarray]
    carried: dict[str, np.ndarray]
    residuals: tuple[float, ...]


def joint_diagonalize(widths: Mapping[str, int], families: Sequence[Sequence[Matrix]]) -> Frames:
    """Find the frames in which all matrices are as nearly diagonal as can be found.

    Args:
        widths: Space to its width.
        families: Sequences of (row space, column space, matrix of shape (row width, column width)). Families may have
            different units: each is scaled by its own Frobenius norm. A matrix within one space must be symmetric.

    Returns:
        The frames, complete: every column of every space has a mode. Components that no matrix connects share a mode in order
        of their strength. Signs make the diagonals of the first family positive as far as they can be.

    Cost: O(N^3) for N the total width, a few times; some ten times where noise is left.
    """
    scaled, scales = [], []
    for family in families:
        scales.append(np.sqrt(sum(float(np.sum(m**2)) for _, _, m in family)) or 1.0)
        scaled.append([(row, column, matrix / scales[-1]) for row, column, matrix in family])
    flat = [item for family in scaled for item in family]
    draw = np.random.default_rng(0)

    def attempt():
        generic = draw.uniform(0.5, 1.5, size=len(flat))
        columns, carried = _pack(widths, _components(widths, flat, generic), scaled)
        return columns, carried, _residuals(columns, scaled)

    columns, carried, residuals = attempt()
    for _ in range(_DRAWS - 1):
        if math.hypot(*residuals) <= _EXACT:
            break
        other = attempt()
        if math.hypot(*other[2]) < math.hypot(*residuals):
            columns, carried, residuals = other
    if math.hypot(*residuals) > _EXACT:
        columns = _polish(columns, carried, flat)
        residuals = _residuals(columns, scaled)
    return Frames(_orient(columns, scaled[0]), carried, residuals)


def _components(widths, matrices, generic) -> list[dict[str, np.ndarray]]:
    """Columns that belong together, as a list of space to unit vector; every space ends up with a complete basis."""
    left = {name: np.eye(width) for name, width in widths.items()}
    components = []
    while True:
        walks = _walk_matrix(left, matrices, generic)
        if walks is None:
            break
        carried = _carry_from_root(left, *walks)
        components.extend(carried)
        left = {name: _complement(basis, name, carried) for name, basis in left.items()}
    components.extend({name: column} for name, basis in left.items() for column in basis.T)
    return components


def _walk_matrix(left, matrices, generic):
    """A and exp(A / |A|) in the remaining subspaces, and the slice of each space; None if A is rounding."""
    edges = np.cumsum([0, *(basis.shape[1] for basis in left.values())])
    place = {name: slice(edges[i], edges[i + 1]) for i, name in enumerate(left)}
    total = np.zeros((edges[-1], edges[-1]))
    for (row, column, matrix), coefficient in zip(matrices, generic, strict=True):
        block = coefficient * left[row].T @ matrix @ left[column]
        total[place[row], place[column]] += block
        total[place[column], place[row]] += block.T
    if not total.size or np.linalg.norm(total) <= _ROUNDING:
        return None
    values, vectors = np.linalg.eigh(total)
    weights = np.exp(values / np.abs(values).max())
    return total, (vectors * weights) @ vectors.T, place


def _carry_from_root(left, total, walks, place) -> list[dict[str, np.ndarray]]:
    root = max(place, key=lambda name: np.linalg.norm(total[place[name]]))
    _, basis = np.linalg.eigh(walks[place[root], place[root]])
    coupled = np.linalg.norm(total[:, place[root]] @ basis, axis=0)
    basis = basis[:, coupled > _REACHED * coupled.max()]
    components = [{root: left[root] @ column} for column in basis.T]
    for name, where in place.items():
        if name == root or where.start == where.stop:
            continue
        carried = walks[where, place[root]] @ basis
        strength = np.linalg.norm(carried, axis=0)
        covered = np.zeros((carried.shape[0], 0))
        for mode in np.argsort(-strength, kind="stable"):
            if strength[mode] <= _REACHED or covered.shape[1] == covered.shape[0]:
                break
            column = carried[:, mode] / strength[mode]
            for _ in range(2):  # Gram-Schmidt with one repetition is orthogonal to rounding
                column = column - covered @ (covered.T @ column)
            # A column mostly within those taken is noise of stronger ones, not a direction of its own.
            if np.linalg.norm(column) > 0.5:
                column /= np.linalg.norm(column)
                covered = np.column_stack([covered, column])
                components[mode][name] = left[name] @ column
    return components


def _complement(basis, name, components):
    """Orthonormal basis of what is left of `basis` once the columns found in this space are taken out."""
    columns = [component[name] for component in components if name in component]
    if not columns:
        return basis
    inside = basis.T @ np.column_stack(columns)
    full, _ = np.linalg.qr(inside, mode="complete")
    return basis @ full[:, inside.shape[1] :]


def _pack(widths, components, scaled):
    """Number the modes: strongest components first, each in the first mode that has room for all of its columns."""
    order = sorted(components, key=lambda component: _strength(component, scaled))
    modes: list[dict[str, np.ndarray]] = []
    first_free = dict.fromkeys(widths, 0)
    for component in order:
        start = max(first_free[name] for name in component)
        for mode in modes[start:]:
            if not mode.keys() & component.keys():
                mode.update(component)
                break
        else:
            modes.append(dict(component))
        for name in component:
            while first_free[name] < len(modes) and name in modes[first_free[name]]:
                first_free[name] += 1
    columns = {name: np.zeros((width, len(modes))) for name, width in widths.items()}
    carried = {name: np.zeros(len(modes), dtype=bool) for name in widths}
    for number, mode in enumerate(modes):
        for name, column in mode.items():
            columns[name][:, number] = column
            carried[name][number] = True
    return columns, carried


def _strength(component, scaled):
    """Negative diagonal mass per family, rounded so that rounding does not order what is equal."""

    def entries(family):
        inside = (item for item in family if {*item[:2]} <= component.keys())
        return (float(component[r] @ matrix @ component[c]) for r, c, matrix in inside)

    return tuple(-round(math.hypot(*entries(family)), 12) for family in scaled)


def diagonal(columns: Mapping[str, np.ndarray], matrix: Matrix) -> np.ndarray:
    """Diagonal of one matrix in the frames, shape (mode,); zero where a space lacks the mode."""
    row, column, values = matrix
    return np.sum(columns[row] * (values @ columns[column]), axis=0)


def _residuals(columns, scaled) -> tuple[float, ...]:
    residuals = []
    for family in scaled:
        off = 0.0
        for row, column, matrix in family:
            inside = columns[row].T @ matrix @ columns[column]
            off += float(np.sum((inside - np.diag(np.diag(inside))) ** 2))
        residuals.append(float(np.sqrt(off)))
    return tuple(residuals)


def _polish(columns, carried, matrices):
    """Raise the diagonal mass, frame by frame, by polar ascent.

    The mass is a sum of squares d^2 with gradient sum of d C f in each column f; the frame nearest to the gradient
    increases it. The shift keeps that true for a matrix within one space, and columns without gradient where they are.
    """
    columns = dict(columns)
    mass = _mass(columns, matrices)
    total = sum(float(np.sum(matrix**2)) for _, _, matrix in matrices)
    norms = {id(m): np.linalg.norm(m, 2) for row, column, m in matrices if row == column}
    for _ in range(_SWEEPS):
        for name, frame in columns.items():
            has = carried[name]
            shift = 1e-3 * mass / max(1, len(matrices))
            gradient = np.zeros_like(frame)
            for row, column, matrix in matrices:
                if name in (row, column):
                    values = diagonal(columns, (row, column, matrix))
                    if row == name:
                        gradient += (matrix @ columns[column]) * values
                    if column == name:
                        gradient += (matrix.T @ columns[row]) * values
                    if row == column:
                        shift += 2 * float(np.abs(values).max()) * norms[id(matrix)]
            left, _, right = np.linalg.svd((gradient + shift * frame)[:, has], full_matrices=False)
            frame = np.zeros_like(frame)
            frame[:, has] = left @ right
            columns[name] = frame
        before, mass = mass, _mass(columns, matrices)
        if mass - before <= _PROGRESS * max(total - mass, 0.0):
            break
    return columns


def _orient(columns, family):
    """Flip columns as long as that raises the sum of diagonal entries, so that they are positive where they can be."""
    columns = dict(columns)
    flipped = bool(family)
    while flipped:
        flipped = False
        for name in columns:
            entries = [
                diagonal(columns, item) for item in family if (item[0] == name) != (item[1] == name)
            ]
            turn = np.sum(entries, axis=0) < -_ROUNDING if entries else np.False_
            if turn.any():
                columns[name] = np.where(turn, -columns[name], columns[name])
                flipped = True
    return columns


def _mass(columns, matrices):
    return sum(float(np.sum(diagonal(columns, matrix) ** 2)) for matrix in matrices)
