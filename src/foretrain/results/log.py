"""``log.txt`` of a folder: whole tracebacks of what a study raised, of which page and terminal say a line."""

import contextlib
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

FILE = "log.txt"


def append_log(folder: Path, text: str) -> None:
    """Add a text with the time in front; a disk that refuses it stops nothing."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with contextlib.suppress(OSError), (Path(folder) / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{now} {text.rstrip()}\n\n")


@contextlib.contextmanager
def warnings_logged(folder: Path) -> Iterator[None]:
    """Write warnings, such as NumPy's of a run that diverged, into the log and not to the terminal."""

    def log(message, category, filename, lineno, file=None, line=None) -> None:
        append_log(folder, f"{category.__name__}: {message} ({filename}, line {lineno})")

    shown = warnings.showwarning
    warnings.showwarning = log
    try:
        yield
    finally:
        warnings.showwarning = shown
