"""A seed is one draw at every scale of the initial weights, so that runs of several scales can be compared in pairs."""

import numpy as np
import pytest

from foretrain.plans import catalogue
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed

ROUTES = {"start_encoders", "start_hidden", "start_decoders"}
STARTS = {  # study to values of its parameters and the inputs that go with the scale
    "masked-rank-one": ({"domains": 5}, {"left_start", "right_start", "scale_start"}),
    "rank-one": ({"dimension": 5}, {"x", "y"}),
    "ridge-grokking": ({"samples": 5}, {"start"}),
    "routing": ({"mask": "random_rows"}, ROUTES),
    "trained-fraction": ({"mask": "biregular"}, ROUTES),
    "xor": ({}, {"start_in1", "start_out1"}),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_seed_has_one_start_and_one_mask_at_every_scale(name):
    values, starts = STARTS[name]
    small, large, other = (
        catalogue.load(name).inputs(
            make_plan(name, values | {"init_scale": scale}).parameters, Seed(0, number)
        )
        for scale, number in ((0.1, 3), (0.3, 3), (0.1, 4))
    )
    for array in small:
        factor = 3 if array in starts | {"init_scale"} else 1
        np.testing.assert_allclose(factor * small[array], large[array], rtol=1e-12, err_msg=array)
    for array in starts | small.keys() & {"trained_pairs"}:
        assert (small[array] != other[array]).any(), array
