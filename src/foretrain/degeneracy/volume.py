"""Growth of the volume of low loss with its scale, lambda(eps) = d ln V / d ln eps, by counting random draws from a box.

Draws are unbiased, with an exact error, and blind below the scale that one draw in so many reaches: of use for a handful of
parameters. What samplers at an inverse temperature give is another quantity (see `foretrain.theory.landscapes`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretrain.errors import real

_ENOUGH = 20  # draws below which a slope of their number says nothing


@dataclass(frozen=True)
class VolumeCurve:
    """lambda(eps) as counted.

    Attributes:
        scale: eps, shape (scale,).
        value: lambda(eps), shape (scale,); nan where too few draws were that low.
        error: Its standard error, shape (scale,).
        log_volume: ln of the share of the box with a loss below eps, shape (scale,).
    """

    scale: np.ndarray
    value: np.ndarray
    error: np.ndarray
    log_volume: np.ndarray


def in_box(
    loss: Callable[[Any], Any],
    dimension: int,
    scales,
    random: np.random.Generator,
    *,
    draws: int = 1_000_000,
    width: float = 0.2,
    block: int = 100_000,
) -> VolumeCurve:
    """lambda(eps) from uniform draws in [-1, 1]^d: the slope of ln(number below eps) between eps e^(-w) and eps e^w.

    Args:
        loss: ``loss(w)``, w of shape (draws, d), float64; shape (draws,), at least 0.
        dimension: d. With k effective parameters one draw in eps^(-k/2) is below eps: a few parameters at most.
        scales: eps, ascending or not, above 0.
        random: What to draw from.
        draws: In all; memory is that of `block` of them.
        width: w, half of the window in ln eps. A curve that bends has a bias of second order in it.
        block: Draws at once.

    Returns:
        The curve. Of N2 draws below the upper end a share exp(-2 w lambda) is below the lower one: the error is binomial.
    """
    scales, width = np.asarray(scales, float), real("width", width, above=0)
    edges = np.stack([scales * np.exp(-width), scales, scales * np.exp(width)])
    counts, done = np.zeros(edges.shape), 0
    while done < draws:
        size = min(block, draws - done)
        found = np.sort(loss(random.uniform(-1, 1, (size, dimension))))
        counts += np.searchsorted(found, edges)
        done += size
    low, _, high = counts
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(low >= _ENOUGH, low / high, np.nan)
        value = -np.log(share) / (2 * width)
        error = np.sqrt((1 - share) / (share * high)) / (2 * width)
        return VolumeCurve(scales, value, error, np.log(counts[1] / draws))
