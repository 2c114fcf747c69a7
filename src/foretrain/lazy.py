"""Packages that import their names when they are first asked for, so that importing the package costs nothing."""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any


class _Deferred:
    """A package that is imported when one of its names is first asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


# For modules that are imported where nothing is computed yet: claims are listed ten times faster without xarray.
if TYPE_CHECKING:
    import xarray as xr
else:
    xr = _Deferred("xarray")


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
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that offers its own modules."""
    names = sorted(path.stem for path in Path(file).parent.glob("[a-z]*.py"))

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return get, lambda: names, names
