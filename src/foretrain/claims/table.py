"""The claims of a result: as labelled data on disk, and as a table that a person reads."""

import html
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

import numpy as np
import xarray as xr

from foretrain.claims.cells import CellClaims, gather
from foretrain.claims.claim import HOLDS, Claim
from foretrain.errors import argument_error, nearest
from foretrain.vocabulary import Variable, annotate, declare

_CLAIM, _INTERVAL = ("claim",), ("claim", "bound")
_TEXTS = ("id", "statement", "source", "verdict", "unit", "note")
_NUMBERS = ("predicted", "measured")
_COUNTS = ("seeds", "failed_seeds")

declare(
    Variable("id", _CLAIM, kind="str", meaning="Short name of the claim."),
    Variable("statement", _CLAIM, kind="str", meaning="The sentence that is judged."),
    Variable("source", _CLAIM, kind="str", meaning="Document, equation or figure it comes from."),
    Variable("predicted", _CLAIM, meaning="The value that theory gives, in `unit`."),
    Variable("measured", _CLAIM, meaning="The statistic over seeds, in `unit`."),
    Variable("uncertainty", _INTERVAL, meaning="95% bootstrap interval of `measured` over seeds."),
    Variable("exact", _CLAIM, kind="bool", meaning="An exact fact, which has no uncertainty."),
    Variable("tolerance", _INTERVAL, meaning="Interval in which `measured` must lie."),
    Variable("verdict", _CLAIM, kind="str", meaning="holds, fails or inconclusive."),
    Variable("seeds", _CLAIM, kind="int", meaning="Number of seeds that entered."),
    Variable("failed_seeds", _CLAIM, kind="int", meaning="Seeds left out as not finite."),
    Variable("unit", _CLAIM, kind="str", meaning="Unit of predicted and measured."),
    Variable("note", _CLAIM, kind="str", meaning="A sentence for the reader."),
)


def claims_dataset(claims: Iterable[Claim]) -> xr.Dataset:
    """Claims along the dim ``claim``; `claims_from_dataset` is the inverse, infinite and undefined numbers included."""
    claims = list(claims)
    variables: dict[str, tuple] = {}
    for name in _TEXTS:
        texts = np.array([getattr(claim, name) for claim in claims], np.dtypes.StringDType())
        variables[name] = (_CLAIM, texts)
    for name in _NUMBERS:
        variables[name] = (_CLAIM, np.array([getattr(claim, name) for claim in claims], float))
    for name in _COUNTS:
        variables[name] = (_CLAIM, np.array([getattr(claim, name) for claim in claims], np.int64))
    exact = [claim.uncertainty is None for claim in claims]
    intervals = [claim.uncertainty or (np.nan, np.nan) for claim in claims]
    variables["exact"] = (_CLAIM, np.array(exact, bool))
    variables["uncertainty"] = (_INTERVAL, np.array(intervals, float).reshape(-1, 2))
    tolerances = np.array([claim.tolerance for claim in claims], float).reshape(-1, 2)
    variables["tolerance"] = (_INTERVAL, tolerances)
    names = [item.name for item in fields(Claim)] + ["exact"]
    bound = np.array(["lower", "upper"], np.dtypes.StringDType())
    return annotate(xr.Dataset({name: variables[name] for name in names}, coords={"bound": bound}))


def claims_from_dataset(dataset: xr.Dataset) -> list[Claim]:
    """The claims that `claims_dataset` laid out."""
    values = {str(name): dataset[name].values.tolist() for name in dataset.data_vars}
    exact = values.pop("exact")
    claims = []
    for number, is_exact in enumerate(exact):
        entry = {name: column[number] for name, column in values.items()}
        entry["tolerance"] = tuple(entry["tolerance"])
        entry["uncertainty"] = None if is_exact else tuple(entry["uncertainty"])
        claims.append(Claim(**entry))
    return claims


class ClaimTable(Sequence):
    """Claims that print as a table. Indexed by number or by id; iterates over `Claim`.

    Args:
        claims: The claims, in the order in which they are shown.
    """

    def __init__(self, claims: Iterable[Claim] = ()):
        self._claims = tuple(claims)

    def __len__(self):
        return len(self._claims)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return ClaimTable(self._claims[key])
        if not isinstance(key, str):
            return self._claims[key]
        for claim in self._claims:
            if claim.id == key:
                return claim
        ids = [claim.id for claim in self._claims]
        raise argument_error("id", "name a claim", f"is `{key}`", nearest(key, ids))

    def __eq__(self, other):
        return isinstance(other, ClaimTable) and self._claims == other._claims

    def __hash__(self):
        return hash(self._claims)

    def __repr__(self):
        return str(self)

    def __str__(self):
        return self.format(min(120, max(80, shutil.get_terminal_size((120, 24)).columns)))

    def format(self, width: int = 120) -> str:
        """The table as text of at most `width` columns (80 or more); statements are wrapped.

        A claim judged in many cells (`claim_cells.MANY`) is one row: in how many it holds, and what was measured from
        the smallest to the largest. `to_dataframe` has every cell.
        """
        if not self._claims:
            return "No claims."
        shown = gather(self._claims)
        rows = [_cells(claim) for claim in shown]
        heads = ("verdict", "predicted", "measured (95% over seeds)", "allowed")
        widths = [max(len(head), *(len(row[n]) for row in rows)) for n, head in enumerate(heads)]
        # Numbers keep their width; what is left goes to the statement, which stands below where little is left.
        room = width - sum(widths) - 2 * len(widths)
        below = room < 30
        lines = [_line(heads, widths, "" if below else "claim", 0 if below else room)]
        lines.append("─" * min(width, len(lines[0].rstrip()) if below else width))
        for claim, cells in zip(shown, rows, strict=True):
            text = _text(claim, width - 4 if below else room)
            if below:
                lines += [_line(cells, widths, "", 0), *(f"    {line}" for line in text)]
            else:
                blank = ("",) * len(cells)
                lines += [
                    _line(blank if n else cells, widths, line, room) for n, line in enumerate(text)
                ]
        return "\n".join(line.rstrip() for line in [*lines, "", self.tally()])

    def tally(self) -> str:
        """How many claims hold, fail and are inconclusive, in one line."""
        verdicts = [claim.verdict for claim in self._claims]
        counts = (f"{verdicts.count(v)} {v}" for v in ("holds", "fails", "inconclusive"))
        return f"{len(verdicts)} claims: {', '.join(counts)}"

    def to_markdown(self) -> str:
        """The table in Markdown, for a paper's notes or a page of documentation."""
        lines = [
            "| verdict | claim | predicted | measured (95% over seeds) | allowed |",
            "|---|---|---|---|---|",
        ]
        for claim in self._claims:
            verdict, *numbers = _cells(claim)
            statement = f"`{claim.id}` {claim.statement}".replace("|", "\\|")
            lines.append(f"| {verdict} | {statement} | {' | '.join(numbers)} |")
        return "\n".join(lines)

    def to_dataframe(self):
        """A pandas DataFrame, one row per claim, indexed by id; intervals as columns ``_low`` and ``_high``."""
        import pandas as pd

        records = []
        for claim in self._claims:
            record = asdict(claim)
            for name in ("uncertainty", "tolerance"):
                ends = record.pop(name)
                record[f"{name}_low"], record[f"{name}_high"] = ends or (np.nan, np.nan)
            records.append(record)
        return pd.DataFrame.from_records(records).set_index("id") if records else pd.DataFrame()

    def _repr_html_(self):
        heads = ("verdict", "claim", "predicted", "measured (95% over seeds)", "allowed", "source")
        rows = []
        for claim in gather(self._claims):
            verdict, *numbers = _cells(claim)
            name, statement, source, *notes = map(html.escape, _parts(claim))
            notes = "".join(f"<br><small>{note}</small>" for note in notes)
            rows.append(
                [
                    f"<b>{html.escape(verdict)}</b>",
                    f"<code>{name}</code><br>{statement}{notes}",
                    *(html.escape(number) for number in numbers),
                    source,
                ]
            )
        head = "".join(f"<th>{head}</th>" for head in heads)
        body = "".join(
            "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(claim):
    """Verdict, predicted, measured and allowed, as text."""
    if isinstance(claim, CellClaims):
        return _gathered(claim)
    measured = number(claim.measured)
    if claim.uncertainty is not None:
        measured += f" ({interval(claim.uncertainty)})"
    unit = "" if claim.unit == "1" else f" {claim.unit}"
    predicted = "–" if np.isnan(claim.predicted) else number(claim.predicted) + unit
    return claim.verdict, predicted, measured + unit, interval(claim.tolerance)


def _gathered(group):
    """The same of a claim in many cells, each from the smallest to the largest."""
    unit = "" if group.claims[0].unit == "1" else f" {group.claims[0].unit}"

    def ends(name, none):
        low, high = group.range(name)
        if np.isnan(low):
            return none
        return number(low) + ("" if low == high else f" .. {number(high)}") + unit

    predicted, measured = ends("predicted", "–"), ends("measured", "not finite")
    holding = f"{group.counts.get(HOLDS, 0)} of {len(group.claims)} hold"
    return holding, predicted, measured, interval(group.tolerance) if group.tolerance else "by cell"


def _parts(claim):
    """Id, statement, source and notes of a claim; of one in many cells, where it does not hold."""
    first, notes = claim, []
    if isinstance(claim, CellClaims):
        first = claim.claims[0]
        notes = [f"Judged in {len(claim.claims)} cells; values from the smallest to the largest."]
        notes += [
            f"{verdict} in {count}: {claim.where(verdict)}"
            for verdict, count in claim.counts.items()
            if verdict != HOLDS
        ]
        if claim.without_value:
            notes.append(f"Nothing finite was measured in {claim.without_value}.")
        if claim.failed_seeds:
            notes.append(f"{claim.failed_seeds} seeds that failed are left out.")
    elif claim.note:
        notes = [claim.note]
    return [claim.id, first.statement, first.source, *notes]


def _text(claim, width):
    """Id, statement, source and notes of a claim, wrapped."""
    name, statement, source, *notes = _parts(claim)
    parts = [name, statement, f"[{source}]", *notes]
    return [line for part in parts for line in textwrap.wrap(part, max(width, 20))]


def _line(cells, widths, text, room):
    verdict, *numbers = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    middle = [text.ljust(room)] if room else []
    return "  ".join([verdict, *middle, *numbers])


def number(value: float) -> str:
    """A number in four significant digits."""
    return f"{value:.4g}"


def interval(ends: tuple[float, float]) -> str:
    """An interval in words: ``0.9 .. 1.1``, or ``at most 3`` where an end is infinite."""
    low, high = ends
    if np.isneginf(low) and np.isposinf(high):
        return "any"
    if np.isneginf(low):
        return f"at most {number(high)}"
    if np.isposinf(high):
        return f"at least {number(low)}"
    return f"{number(low)} .. {number(high)}"
