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
_MOST = 1_590_000  # characters


def render(
    # Content of ``summary.json``; see above. Its texts are escaped, none is trusted as HTML.
    summary: Mapping,
    figures: Sequence[PageFigure] = (),  # in the order they are shown
    live: Mapping | None = None,  # the curves that can be looked into, see `foretrain.figures.live`
    # Sections that derive sentences, see `foretrain.report.derivation`.
    derived: Sequence[Derivation] = (),
    taken: int = 0,  # characters of texts for which pictures and numbers have to make room
) -> str:
    """Compose the page, a whole HTML document below 1.6 MB; equal arguments give equal text."""
    board = curves(live) if live else None
    fit = fitting(figures, taken + len(board["json"]) if board else taken)
    claims = verdicts(summary, fit, derived)
    shown = sections(summary, claims, fit, derived, board)
    page = document(
        "report/page.html",
        scripts=("fold.js",) * bool(shown) + _SCRIPTS * bool(fit or live),
        live=bool(live),
        title=str(summary.get("study", "foretrain run")),
        summary=summary.get("summary"),
        source=summary.get("source"),
        verdicts=claims,
        first=picture(fit[0], claims) if fit else None,
        sections=shown,
        version=(summary.get("versions") or {}).get("foretrain"),
    )
    over = 0 if taken else max(0, len(page) - _MOST)
    return render(summary, figures, live, derived, over) if over else page
