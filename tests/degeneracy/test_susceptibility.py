import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from foretrain.degeneracy.posterior import posterior
from foretrain.degeneracy.susceptibility import draw, influence, susceptibility
from foretrain.errors import ArgumentError, TooLarge

BETA, PULL, N = 40.0, 2.0, 12
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((N, 3)).astype(np.float32)
Y = (X @ np.array([1, -1, 0.5]) + RANDOM.standard_normal(N)).astype(np.float32)
CENTRE = np.linalg.lstsq(X, Y, rcond=None)[0]


def squares(w, data):
    return 0.5 * (data["x"] @ w - data["y"]) ** 2


def gaussian(weights):
    """Mean and covariance of w where the loss of example i has this weight, exactly."""
    precision = BETA / N * (X.T * weights) @ X + PULL * np.eye(3)
    mean = np.linalg.solve(precision, BETA / N * (X.T * weights) @ Y + PULL * CENTRE)
    return mean, np.linalg.inv(precision)


def expected_losses(weights):
    mean, covariance = gaussian(weights)
    spread = np.einsum("id,de,ie->i", X, covariance, X)
    return 0.5 * ((X @ mean - Y) ** 2 + spread)


@pytest.fixture(scope="module")
def draws():
    """Exact draws of linear regression, whose posterior is Gaussian."""
    p = posterior(squares, jnp.asarray(CENTRE), {"x": X, "y": Y}, beta=BETA)
    return draw(
        p,
        sampler="mala",
        chains=32,
        draws=3100,
        warm_up=1000,
        steps=3,
        step=float(0.5 / (BETA * np.linalg.eigvalsh(X.T @ X / N)[-1] + PULL)),
        pull=PULL,
        observables={"squares": lambda w: w**2},
    )


def test_influence_is_that_of_the_gaussian_and_of_differences_of_weights(draws):
    mean, covariance = gaussian(np.ones(N))
    c, r = X @ covariance @ X.T, X @ mean - Y
    exact = -BETA / N * (0.5 * c**2 + np.outer(r, r) * c)
    h = 1e-4
    for i in range(N):
        bump = h * (np.arange(N) == i)
        slope = (expected_losses(1 + bump) - expected_losses(1 - bump)) / (2 * h)
        np.testing.assert_allclose(slope, exact[i], rtol=1e-5, atol=1e-8)
    found = influence(draws)
    gap = np.abs(found.value - exact)
    assert (gap < 4.5 * found.error + 1e-5).all()
    # They tell something: errors are small beside what is there, and a sign or a factor of two is seen.
    assert np.median(found.error / np.abs(exact)) < 0.3
    assert (np.abs(found.value - exact / 2) > 4.5 * found.error).mean() > 0.3
    assert (np.diag(found.value) < 0).all()
    np.testing.assert_allclose(found.value, found.value.T, rtol=1e-8)
    some = influence(draws, [3, 5])
    np.testing.assert_allclose(some.value, found.value[[3, 5]])


def test_susceptibilities_of_an_observable_to_subsets(draws):
    subsets = np.array([np.arange(N) < 4, np.ones(N)], float)
    found = susceptibility(draws, subsets, "squares")
    h = 1e-4
    for s, row in enumerate(subsets):
        up, down = (gaussian(1 + sign * h * row) for sign in (1, -1))
        slope = (up[0] ** 2 + np.diag(up[1]) - down[0] ** 2 - np.diag(down[1])) / (2 * h)
        assert (np.abs(found.value[s] - slope) < 4.5 * found.error[s] + 1e-4).all()
    assert found.value.shape == (2, 3)


@pytest.mark.slow
def test_a_loss_that_is_not_gaussian_by_quadrature():
    """l_1 = w^2, l_2 = w^4, l_3 = w + 1: responses of a quartic, differenced in the weights by quadrature."""

    def losses(w, data):
        return jnp.stack([w[0] ** 2, w[0] ** 4, w[0] + 1]) + data

    def expected(weights):
        w = np.linspace(-4, 4, 4001)
        each = np.stack([w**2, w**4, w + 1])
        mass = np.exp(-6.0 * weights @ each / 3 - 0.5 * w**2)
        return integrate.trapezoid(each * mass, w) / integrate.trapezoid(mass, w)

    p = posterior(losses, jnp.zeros(1), jnp.zeros(3), beta=6.0)
    found = influence(draw(p, sampler="mala", chains=64, draws=2000, steps=2, step=0.2))
    h = 1e-4
    for i in range(3):
        bump = h * np.eye(3)[i]
        slope = (expected(1 + bump) - expected(1 - bump)) / (2 * h)
        assert (np.abs(found.value[i] - slope) < 4.5 * found.error[i] + 2e-3).all()


def test_what_does_not_fit_is_refused(draws):
    with pytest.raises(ArgumentError, match="`weights` must have 12 columns"):
        susceptibility(draws, np.ones((1, 5)), "squares")
    with pytest.raises(ArgumentError, match="`observable` must be one of"):
        susceptibility(draws, np.ones((1, N)), "cubes")
    with pytest.raises(ArgumentError, match="`examples` must be indices from 0 to 11"):
        influence(draws, [12])
    with pytest.raises(TooLarge, match="Responses need"):
        influence(draws, memory=100)
    p = posterior(squares, jnp.asarray(CENTRE), {"x": X, "y": Y}, beta=[1.0, 2.0])
    with pytest.raises(ArgumentError, match="`posterior` must have one beta and one part"):
        draw(p)
    with pytest.raises(ArgumentError, match="`step` must be below"):
        draw(p.at(1.0), step=100.0)
    with pytest.raises(TooLarge, match=r"Draws need 3\.84e-05 GB, but 1e-06 GB are allowed"):
        draw(p.at(1.0), chains=8, draws=100, memory=1000)
