"""The page of a result: its figures drawn, its summary put into words."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from foretrain import figures, references
from foretrain.claims.claim import HOLDS, Claim
from foretrain.claims.judge import measured
from foretrain.figures import curves, pictures
from foretrain.figures.cells import draw_cells
from foretrain.figures.drawings import drawings
from foretrain.figures.explore import explore
from foretrain.figures.links import links
from foretrain.figures.live import live
from foretrain.laboratory.judge import Problem, any_run, guarded, problem
from foretrain.laboratory.labelled import TheoryOf, theory_of, theory_over
from foretrain.laboratory.sliders import kept
from foretrain.laboratory.stages import Stage, Tell, silent
from foretrain.plans.grid import Grid
from foretrain.plans.plan import Plan
from foretrain.plans.study import Study
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.quantities.cell import Cell
from foretrain.quantities.measured import PerSeed
from foretrain.report.derivation import Derivation, derivations, pages
from foretrain.report.document import write_document
from foretrain.report.page import FILE_NAME, PageFigure, render
from foretrain.results.files import write_atomic
from foretrain.results.summary import Summary, read_summary
from foretrain.words import cell_label

_THEORY = "theory.md"  # of a study of one's own


def write_page(
    folder: Path,  # of the result
    # Its plan; None where the folder holds none, or its study is not run: stored pictures are shown.
    plan: Plan | None,
    whole: Grid | None,  # its runs and theory
    problems: list[Problem],  # takes the figures that raise; each costs itself only
    *,
    out: Path | None = None,  # folder of page and pictures; by default that of the result
    tell: Tell = silent,  # told which figure is drawn
    summary: Summary | None = None,  # by default the one in the folder
    ready: Callable[[], object] = lambda: None,  # waits until store and summary are in the folder
    theory: TheoryOf = theory_of,  # predicts a cell
) -> Path:
    """Draw the figures of a result into ``figures/`` and write ``report.html``."""
    summary, target = summary or read_summary(folder), out or folder
    tell(Stage("Drawing"))
    drawn: dict[str, figures.Drawing] = {}
    numbers: dict[str, Any] = {}

    def lost(name: str, error: BaseException) -> None:
        problems.append(problem(f"The figure `{name}` of the study raised", error))

    runs = whole if whole is not None and any_run(whole.simulation) else None
    if runs is not None:
        study = None if plan is None else plan.study
        draw = partial(drawings, study, runs, lost) if study else partial(curves.draw, runs)
        drawn = guarded("figures", problems, draw, {})
        numbers = guarded("curves", problems, lambda: live(runs) or {}, {})
    draw_claims = partial(draw_cells, summary.claims, summary.axes)
    drawn |= guarded("figure of the claims", problems, draw_claims, {})
    if runs is not None and plan is not None and "EXPLORE" in (plan.study.part("study") or {}):
        predict = partial(theory_over, plan.study, silent, theory=partial(theory, explored=True))
        moved = partial(explore, plan.study, predict, runs, numbers)
        if target == folder:
            moved = partial(kept, folder, plan, numbers, moved)
        numbers = guarded("sliders", problems, moved, numbers)
    shows = guarded("links", problems, lambda: links(drawn, summary.claims), {})
    stored = {} if plan is not None else pictures.stored(folder)
    shown = [PageFigure(n, n, "", svg, "", ()) for n, svg in stored.items() if n not in drawn]
    for name, plot in drawn.items():
        tell(Stage("Drawing", len(shown), len(drawn), "figures", name))
        save = partial(figures.save, {name: plot}, target / pictures.FOLDER)
        paths = guarded(f"figure `{name}`", problems, save, {})
        if name in paths:
            svg, table = paths[name].read_text(encoding="utf-8"), paths[name].with_suffix(".csv")
            text = table.read_text(encoding="utf-8") if table.exists() else ""
            shown.append(PageFigure(name, plot.title, plot.caption, svg, text, shows.get(name, ())))
    by_seed: dict[str, list[float]] = {}
    texts, known = [folder / _THEORY], None
    if plan is not None:
        texts, known = _derived_in(plan), {sentence.id for sentence in plan.study.sentences}
        if runs is not None:
            ids = {id for picture in shown for id in picture.shows}
            of_seeds = partial(per_seed, plan.study, runs, summary.claims, ids)
            by_seed = guarded("values of single seeds", problems, of_seeds, {})
        if target == folder:
            _keep_theory(target, plan)
    make = partial(_derived, summary.study, texts, known, problems)
    derived = guarded("pages of theory", problems, make, [])
    ready()
    fields = _fields(read_summary(folder), problems) | {"by_seed": by_seed}
    return write_document(target / FILE_NAME, render(fields, shown, numbers or None, derived))


def per_seed(
    study: Study, grid: Grid, claims: Iterable[Claim], shown: Collection[str]
) -> dict[str, list[float]]:
    """Return the label of each claim that does not hold and whose id is not among those shown to the values of its seeds.

    An exact fact has one deviation for all seeds, and bounds are not values: they are left out.
    """
    wanted: dict[str, dict[str, str]] = {}
    for claim in claims:
        if claim.verdict != HOLDS and claim.id not in shown and claim.uncertainty is not None:
            wanted.setdefault(claim.id, {})[cell_label(claim.cell)] = claim.label
    known: dict[str, list[float]] = {}
    for sentence in study.sentences:
        labels = wanted.get(sentence.id, {})
        for cell in grid.cells(keep=sentence.along) if labels else ():
            if (label := labels.get(cell_label(cell.cell))) is None:
                continue
            values = measured(sentence, Cell(cell.along(*sentence.along)))
            if isinstance(values, PerSeed) and values.upto is None:
                known[label] = np.asarray(values.values, float).tolist()
    return known


def _keep_theory(folder: Path, plan: Plan) -> None:
    """Keep the pages of a study of one's own beside its results: who may not run the study reads them there."""
    if there := [page for page in _derived_in(plan) if plan.study.is_own and page.is_file()]:
        write_atomic(folder / _THEORY, b"\n\n".join(read_file(page, MOST_TEXT) for page in there))
    else:
        (folder / _THEORY).unlink(missing_ok=True)


def _derived(
    study: str, theory: list[Path], known: Collection[str] | None, problems: list[Problem]
) -> list[Derivation]:
    """Return the sections of pages that derive sentences of a study, of which all but foreign ones are known."""
    lines: list[str] = []
    derived = derivations(study, theory, lines)
    for id in dict.fromkeys(id for section in derived for id in section.claims):
        if known is not None and id not in known:
            lines.append(f"A section derives `{study}/{id}`, but the study has no such sentence.")
    problems += [Problem(line, f"{line}\n") for line in lines]
    return derived


def _derived_in(plan: Plan) -> list[Path]:
    """The pages that derive sentences of a study: those of foretrain, or ``theory.md`` beside a study of one's own."""
    if not plan.study.is_own:
        return pages()
    folders = dict.fromkeys(Path(file).parent for file in plan.study.files.values())
    return [folder / _THEORY for folder in folders]


def _fields(summary: Summary, problems: list[Problem]) -> dict:
    entries = guarded("citations", problems, lambda: references.bibtex(summary.citations), "")
    lost = summary.lost and summary.lost == sum(summary.runs.values())
    return {
        **asdict(summary),
        "summary": f"{'Every run was lost. ' if lost else ''}{summary.summary}",
        "claims": summary.claims,
        "failures": [f"Run {name}: {reason}" for name, reason in summary.failures.items()],
        "problems": list(dict.fromkeys([*summary.problems, *(each.line for each in problems)])),
        "citations": entries.split("\n\n") * bool(entries and summary.citations),
    }
