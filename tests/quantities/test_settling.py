import numpy as np
import pytest

from foretrain.quantities.learning_curves.settling import unsettled

TIME = np.linspace(0, 10, 101)
LOGISTIC = lambda middle: 1 - 1 / (1 + np.exp(-4 * (TIME - middle)))  # noqa: E731


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (np.exp(-2 * TIME), False),
        (np.exp(-TIME / 10), True),
        (LOGISTIC(3), False),
        (LOGISTIC(10), True),
        (0.5 * LOGISTIC(2) + 0.5 * LOGISTIC(11.5), True),
        (np.ones(101), True),
        (np.full(101, np.nan), False),
        (np.ones(2), True),
    ],
    ids=[
        "learned",
        "slow",
        "one step done",
        "in the middle of its step",
        "on a plateau that it leaves",
        "never fell",
        "diverged",
        "too short",
    ],
)
def test_a_run_has_settled_only_where_its_loss_no_longer_falls(curve, expected):
    assert unsettled(curve) == expected


def test_rounding_in_single_precision_is_no_learning():
    noise = 1e-7 * np.random.default_rng(0).standard_normal((20, 101))
    assert not unsettled((np.exp(-3 * TIME) + 0.1 + noise).astype(np.float32)).any()


def test_runs_of_different_length_are_judged_by_their_own_end():
    curves = np.stack([np.exp(-2 * TIME), np.exp(-2 * TIME)])
    curves[1, 8:] = np.nan
    assert unsettled(curves).tolist() == [False, True]
