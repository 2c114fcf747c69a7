"""PyTorch's core operations (ATen) in JAX, by name: those of networks in evaluation, whatever overload they come in.

Kinds of numbers (float, whole, truth) are kept, precisions are not: those of the parameters and the data rule.
"""

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp


def operation(target: Any) -> str:
    """Return the name of an exported operation without its overload; `getitem` where one of several results is taken."""
    if target is operator.getitem:
        return "getitem"
    space, _, name = str(target).partition(".")
    return name.split(".")[0] if space == "aten" else str(target)


def _kind(x, dtype):
    if dtype is None:
        return x
    name = str(dtype).removeprefix("torch.")
    if name == "bool":
        return x.astype(bool)
    if "int" in name:
        return x.astype(int)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)


def _at(dim, index):
    return lambda x: x[(slice(None),) * (dim % x.ndim) + (index,)]


def _axes(dims):
    return None if dims is None or dims == [] else (dims,) if isinstance(dims, int) else tuple(dims)


def _split(x, sizes, dim=0):
    ends = list(itertools.accumulate(sizes))
    return [_at(dim, slice(end - size, end))(x) for end, size in zip(ends, sizes, strict=True)]


def _expand(x, shape, **_):
    own = (1,) * (len(shape) - x.ndim) + x.shape
    return jnp.broadcast_to(x, [have if n == -1 else n for n, have in zip(shape, own, strict=True)])


def _divided(a, b, rounding_mode=None):
    quotient = a / b
    return {None: lambda q: q, "floor": jnp.floor, "trunc": jnp.trunc}[rounding_mode](quotient)


def _elu(x, alpha=1, scale=1, input_scale=1):
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(input_scale * jnp.minimum(x, 0)))


def _var(x, dim=None, correction=1, keepdim=False):
    return jnp.var(x, _axes(dim), ddof=1 if correction is None else correction, keepdims=keepdim)


def _normalised(x, axes, eps):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / jnp.sqrt(var + eps)


def _scaled(x, weight, bias):
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_norm(x, shape, weight, bias, eps):
    return (_scaled(_normalised(x, tuple(range(-len(shape), 0)), eps), weight, bias),)


def _by_channel(leaf, x):
    return None if leaf is None else leaf.reshape(-1, *(1,) * (x.ndim - 2))


def _group_norm(x, weight, bias, n, channels, inner, groups, eps):
    normalised = _normalised(x.reshape(n, groups, -1), -1, eps).reshape(x.shape)
    return (_scaled(normalised, _by_channel(weight, x), _by_channel(bias, x)),)


def _batch_norm(x, weight, bias, mean, var, momentum, eps):
    normalised = (x - _by_channel(mean, x)) / jnp.sqrt(_by_channel(var, x) + eps)
    return (_scaled(normalised, _by_channel(weight, x), _by_channel(bias, x)),)


def _own_batch_norm(x, weight, bias, training, momentum, eps):
    """Normalise by the moments of the batch, which is one example: instance normalisation."""
    return _group_norm(x, weight, bias, 1, 0, 0, x.shape[1], eps)


def _norm(x, order=2, dim=None, keepdim=False, dtype=None):
    return jnp.linalg.vector_norm(x, axis=_axes(dim), keepdims=keepdim, ord=order)


def _places(dims, x):
    return {d % x.ndim for d in _axes(dims) or ()}


def _extreme(function):
    """Return the largest or smallest; along an axis only values are read, not their places."""
    return lambda x, dim=None, keepdim=False: (
        function(x) if dim is None else (function(x, dim, keepdims=keepdim),)
    )


def _convolution(x, weight, bias, stride, padding, dilation, transposed, _, groups):
    if transposed:
        raise TypeError("transposed")
    maps = jax.lax.conv_general_dilated(
        x, weight, stride, [(p, p) for p in padding],
        rhs_dilation=dilation, feature_group_count=groups,
    )  # fmt: skip
    return _scaled(maps, None, _by_channel(bias, maps))


def _whole(sizes, many):
    return list(sizes) * (many if len(sizes) == 1 else 1)


def _windows(x, sizes, stride, padding, dilation, ceil, fill):
    """Yield the arrays that windows of the last axes see, one array for each place in a window."""
    many = len(sizes)
    stride, padding = _whole(stride or sizes, many), _whole(padding, many)
    dilation, long = _whole(dilation, many), x.shape[-many:]
    counts = []
    for size, k, s, p, d in zip(long, sizes, stride, padding, dilation, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil else room // s) + 1
        counts.append(count - (ceil and (count - 1) * s >= size + p))  # begins within the input
    ends = [
        max(0, (n - 1) * s + d * (k - 1) + 1 - size - p)
        for n, s, d, k, size, p in zip(counts, stride, dilation, sizes, long, padding, strict=True)
    ]
    pads = [(0, 0)] * (x.ndim - many) + list(zip(padding, ends, strict=True))
    x = jnp.pad(x, pads, constant_values=fill)
    for place in itertools.product(*map(range, sizes)):
        at = [
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, d, n, s in zip(place, dilation, counts, stride, strict=True)
        ]
        yield x[(..., *at)]


def _max_pool(x, sizes, stride=(), padding=(0,), dilation=(1,), ceil=False):
    return (reduce(jnp.maximum, _windows(x, sizes, stride, padding, dilation, ceil, -jnp.inf)),)


def _avg_pool(x, sizes, stride=(), padding=(0,), ceil=False, include=True, divisor=None):
    windows = lambda y: sum(_windows(y, sizes, stride, padding, (1,), ceil, 0))  # noqa: E731
    if divisor or (include and not ceil):
        return windows(x) / (divisor or math.prod(sizes))
    ones = jnp.ones(x.shape[-len(sizes) :], x.dtype)
    if include:  # the padding counts, what rounding up adds beyond it does not
        ones = jnp.pad(ones, [(p, p) for p in _whole(padding, len(sizes))], constant_values=1)
        return windows(x) / sum(_windows(ones, sizes, stride, (0,), (1,), ceil, 0))
    return windows(x) / windows(ones)


def _adaptive(x, sizes):
    for axis, many in zip(range(-len(sizes), 0), sizes, strict=True):
        size = x.shape[axis]
        bins = [(i * size // many, -(-(i + 1) * size // many)) for i in range(many)]
        x = jnp.stack([jnp.take(x, jnp.arange(*ends), axis).mean(axis) for ends in bins], axis)
    return x


def _pad(x, pads, value=0):
    ends = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(ends)) + ends, constant_values=value)


def _reduced(function):
    return lambda x, dim=None, keepdim=False, dtype=None: function(
        _kind(x, dtype), axis=_axes(dim), keepdims=keepdim
    )


def _embedded(weight, index, padding=-1, by_frequency=False, _=False):
    """Return the rows of whole-number symbols, or the product with symbols that are one-hot."""
    if padding >= 0 or by_frequency:
        raise TypeError("rows have other gradients than their own")
    return index @ weight if jnp.issubdtype(index.dtype, jnp.floating) else weight[index]


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **{name: lambda x, **_: x for name in ("alias", "clone", "detach", "lift_fresh_copy")},
    **{f"_assert_{what}": lambda *_, **__: None for what in ("async", "scalar", "tensor_metadata")},
    **{
        name: getattr(jnp, name)
        for name in (
            "abs", "bitwise_and", "bitwise_not", "bitwise_or", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log1p",
            "logical_and", "logical_not", "logical_or", "maximum", "minimum", "reciprocal", "reshape", "round", "sign", "sin",
            "sinh", "sqrt", "tan", "tanh", "tril", "triu", "where",
        )
    },
    **{
        name: getattr(operator, name)
        for name in ("eq", "ge", "getitem", "gt", "le", "lt", "mul", "ne", "neg", "pow")
    },
    **{name: jnp.matmul for name in ("bmm", "mm", "matmul")},
    **{name: _reduced(getattr(jnp, name)) for name in ("amax", "amin", "any", "mean", "sum")},
    **{name: getattr(jax.nn, name) for name in ("relu", "sigmoid")},
    **{name: jnp.reshape for name in ("_unsafe_view", "view")},
    **{f"_adaptive_avg_pool{dims}d": _adaptive for dims in (2, 3)},
    **{f"avg_pool{dims}d": _avg_pool for dims in (1, 2, 3)},
    **{f"max_pool{dims}d_with_indices": _max_pool for dims in (2, 3)},
    "_log_softmax": lambda x, dim, _: jax.nn.log_softmax(x, dim),
    "_native_batch_norm_legit": _own_batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_softmax": lambda x, dim, _: jax.nn.softmax(x, dim),
    "_to_copy": lambda x, dtype=None, **_: _kind(x, dtype),
    "add": lambda a, b, alpha=1: a + alpha * b,
    "addmm": lambda bias, a, b, beta=1, alpha=1: beta * bias + alpha * (a @ b),
    "arange": lambda start, end, step=1, dtype=None, **_: _kind(jnp.arange(start, end, step), dtype),
    "cat": lambda parts, dim=0: jnp.concatenate(parts, dim),
    "clamp": lambda x, min=None, max=None: jnp.clip(x, min, max),
    "constant_pad_nd": _pad,
    "convolution": _convolution,
    "cumsum": lambda x, dim, dtype=None: jnp.cumsum(_kind(x, dtype), dim),
    "div": _divided,
    "elu": _elu,
    "embedding": _embedded,
    "erf": jax.scipy.special.erf,
    "expand": _expand,
    "full": lambda shape, value, **_: jnp.full(shape, value),
    "full_like": lambda x, value, **_: jnp.full(x.shape, value),
    "gather": lambda x, dim, index, **_: jnp.take_along_axis(x, index, dim),
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate == "tanh"),
    "hardtanh": lambda x, low=-1, high=1: jnp.clip(x, low, high),
    "index": lambda x, places: x[tuple(slice(None) if place is None else place for place in places)],
    "leaky_relu": lambda x, slope=0.01: jnp.where(x > 0, x, slope * x),
    "linalg_vector_norm": _norm,
    "max": _extreme(jnp.max),
    "min": _extreme(jnp.min),
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
    "permute": jnp.transpose,
    "repeat": lambda x, times: jnp.tile(x, times),
    "rsqrt": jax.lax.rsqrt,
    "rsub": lambda a, b, alpha=1: b - alpha * a,
    "scalar_tensor": lambda value, **_: jnp.asarray(value),
    "select": lambda x, dim, index: _at(dim, index)(x),
    "slice": lambda x, dim=0, start=None, end=None, step=1: _at(dim, slice(start, end, step))(x),
    "split_with_sizes": _split,
    "squeeze": lambda x, dims=None: x.squeeze(
        tuple(d for d in range(x.ndim) if x.shape[d] == 1 and (dims is None or d in _places(dims, x)))
    ),
    "stack": lambda parts, dim=0: jnp.stack(parts, dim),
    "sub": lambda a, b, alpha=1: a - alpha * b,
    "unsqueeze": jnp.expand_dims,
    "var": _var,
}  # fmt: skip
