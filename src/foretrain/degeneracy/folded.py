"""A network as a chain of maps between activations that carry their constant with them.

With biases folded in, the activations of layer l are f̄ = (f, 1), the constant last, and a section maps (f, c) to
(f', c), its bias multiplied by c: a linear section becomes a matrix, and scaling f̄ scales biases too. The output has no
constant. Not folded, f̄ is f and a section what it is. Everything here is float64 NumPy for sections that are a linear map
and then a named nonlinearity; any other goes through JAX in double precision.

Where activations have positions they are (n, T, d), each position with its own constant. A section that reads positions
together hands on the constants of the last T' of them; any other acts on each position alike, and shapes (n, d) here stand
for (n, T, d), too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from foretrain.degeneracy.network import Network, Section, examples
from foretrain.degeneracy.nonlinearities import nonlinearity
from foretrain.lazy import jax, jnp

BUDGET = 2**28  # bytes that a block of examples may take


@dataclass(frozen=True)
class Pointwise:
    """A section as ``nonlinearity(matrix f̄ + shift)``, then the constant.

    The matrix is (out, d), the folded bias its last column, the shift (out,) the bias where it is not folded; value and slope
    map preactivations of any shape; `carries` is True where the constant is handed on.
    """

    matrix: np.ndarray
    shift: np.ndarray
    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    carries: bool

    def preactivations(self, f: np.ndarray) -> np.ndarray:
        """(..., d) to (..., out)."""
        return f @ self.matrix.T + self.shift

    def values(self, f: np.ndarray) -> np.ndarray:
        """Next activations, (..., d) to (..., d')."""
        new = self.value(self.preactivations(f))
        return np.concatenate([new, f[..., -1:]], -1) if self.carries else new

    def jacobians(self, f: np.ndarray) -> np.ndarray:
        """Slopes d f̄' / d f̄, (n, d) to (n, d', d)."""
        slopes = self.slope(self.preactivations(f))[..., None] * self.matrix
        if not self.carries:
            return slopes
        last = np.zeros((*slopes.shape[:-2], 1, slopes.shape[-1]))
        last[..., -1] = 1
        return np.concatenate([slopes, last], -2)

    def pulled(self, slopes: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Slopes by f̄ of what has these by f̄': (n, o, d') and (n, d) to (n, o, d), as one matrix product."""
        width = len(self.matrix)
        own = self.slope(self.preactivations(f))[:, None, :]
        product = (slopes[..., :width] * own) @ self.matrix
        if self.carries:
            product[..., -1] += slopes[..., -1]
        return product


@dataclass(frozen=True)
class General:
    """Any section, through JAX; `folded` is True where f̄ has the constant, `carries` where it is handed on."""

    section: Section
    params: dict[str, Any]
    folded: bool
    carries: bool

    def _next(self, params, f):
        if not self.folded:
            return self.section.apply(params, f)
        constant = f[..., -1:]
        if self.section.bias is not None:
            params = params | {self.section.bias: params[self.section.bias] * constant}
        new = self.section.apply(params, f[..., :-1])
        constant = constant[-len(new) :] if self.section.positions else constant
        return jnp.concatenate([new, constant], -1) if self.carries else new

    def _call(self, kind, f, *more):
        with jax.enable_x64(True):
            params = {k: np.asarray(v, np.float64) for k, v in self.params.items()}
            if self.section.positions:
                whole = f.reshape(-1, *f.shape[-2:])
                values = np.asarray(_compiled(self, kind)(params, whole, *more))
                return values.reshape(*f.shape[:-2], *values.shape[1:])
            flat = np.asarray(f, np.float64).reshape(-1, f.shape[-1])
            # Rows are filled up to a power of two, so that few sizes of blocks are compiled.
            spare = max(16, 1 << (len(flat) - 1).bit_length()) - len(flat)
            padded = np.concatenate([flat, np.broadcast_to(flat[:1], (spare, flat.shape[1]))])
            values = np.asarray(_compiled(self, kind)(params, padded))[: len(flat)]
        return values.reshape(*f.shape[:-1], *values.shape[1:])

    def values(self, f: np.ndarray) -> np.ndarray:
        """Next activations, (..., d) to (..., d')."""
        return self._call("values", f)

    def jacobians(self, f: np.ndarray) -> np.ndarray:
        """Slopes d f̄' / d f̄, (n, d) to (n, d', d), or (n, T, d) to (n, T', d', T, d) of positions together."""
        return self._call("jacobians", f)

    def pulled(self, slopes: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Slopes by f̄ of what has these by f̄': (n, o, d') and (n, d) to (n, o, d)."""
        if self.section.positions:
            return self._call("pulled", f, slopes)
        if f.ndim == 2:
            return slopes @ self.jacobians(f)
        return (slopes.swapaxes(1, 2) @ self.jacobians(f)).swapaxes(1, 2)

    def pushed(self, changes: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Changes of f̄' by these of f̄, to first order, of positions together: (n, o, T, d) and (n, T, d) to (n, o, T', d')."""
        return self._call("pushed", f, changes)


_PROGRAMS: dict[tuple, Any] = {}


def _compiled(step, kind):
    """The jitted program of a section, shared by all networks that have it; parameters are its arguments."""

    def pulled(params, f, slopes):
        _, back = jax.vjp(lambda at: step._next(params, at), f)
        return jax.vmap(lambda slope: back(slope)[0])(slopes)

    def pushed(params, f, changes):
        return jax.vmap(jax.linearize(lambda at: step._next(params, at), f)[1])(changes)

    def by_example(function):  # one after another: what attention makes of many slopes is large
        return lambda params, *arrays: jax.lax.map(lambda part: function(params, *part), arrays)

    key = (step.section, step.folded, step.carries, kind)
    if key not in _PROGRAMS:
        if kind in ("pulled", "pushed"):
            many = by_example(pulled if kind == "pulled" else pushed)
        else:
            function = step._next if kind == "values" else jax.jacrev(step._next, argnums=1)
            many = jax.vmap(function, (None, 0))
        _PROGRAMS[key] = jax.jit(many)
    return _PROGRAMS[key]


Step = Pointwise | General


def together(step: Step) -> TypeGuard[General]:
    """True if the section reads positions together."""
    return isinstance(step, General) and step.section.positions


def read(step: Step, f: np.ndarray) -> np.ndarray:
    """Activations as a section reads them: (n, T, d), where positions are read together, else (n, d), or (n T, d)."""
    return f if together(step) else f.reshape(-1, f.shape[-1])


def steps(network: Network, folded: bool = True) -> list[Step]:
    """The network's sections as maps between activations with their constant (`folded`), or without it."""
    last = len(network.sections) - 1
    return [
        _step(section, params, folded, folded and at < last)
        for at, (section, params) in enumerate(zip(network.sections, network.params, strict=True))
    ]


def _step(section, params, folded, carries):
    if section.weight is None or section.activation is None or section.positions:
        return General(section, dict(params), folded, carries)
    weight = np.asarray(params[section.weight], np.float64)
    bias = np.zeros(len(weight))
    if section.bias is not None:
        bias = np.asarray(params[section.bias], np.float64)
    shape = nonlinearity(section.activation)
    return Pointwise(
        np.column_stack([weight, bias]) if folded else weight,
        np.zeros(len(weight)) if folded else bias,
        lambda p: shape.value(p, np),
        lambda p: shape.slope(p, np),
        carries,
    )


def with_constant(x: np.ndarray) -> np.ndarray:
    """(n, d) to (n, d + 1), ones last."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], -1)


def layers(chain: list[Step], x: np.ndarray, folded: bool = True) -> list[np.ndarray]:
    """Activations of every layer with their constant, from data (n, d_0): L + 1 arrays, the last without constant."""
    values = [with_constant(x) if folded else x]
    for step in chain:
        values.append(step.values(values[-1]))
    return values


def widths(network: Network, x: np.ndarray, folded: bool = True) -> list[int]:
    """Number of activations of each layer, with the constant where it is folded in; found from the first example, checked."""
    return [shape[1] for shape in shapes(network, x, folded)]


def shapes(network: Network, x: np.ndarray, folded: bool = True) -> list[tuple[int, int]]:
    """Positions of each layer, one where there are none, and `widths`."""
    first = np.asarray(examples(network, x)[:1], np.float64)
    values = layers(steps(network, folded), first, folded)
    return [(f[..., 0].size, f.shape[-1]) for f in values]


def blocks(x: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """The examples, which may be a memory map, in float64, at most `size` at a time."""
    for begin in range(0, len(x), size):
        yield np.asarray(x[begin : begin + size], np.float64)


def block_size(bytes_each: float) -> int:
    """So many examples at a time that what each needs stays within `BUDGET`, at least one."""
    return max(1, int(BUDGET / max(bytes_each, 1)))
