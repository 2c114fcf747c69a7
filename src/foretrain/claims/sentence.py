"""A sentence: what a claim says, what it allows and the quantity that it judges, before there is a run to judge.

A study's ``claims.py`` lists its sentences, ``CLAIMS = [claim("larger-first", words, quantity, inside=..., why=...)]``; see
``docs/extending.md``.

The quantity is a function of a cell (`foretrain.quantities.cell.Cell`) that gives one value per seed. Everything else is
data, fixed before the first run and sealed by a hash. `near`, `inside` and `where` may be functions of the cell, which then
withholds what was trained.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from foretrain.claims.claim import DETAIL, RANKS
from foretrain.errors import ForetrainError
from foretrain.provenance.objects import function_of

STATISTICS = ("mean", "median", "fraction")


class SentenceError(ForetrainError, TypeError):
    """A sentence is written in a way that cannot be judged."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a study; made by `claim`.

    Attributes:
        id: Short name, unique within the study.
        statement, source, why, note, unit, rank: As in `foretrain.claims.claim.Claim`.
        quantity: ``quantity(cell)`` gives one value per seed, with dims ("seed",) or shape (seed,), or `PerSeed`, `Exact`, or
            None where it does not apply. A network that was not trained, a variable that is not stored and an axis that is too
            short need no words: the sentence does not apply there.
        inside: Interval (low, high) allowed for the measured value, or a function of the cell that gives it.
        near: The value that theory gives, or a function of the cell; nan where the sentence only bounds.
        exact: Judge the largest deviation, by size, of all that the quantity gives, of any shape, in place of a statistic.
        along: Axes along which the sentence looks: dims of what the cell holds, of length one where they are not swept.
        statistic: "mean", "median" or "fraction" over seeds.
        within: Range (low, high) in which the value of every run lies by what it is, such as (0, 1) of a share, for a mean: no
            rare run can break the interval then. None where there is none: the sentence supposes that no rare run carries
            the mean.
        corrects: Id of the sentence of which it is the corrected form, or "".
        among: Which runs it speaks of, in words, where it leaves some out on purpose; "" for all. Runs that diverged may be
            left out; with runs that failed or are missing nothing holds.
        of: Networks whose runs must all be there; () for those that the quantity reads.
        at_end: Judge only runs that settled: a run cut off while still learning carries no verdict.
        where: Cells of which it speaks, a function of the cell; None for all.
        domain: Function of the cell that returns "" where the sentence is claimed, and elsewhere the reason why it is not, in
            words: where the theory's own error is larger than what is allowed. None: claimed in all cells of which it speaks.
    """

    id: str
    statement: str
    source: str
    why: str
    inside: Any
    quantity: Callable[[Any], Any]
    near: Any = math.nan
    exact: bool = False
    along: tuple[str, ...] = ()
    statistic: str = "mean"
    within: tuple[float, float] | None = None
    corrects: str = ""
    among: str = ""
    of: tuple[str, ...] = ()
    at_end: bool = False
    note: str = ""
    unit: str = "1"
    where: Callable[[Any], Any] | None = None
    domain: Callable[[Any], str] | None = None
    rank: str = DETAIL

    def __post_init__(self):
        def check(name, right, rule):
            if not right:
                got = getattr(self, name)
                raise SentenceError(f"A claim's `{name}` must be {rule}, but is {got!r}.")

        for name in ("id", "statement", "source", "why", "corrects", "among", "note", "unit"):
            check(name, isinstance(getattr(self, name), str), "words")
        if not (self.id and self.statement and self.why):
            rule = "an id, words, and the reason for just this interval"
            raise SentenceError(f"A claim must have {rule}.")
        check("statistic", self.statistic in STATISTICS, f"one of {STATISTICS}")
        if self.within is not None and (self.statistic != "mean" or self.exact):
            raise SentenceError(f"Only a mean has a range `within`, but `{self.id}` is none.")
        check("rank", self.rank in RANKS, f"one of {RANKS}")
        if function_of(self.quantity) is None:
            rule = f"The quantity of `{self.id}` must be a function"
            raise SentenceError(f"{rule}, but is {self.quantity!r}.")
        for name in ("where", "domain"):
            value = getattr(self, name)
            check(name, value is None or callable(value), "a function of the cell")
        number = np.asarray(self.near)
        is_number = not number.ndim and number.dtype.kind in "fiub"
        check("near", callable(self.near) or is_number, "a number or a function of the cell")
        if not callable(self.inside):
            check_inside(self.inside, math.nan if callable(self.near) else self.near, self.id)

    def fixed(self, blind: Any) -> tuple[float, tuple[float, float]]:
        """Return what it predicts and allows in a cell without what was trained; raises `SentenceError`."""
        near: Any = self.near(blind) if callable(self.near) else self.near
        inside = self.inside(blind) if callable(self.inside) else self.inside
        return float(near), check_inside(inside, float(near), self.id)

    def corrected(self, statement: str, **changes: Any) -> "Sentence":
        """Return the corrected form: another statement about the same quantity.

        Args:
            statement: The statement in place of the document's.
            **changes: Attributes of the corrected form that differ, `inside` and `why` above all; `id` is by default
                ``<id of this sentence>.corrected``. The document's prediction is not taken over.
        """
        fields = {"id": f"{self.id}.corrected", "near": math.nan} | _tuples(changes)
        return replace(self, statement=statement, corrects=self.id, **fields)

    def and_corrected(self, statement: str, **changes: Any) -> tuple["Sentence", "Sentence"]:
        """Return this sentence and its corrected form, two rows of ``CLAIMS``; arguments as for `corrected`."""
        return self, self.corrected(statement, **changes)


def claim(
    id: str,
    words: str,
    quantity: Callable[[Any], Any],
    *,
    why: str,
    inside: Any = None,
    at_most: Any = None,
    **row: Any,
) -> Sentence:
    """Make one row of a study's ``CLAIMS``; raises `SentenceError` where an argument cannot be judged.

    Args:
        id: Short name, unique within the study.
        words: The statement: one whole sentence that can be understood alone.
        quantity: Function of the cell that gives one value per seed.
        why: Reason for just this interval.
        inside: Interval (low, high) allowed for the measured value, or a function of the cell.
        at_most: Bound of an exact fact, a number or a function of the cell: the largest deviation, by size, of all that the
            quantity gives is at most this. It stands for ``exact=True, near=0, inside=(0, at_most)``.
        **row: The other attributes of `Sentence`: ``near``, ``source``, ``rank``, ``exact``, ``along``, ``where``, ``domain``,
            ``of``, ``statistic``, ``within``, ``at_end``, ``among``, ``corrects``, ``note``, ``unit``.
    """
    unknown = set(row) - {field.name for field in fields(Sentence)}
    if unknown:
        raise SentenceError(f"A claim has no `{sorted(unknown)[0]}`.")
    if at_most is not None:
        row = {"exact": True, "near": 0, **row}
        inside = (lambda c: (0, at_most(c))) if callable(at_most) else (0, at_most)
    row = {"source": ""} | _tuples(row)
    return Sentence(id=id, statement=words, quantity=quantity, inside=_ends(inside), why=why, **row)


def _ends(inside: Any) -> Any:
    """Return the interval as two floats where it is one; whatever else it is, is refused later, by name."""
    try:
        low, high = inside
        return float(low), float(high)
    except (TypeError, ValueError):
        return inside


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: row[name] for name in ("along", "of") if name in row}
    single = {
        name: (value,) if isinstance(value, str) else tuple(value) for name, value in names.items()
    }
    return {**row, **single}


def check_inside(inside: Any, near: float, id: str) -> tuple[float, float]:
    """Return the interval (low, high); raise `SentenceError` if it is none, is the whole line, or leaves out `near`."""
    of = f"The interval of `{id}`"
    try:
        low, high = (float(end) for end in inside)
    except (TypeError, ValueError):
        raise SentenceError(f"{of} must be (low, high), but is {inside!r}.") from None
    if not low <= high:
        raise SentenceError(f"{of} must have low <= high, but is {(low, high)}.")
    if math.isinf(low) and math.isinf(high):
        raise SentenceError(f"{of} must not be the whole line: the claim could not fail.")
    if not math.isnan(near) and not low <= near <= high:
        own = f"must hold its own prediction, but that is {near:g}"
        raise SentenceError(f"{of}, {low:g} .. {high:g}, {own}.")
    return low, high


def place(sentence: Sentence) -> str:
    """Return file and line of a sentence's quantity."""
    function = function_of(sentence.quantity)
    assert function is not None, "a sentence without a function is refused"
    return f"{function.__code__.co_filename}, line {function.__code__.co_firstlineno}"
