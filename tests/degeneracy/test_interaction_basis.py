import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import draw

from foretrain.degeneracy import folded
from foretrain.degeneracy.interactions.interaction_basis import interaction_basis
from foretrain.degeneracy.moments import moments
from foretrain.degeneracy.network import Section, network_of, perceptron
from foretrain.errors import ArgumentError

KINDS, CENTRED = ("global", "local"), (False, True)
seeds = st.integers(0, 2**32 - 1)


TURNED = Section(lambda p, f: p["turn"] @ jnp.tanh(p["weight"] @ f + p["bias"]), "weight", "bias")


def map_in_basis(network, basis, at):
    """The linear part of a layer map between its bases: exact for linear sections."""
    width = basis.layers[at].forward.shape[1]
    jacobian = folded.steps(network, basis.folded)[at].jacobians(np.ones((1, width)))[0]
    return basis.layers[at + 1].forward @ jacobian @ basis.layers[at].backward


@given(seeds, st.lists(st.integers(2, 6), min_size=2, max_size=5))
@settings(max_examples=10)
def test_a_deep_linear_network_is_the_identity_in_every_layer(seed, widths):
    network, x = draw(seed, widths, "identity")
    for kind in KINDS:
        for centre in CENTRED:
            basis = interaction_basis(network, x, kind=kind, centre=centre)
            top = basis.layers[-1].importance
            for at, layer in enumerate(basis.layers[:-1]):
                assert np.abs(map_in_basis(network, basis, at) - np.eye(len(top))).max() < 1e-10
                assert np.abs(layer.importance - top).max() < 1e-10 * top[0]


@given(seeds, st.floats(0, 2))
@settings(max_examples=10)
def test_coordinates_stay_under_any_invertible_change_of_the_hidden_activations(seed, log_cond):
    """f -> R f of condition up to 100, in a network whose second section reads R f."""
    network, x = draw(seed, (4, 6, 3, 3), "tanh")
    random = np.random.default_rng(seed)
    left, right = (np.linalg.qr(random.standard_normal((6, 6)))[0] for _ in range(2))
    turn = left * np.logspace(0, log_cond, 6) @ right

    sections = (TURNED, *network.sections[1:])
    params = (
        network.params[0] | {"turn": turn},
        network.params[1] | {"weight": network.params[1]["weight"] @ np.linalg.inv(turn)},
        network.params[2],
    )
    other = network_of(sections, params)
    for kind in KINDS:
        for centre in CENTRED:
            pair = [interaction_basis(n, x, kind=kind, centre=centre) for n in (network, other)]
            values = [
                [
                    basis.coordinates(f)
                    for basis, f in zip(
                        result.layers,
                        folded.layers(folded.steps(n, not centre), x, not centre),
                        strict=True,
                    )
                ]
                for n, result in zip((network, other), pair, strict=True)
            ]
            for mine, theirs in zip(*values, strict=True):
                assert mine.shape == theirs.shape
                gap = np.minimum(np.abs(mine - theirs), np.abs(mine + theirs))
                assert gap.max() < 1e-10 * max(1, np.abs(mine).max())


@pytest.mark.parametrize("kind", KINDS)
def test_about_the_mean_all_coordinates_have_mean_zero_and_their_importances_as_variances(kind):
    network, x = draw(0, (3, 5, 4, 2), "tanh")
    basis = interaction_basis(network, x, kind=kind, centre=True)
    values = folded.layers(folded.steps(network, False), x, False)
    for layer, f in zip(basis.layers, values, strict=True):  # the outputs, too
        coordinates = layer.coordinates(f)
        assert np.abs(coordinates.mean(0)).max() < 1e-12
        covariance = np.cov(coordinates.T, bias=True)
        np.testing.assert_allclose(covariance, np.diag(layer.importance), atol=1e-10)
        np.testing.assert_allclose(layer.mean, f.mean(0), atol=1e-12)


@given(seeds, st.sampled_from(["relu", "tanh", "gelu", "identity"]))
@settings(max_examples=10)
def test_c_has_its_pseudo_inverse_and_variance_is_importance(seed, activation):
    network, x = draw(seed, (3, 7, 5, 2), activation)
    for kind in KINDS:
        for centre in CENTRED:
            basis = interaction_basis(network, x, kind=kind, centre=centre)
            for layer, moment in zip(basis.layers, moments(network, x, centre=centre), strict=True):
                c, back = layer.forward, layer.backward
                assert np.abs(c @ back - np.eye(layer.size)).max() < 1e-9
                projector = back @ c
                assert np.abs(projector @ projector - projector).max() < 1e-8
                gram = c @ moment.factor.T @ moment.factor @ c.T
                assert np.abs(gram - np.diag(layer.importance)).max() < 1e-10 * layer.importance[0]
                assert (np.diff(layer.importance) <= 0).all()
                if layer.size == c.shape[1]:
                    assert np.abs(projector - np.eye(layer.size)).max() < 1e-8


def test_dependent_activations_and_those_without_effect_are_left_out():
    random = np.random.default_rng(0)
    weights = [random.standard_normal((6, 3)), random.standard_normal((2, 6))]
    weights[0][3] = weights[0][:3].sum(0)  # a linear layer whose fourth unit is the sum of three
    weights[1][:, 5] = 0  # its sixth is not read
    network, x = perceptron(weights, None, "identity"), random.standard_normal((50, 3))
    assert [layer.size for layer in interaction_basis(network, x).layers] == [2, 2, 2]
    wider = np.concatenate([weights[1], random.standard_normal((5, 6))]) * (np.arange(6) < 5)
    rectified = perceptron([weights[0], wider, random.standard_normal((3, 7))], None, "relu")
    result = interaction_basis(rectified, x).layers
    assert result[1].size == 5  # not the constant, not the sixth; rectified, the fourth is no sum


def test_blocks_of_data_give_the_same_basis_as_all_at_once(monkeypatch):
    network, x = draw(7, (4, 5, 3), "relu")
    for kind in KINDS:
        for centre in CENTRED:
            whole = interaction_basis(network, x, kind=kind, centre=centre)
            with monkeypatch.context() as change:
                change.setattr(folded, "BUDGET", 3000)
                parts = interaction_basis(network, x, kind=kind, centre=centre)
            for a, b in zip(whole.layers, parts.layers, strict=True):
                np.testing.assert_allclose(a.forward, b.forward, atol=1e-10)
                np.testing.assert_allclose(a.mean, b.mean, atol=1e-12)


def test_a_section_in_jax_gives_what_the_named_one_does():
    network, x = draw(9, (3, 4, 2), "gelu")
    plain = tuple(Section(item.apply, None, item.bias) for item in network.sections)
    hidden = dataclasses.replace(network, sections=plain)
    for centre in CENTRED:
        a, b = (interaction_basis(n, x, centre=centre).layers for n in (network, hidden))
        for item, other in zip(a, b, strict=True):
            np.testing.assert_allclose(item.forward, other.forward, atol=1e-9)


def test_bad_input_is_refused():
    network, x = draw(0, (4, 5, 3), "relu")
    with pytest.raises(ArgumentError, match="at least 6 examples"):
        interaction_basis(network, x[:5])
    assert interaction_basis(network, x[:3], few=True).layers[1].size == 3
    with pytest.raises(ArgumentError, match="kind"):
        interaction_basis(network, x, kind="locl")
    with pytest.raises(ArgumentError, match="columns"):
        interaction_basis(network, x[:, :3])
    with pytest.raises(ArgumentError, match="finite"):
        interaction_basis(network, np.where(x == x[3, 2], np.nan, x))
