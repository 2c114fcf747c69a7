"""What callables hold: the function within wrappers, the code within code."""

import functools
import types
from collections.abc import Iterator
from typing import Any


def within(value: Any) -> list[Any]:
    """What a partial function, a method, a property or another such wrapper is made of; [] for anything else."""
    match value:
        case functools.partial():
            return [value.func, value.args, value.keywords]
        case types.MethodType():
            return [value.__func__, value.__self__]
        case property():
            return [value.fget, value.fset]
        case staticmethod() | classmethod():
            return [value.__func__]
        case functools.cached_property():
            return [value.func]
    return []


def function_of(value: Any) -> types.FunctionType | None:
    """The plain function within partial functions, methods and wrappers; None if there is none."""
    while value is not None and not (
        isinstance(value, types.FunctionType) and "__wrapped__" not in value.__dict__
    ):
        if isinstance(value, functools.partial | types.MethodType):
            value = within(value)[0]
        else:
            value = getattr(value, "__dict__", {}).get("__wrapped__")
    return value


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function and that of the functions within it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes(one)


def used_names(code: types.CodeType) -> set[str]:
    """Global names and names of attributes that a function and those within it use."""
    return {name for one in codes(code) for name in one.co_names}
