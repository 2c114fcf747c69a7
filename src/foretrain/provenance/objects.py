"""Hashes of functions and values that are met as objects: of their sources, and of the values that they hold.

A function of a file counts by its own source and by all that this reaches, see `foretrain.provenance.sources`; one of a
notebook by its source and the values of the names that it uses. Both count by their closures and defaults. All other values
count as they are pickled.
"""

import functools
import hashlib
import inspect
import io
import linecache
import pickle
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foretrain.provenance import sources

_MADE = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"}


def digest(*parts: str) -> str:
    """Hash (12 hex digits) of some texts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def hashed(value: Any, rooms: set[str] = sources.ROOMS, folders: Iterable[Path] = ()) -> str:
    """Hash (12 hex digits) of a value, or of all that a function depends on; the same in every process."""
    walk = _Walk(rooms, folders)
    return digest(walk.text(value), *sources.reached(walk.places, folders, rooms)[0])


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


class _Pickler(pickle.Pickler):
    """Pickles a value by its parts, but functions, classes and modules as what a walk makes of them."""

    def __init__(self, walk: "_Walk"):
        self.content = io.BytesIO()
        super().__init__(self.content, protocol=5)
        self.fast = True  # whether equal parts are one object makes no difference
        self.persistent_id = walk.named


class _Walk:
    """A walk through all that a value holds.

    Attributes:
        places: Names of files that were met, of which the sources count.
    """

    def __init__(self, rooms: set[str], folders: Iterable[Path]):
        self._rooms, self._folders = rooms, list(folders)
        self.places: list[sources.Place] = []
        self._seen: dict[int, Any] = {}  # holds the objects, so that no other gets the id of one

    def text(self, value: Any) -> str:
        """The hash of a value; of what cannot be pickled its type."""
        pickler = _Pickler(self)
        try:
            pickler.dump(value)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
            return f"{type(value).__module__}.{type(value).__qualname__}"
        return hashlib.sha256(pickler.content.getvalue()).hexdigest()

    def named(self, value: Any) -> str | None:
        """Return the text that stands for a function, a class, a module or a set; None for any other value."""
        wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
        is_code = isinstance(value, types.FunctionType | types.ModuleType | type)
        if isinstance(value, set | frozenset):
            return " ".join(sorted(map(self.text, value)))
        if not is_code and wrapped is None:
            return None
        name = f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', value)}"
        if id(value) in self._seen:
            return name
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            return " ".join(self._function(value))
        if isinstance(value, type):
            return " ".join((name, *self._class(value)))
        if isinstance(value, types.ModuleType):
            self._place(*((file, sources.WHOLE) for file in _files(value.__name__)))
            return value.__name__
        return f"{type(value).__qualname__} {self.text(wrapped)}"

    def _place(self, *places: sources.Place) -> None:
        self.places += [place for place in places if sources.counts(place[0], self._rooms)]

    def _function(self, value: types.FunctionType) -> Iterator[str]:
        """A function: closure, defaults, and its source with all that this uses, without any source its code."""
        yield self.text((value.__defaults__, value.__kwdefaults__, vars(value).get("__wrapped__")))
        yield from (self.text(c.cell_contents) for c in value.__closure__ or () if _full(c))
        code, file = value.__code__, Path(value.__code__.co_filename)
        in_file = file.is_file()
        is_known = value.__module__ == "__main__" or _files(value.__module__)
        if in_file and not (is_known and sources.counts(file, self._rooms)):
            yield f"{value.__module__}.{value.__qualname__}"
            return
        text = "".join(linecache.getlines(code.co_filename))  # cells of a notebook are there, too
        parsed = sources.source(file) if in_file else sources.Source(text.encode())
        parts = parsed.functions.get((code.co_firstlineno, value.__name__), [])
        names = {name for part in parts for name in part.uses}
        for part in parts:
            yield part.text
            home = file if in_file else Path.cwd() / "notebook.py"
            for module, targets in sources.targets_of(part, home, self._folders):
                self._place(*targets)
                yield module if not targets else ""
        if in_file:
            self._place(*((file, name) for name in names))
            return
        if not parts:
            codes = [*sources.codes(code)]
            names = {name for part in codes for name in part.co_names}
            constants = [c for part in codes for c in part.co_consts if not inspect.iscode(c)]
            yield self.text([[(part.co_code, part.co_names) for part in codes], constants])
        for name, _, attribute in sorted(name.partition(".") for name in names):
            if name in value.__globals__ and not name.startswith("__"):
                used = value.__globals__[name]
                is_part = isinstance(used, types.ModuleType) and hasattr(used, attribute)
                yield f"{name}.{attribute}"
                yield self.text(getattr(used, attribute) if is_part else used)

    def _class(self, value: type) -> Iterator[str]:
        """The names of its file, or what a class holds that is in no file or within a function."""
        files = _files(value.__module__)
        if files and "<locals>" not in value.__qualname__:
            self._place(*((file, value.__qualname__.partition(".")[0]) for file in files))
        elif files or value.__module__ == "__main__":
            fields = getattr(value, "__dataclass_fields__", {})
            # The values of parameters are part of a run's identity.
            kinds = {"rule", "changed"}
            left_out = {name for name in fields if kinds & fields[name].metadata.keys()}
            yield self.text((*fields, *value.__bases__))
            for part, item in sorted(vars(value).items()):
                item = getattr(item, "fget", getattr(item, "__func__", item))
                own = part[:2] != "__" or isinstance(item, types.FunctionType)
                if own and part not in _MADE | left_out:
                    yield self.text((part, item))


def _files(module: str | None) -> list[Path]:
    name = getattr(sys.modules.get(module or ""), "__file__", None)
    ours = name is not None and Path(name).is_relative_to(sources.PACKAGE)
    return [Path(name)] if name and (ours or sources.is_users(name)) else []


def _full(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is cell.cell_contents
    except ValueError:  # not assigned yet
        return False
