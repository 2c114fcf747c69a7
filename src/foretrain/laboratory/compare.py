"""Two results side by side: differences of what was asked, and of the verdicts."""

from dataclasses import dataclass
from pathlib import Path

from foretrain.claims.rows import Row, rows
from foretrain.errors import path_argument
from foretrain.provenance.seal import judge_of
from foretrain.report.answer import Finding
from foretrain.report.sections import exact
from foretrain.results.root import warnings
from foretrain.results.summary import Summary, read_summary

ABSENT = "-"


@dataclass(frozen=True, repr=False)
class Comparison(Finding):
    """Two results side by side."""

    folders: tuple[Path, Path]  #: where they lie
    summaries: tuple[Summary, Summary]  #: what they hold in brief
    #: Item, its value in the first and in the second result, of everything that differs but the verdicts.
    differences: tuple[tuple[str, str, str], ...]
    #: Id of each sentence to its row in either result, None where it was not judged.
    claims: dict[str, tuple[Row | None, Row | None]]
    doubts: tuple[str, ...] = ()  #: lines on what was changed by hand in either folder

    @property
    def changed(self) -> list[str]:
        """Ids of the sentences whose verdicts differ, or that only one of them has."""
        return [name for name, pair in self.claims.items() if len({*map(verdict_words, pair)}) > 1]


def compare(first: str | Path, second: str | Path) -> Comparison:
    """Compare two folders of results, by what their summaries hold.

    Raises `FolderError` where one of them holds no results, `StoreError` where a summary is damaged.

    Example:
        >>> import foretrain
        >>> few = foretrain.run("one-mode", seeds=2, out="few", workers=0, quiet=True)
        >>> many = foretrain.run("one-mode", seeds=3, out="many", workers=0, quiet=True)
        >>> foretrain.compare("few", "many").differences
        (('seeds', '2', '3'),)
    """
    folders = (path_argument("first", first), path_argument("second", second))
    summaries = (read_summary(folders[0]), read_summary(folders[1]))
    judged = [{row.id: row for row in rows(summary.claims)} for summary in summaries]
    names = list(dict.fromkeys([*judged[0], *judged[1]]))
    claims = {name: (judged[0].get(name), judged[1].get(name)) for name in names}
    lines = tuple(line for folder in folders for line in warnings(folder))
    left, right = map(_facts, summaries)
    pairs = ((item, left.get(item, ABSENT), right.get(item, ABSENT)) for item in left | right)
    differences = tuple(pair for pair in pairs if pair[1] != pair[2])
    return Comparison(folders, summaries, differences, claims, lines)


def _facts(summary: Summary) -> dict[str, str]:
    seal = summary.looks[-1].get("seal", {}) if summary.looks else {}
    return {
        "study": summary.study,
        **{name: exact(value) for name, value in (summary.config | summary.axes).items()},
        "seeds": str(summary.seeds),
        "root seed": str(summary.root_seed),
        **{f"data {name}": digest[:12] or ABSENT for name, digest in summary.data.items()},
        "code": ", ".join(code or "unknown" for code in summary.codes) or ABSENT,
        "code that predicts": seal.get("predicts", ABSENT),
        "code that judges": judge_of(seal) or ABSENT,
        **{f"version of {name}": str(text) for name, text in summary.versions.items()},
        "device": summary.device or ABSENT,
    }


def verdict_words(row: Row | None) -> str:
    """Verdict of a sentence in all its cells."""
    return ABSENT if row is None else row.holding.replace(" cells", "") or row.verdict
