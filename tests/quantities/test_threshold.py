import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.quantities.learning_curves.threshold import closing_threshold, lasting_threshold

FRACTIONS = np.array([0.1, 0.2, 0.4, 1.0])


@pytest.mark.parametrize(
    ("values", "threshold", "interpolated"),
    [
        ([0.5, 0.4, 0.0, 0.0], 0.4, 0.35),
        ([0.5, 0.0, 0.3, 0.0], 1.0, 0.8),  # it rises again
        ([0.1, 0.1, 0.1, 0.1], 0.1, 0.1),  # at the level is small
        ([0.5, 0.5, 0.5, 0.5], np.nan, np.nan),
        ([np.nan, 0.0, 0.0, 0.0], 0.2, 0.2),  # not measured: no candidate
        ([0.4, np.nan, 0.0, np.nan], 0.4, 0.325),  # nor does it end the line
        ([0.0, 0.0, 0.4, np.nan], np.nan, np.nan),
        ([np.nan] * 4, np.nan, np.nan),
    ],
)
def test_threshold_is_where_values_stay_small(values, threshold, interpolated):
    np.testing.assert_allclose(lasting_threshold(FRACTIONS, values, 0.1), threshold)
    np.testing.assert_allclose(
        lasting_threshold(FRACTIONS, values, 0.1, interpolated=True), interpolated
    )


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_rows_are_judged_one_by_one_and_a_line_crosses_no_later_than_the_next_value(rows):
    each = [lasting_threshold(FRACTIONS, row, 0.3) for row in rows]
    np.testing.assert_array_equal(lasting_threshold(FRACTIONS, [rows, rows], 0.3), [each, each])
    line = lasting_threshold(FRACTIONS, rows, 0.3, interpolated=True)
    np.testing.assert_array_equal(np.isnan(line), np.isnan(each))
    assert (np.nan_to_num(line) <= np.nan_to_num(each)).all()


def test_gaps_close_for_good_where_nothing_is_untrained_at_the_latest():
    gaps = np.array(
        [
            [0.5, 0.1, 0.0, np.nan],  # closes between .2 and .4, at a fifth of the gap
            [0.5, 0.0, 0.1, np.nan],  # opens again
            [0.0, 0.0, 0.0, np.nan],
            [np.nan, 0.0, 0.0, np.nan],
        ]
    )
    closed = closing_threshold(FRACTIONS, gaps, 0.02)
    np.testing.assert_allclose(closed, [0.36, 0.88, 0.1, np.nan], atol=1e-12)
    assert closing_threshold(FRACTIONS[:2], gaps[:1, :2], 0.02) == 1.0
