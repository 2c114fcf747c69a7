import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy.modularity import affinity, partition
from foretrain.degeneracy.rewiring import chance, rewired


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.05, 1), st.integers(0, 99))
def test_rewired_graphs_have_the_same_values_and_degrees(rows, columns, density, seed):
    random = np.random.default_rng(seed)
    part = random.random((rows, columns)) * (random.random((rows, columns)) < density)
    made = rewired(part, random)
    np.testing.assert_array_equal(np.sort(made, axis=None), np.sort(part, axis=None))
    for axis in (0, 1):
        np.testing.assert_array_equal((made > 0).sum(axis), (part > 0).sum(axis))


@pytest.mark.slow
def test_planted_modules_are_beyond_chance_and_random_graphs_are_not():
    random = np.random.default_rng(1)
    whole = [random.uniform(0.5, 1, (12, 12)) * (random.random((12, 12)) < 0.4) for _ in range(2)]
    blocks = np.kron(np.eye(3), np.ones((4, 4)))
    beyond = []
    for parts in (whole, [part * blocks for part in whole]):
        by_chance = chance(parts, 1e-3, 3, draws=8)
        found = partition(affinity(parts, 1e-3), 3).modularity
        beyond.append((found - by_chance.mean()) / by_chance.std(ddof=1))
    assert abs(beyond[0]) < 3
    assert beyond[1] > 5


def test_what_is_below_the_scale_is_no_edge():
    part = np.array([[0.5, 1e-9], [1e-9, 0.5]])
    assert chance([part], 1e-3, None, draws=2).shape == (2,)
    assert (chance([np.zeros((2, 2))], 1e-3, None, draws=2) == 0).all()
