"""Arrays by name, and chains of Equinox layers, as `foretrain.degeneracy.network.Network`.

Weights keep the precision they come in, half precisions become float32. Nonlinearities are told from their values, not their
names, so that a lambda is as good as the library's own. Pickled files are refused: to open one runs whatever it holds.
"""

import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.degeneracy import folded, transformer
from foretrain.degeneracy.function import Function, function_of
from foretrain.degeneracy.network import Network, Section, dense, network_of, perceptron
from foretrain.degeneracy.nonlinearities import NAMES, nonlinearity
from foretrain.errors import ArgumentError, StoreError, argument_error, file_argument
from foretrain.lazy import eqx, jax, jnp
from foretrain.provenance.reading import read_file
from foretrain.tasks.array_files import read_npz

PICKLED = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt", ".joblib")
_CONVERT = (
    "Save it as safetensors: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')."
)
_OTHERS = "Other networks are read from PyTorch, Equinox or JAX: model.py:name."
OUTPUTS = "outputs"  # name under which a file may hold what its network answers on the data
_KINDS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "u1",
          "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?"}  # fmt: skip
_TOLERANCE = 1e-5  # within which two nonlinearities are one, in float32


def known_nonlinearity(points: np.ndarray, values: np.ndarray) -> str | None:
    """Return the name of the nonlinearity with these values at these points (any shape, with -.8), or None without a name."""
    points, values = np.ravel(points).astype(float), np.ravel(values).astype(float)
    if values.shape != points.shape:
        return None
    leak = -values[np.argmin(np.abs(points + 0.8))] / 0.8
    for name in (*NAMES, f"leaky_relu:{leak:.6g}"):
        if np.abs(values - nonlinearity(name).value(points, np)).max() < _TOLERANCE:
            return name
    return None


def chain_of_equinox(model: Any, inputs: int) -> Network:
    """Return the layers of an Equinox `nn.MLP`, or `nn.Sequential` of modules from vector to vector, dropout off.

    Linear layers have the nonlinearity that follows as their own, if it is known; anything else is a section by itself.

    Args:
        inputs: d_0.

    Raises:
        ArgumentError: It is another module, or a layer gives no vector.
    """
    if isinstance(model, eqx.nn.MLP):
        inner, last = eqx.nn.Lambda(model.activation), eqx.nn.Lambda(model.final_activation)
        chain = [step for layer in model.layers for step in (layer, inner)]
        chain[-1] = last
    elif isinstance(model, eqx.nn.Sequential):
        chain = _flat(model)
    else:
        rule = "be an equinox.nn.MLP or Sequential"
        raise argument_error("model", rule, f"is {type(model).__name__}")
    sections: list[tuple[Section, dict[str, Any]]] = []
    shape = jax.ShapeDtypeStruct((inputs,), np.float32)
    for layer in chain:
        section, leaves = _own(layer)
        shape = jax.eval_shape(section.apply, leaves, shape)
        if len(shape.shape) != 1:
            raise argument_error("model", "give vectors", f"{type(layer).__name__} does not")
        name = _name(layer)
        if isinstance(layer, eqx.nn.Linear):
            leaves = {"weight": layer.weight} | ({} if layer.bias is None else {"bias": layer.bias})
            sections.append((dense("identity", layer.bias is not None), leaves))
        elif name is not None and sections and sections[-1][0].activation == "identity":
            _, leaves = sections.pop()
            sections.append((dense(name, "bias" in leaves), leaves))
        elif name != "identity":
            sections.append((section, leaves))
    return network_of([section for section, _ in sections], [leaves for _, leaves in sections])


def _name(layer) -> str | None:
    """Return the name of a layer that is a nonlinearity, `identity` for one that does nothing, None for other layers."""
    if isinstance(layer, eqx.nn.Identity | eqx.nn.Dropout):
        return "identity"
    if not isinstance(layer, eqx.nn.Lambda):
        return None
    points = np.linspace(-4, 4, 41, dtype=np.float32)
    return known_nonlinearity(points, np.asarray(layer.fn(jnp.asarray(points)), float))


def _own(layer):
    """Return any module as a section of its own, and its leaves by their place in it."""
    params, rest = eqx.partition(eqx.nn.inference_mode(layer), eqx.is_inexact_array)
    pairs, tree = jax.tree.flatten_with_path(params)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in pairs]

    def apply(params, f):
        return eqx.combine(jax.tree.unflatten(tree, [params[name] for name in names]), rest)(f)

    return Section(apply), dict(zip(names, (leaf for _, leaf in pairs), strict=True))


def _flat(model):
    if not isinstance(model, eqx.nn.Sequential):
        return [model]
    return [layer for child in model.layers for layer in _flat(child)]


def of_arrays(
    arrays: Mapping[str, Any], activation: str = "relu", layers: Sequence[str] | None = None
) -> Network:
    """Return the network of arrays by name: `*.weight` (out, in) and `*.bias` (out,), a linear layer for each weight.

    Arrays of foretrain's transformer are known by their names, `foretrain.degeneracy.transformer.NAMES`.

    Args:
        arrays: These arrays and nothing else.
        activation: Nonlinearity between layers; a transformer has its own.
        layers: Their order, see `order_of`.

    Raises:
        ArgumentError: Another array is there, or the layers do not chain in one order.
    """
    if {"embedding", "inward"} <= set(arrays):
        _only(arrays, transformer.NAMES, "the arrays of a transformer")
        return transformer.of_arrays(arrays)
    stems = order_of(arrays, layers)
    known = [f"{stem}.{leaf}" for stem in stems for leaf in ("weight", "bias")]
    _only(arrays, known, "`*.weight` and its `*.bias`")
    nonlinearity(activation)
    biases = [None if (b := arrays.get(f"{s}.bias")) is None else np.asarray(b) for s in stems]
    return perceptron([np.asarray(arrays[f"{s}.weight"]) for s in stems], biases, activation)


def order_of(arrays: Mapping[str, Any], layers: Sequence[str] | None = None) -> list[str]:
    """Return names of linear layers in the order in which their shapes chain, by number where they are numbered.

    Args:
        layers: The order, where it is known.

    Raises:
        ArgumentError: There are none, none or several orders chain, or `layers` are not these names.
    """
    stems = [name.removesuffix(".weight") for name in arrays if name.endswith(".weight")]
    stems = sorted(stems, key=_by_number)
    if not stems:
        rule = "hold `*.weight` and its `*.bias`, or a transformer of foretrain"
        raise argument_error("model", rule, "holds no weight")
    if layers is not None:
        if sorted(layers) != sorted(stems):
            rule = f"name each of {', '.join(stems)} once"
            raise argument_error("layers", rule, f"are {', '.join(layers) or 'none'}")
        return list(layers)
    shapes = {stem: np.shape(arrays[f"{stem}.weight"]) for stem in stems}
    flat = next((stem for stem in stems if len(shapes[stem]) != 2), None)
    if flat is not None:
        rule, got = "hold matrices (out, in)", f"`{flat}.weight` has shape {shapes[flat]}"
        raise argument_error("model", rule, got, _OTHERS)
    orders = list(itertools.islice(_chains(shapes), 2))
    if len(orders) > 1:
        got = f"{', '.join(orders[0])} fit as {', '.join(orders[1])} do"
        repair = f"Give their order: --layers {' '.join(orders[0])}."
        raise argument_error("model", "hold layers that chain in one order", got, repair)
    if not orders:
        turned = next(_chains({stem: shape[::-1] for stem, shape in shapes.items()}), None)
        repair = "Weights seem to be (in, out): store their transposes." if turned else ""
        got = ", ".join(f"{stem} {out} x {inner}" for stem, (out, inner) in shapes.items())
        raise argument_error("model", "hold layers (out x in) that chain", f"holds {got}", repair)
    return orders[0]


def _chains(shapes, width=None) -> Iterator[list[str]]:
    """Yield the orders in which each layer reads as many numbers as the one before gives, and numbers in names ascend."""
    if not shapes:
        yield []
    seen = set()
    for stem, (out, inner) in shapes.items():
        pattern = re.sub(r"\d+", "#", stem)
        if pattern not in seen and width in (None, inner):
            rest = {name: shape for name, shape in shapes.items() if name != stem}
            yield from ([stem, *others] for others in _chains(rest, out))
        seen.add(pattern)


def meant(
    arrays: Mapping[str, Any], activation: str, order: Sequence[str], x: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield other perceptrons that these arrays may be: what to do, and outputs on x, (n, o)."""
    others = itertools.permutations(order) if len(order) < 6 else ()
    for layers in (tuple(order), *others):
        for name in (activation, *NAMES):
            words = [f"--activation {name}"] if name != activation else []
            words += [f"--layers {' '.join(layers)}"] if layers != tuple(order) else []
            yield f"Try {' '.join(words)}.", _answers(arrays, name, layers, x)
    for stem in order:
        name = f"{stem}.weight"
        words = f"`{name}` is transposed: store it (out, in)."
        yield words, _answers({**arrays, name: np.transpose(arrays[name])}, activation, order, x)


def _answers(arrays, activation, layers, x):
    try:
        network = of_arrays(arrays, activation, layers)
        return folded.layers(folded.steps(network, False), np.asarray(x, float), False)[-1]
    except (ArgumentError, ValueError):  # shapes that do not chain
        return np.zeros((0, 0))


def _only(arrays, names, what):
    others = sorted(set(arrays) - set(names))
    if others:
        raise argument_error("model", f"hold {what}, nothing else", f"has `{others[0]}`", _OTHERS)


def _by_number(name):
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name: `.safetensors`, or `.npz` without pickled objects.

    Raises:
        ArgumentError: The file is pickled, absent, damaged or of another kind.
    """
    path = file_argument("model", path)
    ending = path.suffix.lower()
    if ending in PICKLED:
        rule = "be a file of arrays alone"
        got = f"is {path.name}, a pickle, which runs code as it is opened"
        raise argument_error("model", rule, got, _CONVERT)
    if ending not in (".safetensors", ".npz"):
        rule = "be a .safetensors or .npz file, or a Python file and a name in it, model.py:name"
        raise argument_error("model", rule, f"is {path.name}")
    if not path.is_file():
        raise argument_error("model", "be a file", f"{path} is not there")
    if ending == ".safetensors":
        return _safetensors(path)
    try:
        return read_npz(path)
    except StoreError as error:
        rule, got = "be a whole .npz file of arrays alone", str(error)
        repair = _CONVERT if "pickled" in got else ""
        raise argument_error("model", rule, got.rstrip("."), repair) from None


def _safetensors(path):
    from safetensors import SafetensorError, deserialize, safe_open

    try:
        with safe_open(path, "numpy"):  # refuses what its header does not describe
            stored = deserialize(read_file(path, None))
    except (SafetensorError, OSError) as error:
        rule = "be a whole safetensors file"
        raise argument_error("model", rule, f"{path.name}: {error}") from None
    kinds = _KINDS | {"BF16": jnp.bfloat16}
    arrays = {}
    for name, tensor in stored:
        if tensor["dtype"] not in kinds:
            rule, got = "hold floats of 16, 32 or 64 bits", f"{path.name} has {tensor['dtype']}"
            raise argument_error("model", rule, got, "Convert it: tensor.float().")
        array = np.frombuffer(tensor["data"], kinds[tensor["dtype"]]).reshape(tensor["shape"])
        arrays[name] = array.astype(np.float32) if tensor["dtype"] in ("F16", "BF16") else array
    return arrays


def of_equinox(module: Any, x: Any) -> Function:
    """Return the function of an Equinox module of one example, in inference mode; a chain of vectors has its `network`.

    Raises:
        ArgumentError: As `Function.check`.
    """
    if not callable(module):
        raise argument_error("model", "be an Equinox module", f"is {type(module).__name__}")
    params, rest = eqx.partition(eqx.nn.inference_mode(module), eqx.is_inexact_array)
    function = function_of(lambda params, x: jax.vmap(eqx.combine(params, rest))(x), params, x)
    try:
        network = chain_of_equinox(module, function.data(x).reshape(len(x), -1).shape[1])
        layered = replace(function, network=network)
        layered.check(x)
    except ArgumentError as error:
        return replace(function, notes=(f"No layers for an interaction basis: {error}",))
    return layered


def check_collections(name: str, weights: Any) -> None:
    """Refuse weights of Flax beside which other variables stand, such as the moments of BatchNorm.

    Raises:
        ArgumentError: They hold a collection beside ``params``, or a variable of `flax.nnx` other than a `Param`.
    """
    nnx, others = sys.modules.get("flax.nnx"), set()
    if isinstance(weights, Mapping) and "params" in weights:
        others = {str(key) for key in weights} - {"params"}
    if nnx is not None:
        nodes = jax.tree.leaves(weights, is_leaf=lambda node: isinstance(node, nnx.Variable))
        variables = [node for node in nodes if isinstance(node, nnx.Variable)]
        others |= {type(node).__name__ for node in variables if not isinstance(node, nnx.Param)}
    if others:
        got = f"has {', '.join(sorted(others))}, which descent would move"
        rule = "give Flax's parameters alone"
        raise argument_error(name, rule, got, "Let `apply` hold it, in evaluation.")
