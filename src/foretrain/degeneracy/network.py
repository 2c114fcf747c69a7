"""A network as the analyses of degeneracy see it: a list of pure sections, each from one layer's activations to the next's.

Layers are counted from the input: f^0 is the data, ``f^{l+1} = section_l(params_l, f^l)``, and with L sections f^L is the
output. Where a section begins with a linear map, ``p^{l+1} = W^l f^l + b^l`` are its preactivations, weights being
(out, in), and where a pointwise nonlinearity is all that follows it says which. Parameters are kept as they are given,
NumPy in the usual case, so that they compute in float64 inside ``jax.enable_x64(True)`` and in float32 outside it.

A `Network` is a JAX pytree over its parameters (once `register` was called, which every function here that needs JAX
does), so that it can be handed to `jit`, `grad` and `vmap` as it is; its sections are static, and those built here are the
same object for the same activation, so that networks of equal shape share what was compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from foretrain.degeneracy.nonlinearities import nonlinearity
from foretrain.errors import argument_error, finite_array
from foretrain.lazy import jax, jnp

Params = dict[str, Any]
LOSSES = ("mse", "kl")


@dataclass(frozen=True)
class Section:
    """From the activations of one layer to those of the next, for one example.

    Args:
        apply: Of (params, activations (d_l,)): activations (d_{l+1},); pure, in JAX, without randomness.
        weight: Name of the leaf of its params that is its linear part, (out, in), acting on the section's input.
        bias: Name of the leaf, (out,), that is added to it.
        activation: Name of the nonlinearity (`foretrain.degeneracy.nonlinearities`) where the section is the linear part
            and then this; None where it is anything else.
        inputs: Number of activations it reads, where no weight says so and the section knows it.
        positions: True if it reads all positions of an example at once, (T, d_l), and gives (T', d_{l+1}), as attention does.
            A network with such a section has data (example, T, d_0); its other sections act on each position alike.
    """

    apply: Callable[[Params, Any], Any]
    weight: str | None = None
    bias: str | None = None
    activation: str | None = None
    inputs: int | None = None
    positions: bool = False


@dataclass(frozen=True, eq=False)
class Network:
    """Sections, from the input on, one for each layer but the first, and the parameters of each, leaves by name."""

    sections: tuple[Section, ...]
    params: tuple[Params, ...]


@cache
def register() -> None:
    """Make `Network` a JAX pytree: parameters are data, sections static. Does nothing the second time."""
    from jax.tree_util import register_dataclass

    register_dataclass(Network, data_fields=["params"], meta_fields=["sections"])


@cache
def dense(activation: str = "identity", bias: bool = True) -> Section:
    """The section ``nonlinearity(W f + b)`` with leaves `weight` (out, in) and `bias` (out,)."""
    shape = nonlinearity(activation)

    def apply(params, f):
        p = params["weight"] @ f
        return shape.value(p + params["bias"] if bias else p, jnp)

    return Section(apply, "weight", "bias" if bias else None, activation=activation)


def perceptron(
    weights: Sequence[Any],
    biases: Sequence[Any] | None = None,
    activation: str | Sequence[str] = "relu",
) -> Network:
    """Linear layers with a nonlinearity after each but the last.

    >>> size(perceptron([np.ones((4, 3)), np.ones((2, 4))], [np.ones(4), None], "tanh"))
    24

    There is one of the `weights`, (out, in), for each section; biases are (out,), or None for a section without; `activation`
    is one name, or one for each section.
    """
    if not len(weights):
        raise argument_error("weights", "hold at least one matrix", "is empty")
    if isinstance(activation, str):
        nonlinearity(activation)
        activation = [activation] * (len(weights) - 1) + ["identity"]
    biases = [None] * len(weights) if biases is None else list(biases)
    for name, many in (("biases", biases), ("activation", activation)):
        if len(many) != len(weights):
            rule = f"have one entry for each of the {len(weights)} weights"
            raise argument_error(name, rule, f"has {len(many)}")
    sections = tuple(dense(a, b is not None) for a, b in zip(activation, biases, strict=True))
    params = tuple(
        {"weight": w} | ({} if b is None else {"bias": b})
        for w, b in zip(weights, biases, strict=True)
    )
    return network_of(sections, params)


def network_of(sections: Sequence[Section], params: Sequence[Mapping[str, Any]]) -> Network:
    """The network of these, checked.

    Raises:
        ArgumentError: A leaf that a section names is absent, a number is not finite, or named weights and biases do not
            chain: a weight's columns are as many as the rows of the section before, a bias is as long as its weight.
    """
    if len(sections) != len(params):
        rule = f"have one entry for each of the {len(sections)} sections"
        raise argument_error("params", rule, f"has {len(params)}")
    if not sections:
        raise argument_error("sections", "hold at least one section", "is empty")
    kept = []
    width = None
    for at, (section, leaves) in enumerate(zip(sections, params, strict=True)):
        leaves = {k: _leaf(f"params[{at}]['{k}']", v) for k, v in leaves.items()}
        kept.append(leaves)
        width = _chained(at, section, leaves, width)
    return Network(tuple(sections), tuple(kept))


def _leaf(name, value):
    """The leaf checked: NumPy in the precision it came in, whole numbers as float64."""
    array = finite_array(name, value)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _chained(at, section, leaves, width):
    """Rows of this section's weight, or None where it may have any number of outputs."""
    for name in (section.weight, section.bias):
        if name is not None and name not in leaves:
            raise argument_error(f"params[{at}]", f"hold `{name}`", f"holds {sorted(leaves)}")
    if section.weight is None:
        return None
    weight = leaves[section.weight]
    if weight.ndim != 2 or 0 in weight.shape:
        rule = "be a matrix (out, in)"
        raise argument_error(f"params[{at}]['{section.weight}']", rule, f"has shape {weight.shape}")
    if width is not None and weight.shape[1] != width:
        rule = f"have {width} columns, one for each output of the section before"
        raise argument_error(f"params[{at}]['{section.weight}']", rule, f"has {weight.shape[1]}")
    if section.bias is not None and leaves[section.bias].shape != (len(weight),):
        rule = f"have shape {(len(weight),)}, one for each row of the weight"
        got = f"has shape {leaves[section.bias].shape}"
        raise argument_error(f"params[{at}]['{section.bias}']", rule, got)
    return len(weight) if section.activation is not None else None


def examples(network: Network, x: Any, name: str = "x") -> np.ndarray:
    """The data, checked, (example, d_0): finite, at least one, as wide as the first section reads, where that is known.

    Of a network with positions they are (example, T, d_0). Integers become float64.
    """
    positions = any(section.positions for section in network.sections)
    x = finite_array(name, x, ndim=3 if positions else 2)
    if not len(x):
        raise argument_error(name, "hold at least one example", f"has shape {x.shape}")
    first = network.sections[0]
    width = first.inputs
    if first.weight is not None:
        width = np.shape(network.params[0][first.weight])[1]
    if width is not None and x.shape[-1] != width:
        rule = f"have {width} columns, one for each input of the network"
        raise argument_error(name, rule, f"has {x.shape[-1]}")
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def is_perceptron(network: Network) -> bool:
    """True if each section is a linear map and then a named nonlinearity, which needs no JAX."""
    return all(
        section.weight and section.activation and not section.positions
        for section in network.sections
    )


def size(network: Network) -> int:
    """Number of parameters."""
    return sum(int(np.size(leaf)) for leaves in network.params for leaf in leaves.values())


def forward(network: Network, x: Any, params: Sequence[Params] | None = None):
    """The network's outputs in JAX, (example, d_L) or (example, T_L, d_L), with its own parameters or with others."""
    register()
    leaves = network.params if params is None else params
    for section, own in zip(network.sections, leaves, strict=True):
        alike = x.ndim == 3 and not section.positions
        apply = jax.vmap(section.apply, (None, 0)) if alike else section.apply
        x = jax.vmap(apply, (None, 0))(own, x)
    return x
