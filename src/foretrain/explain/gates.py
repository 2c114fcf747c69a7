"""Gates of a network: the slope of every unit's nonlinearity, and how many of them have changed.

A unit is a number of which a chain of elementwise operations makes another one, such as max(z, 0) or z sigmoid(z); its gate is
the slope of the chain. A gate has changed between two points if it differs by more than half of the layer's largest gate: a
rectifier that was off is on, or a saturated unit is not. What mixes units, such as max-pooling or a mean, ends a chain and has
no gate.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.explain.corners import equation_function, walk

_LINEAR = ("add", "sub", "neg", "convert_element_type", "copy", "add_any")
_SCALED = ("mul", "div")  # linear where one factor is a constant
_CURVED = (
    "max", "min", "select_n", "clamp", "gt", "ge", "lt", "le", "sign", "abs", "exp", "exp2", "expm1", "log", "log1p", "tanh",
    "logistic", "erf", "erfc", "integer_pow", "pow", "square", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "custom_jvp_call",
)  # fmt: skip


class _Value(NamedTuple):
    """A value at both points; of one in a chain the number of its first value, and its slopes by that."""

    at_w: Any
    at_u: Any
    first: int | None = None
    slope_w: Any = None
    slope_u: Any = None
    curved: bool = False


def changed_gates(apply: Callable[[Any, Any], Any], u: Any, w: Any, x: Any) -> Any:
    """The share of all gates, of units times examples, that have changed from weights u to w; nan without any. Traceable.

    Cost: about four evaluations of the network.
    """
    closed = jax.make_jaxpr(apply)(u, x)
    chain = _Chains()
    weights = zip(jax.tree.leaves(w), jax.tree.leaves(u), strict=True)
    values = [chain.begin(*pair) for pair in weights]
    values += [_Value(leaf, leaf) for leaf in jax.tree.leaves(x)]
    constant = lambda value: _Value(value, value)  # noqa: E731
    chain.end(walk(closed.jaxpr, closed.consts, values, constant, chain.results))
    if not chain.gates:
        return jnp.array(jnp.nan)
    changes = [jnp.abs(w - u) > jnp.abs(u).max() / 2 for w, u in chain.gates]
    return sum(change.sum() for change in changes) / sum(change.size for change in changes)


class _Chains:
    """Evaluates a jaxpr at two points and collects the gates of its chains, slopes at w and at u."""

    def __init__(self):
        self.gates, self.number, self._seen = [], 0, set()

    def begin(self, at_w, at_u):
        """A value with which a chain begins."""
        self.number += 1
        real = jnp.issubdtype(jnp.result_type(at_u), jnp.inexact)
        slope = jnp.ones(jnp.shape(at_u)) if real else None
        return _Value(at_w, at_u, self.number, slope, slope)

    def results(self, jaxpr, equation, operands):
        """Results of one equation: they go on with the chain of its arguments, or end it."""
        function = equation_function(jaxpr, equation)
        moving = [value for value in operands if value.first is not None]
        at_w, at_u = (
            function(*(getattr(value, point) for value in operands)) for point in ("at_w", "at_u")
        )
        if not moving:
            return list(map(_Value, at_w, at_u))
        name = equation.primitive.name
        shape = jnp.shape(moving[0].at_u)
        elementwise = (
            name in (*_LINEAR, *_SCALED, *_CURVED)
            and len({value.first for value in moving}) == 1
            and all(jnp.shape(value) == shape for value in at_u)
        )
        if not elementwise:
            self.end(moving)
            return [self.begin(*pair) for pair in zip(at_w, at_u, strict=True)]
        slopes = [self._slopes(function, operands, point) for point in ("w", "u")]
        linear = name in _LINEAR or (name in _SCALED and len(moving) == 1)
        curved = any(value.curved for value in moving) or not linear
        return [
            _Value(w, u, moving[0].first, slope_w, slope_u, curved)
            for w, u, slope_w, slope_u in zip(at_w, at_u, *slopes, strict=True)
        ]

    def _slopes(self, function, operands, point):
        """Slopes of the results by the first value of the chain, at one of the points; None of what is no real number."""
        values = tuple(getattr(operand, f"at_{point}") for operand in operands)

        def tangent(operand, value):
            slope = getattr(operand, f"slope_{point}")
            if not jnp.issubdtype(jnp.result_type(value), jnp.inexact):
                return np.zeros(jnp.shape(value), jax.dtypes.float0)
            return jnp.zeros_like(value) if slope is None else slope.astype(jnp.result_type(value))

        moved = tuple(tangent(*pair) for pair in zip(operands, values, strict=True))
        slopes = jax.jvp(function, values, moved)[1]
        return [slope if jnp.issubdtype(slope.dtype, jnp.inexact) else None for slope in slopes]

    def end(self, moving):
        """The gates of chains that end here, each once."""
        for value in moving:
            if value.curved and value.slope_u is not None and id(value.slope_u) not in self._seen:
                self._seen.add(id(value.slope_u))
                self.gates.append((value.slope_w, value.slope_u))
