"""A sentence: what a claim says, what it allows and how it is measured, before there is a run to judge.

A study's ``claims.py`` is a list of sentences::

    @sentence("Modes with larger singular values are learned first.", source=PAPER + "section 3.1", allowed=(0.95, 1),
              predicted=1, why="One pair in twenty may be swapped by the random start.")
    def larger_first(cell):
        ...

The function measures: it takes a cell of the grid (`foretrain.plans.grid.Grid`) and returns one value per seed, an
`Exact` deviation, or None where the sentence does not apply. Everything else is data, fixed before the first run and
sealed by a hash. `allowed` and `predicted` may be functions of the cell, which then withholds what was trained.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from foretrain.claims.callables import function_of
from foretrain.claims.claim import DETAIL, FAILS, HOLDS, INCONCLUSIVE, RANKS, Claim
from foretrain.claims.written import written
from foretrain.errors import ForetrainError

STATISTICS = ("mean", "median", "fraction")


class SentenceError(ForetrainError, TypeError):
    """A sentence is written in a way that cannot be judged."""


@dataclass(frozen=True)
class PerSeed:
    """What was measured, with words that depend on it.

    Attributes:
        values: One value per seed, shape (seed,); nan where a seed has none. Booleans are judged as a fraction.
        note: Added to the note of the sentence.
        upto: Where theory leaves a quantity open between two bounds, `values` are the lower and these the upper ones, of the
            same shape, numbers or booleans alike; a seed counts where both are finite. What is judged then reaches from the
            lower end of the interval of the former to the upper end of that of the latter, so that bounds to either side of
            what is allowed are inconclusive, however many seeds there are.
    """

    values: Any
    note: str = ""
    upto: Any = None


@dataclass(frozen=True)
class Exact:
    """The worst deviation of an exact fact over all that was looked at; nan where nothing could be measured.

    Attributes:
        worst: The deviation.
        note: Added to the note of the sentence.
        seeds: Number of seeds looked at; by default those of the cell.
    """

    worst: float
    note: str = ""
    seeds: int | None = None


@dataclass(frozen=True)
class Sentence:
    """One sentence of a study; made by `sentence`.

    Attributes:
        id: Short name, unique within the study.
        statement, source, why, note, unit, rank: As in `foretrain.claims.claim.Claim`.
        allowed: Interval for the measured value, or a function of the cell that gives it.
        measure: ``measure(cell)``: values of shape (seed,), `PerSeed`, `Exact`, or None where it does not apply.
        predicted: The value that theory gives, or a function of the cell; nan where the sentence only bounds.
        over: Axes along which it looks: dims of what the cell holds, of length one where they are not swept.
        statistic: "mean", "median" or "fraction" over seeds.
        corrects: Id of the sentence of which it is the corrected form, or "".
        among: Of which runs it speaks, in words, where it leaves some out on purpose; "" for all. Runs that diverged may be
            left out; with runs that failed or are missing nothing holds.
        of: Networks it looks at: "" is the study's own, other names are variants. Their runs must all be there.
        at_end: Whether it speaks of the end of training, so that runs cut off before they settled carry no verdict.
        where: Of which cells it speaks, a function of the cell without what was trained; None for all.
    """

    id: str
    statement: str
    source: str
    why: str
    allowed: Any
    measure: Callable[[Any], Any]
    predicted: Any = math.nan
    over: tuple[str, ...] = ()
    statistic: str = "mean"
    corrects: str = ""
    among: str = ""
    of: tuple[str, ...] = ("",)
    at_end: bool = False
    note: str = ""
    unit: str = "1"
    where: Callable[[Any], Any] | None = None
    rank: str = DETAIL

    def fixed(self, blind: Any) -> tuple[float, tuple[float, float]]:
        """What it predicts and allows in a cell of which nothing trained is seen; raises `SentenceError`."""
        predicted: Any = self.predicted(blind) if callable(self.predicted) else self.predicted
        allowed = self.allowed(blind) if callable(self.allowed) else self.allowed
        return float(predicted), check_allowed(allowed, float(predicted), self.id)

    def corrected(self, statement: str, *, id: str = "", **changes: Any) -> "Sentence":
        """The corrected form: another statement about what this one measures.

        Args:
            statement: What it says instead.
            id: By default ``<id of this sentence>.corrected``.
            **changes: Attributes of the corrected form that differ, `allowed` and `why` above all. Its prediction is not
                taken over.
        """
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        measure = kept.pop("measure")
        kept |= {"corrects": self.id, "predicted": math.nan, "id": id or f"{self.id}.corrected"}
        kept.pop("statement")
        return sentence(statement, **(kept | changes))(measure)

    @property
    def seal(self) -> str:
        """Hash (16 hex digits) of all that is fixed before a run: words, interval, and the code that measures.

        The code is that of the study, with the values it uses as they are now, see `foretrain.claims.written`.
        """
        parts = [self.id, self.statement, self.source, self.why, self.note, self.unit, self.among]
        parts += [self.statistic, self.corrects, repr((self.over, self.of, self.at_end))]
        fixed = (self.allowed, self.predicted, self.measure, self.where)
        parts += [written(part, self.measure) for part in fixed]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def sentence(
    statement: str,
    *,
    source: str,
    allowed: Any,
    why: str,
    predicted: Any = math.nan,
    over: str | Iterable[str] = (),
    statistic: str = "mean",
    corrects: str = "",
    among: str = "",
    of: str | Iterable[str] = "",
    at_end: bool = False,
    note: str = "",
    unit: str = "1",
    where: Callable[[Any], Any] | None = None,
    rank: str = DETAIL,
    id: str = "",
) -> Callable[[Callable[[Any], Any]], Sentence]:
    """Make a `Sentence` of a measuring function; for the arguments see there.

    The id is the function's name with hyphens, ``<id>.corrected`` where it corrects another, or `id`.

    Raises:
        SentenceError: an argument is none that can be judged.
    """
    if statistic not in STATISTICS:
        raise SentenceError(
            f"A sentence's `statistic` must be one of {STATISTICS}, but is {statistic!r}."
        )
    if rank not in RANKS:
        raise SentenceError(f"A sentence's `rank` must be one of {RANKS}, but is {rank!r}.")
    words = {"statement": statement, "source": source, "why": why, "corrects": corrects}
    words |= {"among": among, "note": note, "unit": unit, "id": id}
    for name, text in words.items():
        if not isinstance(text, str):
            raise SentenceError(f"A sentence's `{name}` must be words, but is {text!r}.")
    if not (statement and why):
        raise SentenceError("A sentence must have words, and say why just that is allowed.")
    if where is not None and not callable(where):
        raise SentenceError(
            f"A sentence's `where` must be a function of the cell, but is {where!r}."
        )
    number = np.asarray(predicted)
    if not callable(predicted) and (number.ndim or number.dtype.kind not in "fiub"):
        raise SentenceError(
            f"A sentence's `predicted` must be a number or a function of the cell, but is {predicted!r}."
        )
    if not callable(allowed):
        check_allowed(allowed, math.nan if callable(predicted) else predicted, statement)

    def made(measure: Callable[[Any], Any]) -> Sentence:
        function = function_of(measure)
        if function is None:
            raise SentenceError(f"A sentence must measure by a function, but has {measure!r}.")
        _refuse_shadowing(function)
        own = function.__name__.strip("_").replace("_", "-")
        own = f"{corrects}.corrected" if corrects else own
        return Sentence(
            id=id or own,
            statement=statement,
            source=source,
            why=why,
            allowed=allowed if callable(allowed) else (float(allowed[0]), float(allowed[1])),
            measure=measure,
            predicted=predicted,
            over=(over,) if isinstance(over, str) else tuple(over),
            statistic=statistic,
            corrects=corrects,
            among=among,
            of=(of,) if isinstance(of, str) else tuple(of),
            at_end=at_end,
            note=note,
            unit=unit,
            where=where,
            rank=rank,
        )

    return made


def _refuse_shadowing(measure: FunctionType) -> None:
    """Raise where a sentence further up in the same file has the same name: it would be gone."""
    before = measure.__globals__.get(measure.__name__)
    if not isinstance(before, Sentence):
        return
    first, second = _code(before), measure.__code__
    if first.co_filename == second.co_filename and first.co_firstlineno < second.co_firstlineno:
        raise SentenceError(
            f"Sentences must have names of their own, but `{measure.__name__}` is one in line {first.co_firstlineno} already."
        )


def check_allowed(allowed: Any, predicted: float, name: str) -> tuple[float, float]:
    """The interval (low, high), or `SentenceError` if it is none, is the whole line, or leaves out its prediction."""
    try:
        low, high = (float(end) for end in allowed)
    except (TypeError, ValueError):
        raise SentenceError(
            f"What `{name}` allows must be (low, high), but is {allowed!r}."
        ) from None
    if not low <= high:
        raise SentenceError(f"What `{name}` allows must have low <= high, but is {(low, high)}.")
    if math.isinf(low) and math.isinf(high):
        raise SentenceError(f"What `{name}` allows must not be the whole line: it could not fail.")
    if not math.isnan(predicted) and not low <= predicted <= high:
        raise SentenceError(
            f"What `{name}` allows, {low:g} .. {high:g}, must hold its own prediction, but that is {predicted:g}."
        )
    return low, high


def judge(said: Sentence, cell: Any) -> Claim | None:
    """Judge a sentence in a cell.

    Args:
        said: The sentence.
        cell: The cell, a `foretrain.plans.grid.Grid` cut along all axes but those in `said.over`.

    Returns:
        The claim, or None where the sentence does not apply.

    Raises:
        SentenceError: what it allows or measures is nothing that can be judged.
        Exception: whatever the measuring function raises.
    """
    # Its tables take longer to load than a list of sentences.
    from foretrain.claims.interval import between, interval

    found = said.measure(cell) if said.where is None or said.where(cell.blind()) else None
    if found is None:
        return None
    predicted, allowed = said.fixed(cell.blind())
    unfinished = cell.unfinished(said.of) if said.at_end else ""
    lost = cell.lost(said.of, diverged=not said.among)
    note, method = said.note, "exact"
    if isinstance(found, Exact):
        worst = np.asarray(found.worst)
        if worst.ndim or worst.dtype.kind not in "fiu":
            raise _mistake(
                said, f"must measure one number as its deviation, but gave {found.worst!r}"
            )
        measured, uncertainty, extra = float(worst), None, found.note
        seeds, left_out = cell.seeds if found.seeds is None else found.seeds, 0
        inside = allowed[0] <= measured <= allowed[1]
        verdict = HOLDS if inside else FAILS if math.isfinite(measured) else INCONCLUSIVE
        reason = "" if math.isfinite(measured) or inside else "nothing was measured"
        if math.isinf(measured) and not inside:
            verdict, reason = FAILS, ""
    else:
        values, extra = (found.values, found.note) if isinstance(found, PerSeed) else (found, "")
        values = np.asarray(values)
        if values.ndim != 1 or values.dtype.kind not in "fiub":
            got = f"gave shape {values.shape} of dtype {values.dtype}"
            raise _mistake(said, f"must measure one number per seed, but {got}")
        known = {cell.seeds, *(data.sizes.get("seed", 0) for data in cell.variants.values())}
        if values.size > max(known):
            rule = f"must measure at most one number for each of {max(known)} seeds"
            raise _mistake(said, f"{rule}, but gave {values.size}")
        if values.size not in known and not said.among:
            rule = (
                f"must measure one number for each of {cell.seeds} seeds, nan where there is none"
            )
            repair = (
                "Name the runs of which it speaks as `among` if others are left out on purpose."
            )
            raise _mistake(said, f"{rule}, but gave {values.size}. {repair}")
        upto = found.upto if isinstance(found, PerSeed) else None
        above = values if upto is None else np.asarray(upto)
        alike = above.dtype.kind in ("b" if values.dtype.kind == "b" else "fiu")
        if above.shape != values.shape or not alike:
            got = f"gave shape {above.shape} of dtype {above.dtype}"
            rule = f"must measure upper bounds of shape {values.shape}, of dtype {values.dtype}"
            raise _mistake(said, f"{rule}, but {got}")
        there = np.isfinite(values) & np.isfinite(above)
        kept = values[there]
        # Booleans have no nan for the runs that a sentence leaves out on purpose: they are fewer.
        asked = min(number for number in known if number >= values.size)
        seeds, left_out = int(kept.size), int((asked if said.among else values.size) - kept.size)
        ends = interval(kept, said.statistic) if kept.size else None
        if ends and upto is not None:
            ends = between(ends, interval(above[there], said.statistic))
        measured = ends.measured if ends else math.nan
        uncertainty = (ends.low, ends.high) if ends else (math.nan, math.nan)
        method = ends.method if ends else "none"
        verdict, reason = _verdict(uncertainty, allowed), ""
        if left_out and not said.among:
            lost = lost or f"{left_out} of {values.size} seeds gave no value"
        if not kept.size:
            reason = "nothing was measured"
        elif kept.size == 1:
            reason = "one seed says nothing of the spread"
        elif values.dtype.kind != "b" and cell.equal_seeds(said.of):
            verdict, reason = INCONCLUSIVE, "all seeds gave the same run"
    if unfinished:
        verdict, reason = INCONCLUSIVE, unfinished
    elif lost and verdict == FAILS:
        extra = f"{extra} {lost[0].upper()}{lost[1:]}.".strip()
    elif lost:
        verdict, reason = INCONCLUSIVE, reason or lost
    return Claim(
        id=said.id,
        statement=said.statement,
        source=said.source,
        predicted=predicted,
        measured=measured,
        uncertainty=uncertainty,
        allowed=allowed,
        verdict=verdict,
        seeds=seeds,
        cell=dict(cell.cell),
        left_out=left_out,
        reason=reason,
        method=method,
        why=said.why,
        among=said.among,
        corrects=said.corrects,
        along={name: ends for name, ends in cell.ends().items() if name in said.over},
        unit=said.unit,
        note=f"{note} {extra}".strip(),
        rank=said.rank,
    )


def _code(said: Sentence) -> CodeType:
    function = function_of(said.measure)
    assert function is not None, "`sentence` refuses what is none"
    return function.__code__


def _mistake(said: Sentence, what: str) -> SentenceError:
    """What the author of a sentence has to mend, with the line where its function begins."""
    code = _code(said)
    line = f"The sentence `{said.id}` {what}".rstrip(".")
    return SentenceError(f"{code.co_filename}, line {code.co_firstlineno}: {line}.")


def _verdict(found: tuple[float, float], allowed: tuple[float, float]) -> str:
    (low, high), (floor, ceiling) = found, allowed
    if floor <= low and high <= ceiling:
        return HOLDS
    if high < floor or low > ceiling:
        return FAILS
    return INCONCLUSIVE


def seals(sentences: Iterable[Sentence]) -> Mapping[str, str]:
    """Id of every sentence to its seal."""
    return {said.id: said.seal for said in sentences}
