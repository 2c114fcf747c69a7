"""The row layout of the factorisation network gives the numbers of the column layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.networks import factorization, factorization_rows
from foretrain.networks import factorization_start as drawn
from foretrain.networks.factorization import Factors
from foretrain.quantities import alignment as columns


def setting(seed, dimension, rank, components, scale=1.0):
    rng = np.random.default_rng(seed)
    target = drawn.draw_target(rng, dimension, rank, scale=scale)
    return target, drawn.draw_start(rng, dimension, components)


def as_rows(kind, target, start):
    goal = factorization_rows.prepare(kind, target, start.left.shape[1])
    return jax.tree.map(jnp.asarray, (goal, factorization_rows.rows(start)))


# The Gram form (few components) and the dense form (many) of the squared error.
@pytest.mark.parametrize(("dimension", "rank", "components"), [(30, 2, 3), (8, 5, 7)])
@pytest.mark.parametrize("kind", factorization.LOSSES)
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_gradient_is_that_of_the_column_layout(x64, kind, dimension, rank, components, scale):
    target, start = setting(0, dimension, rank, components, scale)
    goal, rows = as_rows(kind, target, start)
    expected = factorization.gradient(kind, start, target)
    found = factorization_rows.gradient(kind, rows, goal)
    for own, other in zip(found, expected, strict=True):
        # Both are sums of at most a few hundred products of numbers of order one.
        np.testing.assert_allclose(own.T, other, rtol=1e-10, atol=1e-12 * scale)


def test_squared_error_uses_gram_matrices_where_they_are_cheaper():
    few = factorization_rows.prepare("mse", *_target_and_count(100, 10))
    many = factorization_rows.prepare("mse", *_target_and_count(100, 100))
    assert few.product.size == 0
    assert many.product.shape == (100, 100)


def _target_and_count(dimension, rank):
    return setting(1, dimension, rank, rank)[0], rank


@pytest.mark.parametrize("kind", factorization.LOSSES)
def test_loss_and_alignment_are_those_of_the_column_layout(x64, kind):
    target, start = setting(2, 12, 3, 4)
    goal, rows = as_rows(kind, target, start)
    loss = factorization.loss(kind, jax.tree.map(jnp.asarray, start), target)
    np.testing.assert_allclose(factorization_rows.goal_loss(kind, rows, goal), loss, rtol=1e-12)
    expected = columns.alignment(start.left, start.right, target.left, target.right)
    np.testing.assert_allclose(factorization_rows.alignment(rows, goal), expected, rtol=1e-12)


def test_a_component_of_zeros_is_aligned_with_nothing():
    target, start = setting(3, 6, 2, 2)
    goal, rows = as_rows("mse", target, start)
    rows = Factors(rows.left.at[1].set(0.0), rows.right)
    aligned = factorization_rows.alignment(rows, goal)
    assert np.isfinite(aligned).all()
    assert (aligned[:, 1] == 0).all()
