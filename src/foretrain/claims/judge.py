"""Judging a sentence in a cell: its quantity brought to one value per seed, an interval of them, and a verdict."""

import math
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from foretrain.claims.claim import FAILS, INCONCLUSIVE, NOT_CLAIMED, Claim, verdict_of
from foretrain.claims.sentence import Sentence, SentenceError, place
from foretrain.quantities.cell import Cell
from foretrain.quantities.measured import Exact, NotApplicable, PerSeed

NOTHING = "nothing was measured"
NO_SPREAD = "All seeds gave the same value, which shows nothing of rare runs."
_WORDS = ("id", "statement", "source", "why", "among", "corrects", "unit", "rank")
_NUMBERS = ("measured", "uncertainty", "seeds", "left_out", "method")


class _Judged(NamedTuple):
    """A measured value, and its verdict before lost or unfinished runs are looked at."""

    measured: float
    uncertainty: tuple[float, float] | None
    verdict: str
    reason: str
    method: str
    seeds: int
    left_out: int
    lost: str = ""
    note: str = ""


def judge(sentence: Sentence, grid: Any, look: int = 1) -> Claim | None:
    """Judge a sentence in a cell.

    Args:
        sentence: The sentence.
        grid: A `foretrain.plans.grid.Grid` cut along all axes but those in `sentence.along`.
        look: 1 where its verdict was not seen with fewer seeds, 2 where it was once, and so on: the interval gets wider.

    Returns:
        The claim, or None where the sentence does not apply.

    Raises:
        SentenceError: the interval or the quantity cannot be judged.
        Exception: whatever the quantity raises.
    """
    cell = Cell(grid)
    try:
        if sentence.where is not None and not sentence.where(cell.blind()):
            return None
        values = measured(sentence, cell)
    except NotApplicable:
        return None
    if values is None:
        return None
    predicted, allowed = sentence.fixed(cell.blind())
    networks = sentence.of or cell.networks
    if isinstance(values, Exact):
        judged = _exact(sentence, values, allowed, cell)
    else:
        judged = _spread(sentence, values, allowed, cell, networks, look)
    verdict, reason = judged.verdict, judged.reason
    note = " ".join(filter(None, (sentence.note, values.note, judged.note)))
    unfinished = cell.grid.unfinished(networks) if sentence.at_end else ""
    nothing = judged.reason == NOTHING
    lost = cell.grid.lost(networks, diverged=nothing or not sentence.among) or judged.lost
    if unfinished:
        verdict, reason = INCONCLUSIVE, unfinished
    elif lost and verdict == FAILS:
        note = f"{note} {lost[0].upper()}{lost[1:]}.".strip()
    elif lost:
        verdict, reason = INCONCLUSIVE, f"{reason}; {lost}" if nothing else reason or lost
    if sentence.domain is not None and (outside := sentence.domain(cell.blind())):
        verdict, reason = NOT_CLAIMED, outside
    return Claim(
        **{name: getattr(sentence, name) for name in _WORDS},
        **{name: getattr(judged, name) for name in _NUMBERS},
        predicted=predicted,
        allowed=allowed,
        verdict=verdict,
        cell=dict(cell.grid.cell),
        reason=reason,
        along={name: ends for name, ends in cell.grid.ends().items() if name in sentence.along},
        note=note,
        reads=", ".join(sorted(cell.reads)),
    )


def measured(sentence: Sentence, cell: Cell) -> PerSeed | Exact | None:
    """Return what a sentence measures in a cell, in one of the two forms that are judged; None where it does not apply.

    Raises:
        NotApplicable: a network was not trained, a variable not stored, or an axis is too short.
    """
    values = sentence.quantity(cell)
    if values is None or isinstance(values, Exact):
        return values
    wrapped = values if isinstance(values, PerSeed) else PerSeed(values)
    if sentence.exact:
        seeds = getattr(wrapped.values, "sizes", {}).get("seed")
        sizes = np.abs(np.asarray(wrapped.values, float))  # the largest is nan where one is
        return Exact(float(sizes.max()) if sizes.size else math.nan, wrapped.note, seeds)
    upto = None if wrapped.upto is None else np.asarray(wrapped.upto)
    return PerSeed(_by_seed(sentence, wrapped.values), wrapped.note, upto)


def _by_seed(sentence: Sentence, values: Any) -> np.ndarray:
    """Return values of shape (seed,), without the axes of length one along which the sentence looks."""
    if isinstance(values, xr.DataArray):
        values = values.squeeze([dim for dim in sentence.along if values.sizes.get(dim) == 1])
        if values.dims != ("seed",):
            raise _mistake(
                sentence, f"must measure one number per seed, but has dims {values.dims}"
            )
    values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        got = f"gave shape {values.shape} of dtype {values.dtype}"
        raise _mistake(sentence, f"must measure one number per seed, but {got}")
    return values


def _exact(sentence: Sentence, fact: Exact, allowed: tuple[float, float], cell: Cell) -> _Judged:
    worst = np.asarray(fact.worst)
    if worst.ndim or worst.dtype.kind not in "fiu":
        raise _mistake(
            sentence, f"must measure one number as its deviation, but gave {fact.worst!r}"
        )
    value = float(worst)
    seeds = cell.grid.seeds if fact.seeds is None else fact.seeds
    reason = NOTHING if math.isnan(value) else ""
    return _Judged(value, None, verdict_of((value, value), allowed), reason, "exact", seeds, 0)


def _spread(sentence, quantity: PerSeed, allowed, cell: Cell, networks, look: int) -> _Judged:
    # Its tables take longer to load than a list of sentences.
    from foretrain.claims.interval import Interval, between, interval, tail_of_look

    values, grid = quantity.values, cell.grid
    read = {*networks, *cell.networks}
    trained = {grid.seeds, *(grid.network(name).sizes.get("seed", 0) for name in read)}
    if values.size > max(trained):
        rule = f"must measure at most one number for each of {max(trained)} seeds"
        raise _mistake(sentence, f"{rule}, but gave {values.size}")
    if values.size not in trained and not sentence.among:
        rule = f"must measure one number for each of {grid.seeds} seeds, nan where there is none"
        repair = "Name the runs of which it speaks as `among` if others are left out on purpose."
        raise _mistake(sentence, f"{rule}, but gave {values.size}. {repair}")
    above = values if quantity.upto is None else quantity.upto
    same_kind = above.dtype.kind in ("b" if values.dtype.kind == "b" else "fiu")
    if above.shape != values.shape or not same_kind:
        got = f"gave shape {above.shape} of dtype {above.dtype}"
        rule = f"must measure upper bounds of shape {values.shape}, of dtype {values.dtype}"
        raise _mistake(sentence, f"{rule}, but {got}")
    finite = np.isfinite(values) & np.isfinite(above)
    kept = values[finite]
    # Booleans have no nan for the runs that a sentence leaves out on purpose: they are fewer.
    planned = min(number for number in trained if number >= values.size)
    left_out = int((planned if sentence.among else values.size) - kept.size)
    lost = f"{left_out} of {values.size} seeds gave no value"
    lost = lost if left_out and not sentence.among else ""
    if not kept.size:
        nothing = (math.nan, math.nan)
        return _Judged(math.nan, nothing, INCONCLUSIVE, NOTHING, "none", 0, left_out)

    def ends_of(look: int) -> Interval:
        bounds = [values] if quantity.upto is None else [values, above]
        options = sentence.statistic, sentence.within, tail_of_look(look)
        first, *second = (interval(each[finite], *options) for each in bounds)
        return between(first, *second) if second else first

    ends = ends_of(look)
    uncertainty = (ends.low, ends.high)
    verdict, reason = verdict_of(uncertainty, allowed), ""
    note = _tail(kept) if ends.method == "skew-corrected t" else ""
    if kept.size == 1:
        reason = "one seed says nothing of the spread"
    elif values.dtype.kind != "b" and grid.equal_seeds(networks):
        verdict, reason = INCONCLUSIVE, "all seeds gave the same run"
    method, counts = ends.method, (int(kept.size), left_out, lost)
    if look > 1:
        method, plain = f"{method} over {look} looks", ends_of(1)
        note += f" Of these seeds alone the interval is {plain.low:.4g} to {plain.high:.4g}."
    return _Judged(ends.measured, uncertainty, verdict, reason, method, *counts, note.strip())


def _tail(values: np.ndarray) -> str:
    """Say what the runs show of rare ones that may carry their mean, in a sentence; "" where all are alike in kind."""
    from foretrain.claims.rare import runs_apart

    if np.ptp(values) == 0:
        return NO_SPREAD
    if (note := runs_apart(values)) is None:
        return ""
    lie = "lies" if note.runs == 1 else "lie"
    return f"{note.runs} of {values.size} runs {lie} apart; the mean of the others is {note.others:.4g}."


def _mistake(sentence: Sentence, rule: str) -> SentenceError:
    """Return the error of a sentence that its author has to mend, with file and line."""
    return SentenceError(
        f"{place(sentence)}: The sentence `{sentence.id}` {rule}".rstrip(".") + "."
    )
