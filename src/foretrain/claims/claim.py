"""A claim: a sentence judged in one cell of a grid, with what it predicts, what was measured, and a verdict.

What a sentence allows is an interval for the measured value, fixed before the run. The verdict is

- ``holds`` if the 95% interval of the measured value lies inside what is allowed,
- ``fails`` if it lies wholly outside,
- ``inconclusive`` otherwise, and wherever the runs do not carry a verdict: too few seeds, runs that are missing, failed
  or diverged, training that was cut off before it had settled. The reason stands beside it.
- ``not claimed`` outside of the domain of the sentence, whatever was measured there. The reason stands beside it.

An exact fact (a conservation law, an identity) has no spread over seeds to speak of: its measured value is the worst
deviation seen, and the verdict is whether that lies inside what is allowed. Where a document is wrong its claim stays as
the document has it, and a second one, which names the first in `corrects`, states the corrected form.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

from foretrain.errors import argument_error
from foretrain.words import cell_label

HOLDS, FAILS, INCONCLUSIVE = "holds", "fails", "inconclusive"
NOT_CLAIMED = "not claimed"
VERDICTS = (HOLDS, FAILS, INCONCLUSIVE, NOT_CLAIMED)
HEADLINE, DETAIL, CONTROL = "headline", "detail", "control"
RANKS = (HEADLINE, DETAIL, CONTROL)

Scalar = int | float | bool | str
Size = dict[str, tuple[str, str]] | None


@dataclass(frozen=True)
class Claim:
    """One judged sentence."""

    id: str  #: short name of the sentence, unique within a study
    statement: str  #: the sentence, in words
    #: Document, equation or figure; for a result of our own the docs page that derives it.
    source: str
    #: The value that theory gives (nan where a sentence only bounds the measured value).
    predicted: float
    measured: float  #: the statistic over seeds
    uncertainty: tuple[float, float] | None  #: 95% interval of `measured`; None for an exact fact
    allowed: tuple[float, float]  #: interval in which `measured` must lie; an end may be infinite
    verdict: str  #: one of `VERDICTS`
    seeds: int  #: number of seeds that entered
    #: Axis to its value in this cell; empty where nothing was cut.
    cell: dict[str, Scalar] = field(default_factory=dict)
    #: Number of seeds without a value: missing, failed, diverged, or not among those the sentence speaks of.
    left_out: int = 0
    #: Why the verdict is inconclusive although there is an interval, or why the sentence is not claimed; "" otherwise.
    reason: str = ""
    method: str = ""  #: how `uncertainty` was made; "exact" for an exact fact
    why: str = ""  #: why just this interval is allowed
    among: str = ""  #: of which runs the sentence speaks; "" for all
    corrects: str = ""  #: id of the sentence of which this one is the corrected form, or ""
    #: The preset in which it was judged, "own" where parameters differ from every preset.
    scale: str = ""
    #: Axis to (smallest, largest) of its values, for the axes along which the sentence looks.
    along: dict[str, tuple[Scalar, Scalar]] = field(default_factory=dict)
    unit: str = "1"  #: unit of predicted and measured
    note: str = ""  #: A sentence for the reader, such as what the number is
    #: ``headline`` (one of the three to six claims that the document is about), ``detail``, or ``control`` (a check of the
    #: experiment itself: conservation laws, negative controls).
    rank: str = DETAIL
    #: Variables that its quantity reads, separated by commas: ``loss``, ``flow/loss`` of a variant, ``theory/loss``.
    reads: str = ""
    #: Parameter to its value here and at the document's size, in words, for those that differ; None where the study has no
    #: preset ``paper``, which says the document's size.
    size: Size = None

    def __post_init__(self):
        if self.rank not in RANKS:
            raise argument_error("rank", f"be one of {', '.join(RANKS)}", f"is `{self.rank}`")

    @property
    def label(self) -> str:
        """The id with the cell behind it, such as ``zero-shot[init_scale=0.2, rank=3]``."""
        return f"{self.id}[{cell_label(self.cell)}]" if self.cell else self.id

    @property
    def at(self) -> str:
        """The first parameter in which its size differs from the document's, such as ``symbols=19``; "" at that size."""
        return next((f"{name}={here}" for name, (here, _) in (self.size or {}).items()), "")

    def as_dict(self) -> dict:
        """The claim as JSON-ready values; infinite and undefined numbers become None."""
        fields = asdict(self)
        for name in ("predicted", "measured"):
            fields[name] = _json_number(fields[name])
        for name in ("uncertainty", "allowed"):
            if fields[name] is not None:
                fields[name] = [_json_number(end) for end in fields[name]]
        return fields


def size_text(size: Mapping[str, tuple[str, str]]) -> str:
    """Return in which parameters a size differs from the document's, such as "symbols 19 (document 53), depth 1"."""
    return ", ".join(
        f"{name} {here} (document {theirs})" if theirs else f"{name} {here}"
        for name, (here, theirs) in size.items()
    )


def claim_from_dict(fields: dict) -> Claim:
    """The inverse of `Claim.as_dict`."""
    fields = dict(fields)
    for name in ("predicted", "measured"):
        fields[name] = math.nan if fields[name] is None else float(fields[name])
    low, high = fields["allowed"]
    fields["allowed"] = (-math.inf if low is None else low, math.inf if high is None else high)
    if fields["uncertainty"] is not None:
        low, high = (math.nan if end is None else end for end in fields["uncertainty"])
        fields["uncertainty"] = (low, high)
    fields["along"] = {name: tuple(ends) for name, ends in fields.get("along", {}).items()}
    if fields.get("size") is not None:
        fields["size"] = {name: tuple(values) for name, values in fields["size"].items()}
    return Claim(**fields)


def _json_number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def verdict_of(uncertainty: tuple[float, float], allowed: tuple[float, float]) -> str:
    """Return the verdict that an interval makes beside what is allowed; ends that are nan are inconclusive."""
    (low, high), (floor, ceiling) = uncertainty, allowed
    if floor <= low and high <= ceiling:
        return HOLDS
    return FAILS if high < floor or low > ceiling else INCONCLUSIVE


def unmet(claims: Iterable[Claim]) -> list[Claim]:
    """Claims that fail, as ``--check`` sees it: one is excused only by a corrected form that holds in the same cell."""
    claims = list(claims)
    mended = {(c.corrects, cell_label(c.cell)) for c in claims if c.verdict == HOLDS}
    return [c for c in claims if c.verdict == FAILS and (c.id, cell_label(c.cell)) not in mended]


def follows(claim: Claim) -> str:
    """The verdict that measured value, interval and allowed interval of a claim make; "" where they contradict each other."""
    if claim.uncertainty is None:
        return verdict_of((claim.measured, claim.measured), claim.allowed)
    # An end that is not finite is stored as none; the judge has taken it for no bound.
    low, high = (
        end if math.isfinite(end) else side * math.inf
        for end, side in zip(claim.uncertainty, (-1, 1), strict=True)
    )
    if not (math.isnan(claim.measured) or low <= claim.measured <= high):
        return ""
    return verdict_of((low, high), claim.allowed)


def as_it_follows(claim: Claim) -> Claim:
    """A claim that was read, with the verdict that follows; one that has none for a reason stays so."""
    right = follows(claim)
    if claim.verdict == right or (claim.verdict in (INCONCLUSIVE, NOT_CLAIMED) and claim.reason):
        return claim
    reason = f"the file says `{claim.verdict}`, which does not follow from the numbers beside it"
    return replace(claim, verdict=right or INCONCLUSIVE, reason=reason)
