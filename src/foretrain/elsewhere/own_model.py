"""The network that a user names: the functions of a Python file, a name in one, or stored weights.

`explain` trains the network from several starts and `analyze` looks at its weights; both read it here. A start must be a
function of a key, or there is no interval: ``init(key)`` of plain JAX is one, and so is a function or class that makes a
module. A PyTorch module is drawn anew by its layers' own ``reset_parameters``. Stored weights have one start.
"""

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from os import PathLike
from typing import Any

import numpy as np

from foretrain.degeneracy.function import Function, as_function, check_outputs, function_of
from foretrain.degeneracy.network import Network
from foretrain.degeneracy.transformer import is_transformer, one_hot
from foretrain.elsewhere import adapters
from foretrain.errors import argument_error, nearest, path_argument
from foretrain.lazy import eqx, jax
from foretrain.plans.place import place
from foretrain.plans.python_file import neighbours, run_file
from foretrain.streams import key as stream_key

SINGLE = "There is one start, the weights as they are given: nothing has an interval."
_DRAWN = "Weights are those of the first start: `init` draws them, and none are stored."
_TRIED = 64  # examples on which repairs are tried


@dataclass(frozen=True)
class OwnModel:
    """A network, its starts, and its weights where it has some.

    Attributes:
        apply: ``apply(weights, x)``: outputs, examples first.
        init: ``init(key)``: weights of the start that belongs to a JAX key.
        functions: All functions of the Python file by name, such as ``loss``.
        single: True if there is one start, whatever the key.
        notes: Lines that a reader of its training must know.
        stored: The network at its own weights; None where weights are only drawn.
    """

    apply: Callable[[Any, Any], Any]
    init: Callable[..., Any]
    functions: dict[str, Callable] = field(default_factory=dict)
    single: bool = False
    notes: tuple[str, ...] = ()
    stored: Function | None = None

    def function(self, x: np.ndarray) -> Function:
        """Return the network at its own weights or else, with a note, at its first start; tried on x (n, ...)."""
        if self.stored is not None:
            return self.stored
        try:
            first = self.init(stream_key(0, 0, "weights"))
        except Exception as error:
            rule, got = "draw weights from a key", f"raises at {place(error)}"
            raise argument_error("init", rule, got) from error
        adapters.check_collections("init", first)
        return function_of(self.apply, first, x, notes=(_DRAWN,))


def own_model(
    model: str | PathLike,
    x: np.ndarray,
    *,
    activation: str = "relu",
    layers: Sequence[str] | None = None,
    outputs: np.ndarray | None = None,
) -> OwnModel:
    """Read the network that is named. A Python file is run, because it is named.

    Args:
        model: One of the following.

            - ``model.py:name``: a PyTorch or Equinox module; a function or class that makes one, without arguments or from
              a JAX ``key``; or a pair ``(apply, params)`` or ``(apply, init)``.
            - ``model.py``, which defines ``apply`` with ``init`` or with ``params``.
            - ``.safetensors`` or ``.npz``, see `foretrain.elsewhere.adapters.of_arrays`, which may also hold the `outputs`
              on the data.
        x: Data (n, ...); pairs of symbols of foretrain's transformer.
        activation: Nonlinearity between the layers of a file of arrays.
        layers: Order of the layers of a file of arrays; submodules of a PyTorch module whose outputs are layers.
        outputs: Outputs of the network on x, (n, o), with which the network that is read is compared.

    Raises:
        ArgumentError: The file cannot be used, the object is none of these, or the network that is read gives other outputs.
    """
    file, colon, name = str(model).rpartition(":")
    if not (colon and file.endswith(".py")):
        file, name = model, ""
    path = path_argument("model", file)
    if path.suffix != ".py":
        return _single(_of_arrays(path, x, activation, layers, outputs))
    values = vars(run_file(path))
    if name and name not in values:
        public = [known for known in values if not known.startswith("_")]
        raise argument_error("model", "be file.py:name", f"has no `{name}`", nearest(name, public))
    with neighbours(path):
        network = _of_object(values[name], x, layers) if name else _of_functions(path, values, x)
    functions = {key: _importing(path, value) for key, value in values.items() if callable(value)}
    called = {name: _importing(path, getattr(network, name)) for name in ("apply", "init")}
    network = replace(network, **called, functions=functions)
    if outputs is not None:
        check_outputs(network.function(x), x, outputs)
    return network


def is_network(model: Any) -> bool:
    """Return True for an object that holds its parameters: a module, a `Network`, a `Function`."""
    modules = (("torch", "nn.Module"), ("equinox", "Module"))
    kinds = [attrgetter(name)(sys.modules[room]) for room, name in modules if room in sys.modules]
    return isinstance(model, (Network, Function, *kinds))


def function_from(model: Any, x: np.ndarray, layers: Sequence[str] | None = None) -> Function:
    """Return the function of an object: a `Function`, a `Network`, ``(apply, params)``, an Equinox or PyTorch module.

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
        adapters.check_collections("params", model[1])
        return function_of(*model, x)
    if "equinox" in sys.modules and isinstance(model, eqx.Module):
        return adapters.of_equinox(model, x)
    rule = "be a PyTorch or Equinox module, or (apply, params)"
    raise argument_error("model", rule, f"is {type(model).__name__}")


def _importing(path, function):
    """Return the same function, which may import files of its own folder when it is called."""

    @functools.wraps(function, updated=())
    def called(*arguments, **options):
        with neighbours(path):
            return function(*arguments, **options)

    return called


def _of_arrays(path, x, activation, layers, outputs) -> Function:
    arrays = adapters.read_arrays(path)
    outputs = arrays.pop(adapters.OUTPUTS, None) if outputs is None else outputs
    network = adapters.of_arrays(arrays, activation, layers)
    if is_transformer(network):
        function = as_function(network)
        return (
            function if outputs is None else check_outputs(function, one_hot(network, x), outputs)
        )
    order = adapters.order_of(arrays, layers)
    function = as_function(network, order)
    if outputs is not None:
        tried = adapters.meant(arrays, activation, order, np.asarray(x)[:_TRIED])
        return check_outputs(function, x, outputs, tried)
    if len(order) == 1:
        return function
    note = (
        f"Network: that {activation} stands between its layers, and their order {', '.join(order)}, was assumed and not "
        f"checked; store what it answers on the data as `{adapters.OUTPUTS}` with the weights, or give it by --outputs."
    )
    return replace(function, notes=(note,))


def _of_functions(path, values, x) -> OwnModel:
    """Return the network of a file that defines ``apply`` with ``init`` or ``params``."""
    if not callable(values.get("apply")):
        raise argument_error("model", "define `apply`, or be file.py:name", f"is `{path}` alone")
    if callable(values.get("init")):
        return OwnModel(values["apply"], values["init"])
    if "params" in values:
        return _single(function_from((values["apply"], values["params"]), x))
    raise argument_error("model", "define the function `init`, or `params`", f"`{path}` does not")


def _of_object(model, x, layers) -> OwnModel:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return _drawn_anew(torch, model, x, layers)
    if isinstance(model, tuple) and len(model) == 2 and all(map(callable, model)):
        return OwnModel(*model)
    if is_network(model) or not callable(model):
        return _single(function_from(model, x, layers), _evaluation(model, x))
    by_key = _takes_key(model)
    first = _called(model, **({"key": stream_key(0, 0, "weights")} if by_key else {}))
    function = function_from(first, x, layers)
    if not (by_key or (torch is not None and isinstance(first, torch.nn.Module))):
        return _single(function, _evaluation(first, x))
    note = "Every start is made by calling the name again, " + (
        "with its key." if by_key else "PyTorch's seed drawn from its key."
    )

    def init(key):
        if by_key:
            return _weights(_called(model, key=key))
        with _seeded(torch, key):
            return _weights(_called(model))

    notes = (*function.notes, note, *_evaluation(first, x))
    return OwnModel(function.apply, init, notes=notes, stored=function)


def _takes_key(model) -> bool:
    """Return True for a function or class of which `key` is the one argument that must be given."""
    try:
        parameters = inspect.signature(model).parameters.values()
    except ValueError:  # written in C
        return False
    return [each.name for each in parameters if each.default is each.empty] == ["key"]


def _called(model, **key):
    try:
        return model(**key)
    except Exception as error:
        rule, repair = "give a model when it is called without arguments, or with `key`", ""
        at, code = place(error).rstrip("."), getattr(inspect.unwrap(model), "__code__", None)
        if code and error.__traceback__ and error.__traceback__.tb_next is None:  # not entered
            at = f"{code.co_filename}, line {code.co_firstlineno}: {type(error).__name__}: {error}"
            repair = "Name the file alone where it defines `apply` with `params` or `init`."
        raise argument_error("model", rule, f"raises at {at}", repair) from error


def _drawn_anew(torch, module, x, layers) -> OwnModel:
    """Return a module with the starts that its layers draw by themselves."""
    function = function_from(module, x, layers)
    evaluation = _evaluation(module, x)
    owners = {name: module.get_submodule(name.rpartition(".")[0]) for name in function.params}
    kept = [name for name, owner in owners.items() if not hasattr(owner, "reset_parameters")]
    if len(kept) == len(owners):
        return _single(function, evaluation)
    notes = [
        *function.notes,
        "Every start is drawn by reset_parameters of each layer, PyTorch's seed drawn from its key; a class or function that "
        "makes the module draws by its own rule.",
    ]
    if kept:
        notes.append(f"Without reset_parameters, and the same in every start: {', '.join(kept)}.")

    def init(key):
        drawn = copy.deepcopy(module).cpu()
        with _seeded(torch, key), torch.no_grad():
            for layer in drawn.modules():
                if hasattr(layer, "reset_parameters"):
                    layer.reset_parameters()
        return _weights(drawn)

    return OwnModel(function.apply, init, notes=(*notes, *evaluation), stored=function)


def _evaluation(model, x) -> tuple[str, ...]:
    """Return lines that name what of a module acts otherwise in training, and buffers that are no weights."""
    torch = sys.modules.get("torch")
    off, still, buffers = [], [], []
    if torch is not None and isinstance(model, torch.nn.Module):
        from foretrain.elsewhere.torch_reader import acts_otherwise

        kind = torch.nn.modules.dropout._DropoutNd
        for name, layer in model.named_modules():
            share = getattr(layer, "p" if isinstance(layer, kind) else "dropout", 0.0)
            if isinstance(share, float) and share:  # a child may be named dropout
                off.append(name or "it")
            if getattr(layer, "running_mean", None) is not None:
                still.append(name or "it")
        named = (name for name, _ in model.named_buffers())
        buffers = [name for name in named if (name.rpartition(".")[0] or "it") not in still]
        if not (off or still) and acts_otherwise(model, x):
            off.append("or another rule of its forward, by no layer that is known")
    elif "equinox" in sys.modules and isinstance(model, eqx.Module):
        kind = eqx.nn.Dropout
        nodes = jax.tree.leaves_with_path(model, is_leaf=lambda node: isinstance(node, kind))
        dropouts = [(path, node) for path, node in nodes if isinstance(node, kind) and node.p]
        off = [
            jax.tree_util.keystr(path, simple=True, separator=".") or "it" for path, _ in dropouts
        ]
    parts = [f"dropout is off ({', '.join(off)})"] * bool(off)
    moments = f"normalisation has its stored moments, no batch's ({', '.join(still)})"
    parts += [moments] * bool(still)
    lines = [f"Trained in evaluation: {', '.join(parts)}."] * bool(parts)
    return (*lines, *[f"Buffers stay as they are: {', '.join(buffers)}."] * bool(buffers))


def _single(function, notes=()) -> OwnModel:
    notes = (*function.notes, *notes, SINGLE)
    return OwnModel(function.apply, lambda key: function.params, {}, True, notes, function)


def _weights(model) -> Any:
    """Return the weights of a module, or the second of a pair."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        named = model.named_parameters()
        return {name: leaf.detach().cpu().double().numpy() for name, leaf in named}
    if isinstance(model, tuple):
        return model[1]
    return eqx.partition(eqx.nn.inference_mode(model), eqx.is_inexact_array)[0]


@contextmanager
def _seeded(torch, key) -> Iterator[None]:
    """Make PyTorch's random numbers a function of a JAX key, and restore their state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(jax.random.bits(key, dtype="uint32")))
        yield
