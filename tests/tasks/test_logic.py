import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks.logic import contextual, xor
from foretrain.tasks.statistics import gather_statistics


def test_xor_pathways_see_one_example_each():
    data = xor(hidden_width=3)
    np.testing.assert_array_equal(
        data.targets["y"][:, 0] > 0, np.prod(data.inputs["x"], axis=1) < 0
    )
    statistics = gather_statistics(data)
    assert len(statistics.paths) == 4
    assert set(statistics.inputs) == {(path, path) for path in range(4)}
    for path in range(4):
        x, y = data.inputs["x"][path], data.targets["y"][path]
        np.testing.assert_array_equal(statistics.sigma_yx(path), np.outer(y, x) / 4)  # eq. (18)
        # Eq. (19).
        np.testing.assert_array_equal(statistics.sigma_x(path, path), np.outer(x, x) / 4)
        for other in set(range(4)) - {path}:
            assert not statistics.sigma_x(path, other).any()
    assert statistics.target_power["y"] == 1
    np.testing.assert_array_equal(statistics.active, 0.25)


def test_the_contextual_task_has_the_correlations_of_the_paper():
    always = gather_statistics(contextual(4, gating="always_on"))
    np.testing.assert_allclose(always.sigma_yx(0), [[1 / 6, 1 / 6]], atol=1e-16)  # eq. (24)
    np.testing.assert_allclose(always.sigma_x(0, 0), np.eye(2) / 3, atol=1e-16)  # eq. (25)
    gated = gather_statistics(contextual(4))
    np.testing.assert_allclose(gated.sigma_yx(0), [[1 / 6, 0]], atol=1e-16)  # eq. (26)
    np.testing.assert_allclose(gated.sigma_yx(1), [[0, 1 / 6]], atol=1e-16)  # eq. (27)
    for path in range(2):
        np.testing.assert_allclose(gated.sigma_x(path, path), np.eye(2) / 6, atol=1e-16)  # eq. (28)
    assert not gated.sigma_x(0, 1).any()  # eq. (29)


def test_samples_need_a_source_of_randomness():
    with pytest.raises(ArgumentError, match="`generator` must be given with `samples`"):
        contextual(samples=3)
