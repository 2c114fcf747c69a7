"""The table of claims: each verdict, with what was predicted, measured and allowed."""

from collections import Counter
from html import escape

from foretrain.claims.cells import CellClaims, positions
from foretrain.claims.claim import (
    CORRECTED,
    FAILS,
    HOLDS,
    INCONCLUSIVE,
    Claim,
    cell_label,
    cell_of,
    claim_from_dict,
)
from foretrain.report.numbers import digits_to_tell_apart, format_interval, format_number

_ICONS = {HOLDS: "M3 8.5l3.5 3.5L13 4.5", FAILS: "M4 4l8 8M12 4l-8 8", INCONCLUSIVE: "M3 8h10"}
_MOST_CELLS = 50
_WORDS = {HOLDS: ("holds", "hold"), FAILS: ("fails", "fail")}
_RULE = """The allowed interval of a claim is fixed before the run. A claim holds if the 95%
bootstrap interval of the measured value over seeds lies inside it, fails if it lies wholly outside,
and is inconclusive otherwise. An exact fact is judged by the worst deviation seen."""


def claims_section(claims: list[dict]) -> str:
    """The section's HTML. `claims` holds `Claim.as_dict` values; they stay in their order."""
    if not claims:
        return "<p>No claim was judged.</p>"
    total = f"{len(claims)} claim{'' if len(claims) == 1 else 's'}: {counts_line(claims)}"
    rows = "\n".join(
        _row(numbers[0], claims[numbers[0]])
        if len(numbers) == 1
        else _row_of_cells(numbers[0], [claims[number] for number in numbers])
        for numbers in positions([str(claim.get("id", "")) for claim in claims])
    )
    head = "".join(
        f'<th scope="col" role="columnheader">{name}</th>'
        for name in ("Verdict", "Claim", "Predicted", "Measured", "Allowed")
    )
    return f"""<p class="counts">{total}</p>
{_links(claims, FAILS)}{_links(claims, INCONCLUSIVE)}<p class="quiet">{_RULE}</p>
<table class="claims" role="table">
<caption class="hidden">Claims and their verdicts</caption>
<thead role="rowgroup"><tr role="row">{head}</tr></thead>
<tbody role="rowgroup">
{rows}
</tbody>
</table>"""


def counts_line(claims: list[dict]) -> str:
    """How many claims have which verdict, such as "9 hold, 1 fails, 1 inconclusive"."""
    counts = Counter(str(claim.get("verdict", "not judged")) for claim in claims)
    order = [HOLDS, FAILS, INCONCLUSIVE]
    names = [name for name in order if counts[name]] + sorted(set(counts) - set(order))
    return ", ".join(f"{counts[name]} {escape(_verb(name, counts[name]))}" for name in names)


def _verb(verdict: str, count: int) -> str:
    singular, plural = _WORDS.get(verdict, (verdict, verdict))
    return singular if count == 1 else plural


def _links(claims, verdict: str) -> str:
    links = []
    for numbers in positions([str(claim.get("id", "")) for claim in claims]):
        found = sum(claims[number].get("verdict") == verdict for number in numbers)
        name = str(claims[numbers[0]].get("id", numbers[0]))
        cells = ""
        if len(numbers) > 1:
            name, cells = cell_of(name)[0], f" in {found} of {len(numbers)} cells"
        if found:
            links.append(f'<a href="#claim-{numbers[0]}"><code>{escape(name)}</code></a>{cells}')
    return f'<p class="links">{verdict.capitalize()}: {", ".join(links)}</p>\n' if links else ""


def _row(number: int, claim: dict) -> str:
    verdict = str(claim.get("verdict", "not judged"))
    interval, tolerance = claim.get("uncertainty"), claim.get("tolerance") or (None, None)
    measured, predicted = claim.get("measured"), claim.get("predicted")
    digits = digits_to_tell_apart(predicted, measured, *(interval or ()), *tolerance)
    unit = "" if claim.get("unit", "1") in ("1", "", None) else f" {escape(str(claim['unit']))}"
    # The deviation of an exact fact cannot be negative, so its allowed interval is one bound.
    low = None if interval is None and tolerance[0] == 0 else tolerance[0]
    allowed = format_interval(low, tolerance[1], digits)
    return f"""<tr role="row" id="claim-{number}" data-verdict="{escape(verdict)}">
<td role="cell" class="verdict-cell">{_badge(verdict)}</td>
<th role="rowheader" scope="row">{_statement(claim)}</th>
<td role="cell" data-label="Predicted">{_predicted(predicted, digits, unit)}</td>
<td role="cell" data-label="Measured">{_value(measured, digits, unit)}
{_spread(claim, interval, digits)}</td>
<td role="cell" data-label="Allowed"><span>{allowed}{unit}</span></td>
</tr>"""


def _row_of_cells(number: int, claims: list[dict]) -> str:
    """One claim in many cells: how often it holds, and what was measured from the smallest to the largest."""
    group = CellClaims(
        cell_of(str(claims[0]["id"]))[0], tuple(claim_from_dict(claim) for claim in claims)
    )
    unit = "" if group.claims[0].unit in ("1", "") else f" {escape(group.claims[0].unit)}"
    holding = group.counts.get(HOLDS, 0)
    low, high = group.range("measured")
    digits = digits_to_tell_apart(low, high, *group.range("predicted"), *(group.tolerance or ()))
    is_exact = all(claim.uncertainty is None for claim in group.claims)
    allowed = "by cell"
    if group.tolerance is not None:
        # As in a row of one cell, the deviation of an exact fact is bounded from above only.
        floor = None if is_exact and group.tolerance[0] == 0 else group.tolerance[0]
        allowed = f"{format_interval(floor, group.tolerance[1], digits)}{unit}"
    lines = ["exact fact, worst deviations" if is_exact else "smallest and largest of the cells"]
    first = {**claims[0], "id": group.id, "note": ""}
    seeds = [claim.seeds for claim in group.claims]
    most = f" to {max(seeds)}" if min(seeds) < max(seeds) else ""
    lines.append(f"over {min(seeds)}{most} seed{'' if max(seeds) == 1 else 's'} each")
    if group.without_value:
        lines.append(f"nothing finite in {_cells(group.without_value)}")
    spread = "".join(f'<span class="small">{line}</span>' for line in lines)
    if group.failed_seeds:
        spread += f'<span class="small lost">{group.failed_seeds} failed seeds are left out</span>'
    return f"""<tr role="row" id="claim-{number}" data-verdict="{group.verdict}">
<td role="cell" class="verdict-cell">{_badge(group.verdict)}
<span class="small">{holding} of {len(claims)} cells hold</span></td>
<th role="rowheader" scope="row">{_statement(first)}{_others(group, FAILS)}{_others(group, INCONCLUSIVE)}</th>
<td role="cell" data-label="Predicted">{_range(*group.range("predicted"), digits, unit)}</td>
<td role="cell" data-label="Measured">{_value("undefined", digits, "") if low != low else _range(low, high, digits, unit)}
{spread}</td>
<td role="cell" data-label="Allowed"><span>{allowed}</span></td>
</tr>"""


def _others(group: CellClaims, verdict: str) -> str:
    """The cells of a group with a verdict, folded away."""
    lines = [_cell_line(claim) for claim in group.claims if claim.verdict == verdict]
    if not lines:
        return ""
    shown = "".join(lines[:_MOST_CELLS])
    left = len(lines) - _MOST_CELLS
    shown += f"<li>and {left} more, in the stored claims</li>" if left > 0 else ""
    return f"<details><summary>{verdict.capitalize()} in {_cells(len(lines))}</summary><ul>{shown}</ul></details>"


def _cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"


def _cell_line(claim: Claim) -> str:
    cell = cell_label(cell_of(claim.id)[1])
    return f"<li><code>{escape(cell)}</code>: {format_number(claim.measured)}</li>"


def _range(low: float, high: float, digits: int, unit: str) -> str:
    if low != low:
        return _predicted(None, digits, unit)
    if low == high:
        return _value(low, digits, unit)
    return f"<span>{_value(low, digits, '')} to {_value(high, digits, unit)}</span>"


def _predicted(predicted, digits, unit) -> str:
    if predicted is None:
        return '<span aria-hidden="true">–</span><span class="hidden">no value, only bounds</span>'
    return _value(predicted, digits, unit)


def _value(number, digits, unit) -> str:
    return f'<span class="value">{format_number(number, digits)}{unit}</span>'


def _badge(verdict: str) -> str:
    path = _ICONS.get(verdict, _ICONS[INCONCLUSIVE])
    icon = f'<svg viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg>'
    return f'<span class="badge">{icon}<span>{escape(verdict.capitalize())}</span></span>'


def _statement(claim: dict) -> str:
    """The sentence, and beneath it the claim's name, note and source."""
    name = str(claim.get("id", ""))
    lines = []
    statement = f'<span class="statement">{_text(claim, "statement")}</span>'
    if CORRECTED in name:
        original = escape(name.replace(CORRECTED, ""))
        lines.append(f"Corrected form of <code>{original}</code>")
    elif name:
        lines.append(f"<code>{escape(name)}</code>")
    if claim.get("note"):
        lines.append(_text(claim, "note"))
    if claim.get("source"):
        lines.append(f"Source: {_text(claim, 'source')}")
    return statement + "".join(f'<span class="detail">{line}</span>' for line in lines)


def _spread(claim: dict, interval, digits) -> str:
    seeds, lost = claim.get("seeds"), claim.get("failed_seeds") or 0
    lines = []
    if interval is None:
        lines.append("exact fact, worst deviation")
    elif None in interval:
        lines.append("no interval")
    else:
        low, high = (format_number(end, digits) for end in interval)
        lines.append(f'95% interval <span class="together">{low} to {high}</span>')
    if seeds is not None:
        lines.append(f"over {seeds} seed{'' if seeds == 1 else 's'}")
    spread = "".join(f'<span class="small">{line}</span>' for line in lines)
    if lost:
        subject = "seed that failed is" if lost == 1 else "seeds that failed are"
        spread += f'<span class="small lost">{lost} {subject} left out</span>'
    return spread


def _text(claim: dict, name: str) -> str:
    return escape(str(claim.get(name, "")))
