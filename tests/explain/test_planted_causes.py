"""Causes that are planted are blamed: in networks of which theory holds but for what was made to break it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.explain import explain
from foretrain.studies.own_network.planted import planted

CAUSES = ("batches", "step", "layers", "gates")
PAIRS = [("batches", "layers"), ("batches", "gates"), ("step", "layers"), ("step", "gates")]


def shares_of(causes, seed):
    made = planted(causes, np.random.default_rng([7, seed]))
    shares = explain(*made[:4], **made.options, seeds=4).shares
    return shares, {one.name: one.share.measured for one in shares.causes}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cause", CAUSES)
def test_a_planted_cause_has_most_of_the_gap(cause, seed):
    shares, found = shares_of((cause,), seed)
    assert shares.range.measured > 0.01
    assert found[cause] > 80


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_two_planted_causes_share_most_of_the_gap(pair):
    _, found = shares_of(pair, 10)
    assert sum(found[one] for one in pair) > 80
    assert min(found[one] for one in pair) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 24))
def test_where_nothing_is_planted_nothing_is_blamed(seed):
    _, found = shares_of((), seed)
    assert found == {}


def test_the_planted_networks_begin_at_zero(x64):
    made = planted(("layers",), np.random.default_rng(0))
    assert jnp.abs(made.apply(made.init(jax.random.key(0)), made.x)).max() == 0


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_that_is_taken_out_leaves_all_else(x64, cause):
    pair = ("batches", "layers") if cause in ("batches", "layers") else ("step", "gates")
    whole, without = (planted(pair, np.random.default_rng(0), one) for one in ("", cause))
    np.testing.assert_array_equal(whole.x, without.x)
    weights = whole.init(jax.random.key(0))
    moved = [
        weights[0] + 1e-6 * jax.random.normal(jax.random.key(1), weights[0].shape),
        *weights[1:],
    ]
    made, other = (one.apply(moved, one.x) for one in (whole, without))
    # Up to their factor, of which the rate times the square is the same, both have one kernel.
    factor = (made * other).sum() / (other**2).sum()
    assert np.allclose(made, factor * other, rtol=1e-4)
    slower = 10 if cause == "step" else 1
    assert without.options["steps"] == slower * whole.options["steps"]
    same = whole.options["rate"] * factor**2, without.options["rate"] * slower
    assert np.isclose(*same, rtol=1e-6)
    assert (without.options["batch"] is None) == (
        cause == "batches" or whole.options["batch"] is None
    )
