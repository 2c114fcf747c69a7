"""Parameters of a study: flat frozen dataclasses, from which the command line, the checks and the hash are made."""

import dataclasses
import itertools
from dataclasses import MISSING, dataclass, field
from typing import Any

from foretrain.errors import argument_error, integer, nearest, one_of, real


@dataclass(frozen=True)
class Rule:
    """What a parameter may be, and what it is for.

    Attributes:
        meaning: One sentence, with the paper's symbol where it has one.
        minimum, maximum, above: Bounds of a number; `above` is strict.
        choices: Allowed strings.
        static: True if a change of value needs another compiled program (shapes, laws, optimisers).
        sweepable: True if several values make an axis.
        cosmetic: True if the value changes no result, and so is left out of the hash.
    """

    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    static: bool = False
    sweepable: bool = True
    cosmetic: bool = False


def parameter(default: Any, meaning: str, **rule) -> Any:
    """A field of a study's ``Parameters``, with its `Rule`."""
    return field(default=default, metadata={"rule": Rule(meaning, **rule)})


def rules(parameters_type: type) -> dict[str, Rule]:
    """The rule of every field, by name, in the order they are declared."""
    return {item.name: item.metadata["rule"] for item in dataclasses.fields(parameters_type)}


def types(parameters_type: type) -> dict[str, type]:
    """The type of every field (int, float, bool or str), by name."""
    return {item.name: item.type for item in dataclasses.fields(parameters_type)}


def clean(parameters_type: type, name: str, value):
    """Return one value of field `name` in its type and within its rule, or raise `ArgumentError`."""
    known = rules(parameters_type)
    if name not in known:
        raise argument_error(
            name, f"be a parameter of {study_name(parameters_type)}", "is not", nearest(name, known)
        )
    rule, kind = known[name], types(parameters_type)[name]
    if kind is int:
        return integer(name, value, minimum=rule.minimum, maximum=rule.maximum)
    if kind is float:
        return real(name, value, minimum=rule.minimum, maximum=rule.maximum, above=rule.above)
    if kind is bool:
        if not isinstance(value, bool):
            raise argument_error(name, "be true or false", f"is {value!r}")
        return value
    return one_of(name, value, rule.choices) if rule.choices else str(value)


def split_axes(parameters_type: type, values: dict) -> tuple[Any, dict[str, tuple]]:
    """Split given values into fixed parameters and axes.

    Args:
        parameters_type: A study's ``Parameters``.
        values: Field name to a value, or to a list or tuple of values, which makes an axis.

    Returns:
        The parameters with every axis at its first value, and the axes, field name to tuple of distinct values.

    Raises:
        ArgumentError: a name is unknown, a value breaks its rule, an axis is empty, repeats a value or cannot be
            swept.
    """
    fixed, axes = {}, {}
    for name, value in values.items():
        if not isinstance(value, list | tuple):
            fixed[name] = clean(parameters_type, name, value)
            continue
        cleaned = tuple(clean(parameters_type, name, item) for item in value)
        if not cleaned:
            clean(
                parameters_type,
                name,
                None if name not in rules(parameters_type) else _any(parameters_type, name),
            )
            raise argument_error(name, "have at least one value", "has none")
        if len(cleaned) > 1 and not rules(parameters_type)[name].sweepable:
            raise argument_error(name, "have one value", f"has {len(cleaned)}: it cannot be swept")
        if len(set(cleaned)) < len(cleaned):
            raise argument_error(name, "have distinct values", f"is {list(value)}")
        fixed[name] = cleaned[0]
        if len(cleaned) > 1:
            axes[name] = cleaned
    return parameters_type(**fixed), axes


def _any(parameters_type, name):
    return next(item.default for item in dataclasses.fields(parameters_type) if item.name == name)


def cells(parameters, axes: dict[str, tuple]):
    """Every cell of the grid as (index per axis, parameters), the last axis fastest."""
    names = list(axes)
    for index in itertools.product(*(range(len(axes[name])) for name in names)):
        overrides = {name: axes[name][i] for name, i in zip(names, index, strict=True)}
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


def hashed(parameters) -> dict:
    """The fields that change a result, as JSON-ready values."""
    return {
        name: getattr(parameters, name)
        for name, rule in rules(type(parameters)).items()
        if not rule.cosmetic
    }


def study_name(parameters_type: type) -> str:
    """Name of the study that a ``Parameters`` type belongs to."""
    return parameters_type.__module__.rpartition(".")[2].replace("_", "-")
