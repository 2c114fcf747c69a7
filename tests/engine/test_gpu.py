"""A GPU computes what a CPU does, to the rounding of float32, and the same bits every time; skipped where there is none."""

import numpy as np
import pytest

import foretrain
from foretrain.engine.places import GPU, backends

pytestmark = pytest.mark.skipif(GPU not in backends(), reason="needs an NVIDIA GPU and JAX for it")
SMALL = {"routing": {"steps": 400, "seeds": 3}, "xor": {"steps": 300, "seeds": 3}}
EPS = np.finfo(np.float32).eps


def arrays(study, folder, **options):
    """Every array that was stored of the runs, which are made on the GPU unless the options say otherwise."""
    given = {"on": GPU, "workers": 1, **SMALL[study], **options}
    result = foretrain.run(study, out=folder, **given)
    return {name: np.asarray(values) for name, values in result.simulation.items()}


@pytest.mark.parametrize("study", SMALL)
def test_two_processes_compute_the_same_bits(study, tmp_path):
    once, again = arrays(study, tmp_path / "a"), arrays(study, tmp_path / "b")
    for name, values in once.items():
        np.testing.assert_array_equal(values, again[name], err_msg=name)


def test_runs_that_are_gone_on_with_have_the_bits_of_runs_in_one_go(tmp_path):
    whole = arrays("routing", tmp_path / "whole")
    arrays("routing", tmp_path / "parts", seeds=1)
    parts = arrays("routing", tmp_path / "parts")
    for name, values in whole.items():
        np.testing.assert_array_equal(values, parts[name], err_msg=name)


def test_losses_are_those_of_a_cpu_to_the_rounding_of_float32_and_not_of_tf32(
    tmp_path,
):
    ours = arrays("routing", tmp_path / "gpu")
    rounded = arrays("routing", tmp_path / "tf32", precision="tf32")
    cpu = arrays("routing", tmp_path / "cpu", on="cpu")
    gap = np.nanmax(np.abs(ours["loss"] - cpu["loss"])) / np.nanmax(cpu["loss"])
    coarse = np.nanmax(np.abs(rounded["loss"] - cpu["loss"])) / np.nanmax(cpu["loss"])
    assert gap < 1000 * EPS < coarse
