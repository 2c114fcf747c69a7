import numpy as np
import pytest

from foretrain.quantities.frequency import frequency_shares, principal_axes


@pytest.mark.parametrize("symbols", [7, 8])
def test_a_polygon_in_any_plane_has_one_frequency(symbols):
    plane = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0].T
    angle = 2 * np.pi * 3 * np.arange(symbols) / symbols
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane + 4.0
    shares = frequency_shares(points)
    np.testing.assert_allclose(shares, np.eye(symbols // 2)[2], atol=1e-12)
    axes = principal_axes(points, 2)
    np.testing.assert_allclose(axes.T @ axes, plane.T @ plane, atol=1e-12)
    np.testing.assert_allclose(frequency_shares(points @ axes.T), shares, atol=1e-12)


@pytest.mark.parametrize("symbols", [7, 8])
def test_normal_embeddings_have_equal_shares_in_the_mean(symbols):
    shares = frequency_shares(np.random.default_rng(1).standard_normal((20000, symbols, 3)))
    np.testing.assert_allclose(shares.sum(-1), 1)
    expected = np.full(symbols // 2, 2 / (symbols - 1))
    if symbols % 2 == 0:
        expected[-1] /= 2
    np.testing.assert_allclose(shares.mean(0), expected, atol=0.003)


def test_shares_and_axes_of_what_is_not_there_are_not_there():
    values = np.random.default_rng(2).standard_normal((2, 5, 3))
    values[1, 2, 0] = np.nan
    axes, shares = principal_axes(values, 2), frequency_shares(values)
    for result in (axes, shares):
        assert np.isfinite(result[0]).all()
        assert np.isnan(result[1]).all()
