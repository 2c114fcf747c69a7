"""Parameters that a study cannot run with are refused when its plan is made, by name and in one line."""

import re

import pytest

from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan

FEATURES = {"data": "features", "features_file": "x.npz"}
REFUSED = {
    "circulant": [({"width": 11}, "`width` must be at most `domains` = 10, but is 11")],
    "class-collapse": [
        ({"per_class": 500}, "`per_class` must be at most 174 for `digits`"),
        ({"dynamics": "flow", "trained": "encoder"}, "`dynamics` must be `adam`"),
    ],
    "connectivity": [
        ({"trained_count": 37}, "`trained_count` must be between 1 and 36, but is 37"),
        ({"trained_count": 5, "diagonal": True}, "`trained_count` must be between 6 and 36"),
        ({"hidden_width": 3}, "`hidden_width` must be at least `words` = 4"),
        ({"output_languages": 7}, "`output_languages` must be 0 or at most 6, the number of"),
        ({"output_languages": 2}, "`trained_count` must be between 1 and 12, but is 14"),
    ],
    "deep-linear-coefficients": [
        *(
            ({"network": network}, "Argument `network` must")
            for network in ("5-3", "5-3-5", "9-3-5 r0", "5-0-5 r0", "a-b-c r0", "2-2-2-2-2 r0")
        ),
        ({"network": "4-2-4 r3"}, "`rank` must be between 0 and 2"),
    ],
    "degeneracy-over-training": [
        ({"domains": 2, "trained_outputs": 3}, "`trained_outputs` must be at most")
    ],
    "image-routing": [
        ({"trained_outputs": 4, "domains": 3}, "must be between 1 and `domains` = 3"),
        ({"loss_function": "cross_entropy"}, "must be `squared` from statistics"),
        ({"features_file": "x.npz"}, "`features_file` must name a file for data `features` alone"),
        ({"training": "minibatch", "truncation": 0.1}, "must be 0 for minibatches, but is 0.1"),
        ({"data": "features"}, "`features_file` must name a file for data"),
        (FEATURES | {"transform": "rotation"}, "`transform` must be"),
    ],
    "initialization": [
        ({"domains": 20, "trained_outputs": 8}, "must be at most 7 with `domains` = 20")
    ],
    "mask-spectrum": [
        ({"mask_size": 2000, "network": "rank_one"}, "must be at most 1000 where a network"),
        ({"density": 1.0}, "`density` must be at most 0.99"),
    ],
    "masked-rank-one": [
        ({"domains": 5, "trained_fraction": 0.1}, "must be at least 1 / `domains`"),
        ({"precision": "float32"}, "`solver_tolerance` must be at least 1e-05 in float32"),
    ],
    "one-mode": [
        ({"init_scale": 2.0}, "be below the root of `singular_value` = 1, but is 2"),
        (
            {"start": "random", "init_imbalance": 0.5},
            "be 0 where `start` is random, which draws one, but is 0.5",
        ),
    ],
    "pathway-race": [({"paths": 25}, "must be the square of a divisor of `domains` = 12")],
    "planted-modules": [({"part": "both", "mediators": 3}, "must be at most 2 where a part is")],
    "routing": [
        ({"hidden_width": 6, "data": "digits"}, "must be at least 10, the number of modes"),
        ({"init_scale": -1.0}, "`init_scale` must be greater than 0, but is -1"),
        ({"init_scales": 0.1}, "but is not. Did you mean `init_scale`"),
        ({"init_scale": []}, "`init_scale` must have at least one value, but has none"),
        ({"init_scale": [0.1, 0.1]}, "`init_scale` must have distinct values"),
        ({"domains": [3, 5]}, "must be between 1 and `domains` = 3, but is 4"),
    ],
    "s-curves": [({"rank": 101, "target_law": "orthonormal"}, "at most `dimension` = 100")],
    "trained-fraction": [({"domains": 4, "trained_outputs": 5}, "between 1 and `domains` = 4")],
    "translation": [
        ({"trained_fraction": 0.05}, "`trained_fraction` must be at least 0.1, the diagonal"),
        ({"hidden_width": 4}, "`hidden_width` must be at least `words` = 8"),
        ({"start_orientation": "positive", "hidden_width": 16}, "must be `random` unless"),
        ({"loss_mask": "rows"}, "`loss_mask` must be one of `full`, `diagonal_only`"),
    ],
    "xor": [({"init_law": "decoupled"}, "`init_law` must be `normal` with `network` = relu")],
}


@pytest.mark.parametrize(
    ("study", "values", "message"),
    [(study, *case) for study, cases in REFUSED.items() for case in cases],
)
def test_parameters_that_make_no_run_are_refused_in_one_line(study, values, message):
    with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
        make_plan(study, values)
    assert "\n" not in str(caught.value)
