"""A network with its layers, its nonlinearities, or both, held to first order around a point: what a theory keeps fixed.

Any pure function ``apply(w, x)`` is evaluated once at w and once at u, one equation of its jaxpr after the other. Products of
two values that depend on different leaves of w, a layer's weights times its input, are products of *layers*; every other
equation that is not linear belongs to *gates*: nonlinearities, and products of two values that share a leaf, such as z
sigmoid(z) and the scores of attention. Either kind is evaluated at w as it is, or to first order around its values at u:

| layers | gates | the network is |
|---|---|---|
| to first order | to first order | linear in w: the kernel of u |
| real | to first order | linear in each layer of w: gates frozen at u |
| to first order | real | layers that do not learn together, gates that move |
| real | real | the network itself |

At w = u all of them are the network, to rounding.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from foretrain.errors import ForetrainError

_PRODUCTS = ("dot_general", "mul", "conv_general_dilated")
_LINEAR = (
    "add", "sub", "neg", "add_any", "reshape", "broadcast_in_dim", "transpose", "squeeze", "expand_dims", "reduce_sum",
    "concatenate", "copy",
)  # fmt: skip
_INLINED = ("jit", "pjit", "closed_call", "core_call", "remat2", "remat", "checkpoint")
_NOT_OWN = ("jax", "foretrain", "beartype", "pytest")  # packages whose lines are not the user's
_REFUSED = ("scan", "while", "cond", "custom_lin", "pure_callback", "io_callback")


def corner(
    apply: Callable[[Any, Any], Any], *, layers: Any, gates: Any
) -> Callable[[Any, Any, Any], Any]:
    """The network of one corner: ``F(w, u, x)``, shaped as ``apply(w, x)``.

    Args:
        apply: Pure, in JAX; loops (scan, while, cond) are refused with their name and line.
        layers: True if products of layers are real, False if they are to first order around u.
        gates: The same of everything else that is not linear. Either may be traced, so that one program is all four
            networks; its first derivatives are theirs, second ones are not.

    Raises:
        ForetrainError: An operation cannot be taken to first order.

    Cost: about three evaluations of the network, traced four; that of `apply` where both are real.
    """
    if layers is True and gates is True:
        return lambda w, u, x: apply(w, x)

    def network(w, u, x):
        at_w, at_u = jax.tree.leaves(w), jax.tree.leaves(u)
        leaves = zip(at_w, at_u, [frozenset([number]) for number in range(len(at_u))], strict=True)
        constant = lambda value: (value, value, frozenset())  # noqa: E731
        outputs = walk(apply, u, x, leaves, constant, partial(_results, layers, gates))
        return jax.tree.map(lambda values: values[0], outputs, is_leaf=lambda at: type(at) is tuple)

    return network


@lru_cache(maxsize=8)
def program(function: Callable, *fixed: Any) -> Any:
    """The compiled function of all but its first arguments; the latest are kept."""
    return jit(partial(function, *fixed))


def jit(function: Callable, **options: Any) -> Any:
    """``jax.jit`` of a function, on a CPU by XLA's older way to write loops: as fast, and compiled in half the time."""
    older = jax.default_backend() == "cpu" and jax.__version_info__ < (0, 11)  # and gone later
    plain = {"xla_cpu_use_fusion_emitters": False} if older else None
    return jax.jit(function, compiler_options=plain, **options)


def walk(
    apply: Callable[[Any, Any], Any],
    w: Any,
    x: Any,
    leaves: Iterable[Any],
    constant: Callable[[Any], Any],
    results: Callable[[Any, Any, list], Iterable[Any]],
) -> Any:
    """Walk through a network, one equation after the other and into calls, and return what stands for its outputs.

    Args:
        apply, w, x: The network, its weights and inputs.
        leaves: What stands for the leaves of w.
        constant: What stands for a constant, of its value; the inputs are constants.
        results: What stands for the results of an equation, of (jaxpr, equation, what stands for its arguments).
    """
    closed, shape = jax.make_jaxpr(apply, return_shape=True)(w, x)
    outputs = _walk(closed, [*leaves, *map(constant, jax.tree.leaves(x))], constant, results)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def _walk(closed, arguments, constant, results):
    jaxpr, consts = closed.jaxpr, closed.consts
    known = dict(zip(jaxpr.constvars, map(constant, consts), strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def read(atom):
        return constant(atom.val) if isinstance(atom, Literal) else known[atom]

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        body = None  # a function with a rule of its own is one equation
        if equation.primitive.name in _INLINED:
            body = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
        if body is None:
            values = results(jaxpr, equation, operands)
        else:
            values = _walk(body, operands, constant, results)
        known.update(zip(equation.outvars, values, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _results(layers, gates, jaxpr, equation, operands):
    """Results of one equation, each (value at w, value at u, leaves of w it depends on), as its arguments are."""
    at_w, at_u, depends = (tuple(operand[at] for operand in operands) for at in range(3))
    on, name = frozenset().union(*depends), equation.primitive.name
    function = equation_function(jaxpr, equation)
    if on and name in _REFUSED:
        raise ForetrainError(_refusal(equation))
    # A product of two values that depend on different leaves, each on some, is one of layers.
    product = name in _PRODUCTS and all(depends)
    real = layers if product and not depends[0] & depends[1] else gates
    values_u = function(*at_u)
    if not on:
        values_w = values_u
    elif real is True or name in _LINEAR or (name in _PRODUCTS and not product):
        values_w = function(*at_w)
    else:
        points = at_u
        if real is not False:  # traced: to first order around w it is alike in value and slope
            points = tuple(
                jax.lax.stop_gradient(jnp.where(real, w, u)) if some else u
                for w, u, some in zip(at_w, at_u, depends, strict=True)
            )
        moved = [
            w - point if some and is_real(w) else None
            for w, point, some in zip(at_w, points, depends, strict=True)
        ]
        values, changes = pushforward(function, points, moved)
        # What is no real number, such as a sign, stays as it is at u.
        values_w = [
            value if change is None else value + change
            for value, change in zip(values, changes, strict=True)
        ]
    return [(*pair, on) for pair in zip(values_w, values_u, strict=True)]


def equation_function(jaxpr, equation):
    """One equation as a function of all its arguments, literals too, giving a list."""
    own = list(dict.fromkeys(atom for atom in equation.invars if not isinstance(atom, Literal)))
    places = [next(at for at, other in enumerate(equation.invars) if other is atom) for atom in own]
    about = jaxpr.debug_info.with_unknown_names()
    single = jaxpr.replace(
        constvars=[], invars=own, outvars=equation.outvars, eqns=[equation], debug_info=about
    )
    function = jaxpr_as_fun(ClosedJaxpr(single, []))
    return lambda *arguments: function(*(arguments[at] for at in places))


def is_real(value: Any) -> bool:
    """Return True of floating numbers, and False of whole numbers and signs."""
    return jnp.issubdtype(jnp.result_type(value), jnp.inexact)


def pushforward(function: Callable, values: Sequence, moved: Sequence) -> tuple[list, list]:
    """A function's results, and their changes where values move, None not at all; None of what is no real number."""

    def tangent(value, change):
        if not is_real(value):
            return np.zeros(jnp.shape(value), jax.dtypes.float0)
        return jnp.zeros_like(value) if change is None else change.astype(jnp.result_type(value))

    results, changes = jax.jvp(function, tuple(values), tuple(map(tangent, values, moved)))
    return results, [change if is_real(change) else None for change in changes]


def _refusal(equation):
    """The sentence that refuses an operation, with the line of the user's code that it comes from."""
    frames = getattr(equation.source_info.traceback, "frames", ())
    others = [f"{os.sep}{name}{os.sep}" for name in _NOT_OWN]
    own = [frame for frame in frames if not any(name in frame.file_name for name in others)]
    where = f" in line {own[0].line_num} of {os.path.basename(own[0].file_name)}" if own else ""
    return f"The operation `{equation.primitive.name}`{where} cannot be held to first order: write the network without it."
