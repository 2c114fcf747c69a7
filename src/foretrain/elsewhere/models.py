"""A model named on the command line: a file of arrays, or a Python file and a name in it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.degeneracy.function import (
    Function,
    as_function,
    check_outputs,
    function_of,
)
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.transformer import is_transformer, one_hot
from foretrain.elsewhere.adapters import (
    OUTPUTS,
    meant,
    of_arrays,
    of_equinox,
    order_of,
    read_arrays,
)
from foretrain.errors import argument_error, nearest, path_argument
from foretrain.plans.place import place
from foretrain.plans.python_file import run_file

_TRACED = (
    "Name the module that was exported, model.py:name; of a chain of layers its weights do: "
    "safetensors.torch.save_file(torch.export.load('model.pt2').state_dict, 'model.safetensors')."
)
_TRIED = 64  # examples on which repairs are tried


def open_model(
    model: str | Path,
    x: np.ndarray,
    *,
    activation: str = "relu",
    layers: Sequence[str] | None = None,
    outputs: np.ndarray | None = None,
) -> Function:
    """The function of a model, compared with its outputs where they are given.

    Args:
        model: `.safetensors` or `.npz`, see `foretrain.elsewhere.adapters.of_arrays`, which may hold the `outputs` on the
            data, too; or `model.py:name`: the file is run, and the name is as `function_from` takes it.
        x: Data (n, ...); of foretrain's transformer pairs of symbols, too.
        activation: Of a file of arrays: between its layers.
        layers: Of a file of arrays: order of its layers; of a PyTorch module: submodules whose outputs are layers.
        outputs: Of the network on x, (n, o); what nothing was compared with is noted in `Function.notes`.

    Raises:
        ArgumentError: The file cannot be used, or the network that was read gives other outputs.
    """
    file, colon, name = str(model).rpartition(":")
    if colon and file.endswith(".py"):
        made = function_from(_named(path_argument("model", file), name), x, layers)
        return made if outputs is None else check_outputs(made, x, outputs)
    if str(model).lower().endswith(".pt2"):
        rule, got = (
            "be a file of weights, or the module itself",
            f"is {Path(model).name}, a traced graph",
        )
        raise argument_error("model", rule, got, _TRACED)
    arrays = read_arrays(model)
    stored = arrays.pop(OUTPUTS, None)
    outputs = stored if outputs is None else outputs
    network = of_arrays(arrays, activation, layers)
    if is_transformer(network):
        made = as_function(network)
        return made if outputs is None else check_outputs(made, one_hot(network, x), outputs)
    order = order_of(arrays, layers)
    made = as_function(network, order)
    if outputs is not None:
        tried = meant(arrays, activation, order, np.asarray(x)[:_TRIED])
        return check_outputs(made, x, outputs, tried)
    if len(order) == 1:
        return made
    note = (
        f"Network: that {activation} stands between its layers, and their order {', '.join(order)}, was assumed and not "
        f"checked; store what it answers on the data as `{OUTPUTS}` with the weights, or give it by --outputs."
    )
    return Function(made.apply, made.params, network, (note,))


def function_from(model: Any, x: np.ndarray, layers: Sequence[str] | None = None) -> Function:
    """The function of an object: a `Function`, a `Network`, (apply, params), an Equinox or PyTorch module, or what gives one.

    Raises:
        ArgumentError: It is none of them, or fails on the data.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from foretrain.elsewhere.torch_reader import of_torch

        return of_torch(model, x, layers)
    if isinstance(model, Network):
        model = as_function(model)
    if isinstance(model, Function):
        model.check(x)
        return model
    if isinstance(model, tuple) and len(model) == 2 and callable(model[0]):
        return function_of(*model, x)
    equinox = sys.modules.get("equinox")
    if equinox is not None and isinstance(model, equinox.Module):
        return of_equinox(model, x)
    if callable(model):
        try:
            made = model()
        except Exception as error:
            rule = "give a model when it is called without arguments"
            raise argument_error("model", rule, f"raises at {place(error)}".rstrip(".")) from error
        return function_from(made, x, layers)
    rule = "be a PyTorch or Equinox module, or (apply, params)"
    raise argument_error("model", rule, f"is {type(model).__name__}")


def _named(path, name):
    """What a Python file calls so, once it was run."""
    module = run_file(path)
    if not hasattr(module, name):
        known = [one for one in vars(module) if not one.startswith("_")]
        raise argument_error("model", "be file.py:name", f"has no `{name}`", nearest(name, known))
    return getattr(module, name)
