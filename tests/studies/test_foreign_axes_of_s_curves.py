"""The studies of the thread on S-curves, swept over a parameter that is none of their axes: every value is judged alone."""

import numpy as np
import pytest

import foretrain

CASES = {
    "rank-one": (
        {"dimension": 10, "init_scale": 1.0, "weight_decay": (0.0, 0.2), "steps": 200},
        ("learning_rate", (0.02, 0.04)),
    ),
    "s-curves": (
        {"dimension": 12, "rank": 2, "optimizer": "sgd", "steps": 40},
        ("init_scale", (1.0, 0.3)),
    ),
    "bumps": (
        {"dimension": 12, "rank": 2, "init_scale": 0.1, "relative_rate": 1.0, "steps": 100},
        ("aligned_at", (0.25, 0.4)),
    ),
    "optimizers": (
        {
            "dimension": 20,
            "optimizer": ("sgd", "adamw"),
            "init_scale": 1.0,
            "learning_rate": 0.02,
            "steps": 200,
        },
        ("weight_decay", (0.01, 0.3)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("study", CASES)
def test_every_value_of_a_foreign_axis_is_judged_alone(study, tmp_path):
    fixed, (axis, values) = CASES[study]

    def judged(name, given):
        options = {"seeds": 3, "out": tmp_path / name, "workers": 0, "quiet": True}
        return list(foretrain.run(study, **options, **fixed, **{axis: given}).claims)

    together, alone = judged("together", values), judged("alone", values[0])
    labels = [claim.label for claim in together]
    assert len(set(labels)) == len(labels)
    mine = {}
    for claim in together:
        cell = dict(claim.cell)
        if cell.pop(axis) == values[0]:
            mine[claim.id, *cell.items()] = claim
    assert list(mine) == [(claim.id, *claim.cell.items()) for claim in alone]
    for claim in alone:
        found = mine[claim.id, *claim.cell.items()]
        # The same runs in lanes of another width: rounding, which a plateau near its threshold could feel but does not.
        np.testing.assert_allclose(found.measured, claim.measured, rtol=1e-3, atol=1e-6)
        assert found.seeds == claim.seeds
