"""Contents of the sections of the page, as plain values that the templates write; see ``sections.html``."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from foretrain.claims.cells import WORST_FIRST, gather
from foretrain.claims.family import summary as together
from foretrain.claims.rows import RULE, Row, alike, by_rank, counted, finding, rows
from foretrain.report.cell_map import CellMap, cell_map
from foretrain.report.derivation import Derivation
from foretrain.report.forest import Forest, forest
from foretrain.words import count, duration, number, outcome

_OUTCOMES = {
    "converged": "met the study's criterion of convergence",
    "diverged": "a value became infinite or undefined; a result too",
    "stalled": "stopped changing before it converged; a result too",
    "out_of_steps": "reached the number of steps that was asked for",
    "failed": "raised an error: no result",
    "computed": "was measured or sampled; nothing was trained",
    "missing": "not run yet, or lost: no result",
}
_PLAIN = " !$'()*+,-./:;=?@[]_~"  # signs that stand for themselves in the address of a picture
_TOO_LARGE = " Too large for this page, it is in the folder of figures."
_ROOM, _MOST_CSV = 1_370_000, 300_000  # characters for curves, pictures and numbers; of numbers
_PRESETS = {"own": "none: parameters of the run's own, or fewer seeds than a preset has"}


@dataclass(frozen=True)
class PageFigure:
    """One figure of the page."""

    name: str  # file name without ending, unique on the page
    title: str  # A few words, the figure's heading and its text alternative
    caption: str  # what is drawn and what is seen in it, in sentences
    svg: str  # the picture, an SVG document that needs nothing outside itself; "" where the page has no room for it
    # What it shows as numbers; "" where there is nothing, or too much to stand on the page.
    csv: str = ""
    shows: tuple[str, ...] = ()  # ids of the sentences that are judged by what is seen in it

    @property
    def tall(self) -> bool:
        """True if its words would be too small where it is as high as half a window."""
        size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        return bool(size) and float(size[2]) > 0.8 * float(size[1])


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str  # id on the page, and name of the macro that writes it
    heading: str  # its heading
    content: Any  # what the macro is given
    folded: bool = False  # True if the heading alone is seen until it is opened


def sections(
    summary: Mapping,
    claims: "Verdicts | None",
    figures: Sequence[PageFigure],
    derived: Sequence[Derivation],
    board: Mapping | None,  # what `curves` returns
) -> list[Section]:
    """The sections that have content, in the order of the page; see `foretrain.report.page` for the summary.

    The first figure is not among them: it stands at the head of the page.
    """
    runs = _runs(summary)
    citations = (str(entry).strip() for entry in summary.get("citations") or ())
    proofs = [(section, claims.derived(section.claims)) for section in derived] if claims else []
    early = ("problems", "curves") if board and board["explore"] else ()
    parts = [
        Section("problems", "Problems", list(summary.get("problems") or ())),
        Section("claims", "Claims", _claims(summary, claims)),
        Section("figures", "Figures", [picture(figure, claims) for figure in figures[1:]]),
        Section("curves", "Curves" if board and board["variables"] else "Theory", board),
        Section("derivations", "Derivations", proofs),
        Section("runs", "Runs", runs, not any(map(runs.get, ("codes", "history", "failures")))),
        Section("parameters", "Parameters", _parameters(summary), True),
        Section("provenance", "Provenance", _provenance(summary), True),
        Section("reproduce", "Reproduce", summary.get("command")),
        Section("cite", "Cite", "\n\n".join(citations), True),
    ]
    shown = [section for section in parts if section.content]
    return sorted(shown, key=lambda section: section.name not in early)


@dataclass(frozen=True)
class Entry:
    """A sentence on the page."""

    row: Row  # it in words
    # Its plot of what was measured against what is allowed; None where nothing finite was.
    forest: Forest | None
    # Its verdicts on the axes of the grid; None where it was judged in one cell.
    map: CellMap | None
    place: int | str  # its number on the page, or size and id on one of several sizes
    # Number and title of the first figure that shows it; None where none does.
    figure: tuple[int, str] | None = None
    # Number and title of the first section that derives it; None where none does.
    derivation: tuple[int, Any] | None = None


@dataclass(frozen=True)
class Verdicts:
    """All sentences of a page."""

    finding: str  # what was run, and which headlines hold
    tally: str  # the count of all in words
    size: str  # how the size differs from the document's, where it does so in all alike
    # Rank, its count in words, and its sentences; headlines first.
    groups: list[tuple[str, str, list[Entry]]]
    together: str  # which verdicts are evidence by themselves, and stand together

    @property
    def entries(self) -> list[Entry]:
        """All sentences and their corrected forms, those that fail first."""
        entries = [entry for _, _, group in self.groups for entry in group]
        return sorted(entries, key=lambda entry: WORST_FIRST.index(entry.row.verdict))

    @property
    def places(self) -> dict[str, int | str]:
        """Id of each sentence to its place on the page."""
        return {entry.row.id: entry.place for entry in self.entries}

    def derived(self, names: Sequence[str]) -> list[Entry]:
        """The sentences of these ids and their corrected forms."""
        return [e for e in self.entries if e.row.id in names or e.row.corrects in names]


def verdicts(
    summary: Mapping,
    figures: Sequence[PageFigure] = (),
    derived: Sequence[Derivation] = (),
    at: str = "",  # size of which the verdicts are, on a page of several
) -> Verdicts | None:
    """The sentences of a summary, None where none was judged; with the first figure and the first section that are theirs."""
    if not summary.get("claims"):
        return None
    claims, axes = summary["claims"], summary.get("axes") or {}
    groups = {group.id: group for group in gather(claims)}
    size, every = alike(rows(claims))
    ranked, place = by_rank(every), itertools.count()
    # The first that names a sentence replaces all others that do.
    shown = {id: (n, f.title) for n, f in [*enumerate(figures, 1)][::-1] for id in f.shows}
    proofs = {id: (n, s.title) for n, s in [*enumerate(derived, 1)][::-1] for id in s.claims}

    def entry(row: Row) -> Entry:
        return Entry(
            row,
            forest(groups[row.id].claims, summary.get("by_seed")),
            cell_map(groups[row.id], axes) if row.cells else None,
            f"{at}-{row.id}" if at else next(place),
            shown.get(row.id),
            # A corrected form has the derivation of what it corrects, unless it has its own.
            proofs.get(row.id) or proofs.get(row.corrects),
        )

    return Verdicts(
        finding(every, *map(summary.get, ("runs", "wall_time_s", "study"))),
        counted(every),
        size,
        [(rank, counted(some), [entry(row) for row in some]) for rank, some in ranked.items()],
        together(claims),
    )


def _claims(summary: Mapping, claims: Verdicts | None) -> dict:
    if summary.get("claims") is None:
        return {}
    return {
        "verdicts": claims,
        "heed": list(summary.get("remarks") or ()),
        "rule": RULE,
        "seeds": bool(summary.get("by_seed")),
    }


def curves(live: Mapping) -> dict:
    """The curves with their data as JSON that no tag can end."""
    text = json.dumps(live, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return {"joined": False, "explore": {}, **live, "json": text}


def fitting(figures: Sequence[PageFigure], taken: int) -> list[PageFigure]:
    """Figures for a page of which so many characters are taken; pictures, and then numbers, are left out without room."""
    shown, room = [*figures], _ROOM - taken
    for part in ("svg", "csv"):
        for place, figure in enumerate(shown):
            if (size := len(_address(figure.svg) if part == "svg" else figure.csv)) > room:
                caption = figure.caption + _TOO_LARGE * (part == "svg")
                shown[place], size = replace(figure, caption=caption, **{part: ""}), 0
            room -= size
        room = min(room, _MOST_CSV)
    return shown


def picture(figure: PageFigure, claims: Verdicts | None) -> tuple[PageFigure, str, list[Entry]]:
    """A figure with its SVG as the page embeds it, and the sentences that it shows."""
    shown = [e for e in (claims.entries if claims else ()) if e.row.id in figure.shows]
    return figure, _address(figure.svg), shown


@lru_cache(maxsize=100)
def _address(svg: str) -> Markup:
    svg = re.sub(r"<!DOCTYPE[^>\[]*>", "", svg, count=1)
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|\s+(?=<)", "", svg, flags=re.DOTALL)
    svg = svg if "'" in svg else svg.replace('"', "'")  # which an attribute may hold
    return Markup(quote(svg, _PLAIN))


def _runs(summary: Mapping) -> dict:
    runs, codes = summary.get("runs") or {}, summary.get("codes") or {}
    ended = ", ".join(f"{amount} {outcome(name)}" for name, amount in runs.items() if amount)
    parts = {
        "line": f"{count(sum(runs.values()), 'run')}: {ended}",
        "rows": [(outcome(name), amount, _OUTCOMES.get(name, "")) for name, amount in runs.items()],
        "codes": [(code or "unknown", n) for code, n in codes.items()] if len(codes) > 1 else [],
        "history": list(summary.get("history") or ()),
        "failures": list(summary.get("failures") or ()),
    }
    return parts if any(parts[name] for name in ("rows", "codes", "history", "failures")) else {}


def _parameters(summary: Mapping) -> dict:
    config, axes = summary.get("config") or {}, summary.get("axes") or {}
    meanings = summary.get("meanings") or {}
    head = ("Parameter", "Value", "Meaning") if meanings else ("Parameter", "Value")
    fixed = [
        (name, exact(value), meanings.get(name, ""))[: len(head)]
        for name, value in config.items()
        if name not in axes
    ]
    swept = [(name, len(values), exact(values)) for name, values in axes.items()]
    return {"axes": swept, "fixed": fixed, "head": head} if swept or fixed else {}


def exact(value) -> str:
    """A value of a parameter, or several, in full."""
    if isinstance(value, list | tuple):
        return ", ".join(exact(item) for item in value)
    return "none" if value is None else number(value, digits=None)


def _provenance(summary: Mapping) -> list[tuple[str, str]]:
    """Origin of the numbers, item to value."""
    entries = {
        "Configuration hash": ("hash", str),
        "Preset": ("preset", lambda name: _PRESETS.get(name, name)),
        "Seeds": ("seeds", str),
        "Root seed": ("root_seed", str),
        "Files of data": ("data", _data),
        "Hash of the code": ("codes", _codes),
        "Verdicts looked at": ("looks", _looks),
        "Sealed before the first run": ("seal", _sealed),
        "Device": ("device", str),
        "Made on": ("backends", lambda backends: _codes(backends) if len(backends) > 1 else ""),
        "Training took": ("wall_time_s", duration),
        "Created": ("created_at", str),
    }
    items = [
        (label, write(summary[key]))
        for label, (key, write) in entries.items()
        if summary.get(key) is not None
    ]
    items += [(str(name), str(text)) for name, text in (summary.get("versions") or {}).items()]
    return [(label, text) for label, text in items if text]


def _codes(codes: Mapping) -> str:
    if len(codes) == 1:
        return next(iter(codes)) or "unknown"
    return ", ".join(f"{code or 'unknown'} ({count(n, 'run')})" for code, n in codes.items())


def _data(data: Mapping) -> str:
    return ", ".join(f"{name} {digest[:12]}" for name, digest in data.items() if digest)


def _sealed(seal: Mapping) -> str:
    names = {"predicts": "theory", "judges": "judge", "commit": "commit"}
    return ", ".join(f"{what} {seal[name]}" for name, what in names.items() if seal.get(name))


def _looks(looks: Sequence[Mapping]) -> str:
    if not looks:
        return ""
    seeds = [str(look["seeds"]) for look in looks]
    times = [str(look["at"]) for look in looks if look.get("at")]
    when = f", {' to '.join(dict.fromkeys((times[0], times[-1])))}" if times else ""
    if len(looks) == 1:
        return f"once, with {seeds[0]} seeds{when}"
    return f"{len(looks)} times, with {', '.join(seeds[:-1])} and {seeds[-1]} seeds{when}"
