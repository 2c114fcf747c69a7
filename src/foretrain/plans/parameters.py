"""Parameters of a study: flat frozen dataclasses, from which the command line, the checks and the hash are made."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from foretrain.arithmetic import float_type
from foretrain.errors import argument_error, integer, nearest, one_of, real

LARGEST = 2**31 - 1  # of whole numbers: programs compute with 32 bits of them


@dataclass(frozen=True)
class Rule:
    """Rule of a parameter: its meaning and the values that it may have."""

    meaning: str  # one sentence, without the symbol
    # Bounds of a number; `above` is strict.
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()  # allowed strings
    # True if a change of value needs another compiled program (shapes, laws, optimisers).
    static: bool = False
    sweepable: bool = True  # true if several values make an axis
    symbol: str = ""  # the paper's symbol, such as "σ_0" or "η_A/η_x"; "" where it has none
    unit: str = "1"  # unit, "1" for a pure number

    @property
    def words(self) -> str:
        """The meaning behind the symbol, as help and pages show it."""
        return f"{self.symbol}, {self.meaning}" if self.symbol else self.meaning


def parameter(default: Any, meaning: str, **rule) -> Any:
    """A field of a study's ``Parameters``, with its `Rule`."""
    return field(default=default, metadata={"rule": Rule(meaning, **rule)})


def choice(meaning: str, choices: tuple[str, ...], **rule) -> Any:
    """A field that chooses between programs, the first by default, with its `Rule`."""
    return parameter(choices[0], meaning, choices=choices, static=True, **rule)


def size(default: int, meaning: str, maximum: int, minimum: int = 1, **rule) -> Any:
    """A field with a whole number of which each value needs a program of its own, such as a width, with its `Rule`."""
    return parameter(default, meaning, minimum=minimum, maximum=maximum, static=True, **rule)


def default(value: Any, meaning: str | None = None, **rule) -> Any:
    """A field of a block that is inherited, with another default; its `Rule` stays but for what is given here."""
    changed = rule if meaning is None else {"meaning": meaning, **rule}
    return field(default=value, metadata={"changed": changed})


@cache
def rules(parameters_type: type) -> dict[str, Rule]:
    """The rule of every field, by name, in the order they are declared.

    Raises:
        TypeError: a field is made neither by `parameter` nor, where a block is inherited, by `default`.
    """
    return {
        item.name: _rule(parameters_type, item.name) for item in dataclasses.fields(parameters_type)
    }


def _rule(parameters_type: type, name: str) -> Rule:
    """The rule of a field: that of the nearest class that makes it anew, changed by those between."""
    changes: dict[str, Any] = {}
    for owner in parameters_type.__mro__:
        item = vars(owner).get("__dataclass_fields__", {}).get(name)
        if item is None or name not in vars(owner).get("__annotations__", {}):
            continue
        if "rule" in item.metadata:
            return dataclasses.replace(item.metadata["rule"], **changes)
        if "changed" not in item.metadata:
            break
        changes = item.metadata["changed"] | changes
    raise TypeError(
        f"Field `{name}` of {parameters_type.__name__} must be made by `parameter(default, meaning, ...)`, or by "
        "`default(value)` where a block that is inherited makes it."
    )


@cache
def types(parameters_type: type) -> dict[str, type]:
    """The type of every field (int, float, bool or str), by name."""
    hints = get_type_hints(parameters_type)
    return {item.name: hints[item.name] for item in dataclasses.fields(parameters_type)}


def known_rule(parameters_type: type, name: str) -> Rule:
    """Return the rule of a field; raises `ArgumentError` where there is no such field."""
    if name not in (known := rules(parameters_type)):
        near = nearest(name, [*known, "seeds"])
        raise argument_error(name, "be a parameter of the study", "is not", near)
    return known[name]


def clean(parameters_type: type, name: str, value):
    """Return one value of field `name` in its type and within its rule, or raise `ArgumentError`."""
    rule, kind = known_rule(parameters_type, name), types(parameters_type)[name]
    if kind is int:
        least, most = (None if end is None else int(end) for end in (rule.minimum, rule.maximum))
        number = integer(name, value, minimum=least, maximum=most)
        return integer(name, number, minimum=-LARGEST, maximum=LARGEST)
    if kind is float:
        return real(name, value, minimum=rule.minimum, maximum=rule.maximum, above=rule.above)
    if kind is bool:
        if not isinstance(value, bool):
            raise argument_error(name, "be true or false", f"is {value!r}")
        return value
    return one_of(name, value, rule.choices) if rule.choices else str(value)


def split_axes(parameters_type: type, values: dict) -> tuple[Any, dict[str, tuple[Any, ...]]]:
    """Split given values into fixed parameters and axes.

    Args:
        parameters_type: A study's ``Parameters``.
        values: Field name to a value, to None for its default, or to several values (a list, an array, a range, a set or
            anything else that can be gone through once), which make an axis.

    Returns:
        The parameters with every axis at its first value, and the axes, field name to tuple of distinct values.

    Raises:
        ArgumentError: a name is unknown, a value breaks its rule, an axis is empty, repeats a value or cannot be swept.
    """
    fixed, axes = {}, {}
    for name, value in values.items():
        if value is None:
            known_rule(parameters_type, name)
            continue
        scalar = isinstance(value, str | bytes | dict) or getattr(value, "shape", None) == ()
        if scalar or not isinstance(value, Iterable):
            fixed[name] = clean(parameters_type, name, value)
            continue
        items = sorted(value) if isinstance(value, set | frozenset) else list(value)
        cleaned: tuple[Any, ...] = tuple(clean(parameters_type, name, item) for item in items)
        if not cleaned:
            clean(parameters_type, name, getattr(parameters_type, name, None))
            raise argument_error(name, "have at least one value", "has none")
        if len(cleaned) > 1 and not rules(parameters_type)[name].sweepable:
            raise argument_error(name, "have one value", f"has {len(cleaned)}: it cannot be swept")
        if len(set(cleaned)) < len(cleaned):
            raise argument_error(name, "have distinct values", f"is {items}")
        fixed[name] = next(iter(cleaned))
        if len(cleaned) > 1:
            axes[name] = cleaned
    return parameters_type(**fixed), axes


def check_precision(parameters: Any, axes: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` where a number of a grid would become 0 or infinite at the precision of its runs."""
    for precision in axes.get("precision", (getattr(parameters, "precision", "float64"),)):
        kind_of_float = float_type(precision)
        least, most = float(np.finfo(kind_of_float).tiny), float(np.finfo(kind_of_float).max)
        for name in (name for name, kind in types(type(parameters)).items() if kind is float):
            for value in axes.get(name, (getattr(parameters, name),)):
                if value and not least <= abs(value) <= most:
                    rule = f"be 0 or between {least:.2g} and {most:.2g} in size in {kind_of_float}"
                    repair = "" if precision == "float64" else "Try `precision` = float64."
                    raise argument_error(name, rule, f"is {value:g}", repair)


def cells(parameters, axes: dict[str, tuple]):
    """Every cell of the grid as (index per axis, parameters), the last axis fastest."""
    for index in np.ndindex(*map(len, axes.values())):
        overrides = {name: values[i] for (name, values), i in zip(axes.items(), index, strict=True)}
        yield index, dataclasses.replace(parameters, **overrides)


def static_signature(parameters) -> tuple:
    """Values of the static fields: runs that share them share one compiled program."""
    return tuple(
        getattr(parameters, name) for name, rule in rules(type(parameters)).items() if rule.static
    )


def static_only(parameters):
    """The parameters with every field that is not static at its default."""
    defaults = {item.name: item.default for item in dataclasses.fields(parameters)}
    assert MISSING not in defaults.values(), "every parameter has a default"
    traced = {n: defaults[n] for n, rule in rules(type(parameters)).items() if not rule.static}
    return dataclasses.replace(parameters, **traced)


def guarded(parameters: Any, part: str) -> Any:
    """The parameters for a part of a study that many runs share, where a field that is not static is refused when read.

    Such a field has its default there whatever the cell, so that what read it would be wrong without a word: reading it
    raises TypeError, which names the part, such as ``program``.
    """
    copy = object.__new__(_guard(type(parameters), part))
    vars(copy).update(vars(parameters))
    return copy


@cache
def _guard(parameters_type: type, part: str) -> type:
    known, kinds = rules(parameters_type), types(parameters_type)
    refused = {name: kinds[name] for name, rule in known.items() if not rule.static}

    def read(self: Any, name: str) -> Any:
        if name not in refused:
            return object.__getattribute__(self, name)
        static = f"make `{name}` static=True"
        traced = f'use inputs["{"max_steps" if name == "steps" else name}"], which is traced'
        if refused[name] is str:
            use = f"{static}, since text cannot be traced"
        elif part == "program":
            use = traced
        else:
            use = f"{static}, or leave it to `program`, which must {traced}"
        raise TypeError(f"`{part}` must {use}; `p.{name}` is not that of a run but the default.")

    def equal(self: Any, other: Any) -> bool:
        return type(self) is type(other) and static_signature(self) == static_signature(other)

    names = {
        "__doc__": parameters_type.__doc__,
        "__getattribute__": read,
        "__eq__": equal,
        "__hash__": lambda self: hash(static_signature(self)),
    }
    return type(parameters_type.__name__, (parameters_type,), names)


def traced(p: Any) -> dict[str, np.generic]:
    """Every number of some parameters that is not static, as NumPy scalars; a run's number of steps is not among them."""
    kinds = types(type(p))
    return {
        name: _SCALARS[kinds[name]](getattr(p, name))
        for name, rule in rules(type(p)).items()
        if not rule.static and kinds[name] in _SCALARS and name != "steps"
    }


_SCALARS = {float: np.float64, int: np.int64, bool: np.bool_}
