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

from foretrain.explain.corners import equation_function, is_real, pushforward, walk

_LINEAR = ("add", "sub", "neg", "convert_element_type", "copy", "add_any")
_SCALED = ("mul", "div")  # linear where one factor is a constant
_CURVED = (
    "max", "min", "select_n", "clamp", "gt", "ge", "lt", "le", "sign", "abs", "exp", "exp2", "expm1", "log", "log1p", "tanh",
    "logistic", "erf", "erfc", "integer_pow", "pow", "square", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "custom_jvp_call",
)  # fmt: skip


class _Value(NamedTuple):
    """A value; of one in a chain the number of its first value, and its slope by that."""

    value: Any
    first: int | None = None
    slope: Any = None
    curved: bool = False


def changed_gates(apply: Callable[[Any, Any], Any], u: Any, w: Any, x: Any) -> Any:
    """The share of all gates, of units times examples, that have changed from weights u to w; nan without any. Traceable.

    Cost: about four evaluations of the network.
    """
    pairs = list(zip(_gates(apply, w, x), _gates(apply, u, x), strict=True))
    if not pairs:
        return jnp.array(jnp.nan)
    changes = [jnp.abs(at_w - at_u) > jnp.abs(at_u).max() / 2 for at_w, at_u in pairs]
    return sum(change.sum() for change in changes) / sum(change.size for change in changes)


def _gates(apply, w, x):
    """The gates of all chains, layer by layer."""
    chains = _Chains()
    outputs = walk(apply, w, x, map(chains.begin, jax.tree.leaves(w)), _Value, chains.results)
    chains.end(jax.tree.leaves(outputs, is_leaf=lambda at: isinstance(at, _Value)))
    return chains.gates


class _Chains:
    """Follows the chains of a network, and collects their gates."""

    def __init__(self):
        self.gates, self.number, self._seen = [], 0, set()

    def begin(self, value):
        """A value with which a chain begins."""
        self.number += 1
        return _Value(value, self.number, jnp.ones(jnp.shape(value)) if is_real(value) else None)

    def results(self, jaxpr, equation, operands):
        """Results of one equation: they go on with the chain of its arguments, or end it."""
        function = equation_function(jaxpr, equation)
        moving = [operand for operand in operands if operand.first is not None]
        values = function(*(operand.value for operand in operands))
        if not moving:
            return list(map(_Value, values))
        name = equation.primitive.name
        shape = jnp.shape(moving[0].value)
        elementwise = (
            name in (*_LINEAR, *_SCALED, *_CURVED)
            and len({operand.first for operand in moving}) == 1
            and all(jnp.shape(value) == shape for value in values)
        )
        if not elementwise:
            self.end(moving)
            return list(map(self.begin, values))
        linear = name in _LINEAR or (name in _SCALED and len(moving) == 1)
        curved = any(operand.curved for operand in moving) or not linear
        points, slopes = zip(*((each.value, each.slope) for each in operands), strict=True)
        slopes = pushforward(function, points, slopes)[1]
        return [
            _Value(value, moving[0].first, slope, curved)
            for value, slope in zip(values, slopes, strict=True)
        ]

    def end(self, moving):
        """The gates of chains that end here, each once."""
        for operand in moving:
            if operand.curved and operand.slope is not None and id(operand.slope) not in self._seen:
                self._seen.add(id(operand.slope))
                self.gates.append(operand.slope)
