import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.errors import ArgumentError
from foretrain.tasks import masks as routing
from foretrain.tasks.hierarchy import hierarchical_items, hierarchical_modes
from foretrain.theory import race

SINGULAR, VARIANCE = hierarchical_modes()
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
    conserved = race.invariant((0.2, 0.2), FACTORS)
    gain = hidden[1] * (hidden[1] ** 2 + conserved)
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


def test_ratios_of_both_variants():
    assert race.race_factors(10, 16).ratio == pytest.approx(4)
    assert race.race_factors(10, 16, shared_encoders=True).ratio == pytest.approx(1.6)
    assert race.admissible_paths(12) == (1, 4, 9, 16, 36, 144)


class FullNetwork:
    """Routing by explicit matrices and loops, one module per group of inputs and of outputs."""

    def __init__(self, trained, group, shared_encoders, outer, hidden):
        inputs, outputs = hierarchical_items()
        self.items = inputs.shape[1]
        self.target = outputs @ inputs.T / self.items
        left, _, right = np.linalg.svd(self.target)
        self.left, self.right = left[:, :4], right.T
        shared = np.random.default_rng(0)
        self.first, self.second = (np.linalg.qr(shared.normal(size=(9, 4)))[0] for _ in range(2))
        self.routes, self.group, self.shared = np.argwhere(trained), group, shared_encoders
        self.weights = {}
        for route in self.routes:
            encoder, module, decoder = self.edges(*route)
            self.weights[encoder] = outer * self.first @ self.right.T
            self.weights[module] = hidden * self.second @ self.first.T
            self.weights[decoder] = outer * self.left @ self.second.T

    def edges(self, i, j):
        module = (i // self.group, j // self.group)
        owner = () if self.shared else module
        return ("encoder", int(i), owner), ("module", module), ("decoder", int(j), owner)

    def descend(self, rate, features=None):
        """One step under the paper's loss, or the authors' if the number of features is given."""
        scale = 1 / len(self.routes) if features is None else 2 / features
        gradient = {edge: np.zeros_like(weight) for edge, weight in self.weights.items()}
        for route in self.routes:
            edges = self.edges(*route)
            one, two, three = (self.weights[edge] for edge in edges)
            # One-hot inputs: <x x^T> = 1/items.
            error = scale * (three @ two @ one / self.items - self.target)
            gradient[edges[0]] += (three @ two).T @ error
            gradient[edges[1]] += three.T @ error @ one.T
            gradient[edges[2]] += error @ (two @ one).T
        for edge in self.weights:
            self.weights[edge] = self.weights[edge] - rate * gradient[edge]

    def modes(self):
        for (kind, *_), weight in self.weights.items():
            frames = {
                "encoder": (self.first, self.right),
                "module": (self.second, self.first),
                "decoder": (self.left, self.second),
            }
            left, right = frames[kind]
            yield kind, np.diag(left.T @ weight @ right)


def assert_network_follows(network, outer, hidden):
    for kind, weights in network.modes():
        expected = hidden[-1] if kind == "module" else outer[-1]
        np.testing.assert_allclose(weights, expected, rtol=1e-12)


FEATURES = 7


def assert_descent_is_the_reduction(network, routes, domains, factors, loss):
    # Half of what is stable at the end, where the curvature of the first mode is 24 outer r^(1/3).
    step, steps = 1 / (24 * factors.outer * factors.ratio ** (1 / 3)), 120
    authors = loss == "authors"
    rate = step / race.authors_time_scale(domains, routes, FEATURES) if authors else step
    for _ in range(steps):
        network.descend(rate, FEATURES if authors else None)
    path = race.descent((0.3, 0.4), step, steps, SINGULAR, VARIANCE, factors)
    assert path[0][-1, 0] > 1
    assert_network_follows(network, *path)


@settings(max_examples=12)
@given(st.data(), st.integers(2, 6), st.integers(0, 99), st.sampled_from(["paper", "authors"]))
def test_descent_of_a_routing_network_from_decoupled_weights_is_the_reduction(
    data, domains, draw, loss
):
    outputs = data.draw(st.integers(1, domains), label="trained outputs")
    trained = routing.random_biregular(domains, outputs, np.random.default_rng(draw))
    network = FullNetwork(trained, domains, True, 0.3, 0.4)
    factors = race.routing_factors(domains)
    assert_descent_is_the_reduction(network, outputs, domains, factors, loss)


@settings(max_examples=12)
@given(st.data(), st.integers(2, 6), st.booleans(), st.sampled_from(["paper", "authors"]))
def test_descent_of_modules_from_decoupled_weights_is_the_race(data, domains, shared, loss):
    paths = data.draw(st.sampled_from(race.admissible_paths(domains)), label="paths")
    network = FullNetwork(np.ones((domains, domains)), round(paths**0.5), shared, 0.3, 0.4)
    factors = race.race_factors(domains, paths, shared_encoders=shared)
    assert_descent_is_the_reduction(network, domains, domains, factors, loss)


def test_authors_time_is_eight_times_the_papers_at_their_size():
    assert race.authors_time_scale(7, 4, 7) == 8


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentError, match="`input_variances` must have one value per singular"):
        race.descent((0.1, 0.1), 0.1, 1, SINGULAR, VARIANCE[:2], FACTORS)


def test_a_hidden_weight_that_starts_at_or_below_its_saddle_never_arrives():
    _, hidden = race.flow((0.1, -0.5), [2000.0], SINGULAR[:1], VARIANCE[:1], FACTORS)
    saddle = -np.sqrt(-race.invariant((0.1, -0.5), FACTORS))
    assert hidden[0, 0] == pytest.approx(saddle, rel=1e-9)
