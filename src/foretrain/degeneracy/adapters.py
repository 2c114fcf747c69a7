"""Networks made elsewhere, or in foretrain, as `foretrain.degeneracy.network.Network`.

Weights keep the precision they come in. Nonlinearities are told from their values, not their names, so that a lambda is as
good as the library's own. Pickled files are refused: to open one runs whatever it holds.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.degeneracy import transformer
from foretrain.degeneracy.network import Network, perceptron
from foretrain.degeneracy.nonlinearities import NAMES, nonlinearity
from foretrain.errors import ArgumentError, StoreError, argument_error, path_argument
from foretrain.tasks.array_files import read_npz

PICKLED = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt", ".joblib")
_CONVERT = (
    "Save it as safetensors: safetensors.torch.save_file(model.state_dict(), 'model.safetensors')."
)
_TOLERANCE = 1e-5  # within which two nonlinearities are one, in float32


def named(function: Callable[[Any], Any]) -> str:
    """The name of a pointwise nonlinearity, told from its values."""
    points = np.linspace(-4, 4, 41, dtype=np.float32)
    try:
        values = np.asarray(function(points), float)
    except Exception:
        values = np.full(1, np.nan)
    if values.shape == points.shape:
        leak = -values[16] / 0.8  # at -.8
        for name in (*NAMES, f"leaky_relu:{leak:.6g}"):
            known = nonlinearity(name).value(points.astype(float), np)
            if np.abs(values - known).max() < _TOLERANCE:
                return name
    rule = f"be a nonlinearity that is known ({', '.join(NAMES)})"
    raise argument_error("activation", rule, f"is {getattr(function, '__name__', function)!r}")


def of_equinox(model: Any) -> Network:
    """An Equinox `nn.MLP`, or an `nn.Sequential` of `Linear`, `Lambda` and `Identity`.

    Raises:
        ArgumentError: It holds another layer, or a nonlinearity that is not known.
    """
    import equinox as eqx
    import jax.numpy as jnp

    def pointwise(function):
        return named(lambda p: function(jnp.asarray(p)))

    if isinstance(model, eqx.nn.MLP):
        names = [pointwise(model.activation)] * (len(model.layers) - 1)
        return _chained(
            [(layer.weight, layer.bias) for layer in model.layers],
            [*names, pointwise(model.final_activation)],
        )
    if not isinstance(model, eqx.nn.Sequential):
        rule = "be an equinox.nn.MLP or Sequential"
        raise argument_error("model", rule, f"is {type(model).__name__}")
    steps = []
    for layer in _flat(model, eqx.nn.Sequential, lambda one: one.layers):
        if isinstance(layer, eqx.nn.Linear):
            steps.append((layer.weight, layer.bias))
        elif isinstance(layer, eqx.nn.Lambda):
            steps.append(pointwise(layer.fn))
        elif not isinstance(layer, eqx.nn.Identity):
            raise _foreign(layer, "Linear, Lambda and Identity")
    return _stepped(steps)


def of_torch(model: Any) -> Network:
    """A PyTorch `nn.Sequential`, nested ones too, of `Linear`, `ReLU`, `LeakyReLU`, `GELU`, `Tanh` and `Identity`.

    Raises:
        ArgumentError: It holds another layer.
    """
    from torch import nn  # pyright: ignore[reportMissingImports]

    steps = []
    for layer in _flat(model, nn.Sequential, list):
        if isinstance(layer, nn.Linear):
            bias = None if layer.bias is None else layer.bias.detach().cpu().numpy()
            steps.append((layer.weight.detach().cpu().numpy(), bias))
        elif isinstance(layer, nn.ReLU):
            steps.append("relu")
        elif isinstance(layer, nn.LeakyReLU):
            steps.append(f"leaky_relu:{layer.negative_slope!r}")
        elif isinstance(layer, nn.GELU):
            steps.append("gelu" if layer.approximate == "none" else "gelu_tanh")
        elif isinstance(layer, nn.Tanh):
            steps.append("tanh")
        elif not isinstance(layer, nn.Identity):
            raise _foreign(layer, "Linear, ReLU, LeakyReLU, GELU, Tanh and Identity")
    return _stepped(steps)


def _flat(model, kind, children):
    if not isinstance(model, kind):
        return [model]
    return [layer for child in children(model) for layer in _flat(child, kind, children)]


def _foreign(layer, known):
    rule = f"be a sequence of {known}"
    return argument_error("model", rule, f"holds {type(layer).__name__}")


def _stepped(steps):
    """Of (weight, bias) and names of nonlinearities in any order."""
    pairs, names = [], []
    for step in steps:
        if isinstance(step, tuple):
            pairs.append(step)
            names.append("identity")
        elif not pairs:
            raise argument_error("model", "begin with a linear layer", f"begins with {step}")
        elif names[-1] != "identity":
            if step != "identity":
                rule = "have at most one nonlinearity after a linear layer"
                raise argument_error("model", rule, f"has {names[-1]} and {step}")
        else:
            names[-1] = step
    return _chained(pairs, names)


def _chained(pairs, names):
    weights = [np.asarray(w) for w, _ in pairs]
    return perceptron(weights, [None if b is None else np.asarray(b) for _, b in pairs], names)


def of_arrays(arrays: Mapping[str, Any], activation: str = "relu") -> Network:
    """Arrays by name, `*.weight` (out, in) and `*.bias` (out,), a linear layer for each weight.

    Layers are in the order of their names, numbers in them by size (`layers.2` before `layers.10`). Arrays of foretrain's
    transformer are known by their names, `foretrain.degeneracy.transformer.NAMES`.
    `arrays` may hold nothing else. `activation` stands between layers; a transformer has its own.
    """
    if {"embedding", "inward"} <= set(arrays):
        _only(arrays, transformer.NAMES, "the arrays of a transformer")
        return transformer.of_arrays(arrays)
    stems = sorted(
        {name.removesuffix(".weight") for name in arrays if name.endswith(".weight")},
        key=_by_number,
    )
    if not stems:
        rule = "hold `*.weight` and its `*.bias`, or a transformer of foretrain"
        raise argument_error("model", rule, "holds no weight")
    _only(
        arrays,
        [f"{s}.{k}" for s in stems for k in ("weight", "bias")],
        "`*.weight` and its `*.bias`",
    )
    nonlinearity(activation)
    biases = [None if (b := arrays.get(f"{s}.bias")) is None else np.asarray(b) for s in stems]
    try:
        return perceptron([np.asarray(arrays[f"{s}.weight"]) for s in stems], biases, activation)
    except ArgumentError as error:
        order = ", ".join(stems)
        raise ArgumentError(f"{error} Layers are taken in the order {order}.") from None


def _only(arrays, names, what):
    others = sorted(set(arrays) - set(names))
    if others:
        raise argument_error("model", f"hold {what}, nothing else", f"has `{others[0]}`")


def _by_number(name):
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def load(path: str | Path, activation: str = "relu") -> Network:
    """A network from a file of arrays: `.safetensors`, or `.npz` without pickled objects; see `of_arrays`.

    Raises:
        ArgumentError: The file is pickled, absent, damaged or of another kind.
    """
    path = path_argument("model", path)
    ending = path.suffix.lower()
    if ending in PICKLED:
        rule = "be a file of arrays alone"
        got = f"is {path.name}, a pickle, which runs code as it is opened"
        raise argument_error("model", rule, got, _CONVERT)
    if ending not in (".safetensors", ".npz"):
        raise argument_error("model", "be a .safetensors or .npz file", f"is {path.name}")
    if not path.is_file():
        raise argument_error("model", "be a file", f"{path} is not there")
    return of_arrays(_safetensors(path) if ending == ".safetensors" else _npz(path), activation)


def _safetensors(path):
    from safetensors import SafetensorError, safe_open

    known = True
    try:
        with safe_open(path, "numpy") as file:
            found = {name: file.get_tensor(name) for name in file.keys()}
        known = all(one.dtype.kind in "fiub" for one in found.values())
    except (TypeError, AttributeError):  # of a dtype that NumPy does not have
        found, known = {}, False
    except SafetensorError as error:
        raise argument_error(
            "model", "be a whole safetensors file", f"{path.name}: {error}"
        ) from None
    if not known:
        rule, got = "hold float16, float32 or float64", f"{path.name} has another dtype"
        raise argument_error("model", rule, got, "Convert it: tensor.float().")
    return found


def _npz(path):
    try:
        return read_npz(path)
    except StoreError as error:
        rule, got = "be a whole .npz file of arrays alone", str(error)
        repair = _CONVERT if "pickled" in got else ""
        raise argument_error("model", rule, got.rstrip("."), repair) from None
