"""Alignment of each component of a factorisation with each component of its target."""

NO_TARGET = -1
ENDS_ON = 0.5  # least last alignment for a component to end on a target


def alignment(left, right, target_left, target_right):
    """A_ij = cos(x_j, a_i) cos(y_j, b_i): 1 where component j is target i up to scale.

    Written against the array API: NumPy arrays give NumPy, JAX arrays (traced ones too) give JAX,
    in their dtype.

    Args:
        left: X, shape (..., n, component).
        right: Y, shape (..., m, component).
        target_left: A, shape (n, target), of any column lengths.
        target_right: B, shape (m, target).

    Returns:
        Shape (..., target, component), in [-1, 1]. A column of zeros is aligned with nothing (0).

    Example:
        >>> import numpy as np
        >>> alignment(np.eye(2), np.eye(2), np.eye(2)[:, ::-1], np.eye(2)[:, ::-1])
        array([[0., 1.],
               [1., 0.]])
    """
    cosines_left = _unit_columns(target_left).mT @ _unit_columns(left)
    return cosines_left * (_unit_columns(target_right).mT @ _unit_columns(right))


def _unit_columns(matrix):
    space = matrix.__array_namespace__()
    lengths = space.sqrt(space.sum(matrix**2, axis=-2, keepdims=True))
    return matrix / space.where(lengths > 0, lengths, space.ones_like(lengths))
