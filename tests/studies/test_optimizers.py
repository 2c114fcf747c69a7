"""The optimizers study: the same learning rate for all, and what a rescaling of time explains."""

import dataclasses

import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan
from foretrain.studies.optimizers import study
from foretrain.studies.s_curves import study as s_curves


@pytest.mark.parametrize("name", ["sgd", "sgd_decay", "adam", "adamw"])
def test_every_optimiser_steps_at_the_rate_given(name):
    parameters = study.Parameters(optimiser=name, learning_rate=0.003)
    assert s_curves.learning_rate(study.in_full(parameters)) == pytest.approx(0.003, rel=1e-12)


def test_starts_are_those_of_the_s_curves():
    parameters = study.Parameters(dimension=6)
    mine = study.inputs(parameters, 0, 2)
    theirs = s_curves.inputs(dataclasses.replace(study.in_full(parameters)), 0, 2)
    assert all((mine[name] == theirs[name]).all() for name in mine)


def test_from_a_grid_to_claims_and_figures(tmp_path):
    result = foretrain.run(
        "optimizers",
        seeds=4,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
        dimension=20,
        optimiser=("sgd", "adamw"),
        init_scale=1.0,
        learning_rate=0.02,
        steps=400,
    )
    claims = {claim.id: claim for claim in result.claims}
    faster = claims["adamw-faster[init_scale=1, learning_rate=0.02]"]
    # Adam moves every entry by the learning rate, gradients here are below one: far fewer steps.
    assert faster.verdict == "holds"
    assert {"rescaled"} == {path.stem for path in (result.path / "figures").glob("*.png")}


def test_bad_input_names_the_argument():
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0, but is -1"):
        make_plan("optimizers", {"learning_rate": -1.0})
