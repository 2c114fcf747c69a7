import numpy as np
import pytest
import xarray as xr

import foretrain
from foretrain.dynamics.program import CONVERGED, OUT_OF_STEPS
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan
from foretrain.studies.connectivity import study
from foretrain.studies.connectivity.claims import outcomes
from foretrain.theory.connectivity import connection_probability


def test_masks_are_drawn_anew_for_every_number_of_pairs():
    few, more = (study.mask(study.Parameters(trained_count=count), 0, 0) for count in (12, 14))
    assert few.sum() == 12
    assert more.sum() == 14
    assert (few > more).any()
    wide = study.mask(study.Parameters(trained_count=12, hidden_width=4, init_scale=1.0), 0, 0)
    np.testing.assert_array_equal(few, wide)


def test_default_grid_has_more_than_five_hundred_masks():
    plan = make_plan("connectivity", {})
    masks = {
        study.mask(study.Parameters(trained_count=count), 0, seed).tobytes()
        for count in plan.axes["trained_count"]
        for seed in range(plan.seeds)
    }
    assert len(masks) >= 500


def test_predicted_connection_is_as_frequent_as_its_exact_probability():
    parameters = study.Parameters(languages=5, trained_count=12)
    theory = study.predict(parameters, 0, 400)
    chance = float(theory["connection_probability"])
    assert chance == connection_probability(5, 12, diagonal=False)
    # Four standard errors of a fraction of 400.
    error = np.sqrt(chance * (1 - chance) / 400)
    assert float(theory["connected"].mean()) == pytest.approx(chance, abs=4 * error)


def test_outcomes_count_pairs_by_prediction_and_result():
    pair = ("seed", "input_domain", "output_domain")
    data = xr.Dataset(
        {
            "trained_pairs": (pair, [[[1, 0], [0, 0]]] * 2),
            "pair_error": (pair, [[[0, 0.01], [0.02, 1]]] * 2),
            "outcome": ("seed", [CONVERGED, OUT_OF_STEPS]),
        },
        coords={"seed": [0, 1]},
    )
    theory = xr.Dataset({"predicted_pair_error": (pair, [[[0, 0], [1, 0]]] * 2)})
    counts = outcomes(data, theory, 0.1)
    assert counts["hits"].values[0] == 1  # predicted (0,1), (1,1); came (0,1), (1,0)
    assert counts["predicted"].values[0] == 2
    assert counts["came"].values[0] == 2
    assert counts["all_came"].values[0] == 0
    assert np.isnan(counts["hits"].values[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"trained_count": 37}, "`trained_count` must be between 1 and 36, but is 37"),
        ({"trained_count": 5, "diagonal": True}, "`trained_count` must be between 6 and 36"),
        ({"hidden_width": 3}, "`hidden_width` must be at least `words` = 4"),
    ],
)
def test_bad_input_is_refused(given, message):
    with pytest.raises(ArgumentError, match=message):
        make_plan("connectivity", given)


def test_end_to_end_small_weights_generalise_exactly_within_components(tmp_path):
    result = foretrain.run(
        "connectivity",
        out=tmp_path / "run",
        workers=0,
        quiet=True,
        seeds=12,
        languages=3,
        words=2,
        hidden_width=4,
        init_scale=0.01,
        trained_count=(3, 5, 7),
    )
    found = {claim.id: claim for claim in result.claims}
    # 36 random masks; the conjecture allows the odd pair that is learned late.
    assert found["precision[H=4, sigma=0.01]"].measured > 0.9
    assert found["recall[H=4, sigma=0.01]"].measured > 0.9
    assert abs(found["silent"].measured - 0.5) < 0.02
    for name in ("threshold", "pair-errors", "precision-recall"):
        assert (tmp_path / "run" / "figures" / f"{name}.svg").exists()
