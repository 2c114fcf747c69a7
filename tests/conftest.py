"""Pins the test process to one core before JAX starts, and loads the Hypothesis profile.

XLA on the CPU can deadlock when two batched LAPACK calls run at once on two cores; on one core it cannot.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from foretrain.dynamics.cores import pin_to_one_core

pin_to_one_core(sum(os.environ.get("PYTEST_XDIST_WORKER", "gw0").encode()))

# JAX compiles on the first example of a property, so no single example can be held to a deadline.
settings.register_profile(
    "foretrain", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("foretrain")


@pytest.fixture
def x64():
    """Run the test in JAX's double precision."""
    import jax

    with jax.enable_x64(True):
        yield
