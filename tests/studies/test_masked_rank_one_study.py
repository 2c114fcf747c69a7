import numpy as np
import pytest
import xarray as xr

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.masked_rank_one import study
from foretrain.studies.masked_rank_one import theory as masked_rank_one_theory
from foretrain.tasks import masks as routing
from foretrain.theory import masked_rank_one as model
from foretrain.theory.masked_rank_one_escape import blow_up_time, early_flow
from foretrain.training import masked_rank_one_claims as masked_flow_claims

SMALL = {"domains": 5, "trained_fraction": 0.5}


def test_a_seed_is_the_same_start_rescaled_and_a_nested_mask():
    one = study.inputs(study.Parameters(**SMALL, init_scale=1e-3), 0, 4)
    other = study.inputs(study.Parameters(**SMALL, init_scale=1e-6), 0, 4)
    for name in ("left_start", "right_start", "scale_start"):
        np.testing.assert_allclose(one[name], 1e3 * other[name], rtol=1e-15)
    more = study.inputs(study.Parameters(domains=5, trained_fraction=0.8), 0, 4)
    assert (one["trained_pairs"] <= more["trained_pairs"]).all()
    assert more["trained_pairs"].sum() == 20
    assert not np.array_equal(
        one["left_start"], study.inputs(study.Parameters(**SMALL), 1, 4)["left_start"]
    )


def test_the_closed_form_at_s_is_where_the_whole_flow_is_while_small():
    drawn = study.draw(study.Parameters(**SMALL), 0, 1)
    sigma = 1e-6
    start = sigma * drawn.left, sigma * drawn.right, sigma * drawn.scale
    early = early_flow(drawn.trained_pairs, *start)
    times = np.linspace(0, 0.9 * blow_up_time(early), 4000)
    left, right, scale = model.flow(times, drawn.trained_pairs, *start)
    progress = np.concatenate([[0], np.cumsum((scale[1:] + scale[:-1]) / 2 * np.diff(times))])
    for place in (1000, 2500, 3999):
        u, v, s = masked_rank_one_theory.closed_form(early, progress[place], scale[place])
        # S by trapezoids: second order, 1e-6 of weights that change by factors of ten over 4000 points.
        np.testing.assert_allclose(u, left[place], rtol=1e-4, atol=1e-4 * sigma)
        np.testing.assert_allclose(v, right[place], rtol=1e-4, atol=1e-4 * sigma)
        assert s == pytest.approx(scale[place], rel=1e-4)


def test_predictions_scale_as_they_must():
    one = masked_rank_one_theory.predict(study.Parameters(**SMALL, init_scale=1e-2), 0, 3)
    other = masked_rank_one_theory.predict(study.Parameters(**SMALL, init_scale=1e-5), 0, 3)
    np.testing.assert_allclose(1e3 * one["blow_up_time"], other["blow_up_time"], rtol=1e-12)
    for name in ("turns", "alignment_exponent", "largest_singular_value"):
        np.testing.assert_array_equal(one[name], other[name])
    for seed in range(3):
        trained = study.draw(study.Parameters(**SMALL), 0, seed).trained_pairs
        values = np.linalg.svd(trained, compute_uv=False)
        assert float(one["alignment_exponent"][seed]) == pytest.approx(1 - values[1] / values[0])


def test_small_study_holds_what_is_exact_and_draws(tmp_path):
    result = foretrain.run(
        "masked-rank-one",
        **SMALL,
        init_scale=(1e-6, 1e-1, 1e-3),
        seeds=8,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
    )
    claims = {claim.id: claim for claim in result.claims}
    for id in (
        "invariants",
        "closed-forms",
        "escape-constant",
        "escape-time.corrected",
        "S-to-infinity.corrected",
        "zero-loss-generalises",
        "stuck-training",
        "agreeing-signs",
    ):
        assert claims[id].verdict == "holds", claims[id]
    assert claims["escape-time"].verdict == "fails"
    # A third of the neglected term, from its growing three times as fast as the weights.
    ratio = result.theory["stage_deviation"] / result.theory["stage_neglected"]
    late = ratio.sel(init_scale=1e-6).isel(stage=study.DEPARTURE)
    np.testing.assert_allclose(late, 1 / 3, atol=0.05)
    for name in ("escape", "escape-time", "alignment", "outcomes"):
        assert (tmp_path / "run" / "figures" / f"{name}.svg").exists()


def test_one_large_scale_is_judged_without_a_line_of_scales(tmp_path):
    result = foretrain.run(
        "masked-rank-one",
        **SMALL,
        init_scale=0.5,
        seeds=4,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
    )
    ids = {claim.id for claim in result.claims}
    assert {"invariants", "zero-loss-generalises"} <= ids
    assert not {"closed-forms", "escape-time"} & ids


def ended(**changes):
    """Two runs of one seed on a connected mask: one learned, one stuck; `changes` break one thing."""
    values = {
        "outcome": [1, 4],
        "connected": [True, True],
        "final_loss": [1e-13, 3.0],
        "final_untrained_error": [1e-14, 50.0],
        "stage_agrees": [[True] * 3, [False] * 3],
        **changes,
    }
    data = {
        name: (("init_scale", "seed"), np.array(value)[:, None])
        for name, value in values.items()
        if name != "stage_agrees"
    }
    agrees = np.array(values["stage_agrees"])[:, None]
    return xr.Dataset({**data, "stage_agrees": (("init_scale", "seed", "stage"), agrees)})


@pytest.mark.parametrize(
    ("id", "changes"),
    [
        ("zero-loss-generalises", {"final_untrained_error": [1e-3, 50.0]}),
        ("stuck-training", {"final_loss": [1e-13, 0.3]}),
        ("agreeing-signs", {"stage_agrees": [[True] * 3, [True] * 3]}),
    ],
)
def test_each_outcome_claim_can_fail(id, changes):
    parameters = study.Parameters(**SMALL)
    for data, verdict in ((ended(), "holds"), (ended(**changes), "fails")):
        claims = masked_flow_claims.outcomes(data, parameters, "")
        assert {claim.id: claim.verdict for claim in claims}[id] == verdict


def test_runs_on_masks_that_are_not_connected_are_left_out():
    data = ended(final_untrained_error=[1.0, 50.0], connected=[False, True])
    claims = {c.id: c for c in masked_flow_claims.outcomes(data, study.Parameters(**SMALL), "")}
    assert np.isnan(claims["zero-loss-generalises"].measured)
    assert claims["zero-loss-generalises"].verdict == "fails"


def test_lines_take_every_value_of_the_other_axes_and_ascend_along_their_own():
    values = xr.DataArray(
        np.arange(12).reshape(2, 3, 2),
        dims=("trained_fraction", "init_scale", "seed"),
        coords={"trained_fraction": [0.3, 0.5], "init_scale": [1e-1, 1e-4, 1e-2]},
    ).to_dataset(name="x")
    axes = {"trained_fraction": (0.3, 0.5), "init_scale": (1e-1, 1e-4, 1e-2)}
    runs = LabelledRuns(study.Parameters(), axes, 2, 0, values, {}, xr.Dataset())
    lines = dict(masked_flow_claims.lines(runs, "init_scale"))
    assert list(lines) == ["[trained_fraction=0.3]", "[trained_fraction=0.5]"]
    last = lines["[trained_fraction=0.5]"]
    assert last.parameters.trained_fraction == 0.5
    assert last.simulation["x"].values.tolist() == [[8, 9], [10, 11], [6, 7]]
    single = LabelledRuns(
        study.Parameters(),
        {},
        2,
        0,
        values.isel(trained_fraction=0, init_scale=0),
        {},
        xr.Dataset(),
    )
    ((label, line),) = masked_flow_claims.lines(single, "init_scale")
    assert label == ""
    assert line.simulation["x"].dims == ("init_scale", "seed")


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentError, match="`trained_fraction` must be at least 1 / `domains`"):
        study.check(study.Parameters(domains=5, trained_fraction=0.1))
    with pytest.raises(ArgumentError, match="`solver_tolerance` must be at least 1e-05 in float32"):
        study.check(study.Parameters(precision="float32"))
    assert routing.is_connected(study.draw(study.Parameters(), 0, 0).trained_pairs)
