"""The sections of the page that follow the claims, from the figures to the citations."""

import base64
import re
from dataclasses import dataclass
from html import escape

from foretrain.report.numbers import format_duration, format_number

_OUTCOMES = {
    "converged": "met the study's criterion of convergence",
    "diverged": "a value became infinite or undefined; a result too",
    "stalled": "stopped changing before it converged; a result too",
    "out_of_steps": "reached the largest number of steps first",
    "failed": "raised an error: no result",
}


@dataclass(frozen=True)
class PageFigure:
    """One figure of the page.

    Attributes:
        name: File name without ending, unique on the page.
        title: A few words, the figure's heading and its text alternative.
        caption: What is drawn and what is seen in it, in sentences.
        svg: The picture, an SVG document that needs nothing outside itself.
    """

    name: str
    title: str
    caption: str
    svg: str


def figures_section(figures: list[PageFigure]) -> str:
    """Every figure as a button that enlarges it.

    Each SVG is a picture of its own, so that their ids cannot clash.
    """
    return "\n".join(_figure(number, figure) for number, figure in enumerate(figures, start=1))


def _figure(number: int, figure: PageFigure) -> str:
    title = escape(figure.title)
    label = f"Figure {number}. {title}"
    data = base64.b64encode(_bare(figure.svg).encode()).decode()
    return f"""<figure id="figure-{number}" data-name="{escape(figure.name)}">
<h3>{label}</h3>
<button type="button" class="picture" data-title="{label}" aria-label="Enlarge {label}">
<img src="data:image/svg+xml;base64,{data}" alt="{title}" aria-describedby="caption-{number}">
</button>
<figcaption id="caption-{number}">{escape(figure.caption)}</figcaption>
</figure>"""


def _bare(svg: str) -> str:
    """The SVG without what a browser skips: document type, comments, metadata."""
    svg = re.sub(r"<!DOCTYPE[^>\[]*>", "", svg, count=1)
    return re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL).strip()


def runs_section(runs: dict, failures: list) -> str:
    """How many runs there were, how they ended, and the text of every failure."""
    parts = []
    if runs:
        total = sum(runs.values())
        ended = ", ".join(f"{count} {_outcome(name)}" for name, count in runs.items() if count)
        parts.append(f'<p class="counts">{total} run{"" if total == 1 else "s"}: {ended}</p>')
        rows = [
            (_outcome(name), format_number(count), escape(_OUTCOMES.get(name, "")))
            for name, count in runs.items()
        ]
        parts.append(_table("How the runs ended", ("Outcome", "Runs", "Meaning"), rows, number=1))
    if failures:
        items = "".join(f"<li>{escape(str(failure))}</li>" for failure in failures)
        parts.append(f"<h3>Failures</h3>\n<ul>{items}</ul>")
    return "\n".join(parts)


def _outcome(name) -> str:
    return escape(str(name).replace("_", " "))


def parameters_section(config: dict, axes: dict, meanings: dict) -> str:
    """A table of the axes, if the study was run over several values, and one of what was fixed."""
    parts = []
    if axes:
        rows = [
            (_code(name), str(len(values)), ", ".join(_exact(value) for value in values))
            for name, values in axes.items()
        ]
        parts.append("<h3>Axes</h3>")
        parts.append(_table("Axes of the grid", ("Axis", "Values", "Which"), rows, number=1))
    fixed = {name: value for name, value in config.items() if name not in axes}
    if fixed:
        head = ("Parameter", "Value", "Meaning") if meanings else ("Parameter", "Value")
        rows = [
            (_code(name), _exact(value), escape(str(meanings.get(name, ""))))[: len(head)]
            for name, value in fixed.items()
        ]
        parts += ["<h3>Fixed</h3>"] if axes else []
        parts.append(_table("Parameters", head, rows))
    return "\n".join(parts)


def _code(name) -> str:
    return f"<code>{escape(str(name))}</code>"


def _exact(value) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_exact(item) for item in value)
    return "none" if value is None else escape(format_number(value, digits=None))


def provenance_section(summary: dict) -> str:
    """What is needed to know where the numbers came from."""
    entries = {
        "Configuration hash": ("hash", _code),
        "Seeds": ("seeds", _seeds),
        "Root seed": ("root_seed", _plain),
        "Device": ("device", _plain),
        "Wall time": ("wall_time_s", format_duration),
        "Created": ("created_at", _plain),
    }
    rows = [
        (label, write(summary[key]))
        for label, (key, write) in entries.items()
        if summary.get(key) is not None
    ]
    rows += [(escape(name), _plain(text)) for name, text in summary.get("versions", {}).items()]
    return _table("Where the numbers came from", ("Item", "Value"), rows) if rows else ""


def _plain(value) -> str:
    return escape(str(value))


def _seeds(seeds) -> str:
    """Number of seeds, or a list of their numbers: a gapless one is written by its ends."""
    if not isinstance(seeds, list | tuple):
        return _plain(seeds)
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{len(seeds)} (numbers {seeds[0]} to {seeds[-1]})"
    return f"{len(seeds)} ({escape(', '.join(map(str, seeds)))})" if seeds else "0"


def reproduction_section(command: str) -> str:
    """The command line that makes this page again."""
    return f"""<p>This command makes the results and this page again.</p>
<pre><code>{escape(command)}</code></pre>"""


def citations_section(citations: list[str]) -> str:
    """BibTeX of what was used."""
    text = "\n\n".join(escape(str(citation).strip()) for citation in citations)
    return f'<pre class="verbatim" tabindex="0" aria-label="BibTeX"><code>{text}</code></pre>'


def _table(caption: str, head: tuple, rows: list[tuple], *, number: int | None = None) -> str:
    """A table of ready HTML cells, each row's first its header; column `number` is set right."""
    # A phone restacks a table of three columns; the roles keep it a table to a screen reader.
    columns = "".join(
        f'<th role="columnheader" scope="col"{_number(index, number)}>{name}</th>'
        for index, name in enumerate(head)
    )
    lines = []
    for first, *rest in rows:
        cells = "".join(
            f'<td role="cell"{_number(index, number)}>{cell}</td>'
            for index, cell in enumerate(rest, start=1)
        )
        header = f'<th role="rowheader" scope="row" class="name">{first}</th>'
        lines.append(f'<tr role="row">{header}{cells}</tr>')
    body = "\n".join(lines)
    kind = "plain wide" if len(head) > 2 else "plain"
    return f"""<div class="scroll" role="region" aria-label="{caption}" tabindex="0">
<table class="{kind}" role="table">
<caption class="hidden">{caption}</caption>
<thead role="rowgroup"><tr role="row">{columns}</tr></thead>
<tbody role="rowgroup">
{body}
</tbody>
</table>
</div>"""


def _number(index: int, number: int | None) -> str:
    return ' class="number"' if index == number else ""
