"""The page of what a folder of results stores: nothing is folded, judged or predicted, and no study runs but a known one."""

from pathlib import Path

from foretrain.errors import ForetrainError, path_argument
from foretrain.laboratory.folder import stored_plan
from foretrain.laboratory.judge import Problem
from foretrain.laboratory.opened import opened
from foretrain.laboratory.page import write_page
from foretrain.plans.author import loaded
from foretrain.plans.plan import plan_from_dict
from foretrain.plans.study import Study
from foretrain.report.page import FILE_NAME
from foretrain.results.files import disk_errors
from foretrain.results.manifest import check_writable
from foretrain.results.root import warnings
from foretrain.results.summary import read_summary
from foretrain.words import say


def page_of_stored(
    folder: str | Path, out: str | Path | None = None, study: str | Path | Study | None = None
) -> Path:
    """Write the page of what can be read of a folder of results, and return it.

    Verdicts and numbers are those of ``summary.json``. Curves are drawn anew from the store, figures too where the study is
    of the catalogue or was named before; else the stored pictures are shown. What cannot be read has its line and is left out.
    Page and pictures go to `out`, and nothing to `folder` then; by default to `folder`, where a page that is there stays.
    `study` is asked for where the folder cannot know where that is, or its code was not named before.

    Raises `FolderError` where no summary can be read or nothing be written, `StoreError` where the summary is damaged.
    """
    folder = path_argument("folder", folder)
    target = folder if out is None else path_argument("out", out)
    read_summary(folder)
    if out is None and (folder / FILE_NAME).exists():
        return folder / FILE_NAME
    with disk_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    check_writable(target, "folder" if out is None else "out")
    lines = warnings(folder)
    try:
        result = opened(folder, strict=False)
        plan, stored = None, None if study is None else stored_plan(folder)
        if out is not None and study is not None and stored is not None:
            plan = result.plan = plan_from_dict(stored, loaded(study).named(stored["study"]))
        elif out is not None:
            plan = result.plan
        grid = result.stored_grid if plan is None else result.grid
    except ForetrainError as error:
        lines.append(f"The store is not shown. {error}")
        plan, grid = None, None
    problems = [Problem(line, line) for line in lines]
    page = write_page(folder, plan, grid, problems, out=target)
    for problem in problems:
        say(problem.line)
    return page
