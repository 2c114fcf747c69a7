import numpy as np
import pytest

from foretrain.theory import landscapes

BOXED = [
    landscapes.power(1),
    landscapes.power(3),
    landscapes.plane(),
    landscapes.product(),
    landscapes.product(2, 2),
    landscapes.product(1, 2),
    landscapes.product(3, 2),
]


def boltzmann(landscape, beta):
    """beta E[L] in the box by brute force, on a tensor grid of |w| = t^8, which is dense where the loss is small."""
    node, weight = np.polynomial.legendre.leggauss(300)
    t = (node + 1) / 2
    w, weight = t**8, weight * 8 * t**7
    loss = landscape.loss(np.stack(np.meshgrid(*[w] * landscape.dimension, indexing="ij"), -1))
    mass = np.exp(-beta * loss) * (weight if landscape.dimension == 1 else np.outer(weight, weight))
    return beta * (mass * loss).sum() / mass.sum()


@pytest.mark.parametrize(
    "landscape", [item for item in BOXED if item.dimension < 3], ids=lambda first: first.name
)
@pytest.mark.parametrize("beta", np.array([0.01, 1.0, 30.0, 240.0, 1e4]))
def test_temperature_curves_are_boltzmann_means_in_the_box(landscape, beta):
    assert landscape.by_temperature(beta) == pytest.approx(boltzmann(landscape, beta), rel=1e-5)


@pytest.mark.parametrize("landscape", BOXED, ids=lambda first: first.name)
def test_both_curves_tend_to_the_limit_and_one_is_the_mean_of_the_other(landscape):
    gap = 2 * (landscape.multiplicity - 1) / np.log(1e12) + 1e-2
    assert abs(float(landscape.by_volume(np.array(1e-12))) - landscape.limit) < gap
    assert abs(float(landscape.by_temperature(np.array(1e12))) - landscape.limit) < gap
    if landscape.below < 1:
        return
    eps = np.geomspace(1e-13, 1, 20_001)
    beta = 1e4  # no weight is left at eps = 1, where the box ends
    result = landscapes.temperature_from_volume(landscape.by_volume, beta, eps)
    # What is below the grid: V of a power law starts at 0, not at what trapezia start from.
    assert result == pytest.approx(float(landscape.by_temperature(beta)), rel=2e-5)


def test_values_of_the_document():
    assert landscapes.power(1).by_temperature(1.0) == pytest.approx(0.2537, abs=1e-4)
    assert landscapes.product().by_temperature(240.0) == pytest.approx(0.366, abs=5e-4)
    free = [item.dimension - 2 * item.limit for item in map(landscapes.product, (1, 1), (2, 1))]
    assert (free, landscapes.plane().dimension) == ([1.5, 1], 3)


@pytest.mark.parametrize("c", [0.03, 0.3, 1.0])
def test_quadratic_below_the_fourth_power_of_c_and_quartic_above(c):
    item = landscapes.crossover(c)
    for beta in (8 * 0.3 / c**4, 8 / c**4, 8e3 / c**4):
        scale = min(beta**-0.25, 1 / (c * beta**0.5))
        w = np.linspace(0, 40 * scale, 400_001)
        loss = item.loss(w[:, None])
        mass = np.exp(-beta * loss)
        text = beta * np.trapezoid(mass * loss, w) / np.trapezoid(mass, w)
        assert item.by_temperature(beta) == pytest.approx(text, rel=1e-6)
    # The edge of the volume is at eps^(1/2)/c where eps is small; in the middle, at 3/4 c^4, (1 + 4 eps/c^4)^(-1/2) = 1/2.
    assert item.loss(np.array([1e-3 * c])) == pytest.approx(1e-6 * c**4, rel=1e-5)
    for scale, slope in ((1e-9, 0.5), (0.75, 0.375), (1e18, 0.25)):
        assert item.by_volume(scale * c**4) == pytest.approx(slope, abs=1e-8)
    assert item.by_temperature(1e9 / c**4) == pytest.approx(0.5, abs=1e-6)
    assert item.by_temperature(1e-9 / c**4) == pytest.approx(0.25, abs=1e-3)
