"""Corners as runs of the engine: the bits of the simulator, here or in workers; what is stored is not trained again."""

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import foretrain
from foretrain.errors import FolderError, ForetrainError
from foretrain.explain import corner_runs
from foretrain.explain.corner_runs import CornerRuns
from foretrain.explain.own_network import described
from foretrain.explain.simulated import Corner, Simulation, Simulator, simulation_of, simulator_of
from foretrain.laboratory import folder as home
from foretrain.plans.plan import make_plan
from foretrain.results.journal import scan
from foretrain.results.lock import lock

X = np.random.default_rng(0).standard_normal((12, 4))
Y = np.sin(X[:, :1])
RUN, FLOW = Simulation(Corner(True, True, True)), Simulation(Corner(True, True), 2)


def init(key):
    item, two = jax.random.split(key)
    return [jax.random.normal(item, (4, 8)), jax.random.normal(two, (8, 1)) / 3]


def apply(w, x):
    return jnp.tanh(x @ w[0]) @ w[1]


MODEL = "\n".join(["import jax, jax.numpy as jnp", *map(inspect.getsource, (init, apply))])


def training(function=apply, **options):
    return described(function, init, X, Y, **{"learning_rate": 0.1, "steps": 20} | options)


def corner_runs_of(folder, number=3, **options):
    own = training(**options)
    return CornerRuns(simulator_of(own, number), partial(training, **options), folder)


@pytest.fixture(autouse=True)
def _no_trial(monkeypatch):
    monkeypatch.setattr(CornerRuns, "_trial", (1e-6, 0.0))


@pytest.fixture
def refuse(monkeypatch):
    """Refuse to train from the call on."""

    def refused(*_):
        raise KeyboardInterrupt

    return lambda: monkeypatch.setattr(Simulator, "train", refused)


def assert_equal(curves, other):
    for array, expected in zip(jax.tree.leaves(curves), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("workers", [False, True])
def test_runs_of_the_engine_have_the_bits_of_the_simulator(tmp_path, monkeypatch, workers):
    if workers:
        monkeypatch.setattr(corner_runs, "_WORTH_S", -1.0)
    runs = corner_runs_of(tmp_path)
    curves = runs.train([RUN, FLOW])
    for simulation, expected in runs.simulator.train([RUN, FLOW]).items():
        stored = curves[simulation]
        assert_equal(stored.train, expected.train)
        assert (stored.weights is None) == (simulation != RUN)
        assert_equal(stored.weights or expected.weights, expected.weights)


def test_what_is_stored_is_read_and_another_training_is_refused(tmp_path, refuse):
    curves = corner_runs_of(tmp_path).train([RUN, FLOW])
    refuse()
    again = corner_runs_of(tmp_path)
    assert_equal(again.train([FLOW, RUN]), {FLOW: curves[FLOW], RUN: curves[RUN]})
    with pytest.raises(KeyboardInterrupt):
        again.train([FLOW._replace(substeps=3)])
    rectified = {"function": lambda w, x: jax.nn.relu(x @ w[0]) @ w[1]}
    for other in (rectified, {"batch_size": 4}, {"learning_rate": 1}, {"clip": 1}, {"number": 2}):
        with pytest.raises(FolderError, match="`training` = "):
            corner_runs_of(tmp_path, **other).train([RUN])
    (tmp_path / "other").mkdir()
    home.record(tmp_path / "other", make_plan("one-mode", {}, seeds=1))
    with pytest.raises(FolderError, match="must be a folder of study `explain`"):
        corner_runs_of(tmp_path / "other").train([RUN])
    with lock(tmp_path, "sweep"), pytest.raises(FolderError, match="in use"):
        again.train([FLOW._replace(substeps=3)])


def test_an_interrupted_explanation_goes_on_and_ends_with_the_same_bits(tmp_path, monkeypatch):
    options = {"learning_rate": 0.1, "steps": 20, "seeds": 2}
    whole = foretrain.explain(apply, init, X, Y, **options, out=tmp_path / "whole")
    train, left = Simulator.train, iter(range(5))

    def interrupted(*values):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return train(*values)

    with monkeypatch.context() as patched:
        patched.setattr(Simulator, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            foretrain.explain(apply, init, X, Y, **options, out=tmp_path / "part")
    stored = set(scan(tmp_path / "part").identities)
    assert stored
    again = foretrain.explain(apply, init, X, Y, **options, out=tmp_path / "part")
    assert_equal(again.train, whole.train)
    assert stored < set(scan(tmp_path / "part").identities)


def test_a_run_that_other_code_made_is_made_again(tmp_path, monkeypatch):
    runs = corner_runs_of(tmp_path)
    runs._study.code = "other"
    runs.train([RUN])
    assert scan(tmp_path).codes == {"other": 1}
    again = corner_runs_of(tmp_path)
    again.train([RUN])
    assert scan(tmp_path).codes == {again._study.code: 1}


def test_names_of_simulations_say_all_of_them():
    for simulation in (RUN, FLOW, Simulation(Corner(output=False), 4, starts=(2, 1)),
                       Simulation(Corner(True, True), 8, corrected=True)):  # fmt: skip
        assert simulation_of(simulation.name) == simulation


def test_a_network_that_cannot_be_sent_to_a_worker_is_refused_in_a_line(tmp_path):
    value = threading.Lock()
    own = training(lambda w, x: apply(w, x) if value else x)
    with pytest.raises(ForetrainError, match="cannot be handed to another process"):
        CornerRuns(simulator_of(own, 2), partial(lambda first: first, own), tmp_path)


@pytest.mark.slow
def test_a_call_that_is_killed_goes_on_where_it_was(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    command = [sys.executable, "-m", "foretrain", "explain", "model.py", "data.npz"]
    command += "--learning-rate 0.1 --steps 2000 --batch-size 4 --seeds 3 --out".split()
    journal = tmp_path / "killed" / "journal"
    with subprocess.Popen([*command, "killed"], cwd=tmp_path, stderr=subprocess.DEVNULL) as killed:
        while killed.poll() is None and len(list(journal.glob("*.npz"))) < 2:
            threading.Event().wait(0.05)
        os.kill(killed.pid, signal.SIGKILL)
    before = {path.name: path.read_bytes() for path in journal.glob("*.npz")}
    assert len(before) >= 2
    assert not (tmp_path / "killed" / "explanation.json").exists()
    records = []
    for folder in ("killed", "whole"):
        subprocess.run([*command, folder], cwd=tmp_path, check=True, capture_output=True)
        record = json.loads((tmp_path / folder / "explanation.json").read_text("utf-8"))
        records.append({**record, "seconds": 0})
    assert len(list(journal.glob("*.npz"))) > len(before)
    assert all((journal / name).read_bytes() == content for name, content in before.items())
    assert records[0] == records[1]
