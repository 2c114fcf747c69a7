"""How numbers are written for a reader: one convention, for the page and for the terminal."""

import math
from itertools import pairwise

_DIGITS, _MOST_DIGITS = 4, 9
_CLOSE = 1e-8  # values closer than this, relatively, are told apart by nobody


def format_number(value, digits: int | None = _DIGITS) -> str:
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
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if math.isnan(number):
        return "undefined"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == 0:
        return "0"
    if digits is None:
        digits = next(n for n in range(1, 18) if float(f"{number:.{n - 1}e}") == number)
    exponent = int(f"{number:.{digits - 1}e}".partition("e")[2])  # after rounding
    if -3 <= exponent < 5:
        return _strip(f"{number:.{max(0, digits - 1 - exponent)}f}")
    mantissa = f"{number:.{digits - 1}e}".partition("e")[0]
    return f"{_strip(mantissa)}e{exponent}"


def _strip(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_interval(low, high, digits: int | None = _DIGITS) -> str:
    """Write an interval in words; an end that is None or infinite is open.

    Returns:
        "between a and b", "at most b", "at least a", "exactly a" or "any value".
    """
    bounded_below = low is not None and math.isfinite(low)
    bounded_above = high is not None and math.isfinite(high)
    if bounded_below and bounded_above:
        first, last = format_number(low, digits), format_number(high, digits)
        return f"exactly {first}" if low == high else f"between {first} and {last}"
    if bounded_above:
        return f"at most {format_number(high, digits)}"
    return f"at least {format_number(low, digits)}" if bounded_below else "any value"


def digits_to_tell_apart(*values) -> int:
    """Fewest significant digits, 4 or more, at which values that differ are written differently.

    Without it an interval from 0.99996 to 1.00004 would read "1 to 1". Values that are None, not
    finite or equal to within rounding do not count.
    """
    numbers = sorted(float(value) for value in values if value is not None and math.isfinite(value))
    pairs = [
        (low, high)
        for low, high in pairwise(numbers)
        if high - low > _CLOSE * max(abs(low), abs(high))
    ]
    for digits in range(_DIGITS, _MOST_DIGITS):
        if all(format_number(low, digits) != format_number(high, digits) for low, high in pairs):
            return digits
    return _MOST_DIGITS


def format_duration(seconds) -> str:
    """Write a duration: "0.42 s", "3 min 20 s", "2 h 5 min" or "1 d 3 h"."""
    if seconds is None or not math.isfinite(seconds):
        return "undefined"
    if seconds < 59.95:
        return f"{format_number(float(seconds), 3)} s"
    whole = round(seconds)
    for size, unit, small_size, small_unit in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // small_size
            return f"{whole // size} {unit}" + (f" {rest} {small_unit}" if rest else "")
    return f"{whole} s"
