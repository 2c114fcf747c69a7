"""Convolutions as sums of products: the same network to rounding, and none left that a loop would slow down."""

import jax
import numpy as np
import pytest

from foretrain.explain.convolutions import without_convolutions


@pytest.mark.parametrize("axes", [("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation"),
    [((1, 1), "SAME", (1, 1)), ((2, 3), "VALID", (2, 1)), ((2, 1), ((-1, 2), (0, 3)), (1, 2))],
)
def test_sums_of_products_are_the_convolution_in_value_and_slope(axes, stride, padding, dilation):
    options = {"rhs_dilation": dilation, "dimension_numbers": axes, "feature_group_count": 2}
    random = np.random.default_rng(0)
    x, kernel = random.normal(size=(3, 4, 9, 8)), random.normal(size=(6, 2, 3, 2))
    if axes[0] == "NHWC":
        x, kernel = x.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0)

    def network(w, x):
        return jax.nn.tanh(jax.lax.conv_general_dilated(x, w, stride, padding, **options))

    with jax.enable_x64(True):
        products = without_convolutions(network, kernel, x)
        assert "conv" not in str(jax.make_jaxpr(products)(kernel, x))
        (value, pull), (same, pull_same) = (jax.vjp(f, kernel, x) for f in (network, products))
        np.testing.assert_allclose(same, value, atol=1e-14)
        for slope, other in zip(pull(value), pull_same(value), strict=True):
            np.testing.assert_allclose(other, slope, atol=1e-12)


def test_a_network_without_convolutions_is_computed_as_it_is_written():
    network = lambda w, x: x @ w  # noqa: E731
    assert without_convolutions(network, np.ones((3, 2)), np.ones((5, 3))) is network
