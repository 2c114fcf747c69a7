"""Networks whose activations have positions, against sums over all of them and against networks that have none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from foretrain.degeneracy.counts.free_directions import free_directions
from foretrain.degeneracy.counts.grams import grams
from foretrain.degeneracy.counts.jacobian_spectrum import jacobian_spectrum
from foretrain.degeneracy.folded import layers, steps
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.interactions.interaction_graph import interaction_graph, path_points
from foretrain.degeneracy.network import Section, dense, forward, network_of, register
from foretrain.degeneracy.sampled.posterior import behavioural
from foretrain.errors import ArgumentError
from foretrain.training.ablation import ablation_curve

KINDS = ("global", "local")


def attended(params, f):
    """Causal attention of two heads and its residual stream, (T, d) to (T, d)."""
    query, key, value = (
        jnp.einsum("td,hde->hte", f, params[name]) for name in ("queries", "keys", "values")
    )
    scores = jnp.einsum("hte,hse->hts", query, key) / query.shape[-1] ** 0.5
    causal = jnp.tril(jnp.ones((len(f), len(f)), bool))
    pattern = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
    mixed = jnp.einsum("hts,hse->the", pattern, value).reshape(len(f), -1)
    assert params["queries"].shape[0] * value.shape[-1] == mixed.shape[1]
    return f + mixed @ params["out"]


def widened(params, f):
    """A perceptron and its residual stream, of one position."""
    return f + params["narrow"] @ jax.nn.gelu(params["widen"] @ f + params["shift"])


ATTENDED, WIDENED = Section(attended, positions=True), Section(widened)


def transformer(inputs, d, heads, hidden, outputs, seed=0):
    """Embedding, one causal block and outputs at every position."""
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape) / shape[-1] ** 0.5

    params = [
        {"weight": normal(d, inputs), "bias": 0.3 * normal(d)},
        {name: normal(heads, d, d // heads) for name in ("queries", "keys", "values")}
        | {"out": normal(d, d)},
        {"widen": normal(hidden, d), "shift": normal(hidden), "narrow": normal(d, hidden)},
        {"weight": normal(outputs, d), "bias": normal(outputs)},
    ]
    return network_of([dense(), ATTENDED, WIDENED, dense()], params)


SMALL = transformer(inputs=3, d=4, heads=2, hidden=5, outputs=3)
X = np.random.default_rng(1).standard_normal((6, 5, 3)) + 0.2


def jacobian(network, at, f, folded):
    """Of one section at these activations, all positions by all, (n, T', d', T, d)."""
    outcome = steps(network, folded)[at].jacobians(f)
    if outcome.ndim == 5:
        return outcome
    whole = np.zeros((*outcome.shape[:3], *f.shape[1:]))
    for t in range(f.shape[1]):
        whole[:, t, :, t] = outcome[:, t]
    return whole


def jacobians(network, x, at, to, folded):
    """Of layer `to` by layer `at`, (n, T', d', T, d), and the activations of all layers."""
    values = layers(steps(network, folded), x, folded)
    whole = jacobian(network, at, values[at], folded)
    for above in range(at + 1, to):
        whole = np.einsum(
            "ntiuj,nujsd->ntisd", jacobian(network, above, values[above], folded), whole
        )
    return whole, values


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_moments_and_jacobians_are_means_over_positions_of_sums_over_those_that_they_reach(
    kind, centre
):
    basis = interaction_basis(SMALL, X, kind=kind, centre=centre)
    for at, layer in enumerate(basis.layers[:-1]):
        to = len(SMALL.sections) if kind == "global" else at + 1
        slopes, values = jacobians(SMALL, X, at, to, not centre)
        f = values[at].reshape(-1, values[at].shape[-1]) - layer.mean
        gram = f.T @ f / len(f)
        if kind == "local":
            slopes = np.einsum("ki,ntisd->ntksd", basis.layers[to].forward, slopes)
        m = np.einsum("ntisd,ntise->de", slopes, slopes) / len(f)
        c = layer.forward
        np.testing.assert_allclose(c @ gram @ c.T, np.diag(layer.importance), atol=1e-9)
        back = layer.backward  # C^+' M C^+ = 1 on the directions that are kept
        np.testing.assert_allclose(back.T @ m @ back, np.eye(layer.size), atol=1e-7)
        assert np.abs((f @ c.T).mean(0)).max() < 1e-10 or not centre


@pytest.mark.parametrize("centre", [True, False])
def test_edges_are_attributions_summed_over_positions_read_and_squared_over_those_written(centre):
    basis = interaction_basis(SMALL, X, kind="local", centre=centre)
    graph = interaction_graph(SMALL, X, basis, points=3)
    values = layers(steps(SMALL, not centre), X, not centre)
    for at, (below, above) in enumerate(zip(basis.layers[:-1], basis.layers[1:], strict=True)):
        coordinates, outcome = below.coordinates(values[at]), 0.0
        for a, w in zip(*path_points(3), strict=True):
            slopes = jacobian(SMALL, at, below.activations(a * coordinates), not centre)
            outcome += w * np.einsum(
                "ki,ntisd,dj,nsj->ntkj", above.forward, slopes, below.backward, coordinates
            )
        tokens = len(X) * X.shape[1]
        np.testing.assert_allclose(
            graph.strengths[at], (outcome**2).sum((0, 1)) / tokens, rtol=1e-7, atol=1e-12
        )


def test_networks_that_treat_positions_alike_are_those_of_all_tokens_as_examples():
    """A section that only looks as if it read positions together changes nothing."""
    kinds = [Section(widened), Section(jax.vmap(widened, (None, 0)), positions=True)]
    params = [SMALL.params[0], SMALL.params[2], SMALL.params[3]]
    alone, joint = (network_of([dense("tanh"), item, dense()], params) for item in kinds)
    tokens = X.reshape(-1, 3)
    for kind in KINDS:
        bases = [
            interaction_basis(net, x, kind=kind, centre=True)
            for net, x in ((alone, tokens), (joint, X))
        ]
        graphs = [
            interaction_graph(net, x, basis, points=2)
            for net, x, basis in zip((alone, joint), (tokens, X), bases, strict=True)
        ]
        for item, other in zip(bases[0].layers, bases[1].layers, strict=True):
            np.testing.assert_allclose(other.importance, item.importance, rtol=1e-9)
            np.testing.assert_allclose(np.abs(other.forward), np.abs(item.forward), atol=1e-8)
        for item, other in zip(graphs[0].strengths, graphs[1].strengths, strict=True):
            np.testing.assert_allclose(other, item, rtol=1e-7, atol=1e-11)
    item, other = grams(alone, tokens), grams(joint, X)
    for name in ("means", "activations", "sensitivities"):
        for a, b in zip(getattr(item, name), getattr(other, name), strict=True):
            np.testing.assert_allclose(b, a, atol=1e-12)


def test_gram_matrices_are_those_of_the_global_basis():
    outcome = grams(SMALL, X)
    for at in range(len(SMALL.sections)):
        slopes, values = jacobians(SMALL, X, at, len(SMALL.sections), False)
        tokens = len(X) * X.shape[1]
        m = np.einsum("ntisd,ntise->de", slopes, slopes) / tokens
        np.testing.assert_allclose(outcome.sensitivities[at], m, atol=1e-12)
        gram = np.einsum("ntd,nte->de", values[at], values[at]) / tokens
        np.testing.assert_allclose(outcome.activations[at], gram, atol=1e-12)
    weight = SMALL.params[0]["weight"]
    np.testing.assert_allclose(
        weight.T @ outcome.jacobians[0] @ weight, outcome.sensitivities[0], atol=1e-12
    )
    assert outcome.jacobians[1] is None


def test_the_last_position_alone_may_be_read():
    """A section from all positions to one, as that of a classifier; by way of causal attention all of them matter."""
    last = Section(lambda p, f: f[-1:] @ p["read"].T, positions=True)
    params = (*SMALL.params[:3], {"read": SMALL.params[3]["weight"]})
    network = network_of([*SMALL.sections[:3], last], params)
    for centre in (True, False):
        for kind in KINDS:
            basis = interaction_basis(network, X, kind=kind, centre=centre, few=True)
            assert basis.layers[-1].size == 3
        assert basis.layers[0].size == 3 + (not centre)
        graph = interaction_graph(network, X, basis, points=4)
        assert all(part.max() > 0 for part in graph.strengths)


def test_with_all_directions_and_edges_kept_nothing_is_lost_and_with_none_as_much_as_at_the_mean():
    basis = interaction_basis(SMALL, X, kind="local", centre=True)
    graph = interaction_graph(SMALL, X, basis, points=2)
    outputs = layers(steps(SMALL, False), X, False)[-1]
    for loss in ("mse", "kl"):
        kept = ablation_curve(SMALL, X, basis, [9, 1, 0], loss=loss)
        edges = ablation_curve(SMALL, X, basis, [99, 7, 0], graph=graph, loss=loss)
        rounding = 1e-20 if loss == "mse" else 1e-15  # of squares, and of logarithms
        assert kept[0] < rounding
        assert edges[0] < rounding
        assert 0 < kept[1] < kept[2]
        assert edges[1] > 1e-6
    none = ablation_curve(SMALL, X, basis, [0], graph=graph)[0]
    f = basis.layers[-2].mean @ SMALL.params[-1]["weight"].T + SMALL.params[-1]["bias"]
    assert none == pytest.approx(((outputs - f) ** 2).sum() / len(X))
    assert none >= ((outputs - outputs.mean((0, 1))) ** 2).sum() / len(X) - 1e-12


def test_data_without_positions_are_refused():
    with pytest.raises(ArgumentError, match="`x`"):
        interaction_basis(SMALL, X[:, 0])
    with pytest.raises(ArgumentError, match="3 columns"):
        interaction_basis(SMALL, X[:, :, :2])


@pytest.mark.parametrize("loss", ["mse", "kl"])
def test_losses_and_spectra_are_sums_over_positions(loss):
    """At a small step the loss is what half the Hessian says, whose eigenvalues the spectrum has."""
    spectrum = jacobian_spectrum(SMALL, X, loss=loss)
    register()
    with jax.enable_x64(True):
        start, rebuilt = ravel_pytree(SMALL.params)
        result = behavioural(
            lambda params, x: forward(SMALL, x, params), rebuilt(start), X, kind=loss, beta=1.0
        )
        losses = jax.jit(lambda v: result.losses(rebuilt(v), result.data).mean())
        half = np.asarray(jax.jit(jax.hessian(losses))(start)) / 2
        outputs = np.asarray(forward(SMALL, X))
        step = 1e-3 * np.random.default_rng(0).standard_normal(len(start))
        moved = np.asarray(forward(SMALL, X, rebuilt(start + step)))
        outcome = float(losses(start + step))
    values = np.linalg.eigvalsh(half)[::-1][: len(spectrum.costs)]
    np.testing.assert_allclose(spectrum.costs[:60], values[:60], rtol=1e-6)
    if loss == "mse":
        assert outcome == pytest.approx(((moved - outputs) ** 2).sum() / len(X))
    assert free_directions(SMALL, X).answers == outputs.size
