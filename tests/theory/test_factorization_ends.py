import numpy as np
import pytest

from foretrain.theory.factorization.factorization_flow import decayed_loss

RANDOM = np.random.default_rng(0)
TARGET, START = RANDOM.standard_normal((2, 4, 4))


def test_decay_takes_half_of_itself_from_every_strength_it_can_learn():
    target = np.diag([3.0, 1.0, 0.1])
    assert decayed_loss(target, 2, 1.0) == pytest.approx(0.25 + 0.25 + 0.01)
    # The third strength is below lambda/2 and stays where it is, with a component of its own or without.
    assert decayed_loss(target, 3, 1.0) == pytest.approx(decayed_loss(target, 2, 1.0))
    turned = np.linalg.qr(START[:3, :3])[0] @ target
    assert decayed_loss(turned, 2, 1.0) == pytest.approx(0.51)


def test_without_decay_only_what_has_no_component_is_left():
    strengths = np.linalg.svd(TARGET, compute_uv=False)
    for components in range(5):
        left = (strengths[components:] ** 2).sum()
        assert decayed_loss(TARGET, components, 0.0) == pytest.approx(left, abs=1e-28)
    assert decayed_loss(TARGET, 4, 1e9) == pytest.approx((TARGET**2).sum())
