"""The claims of a result as a table that a person reads: in a terminal, a notebook, Markdown or a data frame."""

import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from foretrain.claims import markup, terminal
from foretrain.claims.claim import Claim
from foretrain.claims.rows import alike, by_rank, counted, finding, markdown, rows
from foretrain.errors import argument_error, nearest
from foretrain.lazy import pd
from foretrain.words import columns, encodable, print_folded


class ClaimTable(Sequence):
    """Claims that print as a table; iterates over `Claim`.

    Indexed by number, by the id of a sentence or by the label of a claim: ``claims["zero-shot"]`` is the claim, or the
    table of the claims of that sentence where it was judged in several cells, ``claims["zero-shot[init_scale=0.2]"]`` one
    of them.

    Args:
        claims: The claims, in the order in which they are shown.
    """

    def __init__(self, claims: Iterable[Claim] = ()):
        self._claims = tuple(claims)

    def __len__(self) -> int:
        return len(self._claims)

    def __getitem__(self, key) -> Any:
        if isinstance(key, slice):
            return ClaimTable(self._claims[key])
        if not isinstance(key, str):
            return self._claims[key]
        matches = [claim for claim in self._claims if key == claim.label]
        matches = matches or [claim for claim in self._claims if key == claim.id]
        if not matches:
            known = {name for claim in self._claims for name in (claim.id, claim.label)}
            repair = nearest(key, known) if known else "There are none."
            raise argument_error("id", "name a claim", f"is `{key}`", repair)
        return matches[0] if len(matches) == 1 else ClaimTable(matches)

    def __eq__(self, other) -> bool:
        return isinstance(other, ClaimTable) and self._claims == other._claims

    def __hash__(self) -> int:
        return hash(tuple(claim.label for claim in self._claims))

    def __repr__(self) -> str:
        return self.format(columns(), encoding=sys.stdout.encoding)

    def format(self, width: int = 120, *, details: bool = False, encoding: str = "utf-8") -> str:
        """The table as text: headlines in words, those that fail first, and a line that counts the other claims.

        A sentence judged in several cells is one claim: in how many it holds, and what was measured from the smallest to the
        largest. `to_dataframe` has every cell.

        Args:
            width: Number of columns, 40 or more; longer texts are wrapped.
            details: Whether to show every claim, with where it does not hold, why just this is allowed, and its source.
            encoding: Encoding of where it is printed; characters that it lacks are written in those that it has.
        """
        lines = io.StringIO()
        self._render(lines, width, details, encoding, color_system=None)
        return lines.getvalue().rstrip("\n")

    def show(self, runs: Mapping | None = None, seconds=0.0, of="", details: bool = False):
        """Print the table to standard output, in colour where that is a terminal; above it what was run, where it is given.

        `runs` maps the outcome of runs of study `of` to their number, `seconds` is what they took, `details` as of `format`.
        """
        if runs:
            print_folded(finding(alike(rows(self._claims))[1], runs, seconds, of))
        self._render(sys.stdout, columns(), details, sys.stdout.encoding, color_system="auto")

    def _render(self, file, width: int, details: bool, encoding: str | None, color_system) -> None:
        from rich.console import Console

        width = max(width, terminal.NARROWEST)
        off = ("highlight", "markup", "emoji", "legacy_windows", "force_jupyter")
        how: dict[str, Any] = {"color_system": color_system, **dict.fromkeys(off, False)}
        console = Console(file=file, width=width, **how)
        parts = terminal.details if details else terminal.lines
        with console.capture() as captured:
            for part in parts(self._claims, width, lambda text: encodable(text, encoding)):
                console.print(part, width=width)  # a dumb terminal has 80 columns to rich
        file.writelines(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])

    def tally(self) -> str:
        """Count the claims that hold, fail and are inconclusive, in one line that names those that fail."""
        return counted(rows(self._claims))

    def to_markdown(self) -> str:
        """The table in Markdown, for a paper's notes or a page of documentation; every cell has its row."""
        return markdown(row for claim in self._claims for row in rows([claim]))

    def to_dataframe(self):
        """A pandas DataFrame, one row per claim, indexed by label.

        Intervals are columns ``_low`` and ``_high``, the axes that cells name columns ``cell_<axis>``.
        """
        records = []
        for claim in self._claims:
            record = asdict(claim)
            for name in ("uncertainty", "allowed"):
                ends = record.pop(name)
                record[f"{name}_low"], record[f"{name}_high"] = ends or (np.nan, np.nan)
            record["along"] = json.dumps(record["along"]) if claim.along else ""
            cell = {f"cell_{axis}": value for axis, value in record.pop("cell").items()}
            records.append({"label": claim.label, **record, **cell})
        return pd.DataFrame.from_records(records).set_index("label") if records else pd.DataFrame()

    def _repr_html_(self) -> str:
        size, every = alike(rows(self._claims))
        lines = (self.tally(), *filter(None, [size]))
        return markup.render("claims/notebook.html", lines=lines, ranked=by_rank(every))


# Given to the claim from here: it is what rows are made of, and knows none of their words itself.
Claim._repr_html_ = lambda claim: ClaimTable([claim])._repr_html_()  # type: ignore[attr-defined]
