import numpy as np
import pytest

from foretrain.errors import ArgumentError
from foretrain.tasks import masks as routing
from foretrain.theory.factorization import masked_rank_one as model
from foretrain.theory.factorization.masked_rank_one_end import component_signs, end_of_training
from foretrain.theory.factorization.masked_rank_one_escape import blow_up_time, early_flow


def start(seed, sigma=1.0, columns=6):
    drawn = sigma * np.random.default_rng(seed).normal(size=7 + columns)
    return drawn[:6], drawn[6:-1], float(drawn[-1])


def mask(seed, size=6, pairs=14):
    return routing.nested(size, pairs, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(4))
def test_the_whole_flow_conserves_both_invariants_and_lowers_the_loss(seed):
    trained, (u, v, s) = mask(seed), start(seed, sigma=0.5)
    left, right, scale = model.flow((u, v, s), np.linspace(0, 20, 30), trained)
    for weight in (left, right):
        conserved = (weight**2).sum(axis=1) - scale**2
        # The solver's relative tolerance is 1e-11 per step, over some hundreds of steps.
        np.testing.assert_allclose(conserved, conserved[0], atol=1e-8)
    losses = [model.loss(state, trained) for state in zip(left, right, scale, strict=True)]
    assert (np.diff(losses) <= 1e-10).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_escape_time_is_the_blow_up_time_and_a_bounded_remainder(seed):
    trained = mask(seed)
    unit = blow_up_time(early_flow(start(seed), trained))
    remainders = []
    for sigma in (1e-2, 1e-4, 1e-6):
        time, *_ = model.escape(start(seed, sigma=sigma), trained, fraction=0.8)
        remainders.append(time - unit / sigma)
        # Not -log(sigma): the product with sigma is constant over four decades.
        assert time * sigma == pytest.approx(unit, rel=20 * sigma)
    # The solver keeps 1e-11 of a time of 1e6.
    assert remainders[2] == pytest.approx(remainders[1], abs=0.1)


def test_the_slope_with_all_modes_tends_to_that_of_the_second():
    values = [4.0, 2.0, 1.9, 0.5]
    slope = model.misalignment_slope(values, [1e-30, 1e-31])
    assert slope == pytest.approx(model.alignment_exponent(values), abs=1e-3)
    # On the way it lies between the exponents of the second and the third mode.
    near = model.misalignment_slope(values[::-1], [1e-2, 1e-3])
    assert 0.5 < near < 1 - 1.9 / 4
    assert near > slope
    # Two modes have one law at any scale.
    assert model.misalignment_slope([3.0, 1.0], [0.1, 0.2, 0.7]) == pytest.approx(2 / 3)
    assert np.isnan(model.misalignment_slope([3.0], [0.1, 0.2]))
    with pytest.raises(ArgumentError, match="`scales` must be two different positive numbers"):
        model.misalignment_slope(values, [0.1, 0.1])


def test_best_rank_one_fit_is_positive_on_a_connected_mask_and_flat_on_a_biregular_one():
    trained = mask(3, pairs=20)
    assert routing.is_connected(trained)
    value, left, right = model.best_rank_one(trained)
    assert (left > 0).all()
    assert (right > 0).all()
    np.testing.assert_allclose(trained @ right, value * left, atol=1e-13)
    value, left, right = model.best_rank_one(routing.circulant(9, 4))
    assert value == pytest.approx(4)
    np.testing.assert_allclose(left, 1 / 3)
    np.testing.assert_allclose(right, 1 / 3)


def test_misalignment_is_the_distance_from_the_best_fit_at_its_best_scale():
    trained = mask(1)
    value, left, right = model.best_rank_one(trained)
    u, v, _ = start(5)
    outer, fit = np.outer(u, v), value * np.outer(left, right)
    best = outer - (outer * fit).sum() / (fit**2).sum() * fit
    expected = np.linalg.norm(best) / np.linalg.norm(outer)
    assert model.misalignment(u, v, trained) == pytest.approx(expected, rel=1e-12)
    assert model.misalignment(-3 * left, right, trained) < 1e-14
    nudge = np.linalg.svd(trained.astype(float))[0][:, 1]
    assert model.misalignment(left + 1e-9 * nudge, right, trained) == pytest.approx(1e-9, rel=1e-5)


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentError, match=r"`start\[0\]` must have length 6, but has length 5"):
        model.flow((np.ones(5), np.ones(6), 1.0), [0.0], mask(0))
    with pytest.raises(ArgumentError, match="`trained_pairs` must train at least one pair"):
        model.flow((np.ones(2), np.ones(2), 1.0), [0.0], np.zeros((2, 2)))
    with pytest.raises(ArgumentError, match="`singular_values` must have a positive one"):
        model.alignment_exponent([0.0, 0.0])


# Components of two inputs and three outputs, of two and one, and of one and one; the last input and output are never trained.
ISLANDS = np.zeros((6, 6))
ISLANDS[[0, 0, 1, 1, 2, 3, 4], [0, 1, 1, 2, 3, 3, 4]] = 1


@pytest.mark.parametrize("sigma", [1e-64, 1e-2, 1.0, 30.0])
def test_the_end_has_zero_loss_and_conserves_what_the_flow_conserves(sigma):
    for seed in range(20):
        random = np.random.default_rng(seed)
        mask = routing.sparse(6, 9, random.uniform(1, 5), random).astype(float)
        u, v, s = start(seed, sigma, columns=9)
        end = end_of_training((u, v, s), mask)
        assert model.loss((end.left, end.right, end.scale), mask) < 1e-20
        whole = max((end.left**2).sum(), (end.right**2).sum(), end.scale**2)
        for weights, before in ((end.left, u), (end.right, v)):
            kept = before @ before - s**2
            assert weights @ weights - end.scale**2 == pytest.approx(kept, abs=1e-12 * whole)
        inputs, outputs = routing.components(mask)
        for part in np.unique(inputs):
            now = (end.left[inputs == part] ** 2).sum() - (end.right[outputs == part] ** 2).sum()
            then = (u[inputs == part] ** 2).sum() - (v[outputs == part] ** 2).sum()
            assert now == pytest.approx(then, abs=1e-12 * whole)


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_the_whole_flow_ends_there(seed):
    u, v, s = start(seed, sigma=1e-2)
    times = np.array([40 * blow_up_time(early_flow((u, v, s), ISLANDS))])
    left, right, scale = (weights[-1] for weights in model.flow((u, v, s), times, ISLANDS))
    assert model.loss((left, right, scale), ISLANDS) < 1e-12
    end = end_of_training((u, v, s), ISLANDS)
    np.testing.assert_allclose(np.abs(left), end.left, rtol=1e-5)
    np.testing.assert_allclose(np.abs(right), end.right, rtol=1e-5)
    assert abs(scale) == pytest.approx(end.scale, rel=1e-5)
    first, second = component_signs((u, v, s), ISLANDS)
    assert (first == 0).tolist() == [False] * 5 + [True]
    known = np.outer(first, second) != 0
    product = scale * np.outer(left, right)
    np.testing.assert_array_equal(np.sign(product)[known], np.outer(first, second)[known])
