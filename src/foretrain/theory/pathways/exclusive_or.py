"""Exclusive-or learned by four gated linear pathways, one per example: loss, descent, closed form, and where they start.

Each pathway has one mode, of strength a: Saxe, Sodhani & Lewallen (2022), appendix A.1 and eqs. (21)-(23).
"""

import numpy as np

from foretrain.tasks.logic import xor
from foretrain.theory.gated.deep_linear import mode_strength
from foretrain.theory.integration import iterate
from foretrain.theory.pathways.rectified_start import sort_rectified_units

SINGULAR_VALUE, VARIANCE = np.sqrt(2) / 4, 0.5  # of every pathway, appendix A.1
LEARNED = SINGULAR_VALUE / VARIANCE  # the end of every a(t)


def loss_of(strengths: np.ndarray) -> np.ndarray:
    """Loss of four pathways of strengths of shape (..., 4): eq. (22), each with its own a."""
    with np.errstate(over="ignore", invalid="ignore"):  # of a descent that diverged
        terms = 1 / 8 - SINGULAR_VALUE * strengths + VARIANCE / 2 * strengths**2
        return np.asarray(terms.sum(-1))


def descent(start: np.ndarray, learning_rate: float, steps: int, *, every: int = 1) -> np.ndarray:
    """Descent of the reduction: a of balanced pathways that start at `start`, of any shape, at every so manyth step.

    Returns:
        Shape (step, ...). A descent that diverges holds values that are not finite from then on.
    """

    def step(weight):
        return weight + learning_rate * weight * (SINGULAR_VALUE - VARIANCE * weight**2)

    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(list(iterate(step, np.sqrt(start), steps, every))) ** 2


def closed_form(start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Eqs. (21)-(23): loss at times of shape (time,) from starts of shape (start,), shape (time, start)."""
    values = np.full(len(start), SINGULAR_VALUE)
    strengths = mode_strength(start, times, values, input_variances=VARIANCE)
    return loss_of(np.repeat(strengths[..., None], 4, axis=-1))


def rectified_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every example's pathway in a ReLU network that starts with these small weights, shape (example,)."""
    examples, amplitude = sort_rectified_units(weights["in1"], weights["out1"][0])
    own = (examples[:, None] == xor(1).inputs["x"][None]).all(-1)
    return (own * amplitude[:, None] ** 2).sum(0)


def gated_strengths(weights: dict[str, np.ndarray]) -> np.ndarray:
    """a_0 of every pathway of a gated network that starts with these small weights, shape (example,)."""
    data = xor(1)
    directions = data.targets["y"] * data.inputs["x"] / np.sqrt(2)
    growing = [
        (weights[f"in{k + 1}"] @ directions[k] + weights[f"out{k + 1}"][0]) / 2 for k in range(4)
    ]
    return (np.array(growing) ** 2).sum(1)
