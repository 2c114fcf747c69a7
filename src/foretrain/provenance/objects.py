"""What functions are made of that are met as objects: their sources, and the values that they hold.

A function of a file counts by its own source and by all that this reaches, see `foretrain.provenance.sources`; one of a
notebook by its source and the values of the names that it uses. Both count by their closures and defaults.
"""

import dataclasses
import functools
import hashlib
import inspect
import linecache
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foretrain.provenance import sources

_PLAIN = (bool, int, float, complex, str, bytes, range, types.NoneType, types.EllipsisType)
_MADE = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"}


def digest(*parts: str) -> str:
    """Hash (12 hex digits) of some texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def hashed(value: Any, rooms: set[str] = sources.ROOMS, folders: Iterable[Path] = ()) -> str:
    """Hash (12 hex digits) of a value, or of all that a function depends on; the same in every process.

    Args:
        value: Anything.
        rooms: Rooms of foretrain that count.
        folders: Folders in which the files of a study look for the modules that they import.
    """
    walk = _Walk(rooms, folders)
    walk.write(value)
    return digest(*walk.texts, *sources.reached(walk.places, folders, rooms)[0])


def function_of(value: Any) -> types.FunctionType | None:
    """The plain function within partial functions, methods and wrappers; None if there is none."""
    while value is not None and not (
        isinstance(value, types.FunctionType) and "__wrapped__" not in value.__dict__
    ):
        if isinstance(value, functools.partial | types.MethodType):
            value = value.func if isinstance(value, functools.partial) else value.__func__
        else:
            value = getattr(value, "__dict__", {}).get("__wrapped__")
    return value


class _Walk:
    """A walk through all that a value holds.

    Attributes:
        texts: What was met.
        places: Names of files that were met, of which the sources count.
    """

    def __init__(self, rooms: set[str], folders: Iterable[Path]):
        self.rooms, self.folders = rooms, list(folders)
        self.texts: list[str] = []
        self.places: list[sources.Place] = []
        self._seen: dict[int, Any] = {}  # holds the objects, so that no other gets the id of one

    def write(self, value: Any) -> None:
        kind = type(value)
        self.texts.append(f"{kind.__module__}.{kind.__qualname__}")
        if isinstance(value, _PLAIN):
            self.texts.append(repr(value))
            return
        if kind is not tuple:  # equal tuples may or may not be one object
            if id(value) in self._seen:
                return
            self._seen[id(value)] = value
        match value:
            case functools.partial():
                self._all((value.func, value.args, value.keywords))
            case types.MethodType():
                self._all((value.__func__, value.__self__))
            case types.FunctionType():
                self._function(value)
            case type():
                self._class(value)
            case types.ModuleType():
                self.texts.append(value.__name__)
                if file := _file(value.__name__):
                    self._place((file, sources.WHOLE))
            case dict():
                self._all(part for pair in value.items() for part in pair)
            case list() | tuple():
                self._all(value)
            case set() | frozenset():
                self.texts += sorted(hashed(one, self.rooms, self.folders) for one in value)
            case property() | classmethod() | staticmethod() | functools.cached_property():
                self._all(getattr(value, name, None) for name in ("fget", "__func__", "func"))
            case _ if hasattr(value, "dtype") and hasattr(value, "shape"):
                self._array(value)
            case _ if hasattr(value, "__wrapped__"):
                self.write(value.__wrapped__)
            case _:
                self._object(value)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.write(value)

    def _array(self, value: Any) -> None:
        import numpy as np

        array = np.asarray(value)
        content = pickle.dumps(array.tolist()) if array.dtype.hasobject else array.tobytes()
        self.texts += [str(array.dtype), str(array.shape), hashlib.sha256(content).hexdigest()]

    def _object(self, value: Any) -> None:
        if _file(type(value).__module__) or dataclasses.is_dataclass(value):
            self._all((type(value), getattr(value, "__dict__", {})))
            return
        try:
            self.texts.append(hashlib.sha256(pickle.dumps(value)).hexdigest())
        except Exception:  # such as what holds a lambda
            self.write(getattr(value, "__dict__", {}))

    def _place(self, *places: sources.Place) -> None:
        self.places += [one for one in places if sources.counts(one[0], self.rooms)]

    def _function(self, value: types.FunctionType) -> None:
        """A function: closure, defaults, and its source with all that this uses, without any source its code."""
        self._all((value.__defaults__, value.__kwdefaults__, getattr(value, "__wrapped__", None)))
        cells = value.__closure__ or ()
        self._all(cell.cell_contents for cell in cells if _is_filled(cell))
        code, file = value.__code__, Path(value.__code__.co_filename)
        in_file = file.is_file()
        is_known = value.__module__ == "__main__" or _file(value.__module__) is not None
        if in_file and not (is_known and sources.counts(file, self.rooms)):
            self.texts.append(f"{value.__module__}.{value.__qualname__}")
            return
        text = "".join(linecache.getlines(code.co_filename))  # cells of a notebook are there, too
        held = sources.source(file) if in_file else sources.Source(text.encode())
        parts = held.functions.get((code.co_firstlineno, value.__name__), [])
        self.texts += [part.text for part in parts]
        names = {name for part in parts for name in part.uses}
        for part in parts:
            home = file if in_file else Path.cwd() / "notebook.py"
            for module, targets in sources.targets_of(part, home, self.folders):
                self.texts += [module] if not targets else []
                self._place(*targets)
        if in_file:
            self._place(*((file, name) for name in names))
            return
        if not parts:
            codes = [*_codes(code)]
            names = {name for one in codes for name in one.co_names}
            self.texts += [repr((one.co_code, one.co_names)) for one in codes]
            self._all(c for one in codes for c in one.co_consts if not inspect.iscode(c))
        for name, _, attribute in sorted(name.partition(".") for name in names):
            if name in value.__globals__ and not name.startswith("__"):
                used = value.__globals__[name]
                is_part = isinstance(used, types.ModuleType) and hasattr(used, attribute)
                self._all((f"{name}.{attribute}", getattr(used, attribute) if is_part else used))

    def _class(self, value: type) -> None:
        file, name = _file(value.__module__), value.__qualname__
        self.texts.append(name)
        if file is not None and "<locals>" not in name:
            self._place((file, name.partition(".")[0]))
        elif file is not None or value.__module__ == "__main__":
            fields = getattr(value, "__dataclass_fields__", {})
            # The values of parameters are part of a run's identity.
            left_out = {one for one in fields if {"rule", "changed"} & fields[one].metadata.keys()}
            self._all((*fields, *value.__bases__))
            for part, one in sorted(vars(value).items()):
                is_own = isinstance(one, property | types.FunctionType) or part[:2] != "__"
                if is_own and part not in _MADE | left_out:
                    self._all((part, one))


def _file(module: str | None) -> Path | None:
    """The file of a module of the user or of foretrain; None for any other."""
    name = getattr(sys.modules.get(module or ""), "__file__", None)
    if name and (sources.is_users(name) or Path(name).is_relative_to(sources.PACKAGE)):
        return Path(name)
    return None


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is cell.cell_contents
    except ValueError:
        return False


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if inspect.iscode(one):
            yield from _codes(one)
