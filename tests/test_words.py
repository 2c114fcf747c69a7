import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.words import digits_to_tell_apart, duration, encodable, interval, laid, number, span


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
    assert number(value) == text


def test_a_number_without_a_digit_limit_reads_back_as_itself():
    values = [1 / 3, 1e-300, 0.1 + 0.2, 5e5, 123456.789, 2**-1074, 1.7976931348623157e308, 1 / 3e4]
    assert [float(number(value, digits=None)) for value in values] == values
    assert number(0.1, digits=None) == "0.1"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.9, 1.1, "0.9 to 1.1"),
        (None, 1e-12, "at most 1e-12"),
        (-math.inf, 2, "at most 2"),
        (0.9, None, "at least 0.9"),
        (0.9, math.inf, "at least 0.9"),
        (None, None, "any value"),
        (2, 2, "exactly 2"),
        (0.0, 1.0, "0 to 1"),
    ],
)
def test_intervals_are_written_in_words(low, high, text):
    assert interval(low, high) == text


def test_digits_grow_until_values_that_differ_look_different():
    assert digits_to_tell_apart(0.9, 1.1, None, math.inf) == 4
    close = (0.99996, 1.00004)
    assert interval(*close) == "1 to 1"  # what would be misread
    assert interval(*close, digits_to_tell_apart(*close)) == "0.99996 to 1"
    assert digits_to_tell_apart(1.0, 1.0 + 1e-15) == 4  # rounding error is no difference


def test_a_table_gets_narrow_gaps_and_then_a_line_per_row_where_it_is_too_wide():
    rows = [("path", "mode", "outcome"), ("in>out", "1", "learned"), ("a", "12", "never")]
    wide = ["path    mode  outcome", "in>out     1  learned", "a         12  never"]
    assert laid(rows, (0, 2)) == laid(rows, (0, 2), 21) == wide
    assert laid(rows, (0, 2), 20)[1] == "in>out    1 learned"
    narrow = ["in>out: mode 1, outcome learned", "a: mode 12, outcome never"]
    assert laid(rows, (0, 2), 10) == narrow


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0005, "less than 0.01 s"),
        (0.4213, "0.421 s"),
        (42, "42 s"),
        (59.97, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3600, "1 h"),
        (97200, "1 d 3 h"),
        (None, "undefined"),
    ],
)
def test_durations_are_written_in_two_units(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "σ² ≤ é – ☃ ∞ Δ"),
        ("latin-1", "sigma² <= é - \\u2603 inf Delta"),
        ("ascii", "sigma^2 <= e - \\u2603 inf Delta"),
        ("no-such-encoding", "sigma^2 <= e - \\u2603 inf Delta"),
        (None, "sigma^2 <= e - \\u2603 inf Delta"),
    ],
)
def test_what_an_encoding_lacks_is_written_in_what_it_has(encoding, text):
    assert encodable("σ² ≤ é – ☃ ∞ Δ", encoding) == text


@given(st.text(alphabet=st.characters()), st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8"]))
def test_any_text_can_be_encoded_and_steers_no_terminal(text, encoding):
    shown = encodable(text, encoding)
    shown.encode(encoding)  # does not raise
    assert "\x1b" not in shown
    assert encodable(shown, encoding) == shown


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.2, 0.05, 0.1], "0.05 to 0.2 (3 values)"),
        ([0.07874508123, 1.2], "0.07875 to 1.2 (2 values)"),
        ([0.1234561, 0.1234562], "0.1234561 to 0.1234562 (2 values)"),
        (["dense", "random"], "dense, random"),
        ([3], "3"),
    ],
)
def test_an_axis_is_told_by_its_smallest_and_largest_value(values, text):
    assert span(values) == text
