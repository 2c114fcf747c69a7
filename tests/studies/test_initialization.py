import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.quantities.curve_deviation import falling
from foretrain.streams import Seed
from foretrain.studies.initialization import study
from foretrain.studies.initialization import theory as theory_of
from foretrain.training.routing_to_loss import inputs

SMALL = {"domains": 3, "trained_outputs": 2, "hidden_width": 24}


def test_step_goes_with_the_inverse_cube_root_of_the_scale():
    one, eight = (study.Parameters(init_scale=s).rate for s in (1.0, 8.0))
    assert one == 0.048
    assert eight == pytest.approx(0.024)


def test_kernel_is_of_the_weights_that_the_run_starts_from():
    parameters = study.Parameters(**SMALL, init_scale=0.7)
    fed = inputs(parameters, Seed(0, 1))
    weights = (fed["start_encoders"], fed["start_hidden"], fed["start_decoders"])
    outputs = np.einsum(
        "jog,gh,ihd,de->ijoe", weights[2], weights[1], weights[0], fed["task_inputs"][0]
    )
    error = 0.5 * ((fed["task_targets"] - outputs) ** 2).sum((2, 3))
    trained = fed["trained_pairs"] == 1
    kernel = theory_of.kernel_of_seed(parameters, Seed(0, 1))
    loss, untrained = kernel.errors(np.array([0]), parameters.rate, 0.7)
    assert loss[0] == pytest.approx(error[trained].mean(), rel=1e-12)
    assert untrained[0] == pytest.approx(error[~trained].mean(), rel=1e-12)


def test_one_kernel_serves_every_scale_and_step():
    one = theory_of.kernel_of_seed(study.Parameters(**SMALL, init_scale=0.7), Seed(0, 1))
    other = study.Parameters(**SMALL, init_scale=2.0, learning_rate=0.01, steps=7)
    assert theory_of.kernel_of_seed(other, Seed(0, 1)) is one
    assert theory_of.kernel_of_seed(other, Seed(0, 2)) is not one


def test_curve_is_compared_until_one_percent_is_left_for_good():
    loss = np.array([10.0, 5.0, 0.05, 3.0, 0.09, 0.01, 0.001])
    assert falling(loss).tolist() == loss[:5].tolist()
    assert falling(np.array([1.0, 1e-9, 1e-9])).size == 2


@pytest.mark.slow
def test_small_study_judges_both_ends_and_draws(tmp_path):
    result = foretrain.run(
        "initialization",
        **SMALL,
        init_scale=(0.1, 0.5, 2.5),
        seeds=2,
        steps=3000,
        loss_tolerance=1e-4,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
    )
    claims = {claim.id: claim for claim in result.claims}
    assert claims["trained"].verdict == "holds"
    assert claims["trained-routes-alone"].verdict == "holds"
    # The lazy network is wide and its weights are large: its end is that of the linearised one.
    assert claims["lazy-untrained.corrected"].verdict == "holds"
    rich, lazy = (result.fits[f"{n}_deviation"].mean("seed").values for n in ("race", "lazy"))
    assert rich[0] < lazy[0]
    assert lazy[2] < lazy[0]
    error = result.simulation["converged_untrained_error"].mean("seed").values
    assert (np.diff(error) > 0).all()
    for name in ("loss", "error-against-scale", "representations"):
        assert (tmp_path / "run" / "figures" / f"{name}.svg").exists()


@pytest.mark.slow
def test_one_scale_is_judged_too(tmp_path):
    result = foretrain.run(
        "initialization",
        **SMALL,
        init_scale=0.2,
        seeds=2,
        steps=1500,
        loss_tolerance=1e-3,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
    )
    assert {claim.id for claim in result.claims if claim.note.find("width") < 0} == {
        "trained-routes-alone",
        "trained",
        "zero-shot",
        "shared",
        "stage-like",
        "stage-times",
    }


def test_refuses_a_kernel_that_would_take_hours():
    with pytest.raises(
        ArgumentError, match="`trained_outputs` must be at most 7 with `domains` = 20"
    ):
        foretrain.run("initialization", domains=20, trained_outputs=8)
