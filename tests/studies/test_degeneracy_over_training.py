"""Gradients, kernels and counts against another way of finding each; sentences on made-up grids."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from made_up import add, changed, check, grid, runs, times

from foretrain.degeneracy.counts.grams import jacobian
from foretrain.degeneracy.network import perceptron
from foretrain.streams import Seed
from foretrain.studies.degeneracy_over_training import (
    curvature,
    measurement,
    selection,
    study,
    theory,
)
from foretrain.tasks.masks import circulant
from foretrain.training.snapshots import snapshots
from foretrain.vocabulary import lookup

SEEDS = 16
FULL, ONE = study.Parameters(), study.Parameters(system="s-curve")
WHEN = 8 + np.arange(SEEDS)[:, None] % 5  # moment of generalisation
WINNER = np.array([theory.winner_count(FULL), theory.winner_count(ONE), 0, 0])[:, None, None]
NOISE = np.random.default_rng(0).standard_normal((SEEDS, 1))
P = study.Parameters(domains=2, trained_outputs=1, hidden_width=4, updates=160, init_scale=0.5)


def total(parts):
    return np.asarray(measurement.maps(parts))


def by_hand(parts):
    """Jacobian of all entries of all maps in the order of `kernel`, by differences of a polynomial of degree three."""

    def flat(of):
        return total(of).transpose(0, 2, 1, 3).ravel()

    leaves, tree = jax.tree.flatten(parts)
    columns = []
    for which, weights in enumerate(leaves):
        for place in np.ndindex(weights.shape):
            moved = []
            for sign in (1, -1):
                other = [w.copy() for w in leaves]
                other[which][place] += sign
                moved.append(flat(jax.tree.unflatten(tree, other)))
            columns.append((moved[0] - moved[1]) / 2)  # linear in each weight
    return np.stack(columns, 1)


@pytest.fixture(scope="module")
def parts():
    return measurement.start(P, Seed(0, 0))


@pytest.mark.slow
def test_kernel_and_descent_are_those_of_the_jacobian(parts):
    rows = by_hand(parts)
    np.testing.assert_allclose(measurement.kernel(parts), rows @ rows.T, atol=1e-12)
    target = np.random.default_rng(0).normal(size=total(parts).shape)
    error = target - total(parts)
    _, after = snapshots(measurement.loss, parts, (target, 2.0), 1e-3, 0.3, [0, 1])
    start, later = (np.concatenate([w.ravel() for w in jax.tree.leaves(w)]) for w in (parts, after))
    expected = 1e-3 * (2 * rows.T @ error.transpose(0, 2, 1, 3).ravel() - 0.3 * start)
    np.testing.assert_allclose(later - start, expected, atol=1e-12)


def test_the_shared_pathway_is_a_deep_linear_network(parts):
    """Its kernel is that of the network from all inputs to all outputs, and its rank Aoyagi's."""
    encoders, hidden, decoders = (w[0, 0] for w in parts[0])
    stacked = np.concatenate(list(encoders), 1), hidden, np.concatenate(list(decoders))
    rows = jacobian(perceptron(list(stacked), None, "identity"), np.eye(stacked[0].shape[1]))
    values = np.linalg.svd(rows, compute_uv=False)
    own = np.linalg.eigvalsh(measurement.kernel(parts[:1]))[::-1]
    np.testing.assert_allclose(own[: len(values)], values[: len(own)] ** 2, atol=1e-10)
    assert (own > 1e-10).sum() == theory.winner_count(P)


def test_curvatures_of_decoupled_weights_are_the_closed_form():
    shared, own = measurement.start(replace(P, start="decoupled", trained_outputs=1), Seed(0, 0))
    scaled = [jax.tree.map(lambda w: 3 * w, shared), jax.tree.map(lambda w: 2 * w, own)]
    values = 2 * measurement.VARIANCE / 4 * np.linalg.eigvalsh(measurement.kernel(scaled))
    b1 = np.array([[1.5] * 4, [1.0] * 4])
    exact = theory.curvatures(b1, b1, circulant(2, 1).T, (7, 4), (1.0, 1.0))
    np.testing.assert_allclose(np.sort(exact), values, atol=1e-12)


def test_effective_parameters_count_directions_above_the_scale():
    h = np.array([1e6, 1e6, 0.01, 1e-9, -1e-18])
    assert curvature.effective(h, [0.01]) == pytest.approx([2.5], abs=1e-6)
    network = perceptron([np.eye(2), np.ones((1, 2))], None, "identity")
    x = np.array([[1.0, 0], [0, 1], [1, 1]])
    rows = jacobian(network, x)
    exact = np.linalg.eigvalsh(2 / 3 * rows.T @ rows)
    np.testing.assert_allclose(curvature.of_network(network, x)[-3:], exact[-3:], atol=1e-12)


@pytest.mark.parametrize("system", ["routing", "s-curve", "grokking"])
def test_what_is_measured_is_declared_and_data_are_learned(system):
    p = replace(P, system=system, trained_outputs=2, samples=60, bits=8, neurons=6, init_scale=0.4)
    measured = measurement.measure(p, Seed(0, 0))
    for name, values in measured.items():
        assert values.shape[0] == study.MOMENTS, name
        assert values.ndim == len(lookup(name).dims or ()), name
    assert measured["fit_error"][-1] < measured["fit_error"][0]


def test_least_squares_of_a_rectified_layer_are_at_rest_and_better_with_width():
    random = np.random.default_rng(0)
    x = random.normal(size=(selection.EXAMPLES, selection.INPUTS))
    y = np.maximum(x @ random.normal(size=(selection.INPUTS, 2)), 0).sum(1)
    losses = []
    for width in (1, 4):
        w = selection.fitted(x, y, width, np.random.default_rng(1), 0.01)[0]
        slopes = jacobian(selection.built(w, width), x)
        gap = y - selection.answered(w, width, x)
        assert np.abs(slopes.T @ gap - 0.01 * w).max() < 1e-3 * np.abs(slopes.T @ y).max()
        losses.append((gap**2).sum())
    assert losses[1] < losses[0] / 10


def steps(at, wide=1.0):
    """From 0 to 1 around a moment."""
    return 1 / (1 + np.exp((at - np.arange(study.MOMENTS)) / wide))


def curves(count, effective, error, **more):
    return {
        "count": count,
        "effective_parameters": np.repeat(effective[..., None], 3, -1),
        "unseen_error": error,
        "fit_error": (1 - steps(1, 0.1)) * np.ones(count.shape),
    } | {name: np.broadcast_to(v, count.shape) for name, v in more.items()}


def build():
    """Networks that do as corrected: grokking falls from generalisation on, and by most only later."""
    ones, flat = np.ones((2, SEEDS, 1)), np.ones((1, SEEDS, study.MOMENTS))
    grokking = ones * (200 + 8 * WHEN - 100 * steps(WHEN + 10, 4))
    error = ones * (1.2 - 1.2 * steps(WHEN, 4) + 0.01 * np.exp(0.2 * WHEN))
    risen = np.concatenate([WINNER[:2] * steps(WHEN, 1), grokking])
    count = risen.copy()
    count[:2, :, -1] = WINNER[:2, :, 0]
    taus = [(-0.5, 0.3, 0.5, 0.6), (0.0, 0.3, np.nan, 0.5)]
    error = np.concatenate([ones * (1 - steps(WHEN, 1)), error])
    inside = {"activation_rank": 24 - 5 * steps(WHEN, 1), "blocks": 24 - 10 * steps(WHEN, 1)}
    own = curves(count, risen, error, **inside)
    own["rank_agreement"] = taus + 0.01 * NOISE[..., None]
    own["spread_power"] = 0.2 + 0.05 * NOISE[:, 0]
    distance = theory.winner_count(FULL, shared=False) * flat
    distance = np.concatenate([distance, *[200 * flat] * 3])
    errors = np.concatenate([flat, *[2 * flat] * 3])
    rival = curves(distance, distance, errors, activation_rank=24, blocks=24)
    reduction = np.repeat((WINNER[:2] * steps(WHEN[:1], 1))[:, 0, :, None], 3, -1)
    reduction = {"effective_parameters": np.concatenate([reduction] * 2)}
    decoupled = {"effective_parameters": reduction["effective_parameters"][:, None]}
    names = {name: (name, values) for name, values in study.labels(FULL).items()}
    moment = {name: names[name] for name in ("moment", "noise_scale")}
    networks = {
        "": own,
        "rival": runs(study.AXES, SEEDS, rival, labels=moment),
        "decoupled": runs(study.AXES, 1, decoupled, labels=moment),
        "theory": runs(study.AXES, 0, reduction, outcome=None, labels=moment),
    }
    return grid(FULL, study.AXES, SEEDS, networks, labels=names)


def test_every_sentence_can_hold_and_fail():
    rival, fall = "rival/effective_parameters", 100 * steps(WHEN + 10, 4)[..., None]
    still = changed(build(), "effective_parameters", times(0.05))
    spoilt = {
        "falls": {},
        "falls.corrected": ("effective_parameters", times(-1)),
        "not-by-decay": [(rival, add(-0.6 * fall)), lambda: changed(still, rival, add(fall))],
        "rank-falls": ("blocks", lambda v: 48 - v),
        "closed-form": ("decoupled/effective_parameters", add(1e-6)),
        "rise": ("effective_parameters", times(1.5)),
        "winner": ("rival/count", add(5)),
        "fewer-generalise": ("rival/unseen_error", times(0)),
        "lower-together": ("unseen_error", lambda v: 2 - v),
        "foretell": ("effective_parameters", lambda v: 500 - v),
        "linear-closed-form": ("rank_agreement", times(-1)),
        "rectified-measured": ("rank_agreement", times(-1)),
        "between-seeds": {},
        "between-seeds.corrected": ("spread_power", times(5)),
    }
    good = {"between-seeds": ("spread_power", times(5))}
    check("degeneracy-over-training", build, spoilt, good, drawn=False)
