"""Pointwise nonlinearities by name: value and slope, for NumPy or JAX.

Known are `identity`, `relu`, `leaky_relu` (slope .01 below zero; `leaky_relu:0.2` for another), `gelu` (with the error
function), `gelu_tanh` (its usual approximation), `silu`, `sigmoid`, `tanh` and `square`. At zero, where the rectifiers have a
kink, the slope is that from below, as automatic differentiation has it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from foretrain.errors import one_of, real

_CUBIC, _SCALE = 0.044715, (2 / np.pi) ** 0.5  # of the approximation of gelu


@dataclass(frozen=True)
class Nonlinearity:
    """A function of every preactivation by itself, and its derivative.

    Args:
        value: Of (preactivations, module), module `numpy` or `jax.numpy`; any shape, kept.
        slope: Likewise.
        homogeneous: True if scaling a preactivation by c > 0 scales the value by c, so that gate and slope are one.
    """

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any]
    homogeneous: bool = False


@cache
def nonlinearity(name: str) -> Nonlinearity:
    """The nonlinearity of that name, one of `NAMES` or `leaky_relu:` with a slope; others are refused with the nearest."""
    kind, _, leak = str(name).partition(":")
    if leak and kind == "leaky_relu":
        return _leaky(real("activation", leak))
    return _KNOWN[one_of("activation", name, NAMES)]


def _leaky(leak):
    return Nonlinearity(
        lambda p, xp: xp.where(p > 0, p, leak * p),
        lambda p, xp: xp.where(p > 0, xp.ones_like(p), leak * xp.ones_like(p)),
        True,
    )


def _erf(p, xp):
    if xp is np:
        from scipy.special import erf
    else:
        from jax.scipy.special import erf
    return erf(p)


def _normal_below(p, xp):
    return 0.5 * (1 + _erf(p * 0.5**0.5, xp))


def _sigmoid(p, xp):
    return xp.exp(-xp.logaddexp(xp.zeros_like(p), -p))  # accurate in both tails


def _inner(p):
    return _SCALE * (p + _CUBIC * p**3)


def _gelu_slope(p, xp):
    return _normal_below(p, xp) + p * xp.exp(-p * p / 2) / (2 * np.pi) ** 0.5


def _gelu_tanh_slope(p, xp):
    bent = xp.tanh(_inner(p))
    return 0.5 * (1 + bent) + 0.5 * p * (1 - bent**2) * _SCALE * (1 + 3 * _CUBIC * p * p)


_KNOWN = {
    "identity": Nonlinearity(lambda p, xp: p, lambda p, xp: xp.ones_like(p), True),
    "relu": Nonlinearity(
        lambda p, xp: xp.where(p > 0, p, xp.zeros_like(p)),
        lambda p, xp: xp.where(p > 0, xp.ones_like(p), xp.zeros_like(p)),
        True,
    ),
    "leaky_relu": _leaky(0.01),
    "gelu": Nonlinearity(lambda p, xp: p * _normal_below(p, xp), _gelu_slope),
    "gelu_tanh": Nonlinearity(lambda p, xp: 0.5 * p * (1 + xp.tanh(_inner(p))), _gelu_tanh_slope),
    "silu": Nonlinearity(
        lambda p, xp: p * _sigmoid(p, xp),
        lambda p, xp: _sigmoid(p, xp) * (1 + p * _sigmoid(-p, xp)),
    ),
    "sigmoid": Nonlinearity(_sigmoid, lambda p, xp: _sigmoid(p, xp) * _sigmoid(-p, xp)),
    "tanh": Nonlinearity(lambda p, xp: xp.tanh(p), lambda p, xp: 1 - xp.tanh(p) ** 2),
    "square": Nonlinearity(lambda p, xp: p * p, lambda p, xp: 2 * p),
}
NAMES = tuple(_KNOWN)
