"""Two results side by side: what was asked differently, and what came out differently."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretrain.claims.cells import gather
from foretrain.claims.claim import HEADLINE
from foretrain.claims.rows import Row, by_rank, named, open_reasons, rows
from foretrain.errors import path_argument
from foretrain.figures.live import live
from foretrain.laboratory.opened import opened
from foretrain.provenance.seal import judge_of
from foretrain.report.document import document, write_document
from foretrain.report.forest import forest
from foretrain.report.sections import curves, verdicts
from foretrain.results.root import warnings
from foretrain.results.summary import Summary, read_summary
from foretrain.words import count, fold, laid, number

FILE_NAME = "comparison.html"
_ABSENT = "-"


@dataclass(frozen=True)
class Comparison:
    """Two results side by side."""

    folders: tuple[Path, Path]  #: where they lie
    summaries: tuple[Summary, Summary]  #: what they hold in brief
    #: Item, its value in the first and in the second result, of all that was asked or made differently.
    differences: tuple[tuple[str, str, str], ...]
    #: Id of each sentence to its row in either result, None where it was not judged.
    claims: dict[str, tuple[Row | None, Row | None]]
    doubts: tuple[str, ...] = ()  #: what in either folder was changed by hand, a line each

    @property
    def changed(self) -> list[str]:
        """Ids of the sentences whose verdicts differ, or that only one of them has."""
        both = self.claims.items()
        return [name for name, (one, other) in both if _verdict(one) != _verdict(other)]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "folders": [str(folder) for folder in self.folders],
            "differences": [
                dict(zip(("item", "first", "second"), one, strict=True)) for one in self.differences
            ],
            "claims": {
                name: [row and {"verdict": row.verdict, "measured": row.measured} for row in pair]
                for name, pair in self.claims.items()
            },
            "changed": self.changed,
            "doubts": list(self.doubts),
        }

    def __str__(self) -> str:
        return told(self)


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Compare two folders of results, by what their summaries hold.

    Raises:
        FolderError: one of them holds no results.
        StoreError: a summary is damaged.
    """
    folders = (path_argument("first", first), path_argument("second", second))
    summaries = (read_summary(folders[0]), read_summary(folders[1]))
    judged = [{row.id: row for row in rows(summary.claims)} for summary in summaries]
    names = list(dict.fromkeys([*judged[0], *judged[1]]))
    claims = {name: (judged[0].get(name), judged[1].get(name)) for name in names}
    lines = tuple(line for folder in folders for line in warnings(folder))
    return Comparison(folders, summaries, tuple(_differences(*summaries)), claims, lines)


def _differences(first: Summary, second: Summary) -> Iterator[tuple[str, str, str]]:
    facts = [_facts(one) for one in (first, second)]
    for item in dict.fromkeys([*facts[0], *facts[1]]):
        pair = [fact.get(item, _ABSENT) for fact in facts]
        if pair[0] != pair[1]:
            yield item, pair[0], pair[1]


def _facts(summary: Summary) -> dict[str, str]:
    config = {name: _value(value) for name, value in summary.config.items()}
    config |= {name: ", ".join(map(_value, values)) for name, values in summary.axes.items()}
    seal = summary.looks[-1].get("seal", {}) if summary.looks else {}
    return {
        "study": summary.study,
        **config,
        "seeds": str(summary.seeds),
        "root seed": str(summary.root_seed),
        **{f"data {name}": digest[:12] or _ABSENT for name, digest in summary.data.items()},
        "code": ", ".join(code or "unknown" for code in summary.codes) or _ABSENT,
        "code that predicts": seal.get("predicts", _ABSENT),
        "code that judges": judge_of(seal) or _ABSENT,
        **{f"version of {name}": str(text) for name, text in summary.versions.items()},
        "device": summary.device or _ABSENT,
    }


def _value(value) -> str:
    return "none" if value is None else number(value, digits=None)


def _verdict(row: Row | None) -> str:
    return _ABSENT if row is None else row.holding.replace(" cells", "") or row.verdict


def told(found: Comparison, width: int = 120) -> str:
    """A comparison in words, in so many columns: tables, or where they are too wide a folded line per row.

    Of the claims those are listed whose verdicts differ, and the headlines of either result.
    """
    lines = [f"first   {found.folders[0]}", f"second  {found.folders[1]}", ""]
    if found.differences:
        lines += _table([("differs", "first", "second"), *found.differences], width)
    else:
        lines.append("Nothing was asked differently.")
    headlines = {
        row.id
        for side in zip(*found.claims.values(), strict=True)
        for row in by_rank([row for row in side if row is not None]).get(HEADLINE, ())
    }
    shown = [
        (
            ("* " if name in found.changed else "  ") + name,
            *(_verdict(row) for row in pair),
            *(_ABSENT if row is None else row.measured for row in pair),
        )
        for name, pair in sorted(found.claims.items(), key=lambda one: one[0] not in found.changed)
        if name in found.changed or name in headlines
    ]
    if shown:
        heads = ("  claim", "first", "second", "value first", "value second")
        lines += ["", *_table([heads, *shown], width)]
    changed, left = len(found.changed), len(found.claims) - len(shown)
    differ = f"{count(changed, 'verdict')} of {len(found.claims)} {'differs' if changed == 1 else 'differ'}"
    more = f"; {left} more claims have the same verdict in both." if left else "."
    lines += ["", differ + more]
    for which, summary in zip(("first", "second"), found.summaries, strict=True):
        for reason, labels in open_reasons(rows(summary.claims)).items():
            lines.append(fold(f"{which}: inconclusive ({named(labels)}): {reason}.", width))
    lines += [fold(line, width) for line in found.doubts]
    return "\n".join(lines)


def _table(rows, width: int) -> list[str]:
    lines = laid(rows, range(len(rows[0])), width)
    return [line if len(line) <= width else fold(line, width, rest="    ") for line in lines]


def write_comparison(found: Comparison, out: str | Path) -> Path:
    """Write ``comparison.html`` into a folder: what differs, verdicts side by side, curves over each other.

    Raises:
        FolderError: the folder cannot be made or written.
    """
    groups = [{group.id: group.claims for group in gather(one.claims)} for one in found.summaries]
    claims = [
        {
            "id": name,
            "statement": next(row.statement for row in pair if row is not None),
            "pair": [
                None if row is None else (row, forest(group[name]))
                for row, group in zip(pair, groups, strict=True)
            ],
            "changed": name in found.changed,
        }
        for name, pair in found.claims.items()
    ]
    names = [folder.resolve().name for folder in found.folders]
    names = names if names[0] != names[1] else [str(folder) for folder in found.folders]
    curved = [live(opened(folder).stored_grid) for folder in found.folders]
    both = overlaid(curved[0], curved[1], names) if curved[0] and curved[1] else None
    strips = [verdicts({"claims": summary.claims}) for summary in found.summaries]
    text = document(
        "report/comparison.html",
        scripts=("fold.js",),
        live=bool(both),
        title=f"{names[0]} and {names[1]}",
        names=names,
        questions=list(dict.fromkeys(summary.summary for summary in found.summaries)),
        tallies=[strip.tally if strip else "No claims." for strip in strips],
        strips=strips,
        differences=found.differences,
        doubts=found.doubts,
        claims=claims,
        curves=curves(both) if both else None,
    )
    return write_document(Path(out) / FILE_NAME, text)


def overlaid(first: dict, second: dict, names) -> dict | None:
    """The curves of two results as those of one, their lines named; along axes that both have with equal values.

    Cells of the second are those with the same labels on common axes; along others its first value is shown.
    """
    known = {one["name"] for one in second["variables"]}
    shared = [one for one in first["variables"] if one["name"] in known]
    if not shared:
        return None
    axes = {name: values for name, values in second["axes"]}
    cells = {}
    for key, one in first["cells"].items():
        spot = [int(part) for part in key.split(",")] if key else []
        labels = {name: values[n] for (name, values), n in zip(first["axes"], spot, strict=True)}
        if any(name in axes and label not in axes[name] for name, label in labels.items()):
            continue
        place = [axes[name].index(labels[name]) if name in labels else 0 for name in axes]
        if other := second["cells"].get(",".join(map(str, place))):
            cells[key] = _joined(first, second, one, other, shared)
    if not cells:
        return None
    lines = {
        one["name"]: [
            f"{name} {words}".strip()
            for name, held in zip(names, (first, second), strict=True)
            for words in _of(held, one["name"])["lines"]
        ]
        for one in shared
    }
    variables = [{**one, "lines": lines[one["name"]]} for one in shared]
    return {"axes": first["axes"], "variables": variables, "cells": cells, "joined": True}


def _of(held, name):
    return next(one for one in held["variables"] if one["name"] == name)


def _joined(first, second, one, other, shared):
    """Two cells on the union of their times; a curve is None where it has no value of its own."""
    union = sorted({*one["x"], *other["x"]})
    curves = []
    for variable in shared:
        lines = []
        for held, cell in ((first, one), (second, other)):
            place = held["variables"].index(_of(held, variable["name"]))
            for curve in cell["curves"][place]:
                runs = {kind: run for kind, run in curve.items() if kind != "seeds"}
                known = {kind: dict(zip(cell["x"], run, strict=True)) for kind, run in runs.items()}
                lines.append({kind: [run.get(x) for x in union] for kind, run in known.items()})
        curves.append(lines)
    return {"xlabel": one["xlabel"], "x": union, "curves": curves}
