"""Starts from which a translation network with square factors is stuck for ever, by signs of determinants.

With H = D the map of a pair is M = C_j B A_i, a product of square factors, and a trained pair costs |M - I|^2 in units of
1/(2 D |T|) of the loss, of which one is called a mode here. Every singular matrix is at a distance of at least 1 from I, and
so is every matrix of negative determinant, as the straight line from it to I meets a singular one. So the loss is at least F
modes, with F trained pairs of negative determinant; and when a factor becomes singular, to change its sign, at least F + U
modes, with U the trained pairs of *positive* determinant that it is part of. Gradient flow never raises the loss: once it is
below F + min U modes, over all factors that are trained, F stays, and the loss remains above F modes for ever. The reverse is
not claimed.
"""

from collections.abc import Callable

import numpy as np

from foretrain.tasks.masks import components


def frustration(trained_pairs, inputs, outputs, smaller: Callable = np.minimum):
    """F, and the number of modes by which the loss must exceed F before any sign can change.

    Args:
        trained_pairs: T, shape (input_domain, output_domain), zeros and ones; at least one pair.
        inputs: Signs of det B det A_i, shape (input_domain,): +1, -1, or 0 where singular.
        outputs: Signs of det C_j, shape (output_domain,).
        smaller: Elementwise minimum: that of NumPy, or of JAX for its arrays.

    Returns:
        F, the trained pairs of negative determinant, and min U, numbers in the dtype of T. The hidden matrix is part of all
        pairs and never has the smallest U; domains without a trained pair are left out.
    """
    signs = inputs[:, None] * outputs[None, :]
    upright = trained_pairs * (signs > 0)
    most = trained_pairs.sum()
    of_inputs, of_outputs = (
        (upright.sum(dim) + most * (trained_pairs.sum(dim) == 0)).min() for dim in (1, 0)
    )
    return (trained_pairs * (signs < 0)).sum(), smaller(of_inputs, of_outputs)


def frame_exponent(trained_pairs: np.ndarray) -> float:
    """1 - s_2/s_1 of the trained pairs, smallest over their components: how fast frames agree as weights get smaller.

    The fraction of runs in which two groups of one component learn mirrored frames goes as sigma to this power.

    It is 1 where every component is of rank one, near 0 where a thin cut parts two groups of equal strength.
    """
    inputs, outputs = components(trained_pairs)
    exponents = [1.0]
    for part in range(1 + max(inputs.max(), outputs.max())):
        block = trained_pairs[np.ix_(inputs == part, outputs == part)]
        if min(block.shape) > 1:
            first, second = np.linalg.svd(block.astype(float), compute_uv=False)[:2]
            exponents.append(1 - second / first)
    return float(min(exponents))
