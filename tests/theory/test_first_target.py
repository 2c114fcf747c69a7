"""Which target a component first grows towards."""

import numpy as np
import pytest

from foretrain.theory.first_target import first_targets


@pytest.mark.parametrize("seed", range(5))
def test_from_tiny_starts_the_growing_overlap_decides(seed):
    rng = np.random.default_rng(seed)
    a, b = np.linalg.qr(rng.standard_normal((2, 20, 3)))[0]
    x, y = 1e-7 * rng.standard_normal((2, 20, 4))
    predicted = first_targets((a, b), (x, y))
    for _ in range(600):
        x, y = (
            x + 0.01 * 2 * (a @ (b.T @ y) - x @ (y.T @ y)),
            y + 0.01 * 2 * (b @ (a.T @ x) - y @ (x.T @ x)),
        )
    # Still tiny (1e-7 e^12 is below .02), and the overlaps have kept the order they had.
    assert max(np.abs(x).max(), np.abs(y).max()) < 0.1
    aligned = np.abs((a.T @ x) * (b.T @ y))
    np.testing.assert_array_equal(aligned.argmax(0), predicted)
