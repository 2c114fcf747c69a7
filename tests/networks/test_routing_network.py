import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.networks import routing as network
from foretrain.networks.routing_start import decoupled_start, random_start
from foretrain.tasks import masks
from foretrain.tasks.domains import hierarchy_task
from foretrain.tasks.effective_samples import compress
from foretrain.theory.pathways.race_routes import descent


def random_problem(seed, domains, samples=30, inputs=5, outputs=3, hidden=6):
    random = np.random.default_rng(seed)
    x = random.normal(size=(domains, samples, inputs)) @ random.normal(size=(inputs, inputs))
    y = random.normal(size=(domains, samples, outputs))
    packed = [compress(a, b) for a, b in zip(x, y, strict=True)]
    pairs = (random.random((domains, domains)) < 0.5) | np.eye(domains, dtype=bool)
    return (
        network.random_weights(
            jax.random.key(seed),
            domains,
            hidden,
            inputs,
            outputs,
            0.7,
            law="gaussian",
            dtype=jnp.float64,
        ),
        np.stack([p.inputs for p in packed]),
        np.stack([p.targets for p in packed]),
        np.array([p.residual_power for p in packed]),
        x,
        y,
        pairs.astype(float),
    )


def per_sample_loss(weights, inputs, targets, pairs, maps):
    """The loss in the paper's convention, route by route and sample by sample; inputs are (input_domain, sample, ...)."""
    second = jnp.einsum("gh,ihd,isd->isg", weights.hidden, weights.encoders, inputs)
    answers = jnp.einsum("jog,isg->ijso", weights.decoders, second)
    error = maps[:, :, None, None] * targets[:, None] - answers
    return network.mean_over(pairs, 0.5 * (error**2).sum(-1).mean(-1))


@settings(max_examples=5)
@given(seed=st.integers(0, 1000), domains=st.sampled_from([1, 2, 4, 9]), alike=st.booleans())
def test_loss_and_gradient_from_statistics_are_those_of_samples(seed, domains, alike):
    with jax.enable_x64(True):
        weights, inputs, targets, residual, x, y, pairs = random_problem(seed, domains)
        drawn = np.random.default_rng(seed).normal(size=(domains, domains))
        maps, ones = None if alike else drawn, np.ones((domains, domains))
        slopes = jax.jit(jax.value_and_grad(per_sample_loss))
        value, expected = slopes(weights, x, y, pairs, ones if alike else maps)
        slope = jax.jit(network.negative_gradient)(weights, inputs, targets, pairs, maps)
        for got, want in zip(slope, expected, strict=True):
            np.testing.assert_allclose(-got, want, rtol=1e-10, atol=1e-10 * np.abs(want).max())
        left = residual[:, None] / 2 * (ones if alike else maps**2)
        errors = network.pair_errors(weights, inputs, targets, maps) + left
        np.testing.assert_allclose(network.mean_over(pairs, errors), value, rtol=1e-11)


def test_how_alike_halves_of_the_domains_are():
    first, second = np.eye(4)[:, :2], np.eye(4)[:, 2:]
    tilted = np.cos(1.0) * first + np.sin(1.0) * second
    within, between = network.alike(jnp.array([first, 3 * tilted, second]), 2)
    assert float(within) == pytest.approx(np.cos(1.0), abs=1e-6)
    assert float(between) == pytest.approx((0 + np.sin(1.0)) / 2, abs=1e-6)
    assert [float(item) for item in network.alike(jnp.array([first]), 1)] == pytest.approx(
        [0, 0], abs=1e-6
    )


def test_flow_conserves_incoming_minus_outgoing_covariance_at_both_hidden_layers(x64):
    weights, inputs, targets, _, _, _, pairs = random_problem(5, 4)
    slope = network.negative_gradient(weights, inputs, targets, pairs)
    _, rate = jax.jvp(network.conserved, (weights,), (slope,))
    size = max(float(jnp.abs(w).max()) for w in slope)
    for q in rate:
        assert np.abs(q).max() <= 1e-12 * size * 10  # sums of tens of products, each rounded
    # The same derivative of the incoming covariance alone is far from zero.
    _, incoming = jax.jvp(lambda w: w.encoders[0] @ w.encoders[0].T, (weights,), (slope,))
    assert np.abs(incoming).max() > 1e-3 * size


@pytest.mark.parametrize("law", ["orthogonal", "xavier", "gaussian"])
def test_initial_law_has_its_scale_and_is_one_draw_rescaled(law):
    size = (3, 64, 20, 7)
    small = network.random_weights(jax.random.key(0), *size, 0.1, law=law)
    large = network.random_weights(jax.random.key(0), *size, 0.4, law=law)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(4 * a, b, rtol=1e-5), small, large)
    for start, scale in ((small, 0.1), (random_start(np.random.default_rng(0), *size, law), 1.0)):
        for matrix in (start.encoders[1] / scale, start.hidden / scale, start.decoders[2] / scale):
            if law == "orthogonal":
                np.testing.assert_allclose(np.linalg.svd(matrix, compute_uv=False), 1, rtol=1e-5)
            else:  # normal draws know their variance to sqrt(2 / n); four standard errors
                variance = 2 / sum(matrix.shape) if law == "xavier" else 1.0
                assert np.var(matrix) == pytest.approx(variance, rel=4 * (2 / matrix.size) ** 0.5)


@pytest.mark.slow
@settings(max_examples=8)
@given(domains=st.integers(2, 6), draw=st.integers(0, 100), biregular=st.booleans(), data=st.data())
def test_descent_from_decoupled_weights_is_euler_of_the_reduction(domains, draw, biregular, data):
    outputs = data.draw(st.integers(1, domains))
    random = np.random.default_rng(draw)
    mask = masks.random_biregular if biregular else masks.random_rows
    pairs = mask(domains, outputs, random).astype(float)
    task = hierarchy_task((6.0, 4.0, 3.0))
    rate, steps = 0.1, 200
    with jax.enable_x64(True):
        start = decoupled_start(random, domains, 8, task.input_modes, task.output_modes)
        weights = jax.tree.map(lambda matrix: jnp.asarray(0.3 * matrix), start)

        def step(weights, _):
            slope = network.negative_gradient(weights, task.inputs, task.targets, pairs)
            weights = jax.tree.map(lambda w, g: w + rate * g, weights, slope)
            return weights, network.pair_errors(weights, task.inputs, task.targets)

        final, errors = jax.jit(lambda w: jax.lax.scan(step, w, None, length=steps))(weights)
    theory = descent(0.3, rate, steps, task.singular_values, task.variances, pairs)
    scale = theory.pair_error()[0].max()
    np.testing.assert_allclose(errors, theory.pair_error()[1:], atol=1e-12 * scale, rtol=0)
    hidden = np.linalg.svd(final.hidden, compute_uv=False)[:4]
    np.testing.assert_allclose(hidden, np.sort(theory.hidden[-1])[::-1], rtol=1e-12)
