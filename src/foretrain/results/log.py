"""``log.txt`` of a folder: whole tracebacks of what a study raised, of which page and terminal say a line."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

FILE = "log.txt"


def append_log(folder: Path, text: str) -> None:
    """Add a text with the time in front; a disk that refuses it stops nothing."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    with contextlib.suppress(OSError), (Path(folder) / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{now} {text.rstrip()}\n\n")
