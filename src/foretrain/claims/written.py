"""All that a function depends on, as text that is the same in every process: sources, and the values they use.

Followed are the functions of the same study: those of its module, of the files beside it and of its package, and within
foretrain those of `foretrain.studies` and `foretrain.training`. Of everything else only the name is kept.
"""

import ast
import enum
import functools
import hashlib
import inspect
import io
import sys
import textwrap
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.claims.callables import function_of, used_names, within

_VALUES = (bool, int, float, complex, str, bytes, range, types.NoneType, types.EllipsisType)
_ARRAYS = {"numpy", "jax", "jaxlib", "xarray"}  # packages whose arrays count by their values
_ROOMS = ("foretrain.studies.", "foretrain.training.")  # where the sentences of foretrain are


def written(value: Any, near: Any = None) -> str:
    """What a value is, or what a function does, with all that it depends on.

    Args:
        value: Anything; objects that are neither values, nor arrays, nor of the study count by the name of their type.
        near: A function of the study that `value` belongs to, by default `value` itself.
    """
    function = function_of(value if near is None else near)
    walk = _Walk(function.__module__ if function else "", [], {})
    _write(value, walk)
    return "\n".join(walk.text)


@dataclass(frozen=True)
class _Walk:
    """Where a walk through what a function depends on is: the module it is in, its text so far, what was written."""

    module: str
    text: list[str]
    seen: dict[int, Any]


def _write(value: Any, walk: _Walk) -> None:
    """Add what a value is to the text of a walk."""
    wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
    if isinstance(value, enum.Enum):
        walk.text.append(f"{type(value).__qualname__}.{value.name} {value.value!r}")
    elif isinstance(value, _VALUES):
        walk.text.append(repr(value))
    elif isinstance(value, types.CodeType):
        _write([value.co_code, value.co_names, value.co_consts], walk)
    elif type(value).__module__.partition(".")[0] in _ARRAYS and hasattr(value, "dtype"):
        _write_array(value, walk)
    elif held := within(value):
        _write(held if len(held) > 1 else held[0], walk)
    elif wrapped is not None and not isinstance(value, type):
        _write_cells(value, walk, without=wrapped)
        _write(wrapped, walk)
    elif isinstance(value, (types.FunctionType, type)):
        _write_code(value, walk)
    elif isinstance(value, types.ModuleType):
        walk.text.append(_outside(value.__name__, walk) or "module")
    elif isinstance(value, types.BuiltinFunctionType):
        walk.text.append(f"{value.__module__}.{value.__qualname__}")
    else:
        _write_parts(value, walk)


def _write_array(value: Any, walk: _Walk) -> None:
    array = np.asarray(value)
    if array.dtype.hasobject:
        _write(array.tolist(), walk)
    else:
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        walk.text.append(f"{array.dtype.str} {array.shape} {digest}")


def _write_parts(value: Any, walk: _Walk) -> None:
    """Add what a container or an object holds; nothing of an object that is neither a dataclass nor of the study."""
    kind = type(value)
    if id(value) in walk.seen:
        walk.text.append("within")
        return
    walk.seen[id(value)] = (
        value  # kept only while it is walked: equal constants may or may not be one object
    )
    if isinstance(value, (list, tuple)):
        walk.text.append(f"{kind.__qualname__} {len(value)}")
        for one in value:
            _write(one, walk)
    elif isinstance(value, (set, frozenset)):
        texts = []
        for one in value:
            inner = _Walk(walk.module, [], dict(walk.seen))
            _write(one, inner)
            texts.append("\n".join(inner.text))
        walk.text.extend([f"{kind.__qualname__} {len(value)}", *sorted(texts)])
    elif isinstance(value, (dict, types.MappingProxyType)):
        walk.text.append(f"{kind.__qualname__} {len(value)}")
        for name, one in value.items():
            _write(name, walk)
            _write(one, walk)
    elif is_dataclass(kind):
        _write(kind, walk)
        held = [field.name for field in fields(kind) if hasattr(value, field.name)]
        _write({name: getattr(value, name) for name in held}, walk)
    else:
        _write(kind, walk)
        if not _outside(kind.__module__, walk):
            _write(dict(getattr(value, "__dict__", {})), walk)
    del walk.seen[id(value)]


def _write_code(value: Any, walk: _Walk) -> None:
    """Add a function or a class: its name where it is not of the study, all that it uses where it is."""
    if outside := _outside(value.__module__, walk):
        walk.text.append(f"{outside}.{value.__qualname__}")
        return
    walk.text.append(value.__qualname__)
    if id(value) in walk.seen:
        return
    walk.seen[id(value)] = value
    if isinstance(value, type):
        _write([base for base in value.__bases__], walk)
        for name, one in sorted(vars(value).items()):
            made = isinstance(one, types.FunctionType) and one.__code__.co_filename[:1] == "<"
            if not name.startswith("__") or (isinstance(one, types.FunctionType) and not made):
                walk.text.append(name)
                _write(one, walk)
        return
    walk = _Walk(value.__module__, walk.text, walk.seen)
    source = _source(value)
    _write(value.__code__ if source is None else source, walk)
    _write([value.__defaults__, value.__kwdefaults__], walk)
    _write_cells(value, walk)
    names = {name for name in used_names(value.__code__) if not name.startswith("__")}
    _write_names(names, value.__globals__, walk)


def _write_names(names: set[str], known: Mapping[str, Any], walk: _Walk) -> None:
    """Add what those of some names mean that are known, and what they mean in the modules among them."""
    for name in sorted(names & known.keys()):
        value = known[name]
        walk.text.append(name)
        _write(value, walk)
        if isinstance(value, types.ModuleType) and not _outside(value.__name__, walk):
            if id(value) not in walk.seen:
                walk.seen[id(value)] = value
                _write_names(names, vars(value), walk)
                del walk.seen[id(value)]


def _write_cells(value: Any, walk: _Walk, without: Any = None) -> None:
    """Add the variables of enclosing functions that a function uses, but for one function."""
    cells = getattr(value, "__closure__", None) or ()
    for name, cell in zip(value.__code__.co_freevars if cells else (), cells, strict=True):
        try:
            held = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if without is None or held is not without:
            walk.text.append(name)
            _write(held, walk)


def _outside(module: str | None, walk: _Walk) -> str:
    """Name of a module, "" if it is of the study that is walked through."""
    module = module or ""
    if module == walk.module or module.startswith(_ROOMS):
        return ""
    top, dot, _ = module.partition(".")
    if dot and top != "foretrain" and top == walk.module.partition(".")[0]:
        return ""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in (module, walk.module)]
    if all(files) and Path(str(files[0])).parent == Path(str(files[1])).parent:
        return ""
    return module or "nowhere"


def _source(function: types.FunctionType) -> str | None:
    """The source of a function, of a lambda the expression alone; None where there is none."""
    try:
        lines, first = inspect.findsource(function)
    except (OSError, TypeError):
        return None
    return _part("".join(lines), first, function.__name__, function.__code__.co_firstlineno)


@functools.lru_cache(maxsize=4096)
def _part(text: str, first: int, name: str, line: int) -> str | None:
    """The source of a function in that of its file, from a line on; of a lambda in a line the expression."""
    try:
        if name == "<lambda>":
            return "\n".join(_lambdas(text).get(line, ())) or None
        return textwrap.dedent("".join(inspect.getblock(io.StringIO(text).readlines()[first:])))
    except SyntaxError:
        return None


@functools.lru_cache(maxsize=64)
def _lambdas(text: str) -> dict[int, list[str]]:
    """The lambda expressions of a file by the line in which they begin."""
    found: dict[int, list[str]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(ast.unparse(node))
    return found
