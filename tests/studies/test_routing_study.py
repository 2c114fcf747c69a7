"""The routing study as it is run and stored, and the limits of its theory."""

import json

import numpy as np
import pytest
import xarray as xr

import foretrain
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.routing import theory
from foretrain.theory.pathways.race import descent, routing_factors
from foretrain.training.routing import mask


def predicted(seed=0, **values):
    p = make_plan("routing", values).parameters
    return theory.predict(p, np.arange(0, p.steps + 1, p.observe_every), Seed(0, seed))


def test_theory_and_simulation_have_the_same_names_and_labels(routing_folder):
    result = foretrain.open(routing_folder)
    for name in ("loss", "untrained_error", "singular_values", "mode_strength"):
        simulated, predicted = xr.align(result.simulation[name], result.theory[name], join="exact")
        assert simulated.dims == predicted.dims
    assert float(result.simulation["time"][-1]) == pytest.approx(40)
    for name, variable in result.simulation.data_vars.items():
        assert variable.attrs["long_name"], name
        assert variable.attrs["units"], name


def test_claims_and_the_summary_hold_the_same(routing_folder):
    result = foretrain.open(routing_folder)
    summary = json.loads((routing_folder / "summary.json").read_text())
    assert [claim.as_dict() for claim in result.claims] == summary["claims"]
    assert result.claims["decoupled"].verdict == "holds"
    assert result.claims["conserved"].verdict == "holds"
    assert summary["runs"] == {"out_of_steps": 21}
    assert {"jax", "numpy", "foretrain", "python"} <= set(summary["versions"])


def test_reduction_is_the_paper_s_two_numbers_per_mode_for_biregular_masks():
    layers = predicted(steps=300, observe_every=100)["reduction_singular_values"]
    s, d = np.array([13.6015, 6.4031, 3.0, 3.0]) / 4, np.full(4, 0.25)
    outer, hidden = descent((0.2, 0.2), 0.04, 300, s, d, routing_factors(7))
    np.testing.assert_allclose(layers[-1, 1], hidden[-1], rtol=1e-4)
    np.testing.assert_allclose(layers[-1, 0], outer[-1], rtol=1e-4)


def test_authors_loss_is_the_paper_s_with_eight_times_the_step_at_their_size():
    paper = predicted(learning_rate=0.16, steps=50)
    theirs = predicted(learning_rate=0.02, steps=50, loss_function="authors")
    for name in ("loss", "reduction_loss"):
        np.testing.assert_allclose(paper[name], theirs[name], rtol=1e-12)


def test_random_weights_begin_later_than_decoupled_ones_and_end_alike():
    random, decoupled = (predicted()[name] for name in ("loss", "reduction_loss"))
    middle = len(random) // 10
    assert random[middle] > 3 * decoupled[middle]
    assert random[0] == pytest.approx(decoupled[0], rel=1e-2)
    assert random[-1] < 1e-8


@pytest.mark.parametrize("values", [{"init_law": "xavier"}, {"mask": "random_rows"}])
def test_nothing_is_predicted_where_the_closed_form_does_not_apply(values):
    assert np.isnan(predicted(**values)["loss"]).all()
    assert np.isfinite(predicted(**values)["reduction_loss"]).all()


def test_masks_are_paired_over_scales_and_differ_over_seeds():
    values = [{"mask": "random_rows", "init_scale": scale} for scale in (0.1, 0.5)]
    small, large = (make_plan("routing", one).parameters for one in values)
    np.testing.assert_array_equal(mask(small, Seed(0, 1)), mask(large, Seed(0, 1)))
    assert (mask(small, Seed(0, 1)) != mask(small, Seed(0, 2))).any()
