"""The arithmetic in which JAX computes: the floating-point type, and how exact products of matrices are.

JAX multiplies float32 matrices on a GPU in TF32, with 10 bits of mantissa, unless it is told otherwise. Here float32 means
float32 on every backend, and TF32 is a precision of its own that is asked for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from foretrain.lazy import jax

PRECISIONS = ("float32", "float64", "tf32")


def float_type(precision: str) -> np.dtype:
    """Type of the arrays at that precision, one of `PRECISIONS`: those of "tf32" are float32."""
    return np.dtype("float32" if precision == "tf32" else precision)


@contextmanager
def arithmetic(precision: str) -> Iterator[None]:
    """A context in which JAX traces, compiles and computes at that precision, one of `PRECISIONS`.

    "tf32" lets a GPU round the entries of float32 matrices to TF32 before it multiplies them; a CPU computes in float32 then.
    """
    products = "default" if precision == "tf32" else "highest"
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision(products):
        yield


@lru_cache(maxsize=256)
def exact_products(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and its slopes, with no product rounded to TF32; the same object for the same function."""

    @wraps(function)
    def exact(*arguments, **named):
        with jax.default_matmul_precision("highest"):
            return function(*arguments, **named)

    return exact
