"""A network whose convolutions are sums of products, one for each place in the window.

XLA's own take 2 to 20 times longer on a CPU within a loop over steps (`benchmarks/explain_size.py --convolution`).
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from foretrain.explain.corners import equation_function, walk


def without_convolutions(apply: Callable[[Any, Any], Any], w: Any, x: Any) -> Callable:
    """The same function of weights and inputs, to rounding; `apply` itself where it has no convolution, or on a GPU."""
    if jax.default_backend() != "cpu" or "conv_general" not in str(jax.make_jaxpr(apply)(w, x)):
        return apply
    return partial(_evaluated, apply)


def _evaluated(apply, w, x):
    return walk(apply, w, x, jax.tree.leaves(w), lambda value: value, _results)


def _results(jaxpr, equation, operands):
    how = equation.params
    if how.get("batch_group_count") != 1 or max(how["lhs_dilation"]) > 1:  # no plain convolution
        return equation_function(jaxpr, equation)(*operands)
    # Each has the axes of examples or outputs, of channels, then those of space.
    x_axes, kernel_axes, out_axes = how["dimension_numbers"]
    x, kernel = operands[0].transpose(x_axes), operands[1].transpose(kernel_axes)
    x = jax.lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0)] * 2 + [(*p, 0) for p in how["padding"]])
    groups, sizes = how["feature_group_count"], equation.outvars[0].aval.shape
    x = x.reshape(len(x), groups, -1, *x.shape[2:])
    kernel = kernel.reshape(groups, -1, *kernel.shape[1:])
    spaces = [sizes[axis] for axis in out_axes[2:]], how["window_strides"], how["rhs_dilation"]
    total: Any = 0
    for place in itertools.product(*map(range, kernel.shape[3:])):
        steps = zip(place, *spaces, strict=True)
        seen = (slice(at * wide, at * wide + (n - 1) * by + 1, by) for at, n, by, wide in steps)
        total += jnp.einsum("ngc...,goc->ngo...", x[(..., *seen)], kernel[(..., *place)])
    return [total.reshape(len(x), -1, *total.shape[3:]).transpose(np.argsort(out_axes))]
