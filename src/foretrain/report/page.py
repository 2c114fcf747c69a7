"""The page a person reads: claims, figures, runs, parameters, provenance, command, citations.

The page is one file. Style, script and pictures stand in it, and its content security policy
forbids the browser to fetch anything, so that it opens offline, from a mail or in ten years.

It is made from a summary, the content of ``summary.json``. Every key may be missing; what it feeds
is then left out.

==============  ==================================================================================
``study``       name of the study
``summary``     one line: what the study is about
``source``      document, section, figure
``claims``      list of `foretrain.claims.claim.Claim.as_dict`
``config``      parameter to value
``axes``        parameter to the list of its values, for those that make an axis
``meanings``    parameter to one sentence
``runs``        outcome (`foretrain.dynamics.program.OUTCOMES`) to number of runs
``failures``    list of sentences: runs that raised, segments that were lost
``hash``        hash of the configuration
``seeds``       number of seeds, or the list of their numbers
``root_seed``   number from which every random stream derives
``versions``    package to version, Python among them
``device``      what it ran on
``wall_time_s`` seconds
``created_at``  date and time, ISO 8601
``command``     command line that makes the same results
``citations``   list of BibTeX entries
==============  ==================================================================================
"""

import base64
import hashlib
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

from foretrain.errors import FolderError
from foretrain.report.claims_section import claims_section
from foretrain.report.sections import (
    PageFigure,
    citations_section,
    figures_section,
    parameters_section,
    provenance_section,
    reproduction_section,
    runs_section,
)

__all__ = ["FILE_NAME", "PageFigure", "render", "write"]

FILE_NAME = "report.html"


def render(summary: dict, figures: Sequence[PageFigure] = ()) -> str:
    """Compose the page.

    Args:
        summary: Content of ``summary.json``; see the table above. Its texts are escaped, none is
            trusted as HTML.
        figures: In the order they are shown.

    Returns:
        A whole HTML document. Equal arguments give equal text.
    """
    style, script = _part("page.css"), _part("zoom.js")
    study = str(summary.get("study", "foretrain run"))
    sections = _sections(summary, list(figures))
    version = summary.get("versions", {}).get("foretrain")
    return _fill(
        "page.html",
        policy=_policy(style, script),
        title=escape(f"{study} - foretrain"),
        style=style,
        heading=escape(study),
        lead=_lead(summary),
        navigation=_navigation(sections),
        sections="\n".join(_section(*section) for section in sections),
        footer=escape(f"Made by foretrain {version}." if version else "Made by foretrain."),
        viewer=_fill("viewer.html", script=script) if figures else "",
    )


def write(folder: str | Path, summary: dict, figures: Sequence[PageFigure] = ()) -> Path:
    """Write the page to ``<folder>/report.html`` and return that path.

    The page is written beside, synced and renamed: a reader sees the old page or the new one, never
    half of one.

    Raises:
        FolderError: the folder cannot be made or written.
    """
    path = Path(folder) / FILE_NAME
    beside = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    data = render(summary, figures).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise FolderError(
            f"Argument `folder` must be a folder that can be written, but {path} is not"
            f" ({error.strerror})."
        ) from error
    return path


def _sections(summary: dict, figures: list[PageFigure]) -> list[tuple[str, str, str]]:
    """The sections that have content, as (id, heading, HTML)."""
    config, axes = summary.get("config") or {}, summary.get("axes") or {}
    runs, failures = summary.get("runs") or {}, summary.get("failures") or []
    sections = [
        ("figures", "Figures", figures_section(figures)),
        ("runs", "Runs", runs_section(runs, failures)),
        (
            "parameters",
            "Parameters",
            parameters_section(config, axes, summary.get("meanings") or {}),
        ),
        ("provenance", "Provenance", provenance_section(summary)),
    ]
    if summary.get("claims") is not None:
        sections.insert(0, ("claims", "Claims", claims_section(summary["claims"])))
    if summary.get("command"):
        sections.append(("reproduce", "Reproduce", reproduction_section(summary["command"])))
    if summary.get("citations"):
        sections.append(("cite", "Cite", citations_section(summary["citations"])))
    return [section for section in sections if section[2]]


def _section(name: str, heading: str, content: str) -> str:
    return f"""<section id="{name}" aria-labelledby="{name}-heading">
<h2 id="{name}-heading">{heading}</h2>
{content}
</section>"""


def _lead(summary: dict) -> str:
    lines = []
    if summary.get("summary"):
        lines.append(f'<p class="lead">{escape(str(summary["summary"]))}</p>')
    if summary.get("source"):
        lines.append(f'<p class="source">Source: {escape(str(summary["source"]))}</p>')
    return "\n".join(lines)


def _navigation(sections) -> str:
    items = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in sections)
    return f'<nav aria-label="Sections"><ul>{items}</ul></nav>' if items else ""


def _part(name: str) -> str:
    return (resources.files("foretrain.report") / name).read_text(encoding="utf-8").strip()


def _fill(template: str, **parts: str) -> str:
    return Template(_part(template)).substitute(parts)


def _policy(style: str, script: str) -> str:
    """Content security policy: this style, this script, pictures in the page, nothing else."""
    allowed = {"style-src": style, "script-src": script}
    rules = [f"{kind} 'sha256-{_digest(text)}'" for kind, text in allowed.items()]
    return "; ".join(["default-src 'none'", "img-src data:", *rules])


def _digest(text: str) -> str:
    # The browser hashes all between the tags, so the line breaks of the template count.
    return base64.b64encode(hashlib.sha256(f"\n{text}\n".encode()).digest()).decode()
