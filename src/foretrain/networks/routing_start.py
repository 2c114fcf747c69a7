"""Random starts of routing networks, drawn on the host so that theory and simulation begin from the same numbers.

`foretrain.networks.routing.random_weights` draws from the laws of `random_start` within a run, from JAX's streams: with one
seed the numbers are others, and they depend on the precision.
"""

from typing import Any, NamedTuple

import numpy as np

from foretrain.networks.drawn import check_drawn


class Weights(NamedTuple):
    """Weights of a routing network, NumPy or JAX.

    W1 is (input_domain, hidden, input), W2 (hidden, hidden), W3 (output_domain, output, hidden).
    """

    encoders: Any
    hidden: Any
    decoders: Any


def orthonormal_columns(normal):
    """Matrices with orthonormal columns, uniformly distributed, from normal ones: the law of every orthogonal start.

    Entries are independent and standard normal, (count, rows, columns), rows >= columns; NumPy or JAX, as is the result.
    """
    arrays = normal.__array_namespace__()
    frames, upper = arrays.linalg.qr(normal)
    # Without the signs of the diagonal the law would depend on those that QR happens to choose (Mezzadri 2007).
    return frames * arrays.sign(arrays.linalg.diagonal(upper))[:, None, :]


def orthogonal_stack(
    generator: np.random.Generator, count: int, rows: int, columns: int
) -> np.ndarray:
    """Draw matrices whose singular values are all 1, uniformly (Haar), shape (count, rows, columns), float64.

    Raises:
        TooLarge: of `check_drawn`.
    """
    check_drawn([(count, rows, columns)])
    normal = generator.standard_normal((count, max(rows, columns), min(rows, columns)))
    frames = orthonormal_columns(normal)
    return frames if rows >= columns else np.swapaxes(frames, 1, 2)


def random_start(
    generator: np.random.Generator,
    domains: int,
    hidden_width: int,
    input_size: int,
    output_size: int,
    law: str = "orthogonal",
) -> Weights:
    """Draw a start: all singular values are 1, as in the paper's figures, or entries are normal.

    Args:
        law: "orthogonal", "xavier" (variance 2 / (fan_in + fan_out)) or "gaussian" (variance 1).

    Returns:
        Weights at scale 1, float64; times `init_scale` they are the start of a run. Cost: one QR per orthogonal matrix.
    """
    inner, outer = (domains, hidden_width, input_size), (domains, output_size, hidden_width)
    shapes = inner, (1, hidden_width, hidden_width), outer
    if law == "orthogonal":
        first, hidden, last = (orthogonal_stack(generator, *shape) for shape in shapes)
    else:
        check_drawn(shapes)
        scales = [(2 / sum(shape[1:])) ** 0.5 if law == "xavier" else 1.0 for shape in shapes]
        drawn = (generator.standard_normal(shape) for shape in shapes)
        first, hidden, last = map(np.multiply, scales, drawn)
    return Weights(first, hidden[0], last)


def decoupled_start(
    generator: np.random.Generator,
    domains: int,
    hidden_width: int,
    input_modes: np.ndarray,
    output_modes: np.ndarray,
) -> Weights:
    """Draw weights on the decoupled submanifold (9): W1_i = R1 V_i^T, W2 = R2 R1^T, W3_j = U R2^T, frames R1, R2 uniform.

    V is (input_domain or 1, input, mode), U (output, mode); at most `hidden_width` modes. Otherwise as `random_start`.
    """
    inner, outer = orthogonal_stack(generator, 2, hidden_width, input_modes.shape[2])
    encoders, decoder = inner @ np.swapaxes(input_modes, 1, 2), output_modes @ outer.T
    stack = lambda matrix: np.broadcast_to(matrix, (domains, *matrix.shape[-2:]))  # noqa: E731
    return Weights(stack(encoders), outer @ inner.T, stack(decoder))
