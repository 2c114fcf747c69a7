import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError
from foretrain.streams import Seed
from foretrain.studies.deep_linear_coefficients import study
from foretrain.theory.reduced_rank import coefficient_at


@pytest.mark.slow
def test_chains_of_a_network_with_one_unit_have_its_integral(tmp_path):
    result = foretrain.run(
        "deep-linear-coefficients", network="4-1-3 r0", beta=100.0, seeds=6, out=tmp_path / "a", quiet=True, workers=1,
    )  # fmt: skip
    found = result.simulation["learning_coefficient"]
    assert float(found.mean()) == pytest.approx(coefficient_at([4, 1, 3], 100.0, 1.0), rel=0.05)


def test_layers_that_are_not_there_are_the_identity_and_do_not_move():
    around, _ = study.posterior(study.Parameters(network="5-3-4 r2"), Seed(0, 0))
    assert around.parts["weights"].sum() == 15 + 12
    first, second, third = around.params
    assert np.linalg.matrix_rank(second @ first) == 2
    np.testing.assert_array_equal(third, np.eye(8))
    assert around.start_loss == 0


@pytest.mark.parametrize(
    "network", ["5-3", "5-3-5", "9-3-5 r0", "5-0-5 r0", "a-b-c r0", "2-2-2-2-2 r0"]
)
def test_networks_that_are_none_are_refused(network):
    with pytest.raises(ArgumentError, match="Argument `network` must"):
        study.check(study.Parameters(network=network))
    with pytest.raises(ArgumentError, match="`rank` must be between 0 and 2"):
        study.check(study.Parameters(network="4-2-4 r3"))
