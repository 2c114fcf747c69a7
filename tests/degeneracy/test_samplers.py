"""The samplers of benchmarks/ beside which the library's own is held."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.degeneracy.sampled.posterior import posterior

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from sampled_parameters.samplers import SAMPLERS, estimate

COSTS = np.array([1.0, 0.3, 0.1, 0.0])


def quadratic(w, data):
    return data + (COSTS * w**2).sum()


@pytest.mark.parametrize(
    "sampler",
    [
        *SAMPLERS[:2],
        *(pytest.param(name, marks=pytest.mark.slow) for name in (*SAMPLERS[2:], "nuts")),
    ],
)
def test_each_has_the_number_of_a_quadratic_but_for_the_bias_of_its_step(sampler):
    """A step e heats a direction of curvature P by eP/4 with sgld, a tenth for the steepest; with momentum it does not."""
    with jax.enable_x64(True):
        moving = np.array([1.0, 0, 1, 1])
        around = posterior(quadratic, jnp.zeros(4), jnp.zeros(1), beta=50.0, moving=moving)
        values = estimate(around, sampler, chains=16, draws=500 if sampler == "nuts" else 8000)
    cost = 100 * COSTS[[0, 2, 3]]
    heat = 1 / (1 - 0.1 * (cost + 1) / 101) if sampler == "sgld" else 1
    exact = (cost / (cost + 1) * heat).sum()
    assert abs(values.value - exact) < 4 * values.error + 0.05 * (sampler in ("sghmc", "sgnht"))
    assert values.trusted
    assert values.virial == pytest.approx(1, abs=4 * values.virial_error + 0.05)
