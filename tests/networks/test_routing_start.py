import numpy as np

from foretrain.networks.routing_start import orthogonal_stack


def test_all_singular_values_are_one_whichever_side_is_longer():
    for rows, columns in ((9, 4), (4, 9), (5, 5)):
        drawn = orthogonal_stack(np.random.default_rng(0), 3, rows, columns)
        assert drawn.shape == (3, rows, columns)
        assert np.allclose(np.linalg.svd(drawn, compute_uv=False), 1, atol=1e-12)


def test_the_law_is_that_of_haar():
    drawn = orthogonal_stack(np.random.default_rng(0), 4000, 3, 3)
    # Mean 0 and variance 1/3 of every entry; five standard errors of 4000 draws.
    assert np.abs(drawn.mean(0)).max() < 5 / np.sqrt(3 * 4000)
    assert np.abs((drawn**2).mean(0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 4000)
    # QR alone gives entry (0, 0) a fixed sign; a Haar matrix does not prefer one.
    assert abs(np.sign(drawn[:, 0, 0]).mean()) < 5 / np.sqrt(4000)
