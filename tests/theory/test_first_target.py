"""Which target a component first grows towards."""

import numpy as np
import pytest

from foretrain.theory.factorization.first_target import first_targets, random_mixture


@pytest.mark.parametrize("seed", range(5))
def test_from_tiny_starts_the_growing_overlap_decides(seed):
    rng = np.random.default_rng(seed)
    a, b = np.linalg.qr(rng.standard_normal((2, 20, 3)))[0]
    x, y = 1e-7 * rng.standard_normal((2, 20, 4))
    predicted = first_targets((x, y), (a, b))
    for _ in range(600):
        x, y = (
            x + 0.01 * 2 * (a @ (b.T @ y) - x @ (y.T @ y)),
            y + 0.01 * 2 * (b @ (a.T @ x) - y @ (x.T @ x)),
        )
    # Still tiny (1e-7 e^12 is below .02), and the overlaps have kept the order they had.
    assert max(np.abs(x).max(), np.abs(y).max()) < 0.1
    np.testing.assert_array_equal(np.abs((a.T @ x) * (b.T @ y)).argmax(0), predicted)


def test_a_component_of_a_random_mixture_is_close_to_a_target_as_often_as_the_formula_says():
    rng = np.random.default_rng(0)
    for rank in (2, 4):
        columns = rng.standard_normal((100_000, rank))
        result = ((columns**2 / np.sum(columns**2, 1, keepdims=True)).max(1) > 0.8).mean()
        assert result == pytest.approx(random_mixture(rank, 0.8), abs=0.008)  # 5 SD
