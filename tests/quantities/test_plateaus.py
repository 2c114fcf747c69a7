import re

import numpy as np
import pytest
import xarray as xr

from foretrain.errors import ArgumentError
from foretrain.quantities.learning_curves.plateaus import (
    plateau_length,
    plateau_lengths,
    plateau_strengths,
    plateaus,
)
from foretrain.theory.factorization import rank_one as s_curve
from foretrain.theory.gated.deep_linear import mode_strength

TIMES = np.linspace(0, 40, 4001)


def modes_loss(values, initial=1e-3, times=TIMES):
    """Loss of decoupled modes: as many plateaus as well separated singular values."""
    return np.sum((np.array(values) - mode_strength(initial, times, np.array(values))) ** 2, axis=1)


FALL = np.exp(-TIMES)
SMOOTH = [FALL, 1 / (1 + TIMES), FALL + np.exp(-TIMES / 10), FALL + 0.1, np.ones_like(TIMES)]


@pytest.mark.parametrize("depth", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("acceleration", [2.0, 3.0, 5.0])
@pytest.mark.parametrize("losses", SMOOTH)
def test_curves_that_only_slow_down_have_no_plateau(losses, depth, acceleration):
    assert plateaus(TIMES, losses, depth=depth, acceleration=acceleration) == []


@pytest.mark.parametrize("depth", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("acceleration", [2.0, 3.0])
@pytest.mark.parametrize(("values", "count"), [((1,), 1), ((1, 0.3), 2), ((1, 0.3, 0.1), 3)])
def test_separated_modes_make_a_plateau_each(values, count, depth, acceleration):
    assert len(plateaus(TIMES, modes_loss(values), depth=depth, acceleration=acceleration)) == count


@pytest.mark.parametrize("init_scale", [0.1, 1.0])
def test_a_rank_one_fit_has_one_plateau_near_loss_one(init_scale):
    overlap, irrelevant = 0.037 * init_scale, 0.99 * init_scale**2  # typical of 100 numbers
    path = s_curve.flow(s_curve.RankOneState(overlap, overlap, irrelevant, irrelevant), TIMES)
    (result,) = plateaus(TIMES, s_curve.loss(path))
    # Its depth is .2, so a window that holds the level 1 starts between 1 and 1/.8.
    assert 0.99 < result.loss < 1.25
    assert result.end > result.start


def test_units_of_time_and_of_loss_do_not_matter():
    losses = modes_loss((1, 0.3))
    plain, scaled = plateaus(TIMES, losses), plateaus(100 * TIMES, 7 * losses)
    for item, other in zip(plain, scaled, strict=True):
        assert other.start == pytest.approx(100 * item.start, rel=1e-9)
        assert other.end == pytest.approx(100 * item.end, rel=1e-9)
        assert other.loss == pytest.approx(7 * item.loss, rel=1e-9)


def test_a_record_that_ends_on_a_plateau_does_not_count_it():
    losses = modes_loss((1, 0.1))
    first, second = plateaus(TIMES, losses)
    kept = TIMES < (second.start + second.end) / 2
    assert len(plateaus(TIMES[kept], losses[kept])) == 1
    assert first.end < second.start


def test_plateau_length_of_an_exponential_is_the_logarithm_of_the_levels():
    lengths = [plateau_length(TIMES, fall, upper=1.1, lower=0.9) for fall in (2 * FALL, FALL)]
    np.testing.assert_allclose(lengths, np.log([1.1 / 0.9, 1 / 0.9]), rtol=1e-12)
    assert plateau_length(TIMES, FALL + 1, upper=1.1, lower=0.9) == np.inf


def test_a_plateau_is_found_at_every_acceleration_up_to_its_strength():
    losses = modes_loss((1, 0.3, 0.1))
    ranked = [plateau_strengths(TIMES, losses[None], nth)[0] for nth in (1, 2, 3, 4)]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[2] > 1
    assert ranked[3] == 1
    for acceleration in (1.5, 2.0, 3.0, 5.0):
        count = sum(strength >= acceleration for strength in ranked)
        assert len(plateaus(TIMES, losses, acceleration=acceleration)) == count
    # A fall at unit speed, then at a fourth of it, then at unit speed: four times slower than beside it.
    speed = np.where((TIMES > 2) & (TIMES < 10), 0.25, 1.0)
    slow = np.exp(-np.concatenate([[0], np.cumsum(speed[1:] * np.diff(TIMES))]))
    assert plateau_strengths(TIMES, slow[None], floor=1e-9)[0] == pytest.approx(4, rel=1e-2)


def test_strengths_of_runs_leave_out_what_diverged_and_reads_what_ended_early():
    whole = modes_loss((1, 0.3))
    ended = np.where(np.arange(TIMES.size) > 3000, np.nan, whole)
    diverged = np.where(np.arange(TIMES.size) > 10, np.nan, np.exp(TIMES))
    result = plateau_strengths(TIMES, np.stack([whole, ended, diverged, 0 * whole + np.nan]))
    assert result[0] == max(item.strength for item in plateaus(TIMES, whole))
    assert result[1] == max(item.strength for item in plateaus(TIMES[:3001], whole[:3001]))
    assert np.isnan(result[2:]).all()


REFUSED = {
    "`losses` must be as long as `times`": lambda: plateaus(TIMES, FALL[:-1]),
    "`times` must be ascending, but is not": lambda: plateaus(TIMES[::-1], FALL),
    "`times` must be ascending, but is empty": lambda: plateaus([], []),
    "`losses[0]` must be greater than 0": lambda: plateaus(TIMES, 0 * FALL),
    "`depth` must be less than 1, but is 1": lambda: plateaus(TIMES, FALL, depth=1.0),
    "`acceleration` must be at least 1": lambda: plateaus(TIMES, FALL, acceleration=0.9),
    "`upper` must be greater than 0.9": lambda: plateau_length(TIMES, FALL, upper=0.5, lower=0.9),
}


@pytest.mark.parametrize("words", REFUSED)
def test_user_errors_name_the_argument(words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        REFUSED[words]()


def test_the_length_in_a_run_that_ended_is_that_of_what_there_is():
    losses = 2 * np.exp(-TIMES)
    expected = plateau_length(TIMES, losses, upper=1.1, lower=0.9)
    cuts = [np.inf, 2, 0.5, 0.0]  # the last two before the plateau, or before anything
    curves = [*(np.where(TIMES < cut, losses, np.nan) for cut in cuts), 0 * losses]
    runs = xr.DataArray(curves, dims=("seed", "step"), coords={"seed": [3, 4, 5, 6, 7]})
    result = plateau_lengths(xr.DataArray(TIMES, dims="step"), runs.T, upper=1.1, lower=0.9)
    np.testing.assert_array_equal(result, [expected, expected, np.nan, np.nan, np.nan])
