"""The page a person reads: claims, figures, runs, parameters, provenance, command, citations.

The page is one file. Style, script and pictures stand in it, and its content security policy
forbids the browser to fetch anything, so that it opens offline, from a mail or in ten years.

It is made from a summary, the content of ``summary.json``. Every key may be missing; what it feeds
is then left out.

==============  ==================================================================================
``study``       name of the study
``summary``     one line: what the study is about
``source``      document, section, figure
``problems``    list of one-line texts: sentences and figures that raised
``claims``      list of `foretrain.claims.claim.Claim`, or of their `as_dict`
``remarks``     list of sentences: what makes the verdicts worth less, such as claims changed since the first run
``seal``        dict: hashes of all that verdicts rest on, see `foretrain.provenance.seal`
``looks``       list of ``{"seeds": number, "at": time}``: the times verdicts were looked at
``config``      parameter to value
``axes``        parameter to the list of its values, for those that make an axis
``meanings``    parameter to one sentence
``preset``      preset of the study, "own" where parameters differ from every one
``runs``        outcome (`foretrain.vocabulary.OUTCOMES`) to number of runs
``failures``    list of sentences: runs that raised, segments that were lost
``codes``       hash of the code to the number of runs that it made
``history``     list of sentences: what was done with runs of other code
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

from collections.abc import Mapping, Sequence
from pathlib import Path

from foretrain.report.derivation import Derivation
from foretrain.report.document import document, write_document
from foretrain.report.sections import PageFigure, picture, sections, verdicts

__all__ = ["FILE_NAME", "PageFigure", "render", "write"]

FILE_NAME = "report.html"
_SCRIPTS = ("save.js", "zoom.js")  # of figures


def render(
    summary: Mapping,
    figures: Sequence[PageFigure] = (),
    live: Mapping | None = None,
    derived: Sequence[Derivation] = (),
) -> str:
    """Compose the page.

    Args:
        summary: Content of ``summary.json``; see the table above. Its texts are escaped, none is
            trusted as HTML.
        figures: In the order they are shown.
        live: The curves that can be looked into, see `foretrain.figures.live`.
        derived: Sections that derive sentences, see `foretrain.report.derivation`.

    Returns:
        A whole HTML document. Equal arguments give equal text.
    """
    said = verdicts(summary, figures, derived)
    shown = sections(summary, said, figures, derived, live)
    return document(
        "report/page.html",
        scripts=("fold.js",) * bool(shown) + _SCRIPTS * bool(figures or live),
        live=bool(live),
        title=str(summary.get("study", "foretrain run")),
        summary=summary.get("summary"),
        source=summary.get("source"),
        verdicts=said,
        first=picture(figures[0], said) if figures else None,
        sections=shown,
        version=(summary.get("versions") or {}).get("foretrain"),
    )


def write(
    folder: str | Path,
    summary: Mapping,
    figures: Sequence[PageFigure] = (),
    live: Mapping | None = None,
    derived: Sequence[Derivation] = (),
) -> Path:
    """Write the page to ``<folder>/report.html`` and return that path.

    A reader sees the old page or the new one, never half of one.

    Raises:
        FolderError: the folder cannot be made or written.
    """
    return write_document(Path(folder) / FILE_NAME, render(summary, figures, live, derived))
