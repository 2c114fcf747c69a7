"""A data set of any size, as few samples that a linear network cannot tell from it.

With squared error a linear (gated) network sees its data only through <x x^T> and <y x^T>. Any r vectors with the same
two averages therefore train it exactly as the data do, and r need not exceed the input dimension: training costs nothing
in the number of samples.
"""

from dataclasses import dataclass

import numpy as np

from foretrain.errors import argument_error, finite_array, same_length

FLAT = 1e-10  # of the largest variance; what is below is no direction


@dataclass(frozen=True)
class EffectiveSamples:
    """Samples X, Y with X X^T = <x x^T> and Y X^T = <y x^T>, where <> is the mean over the data.

    Attributes:
        inputs: X, shape (input, effective), float64.
        targets: Y, shape (output, effective), float64.
        residual_power: <|y|^2> - |Y|_F^2 >= 0: the part of the targets that no linear map of the inputs explains.
    """

    inputs: np.ndarray
    targets: np.ndarray
    residual_power: float


def compress(inputs: np.ndarray, targets: np.ndarray) -> EffectiveSamples:
    """Compress a data set to as many effective samples as its inputs have dimensions.

    The mean of 1/2 |y - W x|^2 over the data equals 1/2 |Y - W X|_F^2 + residual_power / 2 for every W.
    Directions whose variance is below `FLAT` of the largest are left out; the largest comes first.

    Cost: O(sample * input^2) once; nothing after depends on the number of samples.
    """
    inputs = finite_array("inputs", inputs, ndim=2).astype(np.float64)
    targets = finite_array("targets", targets, ndim=2).astype(np.float64)
    samples = same_length(inputs=inputs, targets=targets)
    if not inputs.size:
        rule = "hold at least one sample of at least one number"
        raise argument_error("inputs", rule, f"has shape {inputs.shape}")
    variances, directions = np.linalg.eigh(inputs.T @ inputs / samples)
    kept = np.flatnonzero(variances > FLAT * variances[-1])[::-1]
    roots = np.sqrt(variances[kept])
    effective = (targets.T @ inputs / samples) @ directions[:, kept] / roots
    left = float((targets**2).sum() / samples) - (effective**2).sum()
    return EffectiveSamples(directions[:, kept] * roots, effective, max(0.0, float(left)))


def whiten(inputs: np.ndarray) -> np.ndarray:
    """The linear map that whitens data: symmetric W with W <x x^T> W the projector on the directions that vary.

    Of the training set alone, (sample, input); whitened inputs are ``inputs @ W``, W (input, input).
    """
    inputs = finite_array("inputs", inputs, ndim=2).astype(np.float64)
    variances, directions = np.linalg.eigh(inputs.T @ inputs / len(inputs))
    kept = variances > FLAT * variances[-1]
    return (directions[:, kept] / np.sqrt(variances[kept])) @ directions[:, kept].T
