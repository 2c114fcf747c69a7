"""Stable training ends low and does not rise again."""

import numpy as np
import pytest

from foretrain.quantities.learning_curves.stability import is_stable

FALL = np.geomspace(2, 1e-3, 30)


@pytest.mark.parametrize(
    ("change", "stable"),
    [
        (lambda run: run, True),
        (lambda run: np.where(np.arange(30) > 20, np.nan, run), True),  # ended early, at .01
        (lambda run: np.where(np.arange(30) == 20, 0.5, run), False),  # jumps up again
        (lambda run: np.maximum(run, 0.1), False),  # ends high
        (lambda run: np.where(np.arange(30) > 5, np.nan, 2 + np.arange(30.0)), False),  # diverged
    ],
)
def test_stability_needs_a_low_end_and_a_smooth_way(change, stable):
    run = change(FALL)
    assert is_stable(np.array([run, run, run]), end=0.02) == stable


def test_one_run_that_diverges_makes_the_rate_unstable_one_that_jumps_does_not():
    jump = np.where(np.arange(30) == 20, 0.5, FALL)
    assert is_stable([FALL, FALL, jump])
    assert not is_stable([FALL, FALL, np.full(30, np.nan)])
    assert not is_stable([FALL, FALL, np.where(np.arange(30) > 3, np.nan, FALL[::-1])])
