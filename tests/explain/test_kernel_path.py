import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain.kernel.kernel_path import kernel_along
from foretrain.explain.kernel.kernel_recursion import Kernel
from foretrain.explain.own_network import batches, described, start_of, starts
from foretrain.explain.simulated import Corner, Simulator, log_spaced

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((10, 4)), np.sin(RANDOM.standard_normal((10, 2)))
AT = log_spaced(80, 40)


def init(key):
    keys = jax.random.split(key, 4)
    first, last = jax.random.normal(keys[0], (4, 12)), jax.random.normal(keys[1], (12, 2))
    return {"first": first, "last": last}


def compared(apply, y=Y, begin=init, **options):
    """The curves of the kernel at the start, of the kernel along the way, and of the run."""
    training = described(apply, begin, X, y, **{"learning_rate": 0.05, "steps": 80} | options)
    drawn, rows = starts(training, 1), batches(training, 1)
    kernel = Kernel(training, start_of(drawn, 0))
    way = kernel.predicted(rows[0], AT)
    run = Simulator(training, drawn, rows, AT).run(Corner(*[True] * 4)).train[0]
    return way.train, kernel_along(training, kernel.start, rows[0], AT), run


def scaled(factor):
    """Curves of a network that begins at zero, times a factor: the larger the factor, the less the kernel changes."""
    start = jax.tree.map(np.asarray, init(jax.random.key(3)))

    def network(w, x):
        return jnp.tanh(x @ w["first"] / 2) @ w["last"]

    def apply(w, x):
        return factor * (network(jax.tree.map(jnp.add, start, w), x) - network(start, x))

    zeros = jax.tree.map(jnp.zeros_like, start)
    return compared(apply, begin=lambda key: zeros, learning_rate=0.2 / factor**2)


OPTIONS = {
    "descent": {},
    "momentum and decay in batches": {
        "optimizer": "momentum", "momentum": 0.7, "weight_decay": 0.05, "batch_size": 4, "learning_rate": 0.02,
    },
    "cross_entropy": {"loss": "cross_entropy", "y": np.arange(10) % 2},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_a_kernel_that_stays_gives_the_run(x64, name):
    options = dict(OPTIONS[name])
    linear = lambda w, x: x @ w["first"][:, :2] + w["last"][0]  # noqa: E731
    here, there, run = compared(linear, options.pop("y", Y), **options)
    np.testing.assert_allclose(there, here, rtol=1e-10)
    np.testing.assert_allclose(there, run, rtol=1e-10)


def test_the_first_curve_misses_by_the_kernels_change_and_the_next_by_its_square(x64):
    """A larger factor makes the kernel's change smaller by as much."""
    misses = []
    for factor in (8.0, 16.0):
        here, there, run = scaled(factor)
        misses.append((np.abs(here - run).max(), np.abs(there - run).max()))
    first, second = np.log2(np.divide(*misses))
    assert abs(first - 1) < 0.15
    assert abs(second - 2) < 0.3
