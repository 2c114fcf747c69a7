import numpy as np
import pytest
from scipy import integrate

from foretrain.errors import ArgumentError
from foretrain.theory.aoyagi import deep_linear
from foretrain.theory.reduced_rank import coefficient_at


def narrow(a, b, beta, pull):
    """beta E[|u|^2 |v|^2], u in R^a, v in R^b, both with a prior of precision `pull`: one integral over |u|."""

    def weight(r):
        return r ** (a - 1) * np.exp(-pull * r * r / 2) * (pull + 2 * beta * r * r) ** (-b / 2)

    def loss(r):
        return beta * r * r * b / (pull + 2 * beta * r * r) * weight(r)

    return integrate.quad(loss, 0, 12)[0] / integrate.quad(weight, 0, 12)[0]


@pytest.mark.parametrize(("beta", "pull"), [(3.0, 1.0), (200.0, 1.0), (200.0, 0.5)])
def test_one_hidden_unit_is_one_integral(beta, pull):
    assert coefficient_at((4, 1, 3), beta, pull) == pytest.approx(
        narrow(4, 3, beta, pull), rel=1e-6
    )


@pytest.mark.parametrize("widths", [(3, 2, 2), (2, 3, 4), (3, 3, 1)])
def test_more_units_are_an_average_over_the_first_layer(widths):
    """Of the second layer the posterior is Gaussian: lambda = b E sum beta m/(gamma + 2 beta m) under what weighs U."""
    a, h, b = widths
    random, beta = np.random.default_rng(0), 0.5
    u = random.standard_normal((200_000, h, a))
    m = np.linalg.eigvalsh(u @ u.transpose(0, 2, 1)).clip(0)
    weight = np.prod(1 + 2 * beta * m, 1) ** (-b / 2)
    inner = b * (beta * m / (1 + 2 * beta * m)).sum(1)
    value = (weight * inner).sum() / weight.sum()
    error = np.sqrt((weight**2 * (inner - value) ** 2).sum()) / weight.sum()
    assert abs(coefficient_at(widths, beta) - value) < 4.5 * error
    assert error < 0.01


@pytest.mark.parametrize(
    "widths", [(5, 3, 5), (5, 4, 5), (4, 3, 8), (3, 8, 4), (8, 8, 8), (2, 2, 2)]
)
def test_the_limit_is_the_closed_form_and_ends_may_be_exchanged(widths):
    limit, m = deep_linear(widths, 0)
    values = np.array([coefficient_at(widths, beta) for beta in (1e3, 1e5, 1e8)])
    assert (np.diff(values) > 0).all()
    assert (values < limit + 1e-5).all()
    missing = limit - values[-1]
    if m == 1:
        assert missing < 4e-3
    else:
        # (m - 1)/ln(beta), the constant beside ln(beta) unknown: slopes of 1/missing in ln(beta).
        slope = np.diff(1 / (limit - values)) / np.diff(np.log([1e3, 1e5, 1e8]))
        np.testing.assert_allclose(slope * (m - 1), 1, atol=0.1)
    assert coefficient_at(widths[::-1], 1e3) == pytest.approx(values[0], rel=1e-5)
    assert coefficient_at(widths, 250.0, 0.5) == pytest.approx(values[0], rel=1e-6)


def test_what_has_no_value_is_refused():
    with pytest.raises(ArgumentError, match="`widths` must be three numbers"):
        coefficient_at((2, 3, 4, 5), 10.0)
