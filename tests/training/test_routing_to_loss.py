import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.networks.routing_start import decoupled_start
from foretrain.plans.parameters import traced
from foretrain.streams import Seed
from foretrain.studies.initialization.study import Parameters
from foretrain.theory.pathways.race_routes import descent
from foretrain.training.routing import items_task, mask
from foretrain.training.routing_to_loss import inputs, program

P = Parameters(domains=3, trained_outputs=2, hidden_width=8, init_scale=0.3, precision="float64")
STEPS = 60


@pytest.fixture(scope="module")
def descend():
    """Losses at all steps, shape (step, 2), at a rate `faster` times as large from weights `larger` times as large."""
    data, result = items_task(P.level_weights), program(P)

    @jax.jit
    def losses(fed):
        def step(state, _):
            return result.step(fed, state), jnp.stack(list(result.observe(fed, state).values()))

        return jax.lax.scan(step, result.init(fed), length=STEPS + 1)[1]

    def run(faster=1.0, larger=1.0):
        with jax.enable_x64(True):
            modes, random = (data.input_modes, data.output_modes), np.random.default_rng(0)
            start = decoupled_start(random, P.domains, P.hidden_width, *modes)
            fed = {**traced(P), **inputs(P, Seed(0, 0)), "rate": np.float64(faster * P.rate)}
            fed |= {f"start_{n}": larger * P.init_scale * w for n, w in start._asdict().items()}
            return np.asarray(losses({name: jnp.asarray(value) for name, value in fed.items()}))

    return run


def test_the_network_keeps_the_pace_of_its_rate_and_scale_to_rounding(descend):
    data, pairs = items_task(P.level_weights), mask(P, Seed(0, 0)).astype(float)
    modes = data.singular_values, data.variances
    error = descent(P.init_scale, P.rate, STEPS, *modes, pairs).pair_error()
    means = [(error * some).sum((1, 2)) / some.sum() for some in (pairs, 1 - pairs)]
    expected = np.stack(means, 1) + data.unexplained_power / 2
    sound = descend()
    np.testing.assert_allclose(sound, expected, rtol=1e-12)
    assert sound[-1, 0] < 0.9 * sound[0, 0]
    # A tenth of either is far off.
    for wrong in (descend(faster=0.9), descend(larger=1.1)):
        assert np.abs(wrong - expected).max() > 0.01 * expected[0, 0]
