"""Two batched decompositions in one program do not block each other, on any route by which JAX is started here.

Every route is a process of its own with a time limit: a deadlock never ends. The limits are some ten times what the
work takes on an idle core.
"""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.machine import available_cores

LIMIT_S = 110

# The toy study draws two batches of orthogonal matrices in one program.
TOY = """
import sys
sys.path.insert(0, {here!r})
import toy_sweep
done = toy_sweep.sweep({out!r}, seeds=3, workers=%s, parameters=dict(orthogonal=True, longest=40))
print("ended", done.ran)
"""

PLAIN_JAX_ON_ALL_CORES = """
import jax
jax.numpy.zeros(1).block_until_ready()
"""

# Forking a process that runs JAX is not safe, so that the child frees itself before it becomes the command.
UNPIN = """
import os, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, range(os.cpu_count()))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(scope="module")
def all_cores(tmp_path_factory):
    """Environment and core set of a user's process; compiled programs are shared by the tests of this file."""
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**os.environ, "FORETRAIN_CACHE_DIR": cache, "JAX_PLATFORMS": "cpu"}


def run_unpinned(code, folder, environment):
    """Run code on all cores of the machine, as a user would, and not on the one core of this test process."""
    script = code.format(out=str(folder / "out"), here=str(Path(__file__).parent))
    whole = [sys.executable, "-c", UNPIN, sys.executable, "-c", script]
    return subprocess.run(whole, env=environment, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.slow
@pytest.mark.parametrize("code", [TOY % None, TOY % 0], ids=["workers", "in-this-process"])
def test_from_python_without_a_main_guard_as_in_a_notebook(tmp_path, all_cores, code):
    done = run_unpinned(code, tmp_path, all_cores)
    assert done.stdout.strip().endswith("ended 3"), done.stderr


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core cannot deadlock")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_running_in_a_process_whose_jax_has_all_cores_is_refused(tmp_path, all_cores):
    done = run_unpinned(PLAIN_JAX_ON_ALL_CORES + TOY % 0, tmp_path, all_cores)
    assert "ArgumentError: Argument `workers` must be at least 1" in done.stderr


def test_in_pytest():
    if hasattr(os, "sched_getaffinity"):
        assert len(available_cores()) == 1

    @jax.jit
    def two_batches(key):
        first, second = jax.random.split(key)
        return [jax.random.orthogonal(k, 16, (64,), jnp.float32) for k in (first, second)]

    for matrices in two_batches(jax.random.key(0)):
        gram = jnp.einsum("bij,bik->bjk", matrices, matrices)
        # Sixteen products of entries below one in single precision.
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(16), gram.shape), atol=1e-5)
