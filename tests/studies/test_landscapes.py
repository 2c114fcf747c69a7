import numpy as np
import pytest

import foretrain
from foretrain.streams import Seed
from foretrain.studies.landscapes import study


@pytest.mark.slow
def test_chains_and_counts_of_a_small_run_find_both_curves(tmp_path):
    result = foretrain.run(
        "landscapes", landscape="partial", beta=[10.0, 1000.0], seeds=6, out=tmp_path / "a", quiet=True, workers=1,
    )  # fmt: skip
    found = result.simulation["learning_coefficient"].mean("seed")
    np.testing.assert_allclose(found, result.theory["learning_coefficient"], atol=0.02)


def test_counted_points_are_the_volume():
    p = study.Parameters(landscape="partial")
    exact = 2 * study.SCALES**0.25 - study.SCALES**0.5
    np.testing.assert_allclose(study.measure(p, Seed(0, 0))["share_below"], exact, rtol=0.05)


def test_exact_slopes_over_scales_are_differences_of_the_volume():
    said = study.predict(study.Parameters(landscape="partial"), np.zeros(0))["volume_coefficient"]
    volume = np.log(2 * study.SCALES**0.25 - study.SCALES**0.5)
    np.testing.assert_allclose(said, np.diff(volume) / np.diff(np.log(study.SCALES)), rtol=1e-6)
