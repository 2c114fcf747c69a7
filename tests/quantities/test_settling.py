import numpy as np
import pytest

from foretrain.quantities.learning_curves.settling import unsettled

TIME = np.linspace(0, 10, 101)
LOGISTIC = lambda middle: 1 - 1 / (1 + np.exp(-4 * (TIME - middle)))  # noqa: E731


CURVES = {
    "learned": (np.exp(-2 * TIME), False),
    "slow": (np.exp(-TIME / 10), True),
    "one step done": (LOGISTIC(3), False),
    "in the middle of its step": (LOGISTIC(10), True),
    "on a plateau that it leaves": (0.5 * LOGISTIC(2) + 0.5 * LOGISTIC(11.5), True),
    "never fell": (np.ones(101), True),
    "diverged": (np.full(101, np.nan), False),
    "too short": (np.ones(2), True),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_run_has_settled_only_where_its_loss_no_longer_falls(name):
    curve, expected = CURVES[name]
    assert unsettled(curve) == expected


def test_rounding_in_single_precision_is_no_learning():
    noise = 1e-7 * np.random.default_rng(0).standard_normal((20, 101))
    assert not unsettled((np.exp(-3 * TIME) + 0.1 + noise).astype(np.float32)).any()


def test_runs_of_different_length_are_judged_by_their_own_end():
    curves = np.stack([np.exp(-2 * TIME), np.exp(-2 * TIME)])
    curves[1, 8:] = np.nan
    assert unsettled(curves).tolist() == [False, True]
