"""What is stored is not trained again, what would be otherwise is; and the cost is told before."""

import os
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from foretrain.explain import simulated
from foretrain.explain.explain_cost import cost, cost_words
from foretrain.explain.own_network import batches, described, starts
from foretrain.explain.simulated import Corner, Simulator, corners, log_spaced
from foretrain.explain.stored_curves import store_folder

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((12, 4))
Y = np.sin(X[:, :1])
MODEL = """
import jax, jax.numpy as jnp
def init(key):
    one, two = jax.random.split(key)
    return [jax.random.normal(one, (4, 8)), jax.random.normal(two, (8, 1)) / 3]
def apply(w, x):
    return jnp.tanh(x @ w[0]) @ w[1]
"""


def init(key):
    one, two = jax.random.split(key)
    return [jax.random.normal(one, (4, 8)), jax.random.normal(two, (8, 1)) / 3]


def simulator(folder=None, shape=jnp.tanh, batch=None, rate=0.1, number=3):
    training = described(
        lambda w, x: shape(x @ w[0]) @ w[1], init, X, Y, rate=rate, steps=20, batch=batch
    )
    with jax.enable_x64(True):
        drawn = jax.tree.map(np.asarray, starts(training, number))
    at = log_spaced(training.steps)
    return Simulator(training, drawn, batches(training, number), at, folder)


@pytest.fixture
def untrained(monkeypatch):
    def refuse(*_):
        raise AssertionError("trained")

    def later():
        monkeypatch.setattr(Simulator, "_program", refuse)

    return later


def test_what_is_stored_is_read_and_another_training_is_not(tmp_path, untrained):
    folder, run = store_folder(tmp_path), Corner(True, True, True, False)
    first = simulator(folder)
    made, flow = first.run(run), first.run(Corner(), 2)
    untrained()
    again = simulator(folder)
    assert (again.run(run).train == made.train).all()
    pairs = zip(jax.tree.leaves(again.run(run).weights), jax.tree.leaves(made.weights), strict=True)
    assert all((one == other).all() for one, other in pairs)
    assert (again.run(Corner(), 2).train == flow.train).all()
    for other in (
        lambda: again.run(Corner(), 3),
        lambda: again.run(Corner(True)),
        lambda: simulator(folder, shape=jax.nn.relu).run(run),
        lambda: simulator(folder, batch=4).run(Corner(True, True, True, False)),
        lambda: simulator(folder, rate=0.11).run(run),
        lambda: simulator(folder, number=2).run(run),
        lambda: simulator().run(run),
    ):
        with pytest.raises(AssertionError, match="trained"):
            other()


def test_half_a_file_is_trained_again(tmp_path):
    folder, run = store_folder(tmp_path), Corner(True, True, True, False)
    made = simulator(folder).run(run)
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    assert (simulator(folder).run(run).train == made.train).all()


def test_small_steps_in_single_precision_are_the_same_flow(monkeypatch):
    """Rounding of 20 x 8 gradients in single precision, each a few 1e-7 of the loss, is below 1e-4 of it."""
    monkeypatch.setattr(simulated, "SINGLE", 0)
    single = simulator()
    assert single.large
    assert len(single.few().rows) == 2
    monkeypatch.undo()
    double = simulator()
    for corner in (Corner(), Corner(True, True)):
        here, there = single.run(corner, 2).train, double.run(corner, 2).train
        assert here.dtype == np.float64
        assert 0 < np.abs(here - there).max() < 1e-4 * there[:, :1].max()
    own = Corner(True, True, True)
    assert (single.run(own).train == double.run(own).train).all()


def test_the_cost_is_told_from_one_gradient_for_every_corner():
    own = simulator()
    found = cost(own.training, own.starts)
    run, flow = Corner(True, True, True), Corner(True, True)
    second = found.seconds(own.training, 3, run, 2)
    assert second == pytest.approx(found.whole * 3 * 20)
    assert found.seconds(own.training, 3, flow, 2) == pytest.approx(8 * second)
    # Six copies of 40 weights of 3 starts, and three kernels of 12 x 12.
    assert found.memory >= 8 * (6 * 40 * 3 + 3 * 144)
    line = cost_words(found, own.training, own.starts, corners(own.training), 2)
    assert "3 starts of 40 weights" in line
    assert "all 8 corners" in line


@pytest.mark.slow
def test_a_call_that_is_killed_goes_on_where_it_was(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    command = [sys.executable, "-m", "foretrain", "explain", "model.py", "data.npz"]
    command += "--rate 0.1 --steps 2000 --batch 4 --seeds 3 --out made".split()
    folder = tmp_path / "made" / "corners"
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as killed:
        until = time.monotonic() + 300
        while time.monotonic() < until and len(list(folder.glob("*.npz"))) < 2:
            time.sleep(0.1)
        os.kill(killed.pid, signal.SIGKILL)
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    assert len(before) >= 2
    assert not (tmp_path / "made" / "explanation.json").exists()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=600)
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    assert len(after) > len(before)
    assert {name: after[name] for name in before} == before
    assert (tmp_path / "made" / "explanation.json").exists()
