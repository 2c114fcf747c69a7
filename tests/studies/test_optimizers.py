"""The optimizers study: the same learning rate for all, published rules, and what a rescaling of time explains."""

import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed
from foretrain.studies.optimizers import study
from foretrain.training import factorization


@pytest.mark.parametrize("name", ["sgd", "sgd_decay", "adam", "adamw"])
def test_every_optimizer_steps_at_the_rate_given(name):
    given = study.inputs(study.Parameters(optimizer=name, learning_rate=0.003), Seed(0, 0))
    assert given["rate"] == 0.003
    assert given["decay"] == (0.01 if name in ("sgd_decay", "adamw") else 0)


def test_starts_are_those_of_the_s_curves():
    mine = study.inputs(study.Parameters(dimension=6), Seed(0, 2))
    theirs = factorization.inputs(factorization.Factorization(dimension=6, rank=1), Seed(0, 2))
    for name in set(theirs) - {"rate", "decay"}:
        np.testing.assert_array_equal(mine[name], theirs[name])


@pytest.mark.slow
def test_from_a_grid_to_claims_and_figures(tmp_path):
    result = foretrain.run(
        "optimizers",
        seeds=4,
        out=tmp_path / "run",
        workers=0,
        quiet=True,
        dimension=20,
        optimizer=("sgd", "sgd_decay", "adamw"),
        init_scale=1.0,
        learning_rate=0.02,
        steps=400,
    )
    claims = {claim.id: claim for claim in result.claims}
    # Adam moves every entry by the learning rate, gradients here are below one: far fewer steps.
    assert claims["adamw-faster"].verdict == "holds"
    assert claims["published-rules"].verdict == "holds"
    assert "adamw-differs" not in claims
    assert {"rescaled"} == {path.stem for path in (result.path / "figures").glob("*.png")}


def test_bad_input_names_the_argument():
    with pytest.raises(ArgumentError, match="`learning_rate` must be greater than 0, but is -1"):
        make_plan("optimizers", {"learning_rate": -1.0})
