"""Errors for input that foretrain cannot use, and the guards that raise them.

Every message has one grammar, in one line: ``Argument `name` must <rule>, but <got>.`` and, where there is a usual
repair, one sentence more. The command line prints that line and nothing else; from Python it is the text of an exception.
A guard checks one rule and returns the cleaned value, so that it can be used where the value is stored.
"""

import difflib
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np


class ForetrainError(Exception):
    """Anything foretrain refuses or gives up on. Its text is one line that a user can act on."""


class ArgumentError(ForetrainError, ValueError):
    """An argument breaks its rule.

    Attributes:
        argument: Its name in Python; empty where a message was not composed by `argument_error`.
    """

    argument: str = ""


class FolderError(ForetrainError, OSError):
    """A results folder cannot be used: it is locked, unwritable, or holds something else."""


class TooLarge(ForetrainError):
    """The runs do not fit into memory; no more of them is trained."""


class UnknownStudyError(FolderError):
    """The study of a folder is not to be found here, or may not be run."""


class StoreError(ForetrainError, ValueError):
    """A stored file is truncated, altered or not foretrain's."""


def refuse_optimized_python() -> None:
    """Raise `ForetrainError` under ``python -O``, where Zarr, which keeps the results, does not work."""
    if not __debug__:
        raise ForetrainError(
            "Results cannot be written or read under python -O, where Zarr does not work. Try python without -O."
        )


def argument_error(name: str, rule: str, got: str, repair: str = "") -> ArgumentError:
    """Compose the one line: ``Argument `name` must <rule>, but <got>. <repair>``."""
    got = _LONG.sub(r"\1\2\3...\1", got)
    line = f"Argument `{name}` must {rule}, but {got}."
    error = ArgumentError(" ".join((f"{line} {repair}" if repair else line).splitlines()))
    error.argument = name
    return error


def not_installed(what: str, package: str, extra: str) -> ForetrainError:
    """Compose the line for what needs a package that is not there, with the extra that brings it."""
    repair = f'Try `python -m pip install "foretrain[{extra}]"`.'
    return ForetrainError(f"{what} needs {package}, which is not installed. {repair}")


_LONG = re.compile(r"([`'])(?:([^`'/]{80})[^`'/]+|([^`']{300})[^`']+)\1")  # of a path more is said
# Names that are usual elsewhere, too unlike those here to be found by their letters.
_USUAL = {"rate": "learning_rate", "lr": "learning_rate", "loss": "loss_function", "squared": "mse"}


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the known name closest to `name`, hyphens in front left out, or lists them all."""
    bare = {each.lstrip("-"): each for each in sorted(known)}
    usual = _USUAL.get(name.lstrip("-"), "")
    usual = usual.replace("_", "-") if name.startswith("-") else usual
    close = [usual] if usual in bare else difflib.get_close_matches(name.lstrip("-"), bare, 1, 0.6)
    return f"Did you mean `{bare[close[0]]}`?" if close else f"Known: {', '.join(bare.values())}."


def known_options(function: str, options: Iterable[str], *accepting: Callable) -> None:
    """Refuse the first option that none of the functions it goes on to has.

    Args:
        function: Public name of what was called, such as ``foretrain.explain``.
        options: Names of the options that are given.
        *accepting: The functions that take them.
    """
    known = {
        name
        for each in accepting
        for name, parameter in inspect.signature(each).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty
    }
    for name in options:
        if name not in known:
            rule = f"be an option of {function}"
            raise argument_error(name, rule, "is none", nearest(name, known))


def integer(name: str, value, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return `value` as an int within [minimum, maximum], or raise `ArgumentError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        if not (isinstance(value, float) and value.is_integer()):
            raise argument_error(name, "be a whole number", f"is {value!r}")
    value = int(value)
    _within(name, value, minimum, maximum)
    return value


def real(
    name: str,
    value,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
) -> float:
    """Return `value` as a finite float within [minimum, maximum] and greater than `above`, or raise."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise argument_error(name, "be a number", f"is {value!r}") from None
    except OverflowError:
        raise argument_error(name, "be below 1.8e308 in size", f"is {_text(value)}") from None
    if not math.isfinite(number):
        raise argument_error(name, "be finite", f"is {number}")
    if above is not None and not number > above:
        raise argument_error(name, f"be greater than {above:g}", f"is {number:g}")
    _within(name, number, minimum, maximum)
    return number


def _within(name, value, minimum, maximum):
    low = minimum is not None and value < minimum
    if not (low or (maximum is not None and value > maximum)):
        return
    if minimum is not None and maximum is not None:
        rule = f"be between {_text(minimum)} and {_text(maximum)}"
    else:
        rule = f"be at least {_text(minimum)}" if low else f"be at most {_text(maximum)}"
    raise argument_error(name, rule, f"is {_text(value)}")


def _text(number) -> str:
    if not isinstance(number, int):
        return f"{number:g}"
    digits = number.bit_length() * math.log10(2)
    return str(number) if digits < 30 else f"a whole number of about {digits:.0f} digits"


def one_of(name: str, value, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`, or raise with the nearest of them."""
    if value in choices:
        return value
    quoted = ", ".join(f"`{choice}`" for choice in choices)
    near = nearest(str(value), choices).partition("Known: ")[0]  # they are named already
    raise argument_error(name, f"be one of {quoted}", f"is {value!r}", near)


def path_argument(name: str, value) -> Path:
    """Return `value`, a text or a path, as a `Path` that a file system can hold, or raise."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise argument_error(name, "be a path", f"is {value!r}")
    text = os.fspath(value)
    if not text:
        raise argument_error(name, "be a path", "is empty")
    if "\0" in text:
        raise argument_error(name, "be a path", "holds a NUL character")
    try:
        lengths = [len(os.fsencode(part)) for part in Path(text).parts]
    except UnicodeEncodeError:
        raise argument_error(name, "be a path", f"is {text!r}") from None
    if max(lengths, default=0) > 255 or sum(lengths) > 4000:
        rule = "be a path of at most 4000 bytes, 255 for each name in it"
        raise argument_error(name, rule, f"has {sum(lengths)}, {max(lengths)} in the longest name")
    return Path(text)


def file_argument(name: str, value, most: float = math.inf) -> Path:
    """Return `value` as a path at which there is nothing, or a regular file of at most so many bytes, or raise.

    What may never end, such as a pipe or a device, is not opened.
    """
    path = path_argument(name, value)
    if os.path.exists(path) and not os.path.isfile(path):
        got = f"`{path}` is {'a folder' if os.path.isdir(path) else 'a pipe or a device'}"
        raise argument_error(name, "be a regular file", got, "Put a file in its place.")
    if os.path.exists(path) and (size := os.path.getsize(path)) > most:
        raise argument_error(name, f"be a file of at most {most} bytes", f"`{path}` has {size}")
    return path


def finite_array(name: str, value, *, ndim: int | None = None) -> np.ndarray:
    """Return `value` as a NumPy array of finite numbers with `ndim` axes, or raise naming the first bad entry."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise argument_error(name, "be one array", "has rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise argument_error(name, "hold real numbers", f"has dtype {array.dtype}")
    if ndim is not None and array.ndim != ndim:
        raise argument_error(name, f"have {ndim} axes", f"has shape {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(index) for index in np.argwhere(bad)[0])
        got = f"has {int(bad.sum())} that are not, the first at {where}"
        raise argument_error(name, "hold finite numbers", got)
    return array


def same_length(**arrays) -> int:
    """Return the common length of the named arrays' first axis, or raise naming two that differ."""
    lengths = {name: len(array) for name, array in arrays.items()}
    (first, expected), *rest = lengths.items()
    for name, length in rest:
        if length != expected:
            rule = f"be as long as `{first}` ({expected})"
            raise argument_error(name, rule, f"has length {length}")
    return expected
