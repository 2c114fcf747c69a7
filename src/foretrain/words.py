"""Numbers, intervals and durations as text: one convention for the terminal, the page and figures."""

import json
import math
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Container, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from foretrain.notebook import is_notebook

_DIGITS, _MOST_DIGITS = 4, 9
SENTENCE = 1000  # characters of the longest that is printed whole
_LONG = re.compile(r"(?<!\S)([^\s/]{80})[^\s/]+(?!\S)|(\S{300})\S+")  # words, and paths
_CLOSE = 1e-8  # values closer than this, relatively, are told apart by nobody


def number(value, digits: int | None = _DIGITS) -> str:
    """Write a number to `digits` significant digits, in scientific form if very small or large.

    Args:
        value: A number; a bool is written true or false, None and nan as "undefined", infinity
            as ∞. Integers are written in full. Anything else is written as it is.
        digits: Significant digits; None for the shortest form that reads back as the same number.

    Returns:
        Text such as "0.0512", "1.5e-12", "-∞" or "20000". Trailing zeros are left out.
    """
    if value is None:
        return "undefined"
    if isinstance(value, str | int):
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        value = float(value)
    except (TypeError, ValueError):
        return str(value)
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if digits is None:
        digits = next(n for n in range(1, 18) if float(f"{value:.{n - 1}e}") == value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")  # after rounding
    if -3 <= int(exponent) < 5:
        return _strip(f"{value:.{max(0, digits - 1 - int(exponent))}f}")
    return f"{_strip(mantissa)}e{int(exponent)}"


def _strip(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(low, high, digits: int | None = _DIGITS) -> str:
    """Write an interval in words; an end that is None or not finite is open.

    Returns:
        "a to b", "at most b", "at least a", "exactly a" or "any value".
    """
    bounded_below = low is not None and math.isfinite(low)
    bounded_above = high is not None and math.isfinite(high)
    if bounded_below and bounded_above:
        first, last = number(low, digits), number(high, digits)
        return f"exactly {first}" if low == high else f"{first} to {last}"
    if bounded_above:
        return f"at most {number(high, digits)}"
    return f"at least {number(low, digits)}" if bounded_below else "any value"


def digits_to_tell_apart(*values, fewest: int = _DIGITS) -> int:
    """Fewest significant digits, `fewest` or more, at which values that differ are written differently.

    Without it an interval from 0.99996 to 1.00004 would read "1 to 1". Values that are None, not
    finite or equal to within rounding do not count.
    """
    numbers = sorted(float(value) for value in values if value is not None and math.isfinite(value))
    pairs = [(a, b) for a, b in pairwise(numbers) if b - a > _CLOSE * max(abs(a), abs(b))]
    for digits in range(fewest, _MOST_DIGITS):
        if all(number(a, digits) != number(b, digits) for a, b in pairs):
            return digits
    return _MOST_DIGITS


def span(values: Sequence) -> str:
    """The values of an axis in brief: "0.05 to 0.2 (3 values)", or the texts themselves."""
    if len(values) > 1 and all(type(value) in (int, float) for value in values):
        low, *_, high = told_apart(sorted(values))
        return f"{low} to {high} ({len(values)} values)"
    return ", ".join(told_apart(values))


def told_apart(values: Sequence) -> list[str]:
    """The values of an axis as texts, of numbers four digits, or as many as tell them apart."""
    digits = digits_to_tell_apart(*(value for value in values if isinstance(value, float)))
    return [number(value, digits) for value in values]


def count(amount: int, singular: str, plural: str = "") -> str:
    """A number of things: "1 seed", "3 seeds"."""
    return f"{amount} {singular if amount == 1 else plural or singular + 's'}"


def title(name: str) -> str:
    """Words for a name in code, as above a panel or along an axis."""
    return name.replace("_", " ").capitalize()


def outcome(name: str) -> str:
    """Say how a run ended; a run that took all its steps has done what was asked."""
    return "took all steps" if name == "out_of_steps" else str(name).replace("_", " ")


def duration(seconds) -> str:
    """Write a duration: "less than 0.01 s", "0.42 s", "3 min 20 s", "2 h 5 min" or "1 d 3 h"."""
    if seconds is None or not math.isfinite(seconds):
        return "undefined"
    if 0 < seconds < 0.01:
        return "less than 0.01 s"
    if seconds < 59.95:
        return f"{number(float(seconds), 3)} s"
    whole = round(seconds)
    units = (86400, "d"), (3600, "h"), (60, "min"), (1, "s")
    for (size, unit), (small_size, small_unit) in pairwise(units):
        if whole >= size:
            rest = whole % size // small_size
            return f"{whole // size} {unit}" + (f" {rest} {small_unit}" if rest else "")
    return f"{whole} s"


def memory(size: float) -> str:
    """Write a number of bytes: "less than a MB", "12 MB" or "1.3 GB"."""
    if size < 1e6:
        return "less than a MB"
    return f"{size / 1e6:,.0f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def columns() -> int:
    """Width to write in: that of the terminal, from 40 to 120 columns; 120 where there is none."""
    return min(120, max(40, shutil.get_terminal_size((120, 24)).columns))


def room() -> float:
    """Width to print a text in: that of a terminal; a program that reads it gets lines of any length."""
    return columns() if sys.stdout.isatty() else math.inf


def animated() -> bool:
    """Return True if standard error is a terminal on which a line can be redrawn."""
    if sys.stderr is None or getattr(sys.stderr, "closed", False):
        return False
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def print_text(text: str) -> None:
    """Print a text in characters that standard output has."""
    print(encodable(text, sys.stdout.encoding), flush=True)


def cut(text: str, most: float = 80) -> str:
    """A text of somebody else in one line, cut behind so many characters, and each word in it behind 80, a path behind 300."""
    text = _LONG.sub(r"\1\2...", " ".join(text.splitlines()))
    return text if len(text) <= most else f"{text[: int(most)]}..."


def print_folded(text: str, first: str = "", rest: str = "  ") -> None:
    """Print a sentence, in lines that a terminal has room for; a program that reads it gets one line."""
    text = cut(text, SENTENCE)
    print_text(fold(text, columns(), first, rest) if sys.stdout.isatty() else first + text)


def print_json(record) -> None:
    """Print a JSON-ready record; what could steer a terminal or turn its lines is escaped."""
    text = json.dumps(record, indent=2, ensure_ascii=False)
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def fold(text: str, width: float, first: str = "", rest: str = "  ") -> str:
    """A text in lines of at most so many columns, broken between words alone; `first` and `rest` stand before its lines.

    A longer word, such as the path of a file, has a longer line.
    """
    return textwrap.fill(
        text,
        width,  # type: ignore[arg-type]  # infinite for one line
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def laid(
    rows: Sequence[Sequence[str]], left: Container[int] = (0,), width: float = math.inf
) -> list[str]:
    """The lines of a table, a heading first.

    Args:
        rows: Cells, as many in each row.
        left: Columns that stand flush left; others stand flush right.
        width: Room; a table that is wider even with narrow gaps has a line per row, each value behind its heading.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for gap in ("  ", " "):
        lines = [
            gap.join(
                cell.ljust(size) if at in left else cell.rjust(size)
                for at, (cell, size) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        if max(map(len, lines)) <= width:
            return lines
    head, lines = rows[0][1:], []
    for first, *rest in rows[1:]:
        named = (f"{name} {text}".strip() for name, text in zip(head, rest, strict=True))
        lines.append(f"{first}: {', '.join(named)}")
    return lines


def say(line: str) -> None:
    """A line on standard error, folded where that is a terminal, or below a notebook's cell; nothing where there is none."""
    stream = sys.stdout if is_notebook() else sys.stderr
    if stream is None or getattr(stream, "closed", False):
        return
    line = cut(line, math.inf)
    text = fold(line, columns()) if stream.isatty() else line
    print(encodable(text, stream.encoding), file=stream, flush=True)


def complain(line: str) -> None:
    """A line on standard error that begins with the name of the program."""
    say(f"foretrain: {line}")


_PLAIN = {
    **dict.fromkeys("–—−─", "-"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("‘’", "'"),
    **{"∞": "inf", "×": "x", "±": "+-", "·": "*", "≤": "<=", "≥": ">=", "√": "sqrt ", "≈": "~"},
    **{"→": "->", "²": "^2", "³": "^3", "…": "..."},
}


def encodable(text: str, encoding: str | None) -> str:
    r"""The text in characters that an encoding has, so that it can always be printed.

    Greek letters become their names, common signs and accents what they look like, anything else its code point, such as
    ``\u2603``. Control and format characters other than line breaks become codes too: no text can steer a terminal.

    Args:
        text: Any text.
        encoding: Name of an encoding, such as ``sys.stdout.encoding``; ASCII where it is None or not known.
    """
    try:
        "".encode(encoding or "ascii")
    except LookupError:
        encoding = "ascii"
    return "".join(_fitting(character, encoding or "ascii") for character in text)


@cache
def _fitting(character: str, encoding: str) -> str:
    code = character.encode("unicode_escape").decode()
    if character == "\n":
        return character
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return " " if character == "\t" else code
    try:
        character.encode(encoding)
        return character
    except UnicodeError:
        pass
    if character in _PLAIN:
        return _PLAIN[character]
    words = unicodedata.name(character, "").split(" WITH ")[0].split()
    if words[:1] == ["GREEK"]:
        return words[-1].capitalize() if "CAPITAL" in words else words[-1].lower()
    return unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode() or code


def cell_label(values: Mapping[str, Any]) -> str:
    """A cell of a grid in words, such as ``init_scale=0.2, rank=3``; two different cells never read alike."""
    return ", ".join(f"{name}={value_text(value)}" for name, value in values.items())


def cell_words(values: Mapping[str, Any]) -> str:
    """A cell of a grid for titles and captions, numbers to four digits."""
    return ", ".join(f"{name}={number(value)}" for name, value in values.items())


def value_text(value: Any) -> str:
    """A value of an axis as it is read: the shortest text that is exactly this value."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
