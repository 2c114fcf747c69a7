"""Stable training ends low and does not rise again."""

import numpy as np
import pytest

from foretrain.studies.bumps.claims import is_stable

FALL = np.geomspace(2, 1e-3, 30)


JUMP = np.where(np.arange(30) == 20, 0.5, FALL)
RISES = np.where(np.arange(30) > 5, np.nan, 2 + np.arange(30.0))  # and diverges


@pytest.mark.parametrize(
    ("runs", "stable"),
    [
        ([FALL] * 3, True),
        ([np.where(np.arange(30) > 20, np.nan, FALL)] * 3, True),  # ended early, at .01
        ([JUMP] * 3, False),
        ([FALL, FALL, JUMP], True),  # one run that jumps is forgiven, one that diverges is not
        ([np.maximum(FALL, 0.1)] * 3, False),  # ends high
        ([RISES] * 3, False),
        ([FALL, FALL, RISES], False),
        ([FALL, FALL, np.full(30, np.nan)], False),
    ],
)
def test_stability_needs_a_low_end_and_a_smooth_way(runs, stable):
    assert is_stable(np.array(runs), end=0.02) == stable
