"""A result as a Trackio logbook: the command, the verdicts, the figures and the provenance, for one page of an experiment.

Trackio writes the files (https://huggingface.co/docs/trackio/logbooks); here is what stands in them.
"""

import contextlib
from pathlib import Path

from foretrain.errors import ForetrainError
from foretrain.results.result import Result
from foretrain.results.summary import Summary, read_summary


def write_logbook(result: Result, folder: Path) -> None:
    """Make a folder with a logbook of a stored result in ``.trackio/logbook``, of one page, named after the study.

    Raises:
        ForetrainError: a folder above holds a logbook already.
    """
    from trackio import logbook

    assert result.path is not None, "it was opened from a folder"
    summary = read_summary(result.path)
    folder.mkdir()
    try:
        with contextlib.chdir(folder):  # Trackio makes a logbook where it is
            book = logbook.create_logbook(title=f"foretrain {summary.study}")
    except logbook.LogbookError as error:
        raise ForetrainError(f"{error} Try a folder outside of it.") from None
    page = logbook.add_page(book, summary.study)
    logbook.add_code_cell(
        book, page, result.claims.tally(), "Command", code_text=summary.command, language="bash"
    )
    logbook.add_markdown_cell(book, page, result.claims.to_markdown(), "Verdicts")
    for picture in sorted((result.path / "figures").glob("*.png")):
        logbook.add_figure_cell(book, page, image=picture, title=picture.stem)
    logbook.add_markdown_cell(book, page, _provenance(summary), "Provenance")


def _provenance(summary: Summary) -> str:
    """Say in a list on what the verdicts rest."""
    runs = ", ".join(f"{number} {outcome}" for outcome, number in summary.runs.items() if number)
    versions = ", ".join(f"{name} {version}" for name, version in summary.versions.items())
    codes = ", ".join(summary.codes)
    facts = {"Device": summary.device, "Runs": runs, "Code": codes, "Versions": versions}
    lines = [f"- {name}: {text}." for name, text in facts.items() if text]
    return "\n".join([*lines, *(f"- {remark}" for remark in summary.remarks)])
