"""The words results are written in: every stored variable with its dims, unit and meaning.

A variable is declared once, beside the code that produces it, and means the same wherever it appears: in theory and in
simulation, in Python, on disk and on an axis of a figure. Declaring a name twice with different content raises. Results
are checked against the vocabulary when they are labelled, and carry its text as attributes.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from foretrain.errors import ForetrainError, argument_error, nearest, one_of

TIME_UNIT = "step × learning rate"
MISSING = -1  # the outcome of a run that is not there
RUNNING, CONVERGED, DIVERGED, STALLED, OUT_OF_STEPS, FAILED, COMPUTED = range(7)
OUTCOMES = ("running", "converged", "diverged", "stalled", "out_of_steps", "failed", "computed")
STATE = "state_"  # begins the name of every leaf of a stored state; its dims are its own


@dataclass(frozen=True)
class Variable:
    """One word of the vocabulary."""

    name: str  #: as in Python, on disk and on the command line
    #: Its own dims, in order. Axes of a sweep and `seed` come in front of them when runs are gathered. None stands for as
    #: many as it has, called <name>_0, <name>_1, ...
    dims: tuple[str, ...] | None = ()
    #: Unit of the values; "1" for a pure number. Units of time are `TIME_UNIT` unless said.
    unit: str = "1"
    meaning: str = field(default="", kw_only=True)  #: one sentence
    kind: str = field(default="float", kw_only=True)  #: "float", "int", "bool" or "str"
    source: str = field(default="", kw_only=True)  #: equation or figure it comes from


DIMS = {
    "seed": "number of the seed; one value is one independent run",
    "step": "optimiser steps taken",
    "substep": "step within the stride that ends at `step`",
    "time": "time of gradient flow; of descent the number of steps times the learning rate",
    "layer": "layer of weights, input first",
    "mode": "singular mode, largest singular value first",
    "input_domain": "number of the input domain",
    "output_domain": "number of the output domain",
    "item": "item of the data set",
    "feature": "feature of the output",
    "unit": "hidden unit",
    "sample": "sample of a data set",
    "sample_other": "sample compared with `sample`",
    "component": "component of a factorisation",
    "target": "component of the target",
    "edge": "edge of the network graph",
    "path": "path through the network graph",
    "claim": "number of the claim",
    "bound": "lower and upper bound",
}

_PACKAGE = str(Path(__file__).parent)
_declared: dict[str, Variable] = {}  # by foretrain itself
_own: dict[str, Variable] = {}  # by studies from elsewhere, the last one to declare a name
_own_first = ContextVar("own_first", default=False)


class VocabularyError(ForetrainError, TypeError):
    """A variable is declared twice, not declared, or has other dims than declared."""


def declare(
    dims: str = "",
    named: Mapping[str, str] | None = None,
    /,
    *,
    unit: str = "1",
    kind: str = "float",
    source: str = "",
    **meanings: str,
) -> None:
    """Add variables that have the same dims to the vocabulary. Declaring the same one again is harmless.

    ``declare("step mode", strength="How much of each component the network passes on.")``

    The variables of a study from elsewhere are a vocabulary of their own, in which the last declaration counts; it comes
    first while the machine works on such a study, see `own_words`.

    Args:
        dims: Their own dims in order, separated by blanks; "" for one number.
        named: Further names and meanings; the only way for variables called `unit`, `kind` or `source`.
        unit: Of their values; "1" for a pure number.
        kind: "float", "int", "bool" or "str".
        source: Equation or figure they come from.
        **meanings: Name of each variable to a sentence that explains it.

    Raises:
        ArgumentError: an argument is of another kind.
        VocabularyError: foretrain itself declares a name twice with different content.
    """
    named = {} if named is None else named
    if not isinstance(dims, str) or not isinstance(named, Mapping):
        got = f"is {dims!r}, {named!r}"
        repair = 'Try declare("step mode", strength="How much of each component is passed on.").'
        raise argument_error("dims", "be one text, with names and meanings behind it", got, repair)
    texts, own = {**named, **meanings}, tuple(dims.split())
    for name, text in texts.items():
        if not isinstance(text, str):
            raise argument_error(name, "have a sentence as its meaning", f"has {text!r}")
    one_of("kind", kind, ("float", "int", "bool", "str"))
    words = {"unit": unit, "kind": kind, "source": source}
    variables = [Variable(name, own, meaning=text, **words) for name, text in texts.items()]
    if not sys._getframe(1).f_code.co_filename.startswith(_PACKAGE):
        _own.update({variable.name: variable for variable in variables})
        return
    for variable in variables:
        known = _declared.setdefault(variable.name, variable)
        if known != variable:
            both = f"{known} and {variable}"
            raise VocabularyError(f"Variable `{variable.name}` is declared twice: {both}.")


def lookup(name: str) -> Variable:
    """Return the variable that is declared, or the leaf of a stored state, by name; raises `VocabularyError` if none is."""
    if name.startswith(STATE):
        meaning = "Leaf of the state of a run, which holds the parameters; see the study's program."
        return Variable(name, None, meaning=meaning)
    first, second = (_own, _declared) if _own_first.get() else (_declared, _own)
    if name not in first and name not in second:
        near = nearest(name, {*first, *second}).partition("Known: ")[0]  # not a list of hundreds
        repair = near or f'Try foretrain.study.declare("its dims", {name}="What it is.").'
        raise VocabularyError(f"Variable `{name}` is not declared. {repair}")
    return first.get(name) or second[name]


def positions(dim: str) -> dict[str, int]:
    """Return the name of every variable that has a dim to the position of that dim among its own."""
    dims = {name: lookup(name).dims or () for name in {**_declared, **_own}}
    return {name: own.index(dim) for name, own in dims.items() if dim in own}


def in_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which they were declared, those of studies from elsewhere first."""
    places = {name: place for place, name in enumerate([*_own, *_declared])}
    return sorted(names, key=lambda name: places.get(name, len(places)))


@contextmanager
def own_words(own: bool) -> Iterator[None]:
    """Context in which the words of studies from elsewhere come first, if `own`."""
    token = _own_first.set(own)
    try:
        yield
    finally:
        _own_first.reset(token)


declare("step", loss="Training loss, in the convention of the study.")
declare(kind="int", outcome="How the run ended; see flag_meanings.")
declare(kind="int", unit="step", steps_taken="Steps after which the run ended.")
