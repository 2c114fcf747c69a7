import numpy as np
import pytest

from foretrain.tasks.masks import components, sparse
from foretrain.theory.factorization.masked_rank_one import flow, loss
from foretrain.theory.factorization.masked_rank_one_end import component_signs, end_of_training
from foretrain.theory.factorization.masked_rank_one_escape import blow_up_time, early_flow

# Components of two inputs and three outputs, of two and one, and of one and one; the last input and output are never trained.
MASK = np.zeros((6, 6))
MASK[[0, 0, 1, 1, 2, 3, 4], [0, 1, 1, 2, 3, 3, 4]] = 1


def start(seed, mask=MASK, sigma=1.0):
    random = np.random.default_rng(seed)
    u, v = (sigma * random.standard_normal(size) for size in mask.shape)
    return u, v, float(sigma * random.standard_normal())


@pytest.mark.parametrize("sigma", [1e-64, 1e-2, 1.0, 30.0])
def test_the_end_has_zero_loss_and_conserves_what_the_flow_conserves(sigma):
    for seed in range(20):
        random = np.random.default_rng(seed)
        mask = sparse(6, 9, random.uniform(1, 5), random).astype(float)
        u, v, s = start(seed, mask, sigma)
        end = end_of_training((u, v, s), mask)
        assert loss((end.left, end.right, end.scale), mask) < 1e-20
        whole = max((end.left**2).sum(), (end.right**2).sum(), end.scale**2)
        for weights, before in ((end.left, u), (end.right, v)):
            kept = before @ before - s**2
            assert weights @ weights - end.scale**2 == pytest.approx(kept, abs=1e-12 * whole)
        inputs, outputs = components(mask)
        for part in np.unique(inputs):
            now = (end.left[inputs == part] ** 2).sum() - (end.right[outputs == part] ** 2).sum()
            then = (u[inputs == part] ** 2).sum() - (v[outputs == part] ** 2).sum()
            assert now == pytest.approx(then, abs=1e-12 * whole)


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_the_whole_flow_ends_there(seed):
    u, v, s = start(seed, sigma=1e-2)
    times = np.array([40 * blow_up_time(early_flow((u, v, s), MASK))])
    left, right, scale = (weights[-1] for weights in flow((u, v, s), times, MASK))
    assert loss((left, right, scale), MASK) < 1e-12
    end = end_of_training((u, v, s), MASK)
    np.testing.assert_allclose(np.abs(left), end.left, rtol=1e-5)
    np.testing.assert_allclose(np.abs(right), end.right, rtol=1e-5)
    assert abs(scale) == pytest.approx(end.scale, rel=1e-5)
    first, second = component_signs((u, v, s), MASK)
    assert (first == 0).tolist() == [False] * 5 + [True]
    known = np.outer(first, second) != 0
    product = scale * np.outer(left, right)
    np.testing.assert_array_equal(np.sign(product)[known], np.outer(first, second)[known])
