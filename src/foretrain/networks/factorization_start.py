"""Targets and starts of factorizations, drawn on the host so that theory and simulation begin from the same numbers."""

from typing import Any, NamedTuple

import numpy as np

from foretrain.errors import argument_error, integer, one_of, real
from foretrain.networks.drawn import check_drawn
from foretrain.networks.routing_start import orthonormal_columns

TARGET_LAWS = ("sphere", "orthonormal")


class Factors(NamedTuple):
    """Two factors of a matrix left right^T.

    Attributes:
        left: Shape (n, component): X of the learner, A of the target.
        right: Shape (n, component): Y of the learner, B of the target.
    """

    left: Any
    right: Any


def draw_target(
    generator: np.random.Generator,
    dimension: int,
    rank: int,
    *,
    law: str = "sphere",
    scale: float = 1.0,
) -> Factors:
    """Draw the target's factors A, B on the host.

    Args:
        rank: r >= 1; at most n if orthonormal.
        law: "sphere": every a_i and b_i independent and uniform on the unit sphere; "orthonormal":
            the r columns of A, and of B, uniform among orthonormal ones.
        scale: Factor on C, applied to A. With scale 1 the entries of C are of order 1/n.
    """
    dimension, rank = integer("dimension", dimension, minimum=1), integer("rank", rank, minimum=1)
    law, scale = one_of("law", law, TARGET_LAWS), real("scale", scale, above=0)
    if law == "orthonormal" and rank > dimension:
        raise argument_error(
            "rank", f"be at most `dimension` = {dimension} for orthonormal targets", f"is {rank}"
        )
    check_drawn([(2, dimension, rank)])
    drawn = generator.standard_normal((2, dimension, rank))
    if law == "sphere":
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    else:
        drawn = orthonormal_columns(drawn)
    return Factors(scale * drawn[0], drawn[1])


def draw_start(
    generator: np.random.Generator, dimension: int, components: int, init_scale: float = 1.0
) -> Factors:
    """Draw the learner's factors with independent entries N(0, init_scale^2/n), on the host.

    The same generator gives the same draw times `init_scale`, so that pairs of scales compare. NumPy, (n, k), float64, k the
    number of components.
    """
    dimension = integer("dimension", dimension, minimum=1)
    components = integer("components", components, minimum=1)
    init_scale = real("init_scale", init_scale, above=0)
    check_drawn([(2, dimension, components)])
    drawn = generator.standard_normal((2, dimension, components)) * init_scale / np.sqrt(dimension)
    return Factors(drawn[0], drawn[1])


def exchanged(target: Factors, start: Factors) -> Factors:
    """The start with its second component reflected in the plane between the first two targets.

    The reflection exchanges a_1 and a_2 (b_1 and b_2 for y) and keeps every length: the second component's overlaps with
    the two targets change places, nothing else does, and its law is the same.

    Both are NumPy arrays (n, target), columns of unit length up to a common factor, and (n, component); the start is given
    back where there are not two targets and two components.
    """
    reflected = []
    for goal, own in zip(target, start, strict=True):
        if goal.shape[1] < 2 or own.shape[1] < 2:
            return start
        difference = goal[:, 0] - goal[:, 1]
        difference = difference / np.linalg.norm(difference)
        own = own.copy()
        own[:, 1] -= 2 * difference * (difference @ own[:, 1])
        reflected.append(own)
    return Factors(*reflected)
