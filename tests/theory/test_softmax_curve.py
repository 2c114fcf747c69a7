import numpy as np
import pytest

from foretrain.theory.softmax_curve import descent, time_of_probability


@pytest.mark.parametrize("classes", [2, 10, 300])
def test_logits_trained_from_equal_ones_follow_the_closed_form(classes):
    times = np.linspace(0, 12, 61)
    result = descent(np.zeros(classes), 0.2 / 200, 60 * 200, 1, every=200)
    assert result[0] == pytest.approx(1 / classes)
    np.testing.assert_allclose(time_of_probability(result[1:], classes), times[1:], rtol=3e-3)


def test_the_probability_bends_at_a_third_and_the_loss_nowhere():
    result = descent(np.zeros(100), 0.05 / 20, 400 * 20, 0, every=20)
    assert result[np.diff(result).argmax()] == pytest.approx(1 / 3, abs=0.03)
    assert (np.diff(-np.log(result), 2) > 0).all()
    # Late, 1 - p falls as 1/t.
    late = time_of_probability(1 - np.array([1e-4, 5e-5]), 100)
    assert late[1] / late[0] == pytest.approx(2, rel=1e-2)
