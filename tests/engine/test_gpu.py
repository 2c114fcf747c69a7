"""A GPU computes in the precision that is asked for, and the same bits every time; skipped where there is none."""

import jax.numpy as jnp
import numpy as np
import pytest
from riding import ride

import foretrain
from foretrain.arithmetic import float_type
from foretrain.dynamics.program import RUNNING, Completed
from foretrain.engine.lanes import Passenger
from foretrain.engine.places import GPU, backends

pytestmark = pytest.mark.skipif(GPU not in backends(), reason="needs an NVIDIA GPU and JAX for it")
SIDE, TURNS = 64, 32


def turned(precision):
    """A matrix after `TURNS` rotations, as the lanes compute it, and its relative distance from the exact one."""
    random = np.random.default_rng(0)
    rotation = np.linalg.qr(random.normal(size=(SIDE, SIDE)))[0].astype(np.float32)
    start = random.normal(size=(SIDE, SIDE)).astype(np.float32)
    program = Completed(
        init=lambda inputs: inputs["start"],
        step=lambda inputs, state: state @ inputs["rotation"],
        observe=lambda inputs, state: {"loss": (state**2).sum()},
        done=lambda inputs, state, observed: jnp.int8(RUNNING),
        finish=lambda inputs, state: {"end": state},
        observe_every=TURNS,
        precision=precision,
    )
    arguments = {"start": start, "root_seed": 0, "seed": 0, "max_steps": TURNS}
    (run,) = ride(program, [Passenger("a", arguments)], {"rotation": rotation}, 3)
    end = run.finals["end"]
    assert end.dtype == float_type(precision)
    exact = start.astype(float) @ np.linalg.matrix_power(rotation.astype(float), TURNS)
    return np.linalg.norm(end - exact) / np.linalg.norm(exact)


def test_products_in_float32_have_its_rounding_and_those_in_tf32_eight_thousand_times_it():
    # The rounding of a product is that of a sum of 64 terms at most; those of the turns add up at most.
    assert turned("float32") < TURNS * SIDE**0.5 * np.finfo(np.float32).eps
    assert turned("tf32") > 2**-11
    assert turned("float64") < 1e-12


def arrays(folder, **options):
    """Every array that was stored of a small sweep of one worker on the GPU."""
    arguments = {"on": GPU, "workers": 1, "steps": 300, "seeds": 3, **options}
    result = foretrain.run("xor", out=folder, **arguments)
    return {name: np.asarray(values) for name, values in result.simulation.items()}


def test_two_processes_compute_the_same_bits_and_so_does_one_that_goes_on(tmp_path):
    whole, again = arrays(tmp_path / "whole"), arrays(tmp_path / "again")
    arrays(tmp_path / "parts", seeds=1)
    parts = arrays(tmp_path / "parts")
    for name, values in whole.items():
        np.testing.assert_array_equal(values, again[name], err_msg=name)
        np.testing.assert_array_equal(values, parts[name], err_msg=name)
