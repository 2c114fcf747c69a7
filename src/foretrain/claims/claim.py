"""A claim: a sentence from a document, what it predicts, what was measured, and whether the two agree.

The tolerance of a claim is an interval for the measured value, fixed before the run. The verdict is

- ``holds`` if the 95% bootstrap interval of the measured statistic over seeds lies inside the tolerance,
- ``fails`` if it lies wholly outside,
- ``inconclusive`` otherwise.

An exact fact (a conservation law, an identity) has no spread over seeds to speak of: its measured value is the worst
deviation seen, and the verdict is whether that lies inside the tolerance. Where a document is wrong its claim stays as
the document has it, and a second one, ``<id>.corrected``, states the corrected form. A claim that is judged in every cell
of a grid names its cell, as in ``closed-form[init_scale=0.2, rank=3]``.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

HOLDS, FAILS, INCONCLUSIVE = "holds", "fails", "inconclusive"
CORRECTED = ".corrected"
_RESAMPLES = 4000
_CELL = re.compile(r"\[([^\[\]]*=[^\[\]]*)\]")


@dataclass(frozen=True)
class Claim:
    """One judged sentence.

    Attributes:
        id: Short name, unique within a study; ``<id>.corrected`` marks a corrected form.
        statement: The sentence, in words.
        source: Document, equation or figure; for a result of our own the docs page that derives it.
        predicted: The value that theory gives (nan where a claim only bounds the measured value).
        measured: The statistic over seeds.
        uncertainty: 95% bootstrap interval of `measured` over seeds; None for an exact fact.
        tolerance: Interval in which `measured` must lie; an end may be infinite.
        verdict: ``holds``, ``fails`` or ``inconclusive``.
        seeds: Number of seeds that entered; `failed_seeds`: those left out as not finite.
        unit: Unit of predicted and measured.
        note: A sentence for the reader, such as what was fitted.
    """

    id: str
    statement: str
    source: str
    predicted: float
    measured: float
    uncertainty: tuple[float, float] | None
    tolerance: tuple[float, float]
    verdict: str
    seeds: int
    failed_seeds: int = 0
    unit: str = "1"
    note: str = ""

    def as_dict(self) -> dict:
        """The claim as JSON-ready values; infinite and undefined numbers become None."""
        fields = asdict(self)
        for name in ("predicted", "measured"):
            fields[name] = _json_number(fields[name])
        for name in ("uncertainty", "tolerance"):
            if fields[name] is not None:
                fields[name] = [_json_number(end) for end in fields[name]]
        return fields


def claim_from_dict(fields: dict) -> Claim:
    """The inverse of `Claim.as_dict`."""
    fields = dict(fields)
    for name in ("predicted", "measured"):
        fields[name] = math.nan if fields[name] is None else fields[name]
    low, high = fields["tolerance"]
    fields["tolerance"] = (-math.inf if low is None else low, math.inf if high is None else high)
    if fields["uncertainty"] is not None:
        ends = fields["uncertainty"]
        fields["uncertainty"] = tuple(math.nan if end is None else end for end in ends)
    return Claim(**fields)


def _json_number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def judge(
    id: str,
    statement: str,
    source: str,
    samples: Sequence[float] | np.ndarray,
    tolerance: tuple[float, float],
    *,
    predicted: float = math.nan,
    statistic: Callable[[np.ndarray], float] = np.mean,
    unit: str = "1",
    note: str = "",
) -> Claim:
    """Judge a claim measured once per seed.

    Args:
        id: Short name of the claim.
        statement: The sentence that is judged.
        source: Where it stands.
        samples: One measured value per seed, shape (seed,). Values that are not finite are left out and counted.
        tolerance: (low, high), fixed before the run; ends may be infinite.
        predicted: The value that theory gives.
        statistic: Reduces samples to the measured value; takes a 1-d array.
        unit: Unit of the values.
        note: A sentence for the reader.

    Returns:
        The claim with the percentile bootstrap interval of `statistic` (4000 resamples, fixed seed).
    """
    samples = np.asarray(samples, dtype=float).ravel()
    kept = samples[np.isfinite(samples)]
    measured = float(statistic(kept)) if kept.size else math.nan
    # One seed says nothing of the spread: its claim stays inconclusive rather than holding by luck.
    interval = bootstrap_interval(kept, statistic) if kept.size > 1 else (math.nan, math.nan)
    return Claim(
        id=id,
        statement=statement,
        source=source,
        predicted=float(predicted),
        measured=measured,
        uncertainty=interval,
        tolerance=_ordered(tolerance),
        verdict=_verdict(interval, tolerance),
        seeds=int(kept.size),
        failed_seeds=int(samples.size - kept.size),
        unit=unit,
        note=note,
    )


def exact(
    id: str,
    statement: str,
    source: str,
    deviation: float,
    at_most: float,
    *,
    seeds: int,
    unit: str = "1",
    note: str = "",
) -> Claim:
    """Judge an exact fact by its worst deviation over all seeds: it holds if that is finite and not above `at_most`."""
    deviation = float(deviation)
    return Claim(
        id=id,
        statement=statement,
        source=source,
        predicted=0.0,
        measured=deviation,
        uncertainty=None,
        tolerance=(0.0, float(at_most)),
        verdict=HOLDS if deviation <= at_most else FAILS,
        seeds=seeds,
        unit=unit,
        note=note,
    )


def cell_label(values: Mapping[str, Any]) -> str:
    """The name of a cell of a grid, such as ``init_scale=0.2, rank=3``."""
    return ", ".join(f"{name}={axis_value(value)}" for name, value in values.items())


def axis_value(value: Any) -> str:
    """A value of an axis as it stands in the name of a cell."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_cell(claim: Claim, label: str) -> Claim:
    """The claim with its cell named; unchanged where the label is empty."""
    return replace(claim, id=f"{claim.id}[{label}]") if label else claim


def cell_of(id: str) -> tuple[str, dict[str, str]]:
    """The id of a claim without its cell, and its cell as parameter to `axis_value`; empty if it has none."""
    labels = ", ".join(_CELL.findall(id))
    cell = dict(part.split("=", 1) for part in labels.split(", ") if "=" in part)
    return _CELL.sub("", id), cell


def unmet(claims: Iterable[Claim]) -> list[Claim]:
    """Claims that fail, as ``--check`` sees it: one that has a corrected form is judged by that."""
    claims = list(claims)
    corrected = {claim.id.replace(CORRECTED, "") for claim in claims if CORRECTED in claim.id}
    return [claim for claim in claims if claim.verdict == FAILS and claim.id not in corrected]


def bootstrap_interval(
    samples: np.ndarray, statistic: Callable[[np.ndarray], float] = np.mean
) -> tuple[float, float]:
    """95% percentile bootstrap interval of `statistic` over `samples` of shape (seed,); seeded, hence reproducible."""
    draws = np.random.default_rng(0).integers(0, samples.size, size=(_RESAMPLES, samples.size))
    if statistic in (np.mean, np.median):
        values = statistic(samples[draws], axis=1)
    else:
        values = np.array([statistic(samples[draw]) for draw in draws])
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _ordered(tolerance):
    low, high = map(float, tolerance)
    if not low <= high:
        raise ValueError(f"A tolerance must be (low, high) with low <= high, but is {tolerance}.")
    return low, high


def _verdict(interval, tolerance) -> str:
    (low, high), (floor, ceiling) = interval, tolerance
    if floor <= low and high <= ceiling:
        return HOLDS
    if high < floor or low > ceiling:
        return FAILS
    return INCONCLUSIVE
