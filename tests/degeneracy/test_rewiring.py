import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from foretrain.degeneracy.interactions.rewiring import modules, rewired


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.05, 1), st.integers(0, 99))
def test_rewired_graphs_have_the_same_values_and_degrees(rows, columns, density, seed):
    random = np.random.default_rng(seed)
    part = random.random((rows, columns)) * (random.random((rows, columns)) < density)
    made = rewired(part, random)
    np.testing.assert_array_equal(np.sort(made, axis=None), np.sort(part, axis=None))
    for axis in (0, 1):
        np.testing.assert_array_equal((made > 0).sum(axis), (part > 0).sum(axis))


def test_what_is_below_the_scale_is_no_edge():
    part = np.array([[0.5, 1e-9], [1e-9, 0.5]])
    assert modules([part], 1e-3, draws=2)[1].shape == (2,)
    assert (modules([np.zeros((2, 2))], 1e-3, draws=2)[1] == 0).all()
