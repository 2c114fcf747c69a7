"""Gradients, kernels and counts of the study's networks, each against another way of finding it."""

from dataclasses import replace

import numpy as np
import pytest

from foretrain.degeneracy.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.networks.modular_routing import Modules
from foretrain.plans import catalogue
from foretrain.streams import Seed
from foretrain.studies.degeneracy_over_training import (
    curvature,
    descent,
    measurement,
    selection,
    study,
    theory,
)
from foretrain.studies.degeneracy_over_training import (
    perceptron as groks,
)
from foretrain.tasks.masks import circulant
from foretrain.vocabulary import lookup

P = study.Parameters(domains=2, trained_outputs=1, hidden_width=4, updates=160, init_scale=0.5)


def total(parts):
    return np.asarray(measurement.maps(parts))


def by_hand(parts):
    """Jacobian of all entries of all maps in the order of `kernel`, by differences of a polynomial of degree three."""

    def flat(of):
        return total(of).transpose(0, 2, 1, 3).ravel()

    columns = []
    for part, matrices in enumerate(parts):
        for which, weights in enumerate(matrices):
            for place in np.ndindex(weights.shape):
                moved = []
                for sign in (1, -1):
                    other = [[w.copy() for w in one] for one in parts]
                    other[part][which][place] += sign
                    moved.append(flat([Modules(*one) for one in other]))
                columns.append((moved[0] - moved[1]) / 2)  # linear in each weight
    return np.stack(columns, 1)


@pytest.fixture(scope="module")
def parts():
    return measurement.start(P, Seed(0, 0))


def test_kernel_and_descent_are_those_of_the_jacobian(parts):
    rows = by_hand(parts)
    np.testing.assert_allclose(measurement.kernel(parts), rows @ rows.T, atol=1e-12)
    target = np.random.default_rng(0).normal(size=total(parts).shape)
    error = target - total(parts)
    _, after = descent.snapshots(measurement.loss, parts, (target, 2.0), 1e-3, 0.3, [0, 1])
    moved = [
        (b - a).ravel()
        for one, two in zip(parts, after, strict=True)
        for a, b in zip(one, two, strict=True)
    ]
    weights = np.concatenate([w.ravel() for part in parts for w in part])
    expected = 1e-3 * (2 * rows.T @ error.transpose(0, 2, 1, 3).ravel() - 0.3 * weights)
    np.testing.assert_allclose(np.concatenate(moved), expected, atol=1e-12)


def test_the_shared_pathway_is_a_deep_linear_network(parts):
    """Its kernel is that of the network from all inputs to all outputs, and its rank Aoyagi's."""
    encoders, hidden, decoders = (w[0, 0] for w in parts[0])
    stacked = np.concatenate(list(encoders), 1), hidden, np.concatenate(list(decoders))
    x = np.eye(stacked[0].shape[1])
    rows = jacobian(perceptron(list(stacked), None, "identity"), x)
    values = np.linalg.svd(rows, compute_uv=False)
    own = np.linalg.eigvalsh(measurement.kernel(parts[:1]))[::-1]
    np.testing.assert_allclose(own[: len(values)], values[: len(own)] ** 2, atol=1e-10)
    assert (own > 1e-10).sum() == theory.winner_count(P)


def test_curvatures_of_decoupled_weights_are_the_closed_form():
    p = replace(P, start="decoupled", trained_outputs=1)
    scaled = [
        type(part)(*(w * (2 if k else 3) for w in part))
        for k, part in enumerate(measurement.start(p, Seed(0, 0)))
    ]
    found = 2 * measurement.VARIANCE / 4 * np.linalg.eigvalsh(measurement.kernel(scaled))
    b1 = np.array([[1.5] * 4, [1.0] * 4])
    told = theory.curvatures(b1, b1, circulant(2, 1).T, (7, 4), (1.0, 1.0))
    np.testing.assert_allclose(np.sort(told), found, atol=1e-12)


def test_counts_are_ranks_and_sharing_needs_fewer():
    p = study.Parameters()
    assert theory.winner_count(p) == 4 * 4 * 11 - 16
    assert theory.winner_count(p, shared=False) == 12 * (4 * 11 - 16)
    assert theory.winner_count(study.Parameters(system="s-curve", hidden_width=4)) == 28


def test_effective_parameters_count_directions_above_the_scale():
    h = np.array([1e6, 1e6, 0.01, 1e-9, -1e-18])
    assert curvature.effective(h, [0.01]) == pytest.approx([2.5], abs=1e-6)
    network = perceptron([np.eye(2), np.ones((1, 2))], None, "identity")
    x = np.array([[1.0, 0], [0, 1], [1, 1]])
    rows = jacobian(network, x)
    told = np.linalg.eigvalsh(2 / 3 * rows.T @ rows)
    found = curvature.of_network(network, x)
    np.testing.assert_allclose(found[-3:], told[-3:], atol=1e-12)


@pytest.mark.parametrize("system", ["routing", "s-curve", "grokking"])
def test_what_is_measured_is_declared_and_falls_and_rises_as_it_should(system):
    p = study.Parameters(
        system=system,
        domains=2,
        trained_outputs=2,
        updates=160,
        samples=60,
        bits=8,
        neurons=6,
        init_scale=0.4,
    )
    found = measurement.measure(p, Seed(0, 0))
    for name, values in found.items():
        assert values.shape[0] == study.MOMENTS, name
        assert values.ndim == len(lookup(name).dims or ()), name
    assert found["fit_error"][-1] < found["fit_error"][0]


def test_relevant_bits_explain_activity_that_depends_on_nothing_else():
    relevant = np.random.default_rng(0).choice([-1.0, 1.0], (50, 2))
    assert groks.explained(relevant @ np.ones((2, 3)), relevant) == pytest.approx(1)
    assert groks.explained(np.random.default_rng(1).normal(size=(50, 3)), relevant) < 0.3


def test_least_squares_of_a_rectified_layer_are_at_rest_and_better_with_width():
    random = np.random.default_rng(0)
    x = random.normal(size=(selection.EXAMPLES, selection.INPUTS))
    y = np.maximum(x @ random.normal(size=(selection.INPUTS, 2)), 0).sum(1)
    losses = []
    for width in (1, 4):
        w = selection.fitted(x, y, width, np.random.default_rng(1), 0.01)
        slopes = jacobian(selection.built(w, width), x)
        gap = y - selection.answered(w, width, x)
        assert np.abs(slopes.T @ gap - 0.01 * w).max() < 1e-3 * np.abs(slopes.T @ y).max()
        losses.append((gap**2).sum())
    assert losses[1] < losses[0] / 10


def test_linear_models_are_least_squares_of_their_rank():
    loss, parameters, closed, measured, heldout, warm = selection.linear_family(Seed(0, 0))
    assert (np.diff(loss) < 0).all()
    assert (np.diff(closed)[selection.RANK :] <= np.diff(parameters)[selection.RANK :]).all()
    assert (closed <= parameters).all()
    assert (warm < measured).all()
    assert (measured <= parameters).all()
    assert (heldout > 1).all()


def test_more_trained_outputs_than_domains_are_refused():
    with pytest.raises(ValueError, match="`trained_outputs` must be at most"):
        catalogue.load("degeneracy-over-training").check(replace(P, trained_outputs=3))
