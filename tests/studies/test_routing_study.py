import json

import numpy as np
import pytest
import xarray as xr

import foretrain
from foretrain.plans.plan import make_plan
from foretrain.studies.routing import study
from foretrain.studies.routing import theory as routing_theory
from foretrain.theory.pathway_race import descend, routing_factors


def parameters(**values):
    return make_plan("routing", values).parameters


def test_theory_and_simulation_have_the_same_names_and_labels(routing_folder):
    result = foretrain.open(routing_folder)
    shared = {"loss", "untrained_error", "singular_values", "mode_strength"}
    assert shared <= set(result.simulation) & set(result.theory)
    for name in shared:
        simulated, predicted = xr.align(result.simulation[name], result.theory[name], join="exact")
        assert simulated.dims == ("seed", *predicted.dims)
    gap = result.simulation["loss"] - result.theory["loss"]
    assert gap.dims == ("seed", "step")
    assert float(result.simulation["time"][-1]) == pytest.approx(40)


def test_decoupled_network_is_the_reduction_and_the_flow_conserves(routing_folder):
    claims = foretrain.open(routing_folder).claims
    assert claims["decoupled"].verdict == "holds"
    assert claims["conserved"].verdict == "holds"
    assert claims["larger-first"].verdict in ("holds", "inconclusive")


def test_every_claim_has_its_source_and_the_summary_holds_the_same(routing_folder):
    result = foretrain.open(routing_folder)
    summary = json.loads((routing_folder / "summary.json").read_text())
    assert [claim.as_dict() for claim in result.claims] == summary["claims"]
    assert all(claim.source and claim.statement for claim in result.claims)
    assert summary["runs"] == {"out_of_steps": 6}
    assert {"jax", "numpy", "foretrain", "python"} <= set(summary["versions"])
    assert result.config["parameters"]["domains"] == 3


def test_stored_variables_say_what_they_are(routing_folder):
    result = foretrain.open(routing_folder)
    for name, variable in result.simulation.data_vars.items():
        assert variable.attrs["long_name"], name
        assert variable.attrs["units"], name
    assert result.simulation["time"].attrs["units"] == "step × learning rate"


def test_asking_again_in_python_returns_the_stored_result(routing_folder):
    values = {"domains": 3, "trained_outputs": 2, "hidden_width": 8, "steps": 400}
    again = foretrain.run("routing", learning_rate=0.1, seeds=3, out=routing_folder, **values)
    xr.testing.assert_identical(again.tree, foretrain.open(routing_folder).tree)


def test_prediction_is_the_paper_s_two_numbers_per_mode_for_biregular_masks():
    p = parameters(steps=300, observe_every=100)
    predicted = routing_theory.predict_from(p, 0, 0, 0.2)
    s, d = predicted["mode_singular_value"].values, predicted["mode_variance"].values
    outer, hidden = descend(p.learning_rate, 300, 0.2, 0.2, s, d, routing_factors(7))
    np.testing.assert_allclose(
        predicted["singular_values"].sel(layer="hidden").values[-1], hidden[-1], rtol=1e-12
    )
    np.testing.assert_allclose(
        predicted["singular_values"].sel(layer="encoders").values[-1], outer[-1], rtol=1e-12
    )


def test_authors_convention_is_the_paper_s_with_eight_times_the_step_at_their_size():
    paper = routing_theory.predict_from(parameters(learning_rate=0.16, steps=50), 0, 0, 0.2)
    theirs = routing_theory.predict_from(
        parameters(learning_rate=0.02, steps=50, loss_convention="authors"), 0, 0, 0.2
    )
    np.testing.assert_allclose(paper["loss"], theirs["loss"], rtol=1e-12)


@pytest.mark.parametrize("start", [0.013, 0.2, 0.45])
def test_fitted_start_finds_the_start_a_curve_came_from(start):
    p = parameters(steps=1000)
    loss = routing_theory.predict_from(p, 0, 0, start)["loss"].values
    assert routing_theory.fitted_start(p, 0, 0, loss) == pytest.approx(start, rel=2e-3)


def test_masks_are_paired_over_scales_and_differ_over_seeds():
    small, large = (parameters(mask="random_rows", init_scale=scale) for scale in (0.1, 0.5))
    np.testing.assert_array_equal(study.mask(small, 0, 1), study.mask(large, 0, 1))
    assert (study.mask(small, 0, 1) != study.mask(small, 0, 2)).any()
