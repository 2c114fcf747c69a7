"""The outputs of every layer of a network: of every product of inputs, or of what comes of them, with weights."""

from collections.abc import Callable
from math import prod
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from foretrain.errors import ForetrainError


def layer_outputs(
    apply: Callable[[Any, Any], Any], weights: Any, x: Any
) -> dict[str, tuple[Any, int, int]]:
    """Return each layer by the name of its weights, in the order in which the network computes them.

    A layer is its outputs, the numbers that one output sums (fan-in), and the outputs that the weights lead to (fan-out).
    Products of two things that both depend on `x`, as in attention, are no layers. A loop (scan, while, cond) is not looked
    into. Raises `ForetrainError` where no layer is seen. Cost: one evaluation of the network, not compiled.
    """
    paths, tree = jax.tree_util.tree_flatten_with_path(weights)
    leaves = [leaf for _, leaf in paths]
    names = [(jax.tree_util.keystr(path, simple=True, separator="."),) for path, _ in paths]
    # Functions such as jax.nn.gelu are to stand in the program as their operations.
    with jax.disable_jit():
        program = jax.make_jaxpr(lambda w, x: apply(jax.tree.unflatten(tree, w), x))(leaves, x)
    jaxpr = program.jaxpr
    # The weights of which alone a value is made; None of what depends on x.
    made_of: dict[Any, Any] = dict.fromkeys(jaxpr.constvars, ())
    made_of |= dict(zip(jaxpr.invars, [*names, None], strict=True))
    layers: dict[str, tuple[Any, int, int]] = {}
    for equation in jaxpr.eqns:
        sources = [() if isinstance(v, Literal) else made_of[v] for v in equation.invars]
        known = [source for source in sources if source is not None]
        whole = tuple(dict.fromkeys(name for source in known for name in source))
        made_of |= dict.fromkeys(equation.outvars, whole if len(known) == len(sources) else None)
        is_product = equation.primitive.name in ("dot_general", "conv_general_dilated")
        if is_product and len(known) == 1 and whole:
            fans = _fans(equation, 1 - sources.index(None))
            layers.setdefault(" ".join(whole), (equation.outvars[0], *fans))
    if not layers:
        raise ForetrainError(
            "No layer is seen: Function `apply` multiplies `x` with no weights outside of loops. Write the loop out."
        )
    cut = jaxpr.replace(
        outvars=[product for product, *_ in layers.values()],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    values = jaxpr_as_fun(ClosedJaxpr(cut, program.consts))(*leaves, x)
    pairs = zip(layers.items(), values, strict=True)
    return {name: (value, fan_in, fan_out) for (name, (_, fan_in, fan_out)), value in pairs}


def _fans(equation, side):
    shape = equation.invars[side].aval.shape
    if equation.primitive.name == "dot_general":
        summed, batched = (axes[side] for axes in equation.params["dimension_numbers"])
    else:
        summed, batched = equation.params["dimension_numbers"].rhs_spec[1:], ()
    fan_in, others = (prod(shape[at] for at in axes) for axes in (summed, batched))
    return fan_in, prod(shape) // (fan_in * others)
