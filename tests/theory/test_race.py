import numpy as np
import pytest

from foretrain.theory.pathways import race
from foretrain.training.routing import items_task

SINGULAR, VARIANCE = items_task("authors").singular_values, items_task("authors").variances
FACTORS = race.routing_factors(7)
# C positive, zero, negative, nearly -B2(0)^2, and a hidden weight that starts on the wrong side.
STARTS = [(0.2, 0.2), (0.1, 0.1 * 7**0.5), (0.05, 0.4), (1e-4, 0.3), (0.3, -0.2), (0.3, 0.0)]


@pytest.mark.parametrize("start", STARTS)
def test_the_flow_conserves_its_invariant(start):
    outer, hidden = race.flow(start, np.linspace(0, 150, 40), SINGULAR, VARIANCE, FACTORS)
    conserved = race.invariant((outer, hidden), FACTORS)
    # Relative to the size of the two terms at the end, about 20; the solver's tolerance is 1e-12.
    np.testing.assert_allclose(conserved, np.tile(conserved[0], (40, 1)), atol=1e-9)
    assert np.ptp(outer[:, 0]) > 0.5


def test_the_end_point_solves_the_cubic():
    outer, hidden = race.flow((0.2, 0.2), [0.0, 400.0], SINGULAR, VARIANCE, FACTORS)
    gain = hidden[1] * (hidden[1] ** 2 + race.invariant((0.2, 0.2), FACTORS))
    np.testing.assert_allclose(gain, 7 * SINGULAR / VARIANCE, rtol=1e-9)
    np.testing.assert_allclose(hidden[1] * outer[1] ** 2, SINGULAR / VARIANCE, rtol=1e-9)


@pytest.mark.parametrize("start", STARTS[:4])
def test_the_ratio_of_the_layers_is_exact_and_tends_to_the_root_of_the_factors(start):
    factors = race.race_factors(12, 16)
    outer, hidden = race.flow(start, [5.0, 200.0, 1500.0], SINGULAR, VARIANCE, factors)
    conserved = race.invariant(start, factors)
    np.testing.assert_allclose(
        hidden / outer, np.sqrt(factors.ratio - conserved / outer**2), rtol=1e-8
    )
    # The larger the weight, the nearer its ratio to the limit P^(1/4) = 2.
    distance = np.abs(hidden[2] / outer[2] - 2)
    assert distance[0] < distance[1] < distance[2]


def test_euler_steps_converge_to_the_flow_at_first_order():
    exact = np.stack(race.flow((0.3, 0.3), [8.0], SINGULAR, VARIANCE, FACTORS))[:, 0]
    errors = []
    for steps in (2000, 4000, 8000):
        path = race.descent((0.3, 0.3), 8.0 / steps, steps, SINGULAR, VARIANCE, FACTORS)
        errors.append(np.abs(np.stack(path)[:, -1] - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    # The order differs from 1 by a term proportional to the step.
    np.testing.assert_allclose(orders, 1, atol=0.02)


def test_a_hidden_weight_that_starts_at_or_below_its_saddle_never_arrives():
    _, hidden = race.flow((0.1, -0.5), [2000.0], SINGULAR[:1], VARIANCE[:1], FACTORS)
    assert hidden[0, 0] == pytest.approx(-np.sqrt(-race.invariant((0.1, -0.5), FACTORS)), rel=1e-9)
