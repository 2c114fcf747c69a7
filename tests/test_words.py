import math

import pytest

from foretrain.report.numbers import (
    digits_to_tell_apart,
    format_duration,
    format_interval,
    format_number,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05123456, "0.05123"),
        (1.0, "1"),
        (-2.50, "-2.5"),
        (0.0, "0"),
        (1e-12, "1e-12"),
        (-1.5e-12, "-1.5e-12"),
        (0.001, "0.001"),
        (0.00099999, "0.001"),  # rounds up into the fixed form
        (99999.9, "1e5"),  # rounds up into the scientific form
        (12345.6, "12346"),  # whole digits are not blanked out
        (6.02214e23, "6.022e23"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "undefined"),
        (None, "undefined"),
        (True, "true"),
        (123456789, "123456789"),
        ("flow", "flow"),
    ],
)
def test_numbers_are_written_to_four_digits_and_scientific_at_the_extremes(value, text):
    assert format_number(value) == text


def test_a_number_without_a_digit_limit_reads_back_as_itself():
    values = [1 / 3, 1e-300, 0.1 + 0.2, 5e5, 123456.789, 2**-1074, 1.7976931348623157e308, 1 / 3e4]
    assert [float(format_number(value, digits=None)) for value in values] == values
    assert format_number(0.1, digits=None) == "0.1"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.9, 1.1, "between 0.9 and 1.1"),
        (None, 1e-12, "at most 1e-12"),
        (-math.inf, 2, "at most 2"),
        (0.9, None, "at least 0.9"),
        (0.9, math.inf, "at least 0.9"),
        (None, None, "any value"),
        (2, 2, "exactly 2"),
        (0.0, 1.0, "between 0 and 1"),
    ],
)
def test_intervals_are_written_in_words(low, high, text):
    assert format_interval(low, high) == text


def test_digits_grow_until_values_that_differ_look_different():
    assert digits_to_tell_apart(0.9, 1.1, None, math.inf) == 4
    close = (0.99996, 1.00004)
    assert format_interval(*close) == "between 1 and 1"  # what would be misread
    assert format_interval(*close, digits_to_tell_apart(*close)) == "between 0.99996 and 1"
    assert digits_to_tell_apart(1.0, 1.0 + 1e-15) == 4  # rounding error is no difference


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4213, "0.421 s"),
        (59.97, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (97200, "1 d 3 h"),
        (None, "undefined"),
    ],
)
def test_durations_are_written_in_two_units(seconds, text):
    assert format_duration(seconds) == text
