"""The page a person reads: claims, figures, runs, parameters, provenance, command, citations.

It is made from the entries of `foretrain.results.summary.Summary` as a mapping, claims as they are or as their `as_dict`, with
``meanings`` (parameter to one sentence), ``by_seed`` (label of a claim to the values of its seeds, which are then drawn),
``failures`` as sentences and ``citations`` as BibTeX. Every entry may be missing; what it feeds is then left out.
"""

from collections.abc import Mapping, Sequence

from foretrain.report.derivation import Derivation
from foretrain.report.document import document
from foretrain.report.sections import PageFigure as PageFigure
from foretrain.report.sections import curves, fitting, picture, sections, verdicts

FILE_NAME = "report.html"
_SCRIPTS = ("save.js", "zoom.js")  # of figures


def render(
    # Content of ``summary.json``; see above. Its texts are escaped, none is trusted as HTML.
    summary: Mapping,
    figures: Sequence[PageFigure] = (),  # in the order they are shown
    live: Mapping | None = None,  # the curves that can be looked into, see `foretrain.figures.live`
    # Sections that derive sentences, see `foretrain.report.derivation`.
    derived: Sequence[Derivation] = (),
) -> str:
    """Compose the page, a whole HTML document below 1.6 MB; equal arguments give equal text."""
    board = curves(live) if live else None
    figures = fitting(figures, len(board["json"]) if board else 0)
    claims = verdicts(summary, figures, derived)
    shown = sections(summary, claims, figures, derived, board)
    return document(
        "report/page.html",
        scripts=("fold.js",) * bool(shown) + _SCRIPTS * bool(figures or live),
        live=bool(live),
        title=str(summary.get("study", "foretrain run")),
        summary=summary.get("summary"),
        source=summary.get("source"),
        verdicts=claims,
        first=picture(figures[0], claims) if figures else None,
        sections=shown,
        version=(summary.get("versions") or {}).get("foretrain"),
    )
