"""What a sampled learning coefficient must have to be trusted: each threshold, from just inside and just outside."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.degeneracy.sampled.coefficient import Coefficient


def one(value):
    return np.array([[float(value)]])


GOOD = Coefficient(
    parts=("all",),
    beta=np.array([5000.0]),
    dimension=np.array([125]),
    value=one(20.0),
    error=one(0.5),
    chains=np.full((1, 1, 4), 20.0),
    rhat=one(1.01),
    effective=one(400),
    virial=one(1.01),
    virial_error=one(0.01),
    step=one(0.1),
    bound=one(1.0),
    pull=1.0,
    step_shift=one(0.1),
    pull_shift=one(0.1),
    sampler="baoab",
    draws=1000,
    halved=np.zeros((1, 1), int),
    gradients=1000,
)


@pytest.mark.parametrize(
    ("inside", "outside", "says"),
    [
        ({"rhat": one(1.049)}, {"rhat": one(1.051)}, "chains disagree, R-hat 1.051"),
        ({"effective": one(100)}, {"effective": one(99)}, "99 effective draws"),
        # Three errors are .03, and what d/2 times more does, 1.9 and 2.5, is below and above a tenth of the value.
        ({"virial": one(0.97)}, {"virial": one(0.96)}, "have not come round"),
        ({"virial": one(1.03)}, {"virial": one(1.04)}, "have not come round"),
        ({"virial_error": one(0.16)}, {"virial_error": one(0.17)}, "is known to 17% only"),
        ({"step": one(0.5)}, {"step": one(0.51)}, "step 51% of the bound"),
        ({"error": one(1.99)}, {"error": one(2.01)}, "standard error 2"),
        ({"step_shift": one(2.0)}, {"step_shift": one(-2.1)}, "step shifts it by -2.1"),
        ({"pull_shift": one(-2.0)}, {"pull_shift": one(2.1)}, "localisation shifts it by 2.1"),
        ({}, {"pull_shift": one(np.nan)}, "bias of the localisation not measured"),
        ({"value": one(70.0)}, {"value": one(70.3)}, "more than 125 parameters"),
        (
            {},
            {"chains": np.array([[[1.0, np.nan, 1.0, 1.0]]])},
            "1 of 4 chains did not stay finite",
        ),
        ({}, {"value": one(np.nan)}, "no chain stayed finite"),
    ],
)
def test_every_threshold_is_held(inside, outside, says):
    assert replace(GOOD, **inside).doubts() == []
    (line,) = replace(GOOD, **outside).doubts()
    assert says in line


def test_a_small_part_that_has_not_come_round_does_no_harm():
    """Of four parameters a fiftieth moves the coefficient by .04 at most, below a tenth of it."""
    few = replace(GOOD, dimension=np.array([4]), value=one(1.5), error=one(0.02))
    few = replace(few, step_shift=one(0.0), pull_shift=one(0.0))
    assert replace(few, virial=one(0.95)).doubts() == []
    assert "come round" in replace(few, virial=one(0.9)).doubts()[0]


def test_chains_in_the_quadratic_neighbourhood_of_a_deep_linear_network_are_not_trusted():
    """(10, 5, 5, 10) at rank 2: 36.3 where 45 is right, R-hat 1.02, and E[u . grad U] 41.8 of 125."""
    found = replace(GOOD, value=one(18.1), error=one(0.75), virial=one(41.8 / 125))
    (line,) = found.doubts()
    assert "E[(w - w*) . grad U] is 33% of its stationary value" in line


def test_a_coefficient_below_zero_is_no_minimums():
    (line,) = replace(GOOD, value=one(-5.1), error=one(0.4), virial=one(1.0)).doubts()
    assert "negative" in line
