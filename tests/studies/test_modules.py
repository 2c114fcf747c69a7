import numpy as np

from foretrain.streams import Seed
from foretrain.studies.modules import study, training


def measured(number=0, **overrides):
    return training.inputs(study.Parameters(**overrides), Seed(0, number))


def test_counts_of_planted_modules_are_those_of_their_symmetries():
    for activation, m, excess in (("relu", 1, 1), ("identity", 2, 6), ("tanh", 2, 0)):
        found = measured(activation=activation, mediators=m)
        assert found["apart_sum"] == found["apart_together"]
        assert found["constrained"] + found["second"] - found["together"] == excess


def test_a_weak_interaction_is_cut_and_volumes_follow_their_law():
    weak, strong = measured(strength=3e-4, mediators=1), measured(strength=0.03, mediators=1)
    assert weak["search_agreement"] == 1
    assert weak["secant_cost"] == weak["derivative_cost"] == 0
    assert abs(strong["secant_cost"] - strong["secant_law"]) < 0.01
    assert abs(strong["derivative_cost"] - 1) < 0.01
    # Two constraints hold an ellipse of a box: ln(pi/4) of volume.
    gap = strong["pair_cost"] - strong["secant_cost"] - strong["other_cost"]
    assert abs(gap - 2 * np.log(np.pi / 4) / np.log(1e-6)) < 0.01
