"""Random starts of routing networks, drawn on the host so that theory and simulation begin from the same numbers.

`foretrain.networks.routing.random_weights` draws from the same laws within a run, from JAX's streams: with one seed the
numbers are others, and they depend on the precision.
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


def orthogonal_start(
    generator: np.random.Generator,
    domains: int,
    hidden_width: int,
    input_size: int,
    output_size: int,
) -> Weights:
    """Draw a start under the law of the paper's figures: all singular values of each matrix are 1.

    Returns:
        Weights at scale 1, float64; times `init_scale` they are the start of a run. Cost: one QR per matrix.
    """
    return Weights(
        orthogonal_stack(generator, domains, hidden_width, input_size),
        orthogonal_stack(generator, 1, hidden_width, hidden_width)[0],
        orthogonal_stack(generator, domains, output_size, hidden_width),
    )
