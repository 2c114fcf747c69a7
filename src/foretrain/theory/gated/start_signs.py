"""Signs with which the edges of a gated network must start so that every mode can be learned.

A path learns a mode of strength S(p) only if the product of its weights has the sign of S(p). From equal positive
weights a mode with S(p) < 0 decays and is never learned; small random weights hold both signs, and the right one grows.
"""

import numpy as np

from foretrain.theory.gated.reduction import Reduction

# Singular values below this part of the largest are rounding: they ask for no sign.
_ZERO = 1e-12


def start_signs(reduction: Reduction) -> np.ndarray:
    r"""Find signs of edges such that along every path, mode by mode, their product is the sign of S(p).

    These are linear equations over the field of two elements, solved by elimination with the strongest paths first:
    where the wishes of paths that share edges contradict each other, the weakest remain unmet.

    Of shape (edge, mode). Cost: O(path * edge * rank) for a mode with a negative S, nothing for others.
    """
    strengths = reduction.singular_values[reduction.bundle_of_path]
    signs = np.ones_like(reduction.carried, dtype=float)
    edges = len(reduction.graph.edges)
    passes = np.zeros((len(reduction.paths), edges + 1), dtype=bool)
    np.put_along_axis(passes, reduction.path_edges, True, axis=1)
    for mode in range(signs.shape[1]):
        wished = np.abs(strengths[:, mode]) > _ZERO * np.abs(strengths).max()
        if not np.any(strengths[wished, mode] < 0):
            continue
        strongest_first = np.argsort(-np.abs(strengths[:, mode]), kind="stable")
        equations = [
            np.append(passes[path, :edges], strengths[path, mode] < 0)
            for path in strongest_first
            if wished[path]
        ]
        signs[_solve(equations, edges), mode] = -1
    return signs


def _solve(equations, unknowns) -> list[int]:
    """Unknowns that are 1 in a solution modulo 2; the last column is the right-hand side."""
    pivots: dict[int, np.ndarray] = {}
    for row in equations:
        for column, pivot in pivots.items():
            if row[column]:
                row = row ^ pivot
        at = np.flatnonzero(row[:unknowns])
        # An equation that is left without unknowns is met already, or contradicts stronger ones.
        if at.size:
            pivots = {c: other ^ row if other[at[0]] else other for c, other in pivots.items()}
            pivots[int(at[0])] = row
    return [column for column, row in pivots.items() if row[unknowns]]
