import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.networks import image_routing as network
from foretrain.networks import routing
from foretrain.tasks import masks
from foretrain.tasks.effective_samples import compress

DOMAINS, WIDTH, INPUTS, CLASSES, SAMPLES = 4, 6, 5, 3, 40


def data(shared):
    draw = np.random.default_rng(0)
    images = draw.normal(size=(1 if shared else DOMAINS, SAMPLES, INPUTS)) + 0.5
    return images, draw.integers(0, CLASSES, SAMPLES)


def statistics(images, labels):
    """Eigenvectors, roots of eigenvalues, and targets of each domain."""
    samples = [compress(domain, np.eye(CLASSES)[labels]) for domain in images]
    scales = np.stack([np.linalg.norm(s.inputs, axis=0) for s in samples])
    bases = np.stack([s.inputs / scale for s, scale in zip(samples, scales, strict=True)])
    residual = np.array([s.residual_power / 2 for s in samples])
    return bases, jnp.array(scales), jnp.array([s.targets for s in samples]), residual


def start(law="xavier"):
    return network.random_weights(
        jax.random.key(1), DOMAINS, WIDTH, INPUTS, CLASSES, 0.7, law=law, dtype=jnp.float64
    )


PAIRS = masks.circulant(DOMAINS, 3).astype(float)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("shared", [True, False])
def test_statistics_give_the_gradient_of_all_samples(shared):
    images, labels = data(shared)
    bases, scales, targets, residual = statistics(images, labels)
    weights = start()
    bases = np.broadcast_to(bases, (DOMAINS, INPUTS, INPUTS))
    turned = weights._replace(encoders=jnp.einsum("ihd,idr->ihr", weights.encoders, bases))
    result = network.negative_gradient(turned, scales, targets, PAIRS)
    loss = lambda w: network.minibatch_loss((w, None), images, None, labels, PAIRS, 1.0, "squared")  # noqa: E731
    expected = jax.jit(jax.grad(loss))(weights)
    encoders = jnp.einsum("ihr,idr->ihd", result.encoders, bases)
    for item, other in zip(result._replace(encoders=encoders), expected, strict=True):
        np.testing.assert_allclose(item, -other, atol=1e-13)
    errors = network.excess_errors(turned, scales, targets) + residual[:, None]
    np.testing.assert_allclose(routing.mean_over(PAIRS, errors), loss(weights), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_maps_act_alike_on_images_and_on_encoders():
    images, labels = data(True)
    maps = np.random.default_rng(3).normal(size=(DOMAINS, INPUTS, INPUTS))
    mapped = np.einsum("irp,np->inr", maps, images[0])
    weights = start()
    biases = jax.tree.map(lambda b: b + 0.3, network.zero_biases(weights))
    arguments = (labels, PAIRS, 0.1, "squared")
    item = network.minibatch_loss((weights, biases), images, maps, *arguments)
    other = network.minibatch_loss((weights, biases), mapped, None, *arguments)
    folded, _ = network.evaluate(weights, biases, images, maps, labels, 0.1, "squared")
    np.testing.assert_allclose(item, other, rtol=1e-13)
    np.testing.assert_allclose(routing.mean_over(PAIRS, folded), item, rtol=1e-12)


@pytest.mark.usefixtures("x64")
def test_evaluation_agrees_with_a_plain_loop_over_routes():
    images, labels = data(False)
    weights = start()
    losses, accuracy = network.evaluate(weights, None, images, None, labels, 0.05, "cross_entropy")
    leaky = lambda x: np.where(x > 0, x, 0.05 * x)  # noqa: E731
    for i, j in np.ndindex(DOMAINS, DOMAINS):
        second = leaky(leaky(images[i] @ weights.encoders[i].T) @ weights.hidden.T)
        output = second @ weights.decoders[j].T
        chances = np.exp(output) / np.exp(output).sum(1, keepdims=True)
        loss = -np.log(chances[np.arange(SAMPLES), labels]).mean()
        assert losses[i, j] == pytest.approx(loss, rel=1e-10)
        assert accuracy[i, j] == pytest.approx((output.argmax(1) == labels).mean())


def test_the_authors_decoders_have_the_variance_of_their_fans():
    domains, width, classes = 20, 128, 10
    make = lambda law: network.random_weights(  # noqa: E731
        jax.random.key(0), domains, width, 30, classes, 2.0, law=law, dtype=jnp.float32
    )
    mine, theirs = make("xavier"), make("authors")
    np.testing.assert_array_equal(mine.encoders, theirs.encoders)
    expected = 2.0 * np.sqrt(2 / ((width + domains) * classes))
    # 25,600 entries: the standard error of a standard deviation is 0.44%; four of them.
    assert np.std(theirs.decoders) == pytest.approx(expected, rel=0.018)
