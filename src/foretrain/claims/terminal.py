"""The claims as a terminal shows them: a line each, those that do not hold first; or with all that is known of each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim
from foretrain.claims.rows import Row, rows, tally

NARROWEST = 40
_STYLES = {HOLDS: "bold green", FAILS: "bold red", INCONCLUSIVE: "bold yellow"}
_ORDER = (FAILS, INCONCLUSIVE, HOLDS)
_HEADS = ("verdict", "predicted", "measured (95% interval)", "allowed")
_SHORT_HEADS = ("verdict", "claim", "measured (95% interval)", "allowed")
_GAP = 2


def lines(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """One line per claim: verdict, id, measured value with its interval, what is allowed. A star: see the details.

    Values that a long id leaves no room in their columns stand further to the right, or on a line of their own below it.

    Args:
        claims: The claims; those of one sentence in several cells are one line that counts them.
        width: Number of columns.
        fit: Makes a text printable.

    Yields:
        What `rich` prints, from top to bottom.
    """
    from rich.text import Text

    shown = sorted(rows(claims), key=lambda row: _ORDER.index(row.verdict))
    if not shown:
        yield Text(tally(claims))
        return
    table = [tuple(Text(fit(cell)) for cell in _line(row)) for row in shown]
    heads = tuple(Text(head, "dim") for head in _SHORT_HEADS)
    widths = [max(line[n].cell_len for line in (heads, *table)) for n in range(len(heads))]
    room = width - _GAP * (len(widths) - 1) - sum(widths) + widths[1]
    widths[1] = min(widths[1], max(room, 0))
    longest = max(line[1].cell_len for line in table)
    if room < max(len(_SHORT_HEADS[1]), longest // 2):
        yield from _pairs(shown, table, width)
    else:
        for row, line in zip((None, *shown), (heads, *table), strict=True):
            style = "" if row is None else _STYLES[row.verdict]
            whole = _joined(line, widths, style)
            if whole.cell_len > width:
                yield _joined(line[:2], widths, style)
                whole = _joined((Text(), Text(), *line[2:]), widths, "")
            yield whole
    yield Text("\n" + tally(claims))
    if any(row.remarks for row in shown):
        yield Text("* with a remark, which the details (show -v) tell", "dim")


def _line(row: Row) -> tuple[str, str, str, str]:
    """What stands in the columns of one line."""
    star = "*" if row.remarks else ""
    several = row.holding.removesuffix(" hold").replace(" cells", "")
    verdict = f"{several} hold" if several else row.verdict
    name = row.id.partition("[")[0] + star
    value = f"{row.measured} ({row.ends.replace(' to ', ', ')})" if row.ends else row.measured
    return verdict, name, value, _bound(row.allowed)


def _bound(allowed: str) -> str:
    for words, sign in (("at most ", "≤ "), ("at least ", "≥ "), ("exactly ", "= ")):
        if allowed.startswith(words):
            return sign + allowed.removeprefix(words)
    return allowed


def _joined(line, widths, style):
    from rich.text import Text

    whole, start = Text(), 0
    for n, (cell, column) in enumerate(zip(line, widths, strict=False)):
        whole.append(" " * max(_GAP if n else 0, start - whole.cell_len))
        begin = len(whole)
        whole.append_text(cell)
        if n == 0 and style:
            whole.stylize(style, begin)
        start += column + _GAP
    return whole


def _pairs(shown, table, width):
    """For narrow terminals: verdict and id, below them what was measured and what is allowed."""
    from rich.padding import Padding
    from rich.text import Text

    first = max(line[0].cell_len for line in table)
    for row, (verdict, name, value, allowed) in zip(shown, table, strict=True):
        yield _joined((verdict, name), (first, 0), _STYLES[row.verdict])
        text = Text.assemble(value, ", allowed ", allowed)
        text.overflow = "fold"
        yield Padding(text, (0, 0, 0, min(first + _GAP, width // 3)))


def details(claims: Sequence[Claim], width: int, fit: Callable[[str], str]) -> Iterator[Any]:
    """Per claim a line of values and below it the sentence, what to heed, why just this is allowed, its source.

    Args and yields are those of `lines`; the order is that of the claims.
    """
    from rich.padding import Padding
    from rich.text import Text

    shown = rows(claims)
    if not shown:
        yield Text(tally(claims))
        return
    table = [
        [row.holding or row.verdict, row.predicted or "–", measured(row), row.allowed]
        for row in shown
    ]
    table = [[Text(fit(cell)) for cell in line] for line in ([*_HEADS], *table)]
    widths = _widths(table, width)
    scales = {row.details.get("Scale", "") for row in shown}
    yield _grid(table[0], widths)
    for row, line in zip(shown, table[1:], strict=True):
        yield Text("" if row is not shown[0] else fit("─") * width)
        line[0].stylize(_STYLES[row.verdict])
        yield _grid(line, widths)
        statement = Text.assemble((fit(row.id), "bold"), ": ", fit(row.statement))
        for text in (statement, *(Text(fit(part)) for part in _further(row, len(scales) > 1))):
            text.overflow = "fold"
            yield Padding(text, (0, 0, 0, 4))
    yield Text("\n" + tally(claims))
    if len(scales) == 1:
        yield Text("".join(scales), "dim")


def _grid(line, widths):
    from rich.table import Table

    table = Table.grid(padding=(0, _GAP))
    for column in widths:
        table.add_column(width=column, overflow="fold")
    table.add_row(*line)
    return table


def _widths(table, width) -> list[int]:
    """Widths of the columns; the widest shrink where the line is too short for all, and what they hold is folded."""
    widths = [max(line[n].cell_len for line in table) for n in range(len(_HEADS))]
    while sum(widths) > width - _GAP * (len(widths) - 1):
        widths[widths.index(max(widths))] -= 1
    return widths


def _further(row: Row, scale: bool) -> Iterator[str]:
    """The lines below a statement, with its scale or without."""
    yield from row.remarks
    if row.corrects and not row.id.startswith(f"{row.corrects}.corrected"):
        yield f"Corrected form of {row.corrects}."
    yield f"Measured: {', '.join(row.spread)}."
    for label, text in row.details.items():
        if scale or label != "Scale":
            yield f"{label}: {text}"


def measured(row: Row) -> str:
    """What was measured, with its interval."""
    return f"{row.measured} ({row.ends})" if row.ends else row.measured
