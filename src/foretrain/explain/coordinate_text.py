"""A coordinate check in words and a table, and in a file."""

import json
from os import PathLike
from pathlib import Path

from foretrain.explain.coordinate_check import CoordinateCheck
from foretrain.results.files import refused, write_atomic
from foretrain.words import laid, number


def text(check: CoordinateCheck, width: float) -> str:
    """The check as a table and its notes, lines of at most `width` characters where they can be."""
    head = ["power of the width", "declared", "measured", "95% interval", "verdict"]
    rows = [
        [
            one.name,
            number(one.exponent),
            f"{one.slope.measured:.2f}",
            f"{one.slope.low:.2f} to {one.slope.high:.2f}",
            one.verdict,
        ]
        for one in check.slopes
    ]
    span = "the first step" if check.steps == 1 else f"{check.steps} steps"
    lines = [
        f"Coordinate check of {check.parametrisation}: widths {', '.join(map(str, check.widths))}, {check.starts} starts, "
        f"changes after {span}."
    ]
    lines = [*lines, "", *laid([head, *rows], (0, 4), width)]
    return "\n".join(lines).strip() + "\n"


def write_check(check: CoordinateCheck, folder: str | PathLike) -> tuple[Path, ...]:
    """Write ``coordinate_check.json`` into a folder, which is made if need be; raises `FolderError`."""
    record = Path(folder) / "coordinate_check.json"
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(record, (json.dumps(check.as_dict(), indent=1) + "\n").encode())
    except OSError as error:
        raise refused(record.parent, error) from error
    return (record,)
