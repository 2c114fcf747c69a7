"""A page over all results in a folder of folders."""

import os
import re
from pathlib import Path
from typing import Any

from foretrain.errors import FolderError, ForetrainError, path_argument
from foretrain.plans.catalogue import load_by_name
from foretrain.provenance.reading import regular_file
from foretrain.report.document import document, write_document
from foretrain.report.page import FILE_NAME
from foretrain.report.sections import verdicts
from foretrain.results.root import warnings
from foretrain.results.summary import FILE, Summary, read_summary
from foretrain.words import count, duration, number, span

_HEAD = 200_000  # bytes of a page, of which the first figure is the first
_DEPTH = 3  # folders between the one that is asked for and a result


def results_below(folder: str | Path) -> list[Path]:
    """The folders of results below a folder, at most three deep, in the order of their names; none within another."""
    results, level = [], [path_argument("folder", folder)]
    for _ in range(_DEPTH):
        below = [child for parent in level for child in _folders_in(parent)]
        results += [child for child in below if os.path.exists(child / FILE)]
        level = [child for child in below if child not in results]
    return results


def _folders_in(parent: Path) -> list[Path]:
    try:
        inside = sorted(parent.iterdir())
        return [path for path in inside if os.path.isdir(path) and path.name[:1] != "."]
    except OSError:
        return []


def write_index(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write ``index.html`` over the results below a folder, into `out` or there; what cannot be read is named on it.

    Raises `FolderError` where there are no results below it, or the page cannot be written.
    """
    folder = path_argument("folder", folder)
    target = folder if out is None else path_argument("out", out)
    if not (places := results_below(folder)):
        raise FolderError(f"Argument `folder` must hold results, but {folder} holds none.")
    shown, unread = [], []
    for place in places:
        try:
            shown.append(_shown(target, place, read_summary(place)))
        except ForetrainError as error:
            unread.append(f"{place}: {error}")
    text = document(
        "report/index.html",
        images="'self' file: data:",  # pictures stay in the folders of the results
        title=f"Results in {folder.resolve().name}",
        results=shown,
        unread=unread,
    )
    return write_document(target / "index.html", text)


def _shown(target: Path, place: Path, summary: Summary) -> dict[str, Any]:
    relative = Path(os.path.relpath(place, target)).as_posix()
    picture = _first_figure(place)
    return {
        "name": relative,
        "study": summary.study,
        "question": summary.summary,
        "own": ", ".join(_own(summary)),
        "made": f"{summary.created_at[:16].replace('T', ' ')}, trained in {duration(summary.wall_time_s)}",
        "verdicts": verdicts({"claims": summary.claims}),
        "doubts": warnings(place),
        "page": f"{relative}/{FILE_NAME}" if os.path.exists(place / FILE_NAME) else "",
        "picture": f"{relative}/figures/{picture}.svg" if picture else "",
    }


def _first_figure(place: Path) -> str:
    try:
        with regular_file(place / FILE_NAME) as (page, _):
            match = re.search(rb'<figure [^>]*data-name="([^"]+)"', page.read(_HEAD))
    except OSError:
        return ""
    name = match.group(1).decode(errors="replace") if match else ""
    return name if name and os.path.exists(place / "figures" / f"{name}.svg") else ""


def _own(summary: Summary):
    """Return what sets a run apart: axes, parameters that are not the default of its study, seeds, preset."""
    for name, values in summary.axes.items():
        yield f"{name} {span(values)}"
    try:
        known = load_by_name(summary.study).Parameters.__dataclass_fields__
    except ForetrainError:  # a study of one's own that is not to be found from here
        known = {}
    for name, value in summary.config.items():
        if name in known and name not in summary.axes and value != known[name].default:
            yield f"{name} {number(value, digits=None)}"
    yield count(summary.seeds, "seed")
    if summary.preset not in ("", "own", "quick"):
        yield f"preset {summary.preset}"
