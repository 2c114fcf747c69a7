import numpy as np
from scipy.optimize import brentq

from foretrain.predict.gatings import rank_gatings
from foretrain.tasks.logic import xor
from foretrain.theory.pathways.exclusive_or import closed_form

X, Y = xor(1).inputs["x"], xor(1).targets["y"]
SINGLE, WHOLE, EQUAL = np.eye(4), np.ones((1, 4)), np.eye(4)[[1, 0, 3, 2]]


def test_gatings_stand_in_the_order_given_with_the_times_of_their_closed_form():
    scale = 0.1
    options = {"whole": WHOLE, "single": SINGLE, "exchanged": EQUAL}
    table, predictions = rank_gatings(X, Y, options, scale)
    half = brentq(lambda t: closed_form(np.array([scale**2]), np.array([t]))[0, 0] - 0.25, 0, 100)
    # One pathway for all has nothing linear to learn.
    np.testing.assert_allclose(table["gating_time"], [np.inf, half, half], rtol=1e-3)
    np.testing.assert_allclose(table["gating_final_loss"], [0.5, 0, 0], atol=1e-25)
    assert {name: item.label for name, item in predictions.items()} == {n: n for n in options}
