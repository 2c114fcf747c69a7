"""The network that a user names, and the law of its starts: a Python file of functions, an object in one, or stored weights.

A start must be a function of a key, or there is no interval. A PyTorch module is drawn anew by its layers' own
``reset_parameters``; a class or function that makes a module is called again, which keeps what it draws by its own rule. Of
stored weights, and of ``(apply, params)``, there is one start.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.elsewhere.models import function_from, open_model
from foretrain.errors import argument_error, nearest, path_argument
from foretrain.plans.python_file import neighbours, run_file


@dataclass(frozen=True)
class OwnModel:
    """A network and its starts.

    Attributes:
        apply: ``apply(weights, x)``: outputs, examples first.
        init: ``init(key)``: weights.
        functions: Other functions of the file by name, such as ``rate`` and ``loss``.
        single: True if there is one start alone, whatever the key.
        notes: Lines that a reader must know.
    """

    apply: Callable[[Any, Any], Any]
    init: Callable[..., Any]
    functions: dict[str, Callable] = field(default_factory=dict)
    single: bool = False
    notes: tuple[str, ...] = ()


@contextmanager
def own_model(model: str | PathLike, x: np.ndarray) -> Iterator[OwnModel]:
    """Context in which a network that is named can be used, for its functions may import what stands beside its file.

    Args:
        model: ``model.py``, which defines ``apply`` and ``init``; ``model.py:name``, the name of a PyTorch or Equinox module,
            of a class or function that makes one when it is called without arguments, or of ``(apply, params)``; or a file
            `.safetensors` or `.npz`, as of `foretrain.elsewhere.models.open_model`. A Python file is run.
        x: Inputs, examples first.

    Raises:
        ArgumentError: The file cannot be used, or the object is none of these.
    """
    file, colon, name = str(model).rpartition(":")
    if not (colon and file.endswith(".py")):
        path = path_argument("model", model)
        if path.suffix != ".py" and path.suffix:
            yield _single(open_model(path, x))
            return
        file, name = path, ""
    path = path_argument("model", file)
    with neighbours(path):
        found = vars(run_file(path))
        functions = {key: one for key, one in found.items() if callable(one)}
        if name and name not in found:
            known = [one for one in found if not one.startswith("_")]
            rule, got = "be file.py:name", f"has no `{name}`"
            raise argument_error("model", rule, got, nearest(name, known))
        yield _of_object(found[name], x, functions) if name else _of_file(path, functions)


def _of_file(path: Path, functions):
    for name in ("apply", "init"):
        if name not in functions:
            raise argument_error("model", f"define the function `{name}`", f"`{path}` does not")
    return OwnModel(functions["apply"], functions["init"], functions)


def _of_object(found, x, functions):
    torch = sys.modules.get("torch")
    if torch is None:
        return _single(function_from(found, x), functions)
    if isinstance(found, torch.nn.Module):
        return _drawn_anew(torch, found, x, functions)
    if not callable(found):
        return _single(function_from(found, x), functions)

    def made(key):
        with _seeded(torch, key):
            return found()

    first = made(0)
    if not isinstance(first, torch.nn.Module):
        return _single(function_from(first, x), functions)
    function = function_from(first, x)
    note = "Every start is made by calling the name again, PyTorch's seed drawn from its key."
    return OwnModel(function.apply, lambda key: _weights(made(key)), functions, False, (note,))


def _drawn_anew(torch, module, x, functions):
    """A module whose layers draw themselves."""
    function = function_from(module, x)
    owners = {name: module.get_submodule(name.rpartition(".")[0]) for name in function.params}
    kept = [name for name, one in owners.items() if not hasattr(one, "reset_parameters")]
    if len(kept) == len(owners):
        return _single(function, functions)
    notes = [
        "Every start is drawn by reset_parameters of each layer, PyTorch's seed drawn from its key; a class or function that "
        "makes the module draws by its own rule."
    ]
    if kept:
        notes.append(f"Without reset_parameters, and the same in every start: {', '.join(kept)}.")

    def init(key):
        other = copy.deepcopy(module).cpu()
        with _seeded(torch, key), torch.no_grad():
            for one in other.modules():
                if hasattr(one, "reset_parameters"):
                    one.reset_parameters()
        return _weights(other)

    return OwnModel(function.apply, init, functions, False, tuple(notes))


def _single(function, functions=None):
    note = "There is one start, the weights as they are given: nothing has an interval."
    notes = (*function.notes, note)
    return OwnModel(function.apply, lambda key: function.params, functions or {}, True, notes)


def _weights(module):
    return {name: one.detach().cpu().double().numpy() for name, one in module.named_parameters()}


@contextmanager
def _seeded(torch, key):
    """PyTorch's random numbers as a function of a JAX key, or of a number; what they were before is put back."""
    import jax

    seed = key if isinstance(key, int) else int(jax.random.bits(key, dtype="uint32"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
