"""Packages that import their names when they are first asked for, so that importing the package costs nothing."""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Deferred:
    """A package that is imported when one of its names is first asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


# For modules that are imported where nothing is computed yet: claims are listed ten times faster without xarray.
if TYPE_CHECKING:
    import distributed.comm.addressing
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import pandas as pd
    import xarray as xr
    import zarr.codecs
    import zarr.storage
    from jax import flatten_util
    from scipy import special
else:
    jax, jnp, special = map(_Deferred, ("jax", "jax.numpy", "scipy.special"))
    eqx, pd, xr = map(_Deferred, ("equinox", "pandas", "xarray"))
    distributed, flatten_util, zarr = map(_Deferred, ("distributed", "jax.flatten_util", "zarr"))


def lazy(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module that lists its names under ``if TYPE_CHECKING``.

    Type checkers read the same imports, written as ``from foretrain.errors import argument_error as argument_error``.
    """
    tree = ast.parse(Path(file).read_bytes())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    where = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, attribute = where[name]
        home = importlib.import_module(home)
        if not hasattr(home, attribute):  # a submodule
            return importlib.import_module(f"{home.__name__}.{attribute}")
        return getattr(home, attribute)

    return get, lambda: sorted(where), sorted(where)


def modules(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that offers its modules and those of its folders."""
    folder = Path(file).parent
    places = {
        path.stem: ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("[a-z]*.py")
    }
    names = sorted(places)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{places[name]}")

    return get, lambda: names, names


class _Verb(ModuleType):
    """A room that bears the name of a verb: the room is called as the function of the same name inside it."""

    @property
    def _function(self) -> Callable[..., Any]:
        name = self.__name__.rpartition(".")[2]
        return getattr(importlib.import_module(f"{self.__name__}.{name}"), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def verb(module: str) -> None:
    """Let a room be called as its verb: ``foretrain.predict(...)`` calls ``foretrain.predict.predict.predict``.

    Python sets ``foretrain.predict`` to the room once anything in the room is imported; a room that could not be called
    would hide the function.
    """
    sys.modules[module].__class__ = _Verb
