import math

import pytest

from foretrain.theory.roots import FINEST, bracketed_root


def test_a_root_is_found_to_the_last_digits_of_its_own_size():
    for root in (1e-200, 0.3, 1e200):
        found = bracketed_root(lambda x, root=root: math.log(x / root), root / 7, 5 * root)
        assert found == pytest.approx(root, rel=4 * FINEST)
        coarse = bracketed_root(
            lambda x, root=root: math.log(x / root), root / 7, 5 * root, relative=0.1
        )
        assert found != coarse == pytest.approx(root, rel=0.3)
