"""A second process trains corners of the same explanation: the same bits, and none twice; without it all are trained here."""

import subprocess
import sys

import numpy as np
import pytest

from foretrain.explain import explain as explaining
from foretrain.explain.explain import simulator_of
from foretrain.explain.model_file import described_files, explain_files
from foretrain.explain.second_core import in_turn, start
from foretrain.explain.simulated import corners
from foretrain.explain.stored_curves import store_folder
from foretrain.machine import available_cores

MODEL = """
import jax
import jax.numpy as jnp


def init(key):
    one, two = jax.random.split(key)
    return {"first": jax.random.normal(one, (3, 8)), "last": jax.random.normal(two, (8, 1)) / 8**0.5}


def apply(w, x):
    return jnp.tanh(x @ w["first"]) @ w["last"]
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    random = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=random.normal(size=(6, 3)), y=random.normal(size=(6, 1)))
    own = {"model": tmp_path / "model.py", "data": tmp_path / "data.npz", "loss": None}
    return own | {"rate": "0.1", "steps": "2"}


def test_the_second_process_stores_the_bits_of_this_one(files, tmp_path):
    training, _ = described_files(**files)
    folder = store_folder(tmp_path / "both")
    asked = corners(training)
    process = start(available_cores()[0], files, folder, 2, 1, from_zero=False)
    process.wait(120)
    process.communicate()
    assert len(list(folder.glob("*.npz"))) == len(asked) == 8
    here = simulator_of(training, 2, store_folder(tmp_path / "alone"))
    there = simulator_of(training, 2, folder)
    for one in (asked[0], asked[-1]):
        read = there._store.read(there._asked(one, 1, False))
        assert read is not None
        np.testing.assert_array_equal(here.run(one).train, read[0])


def test_what_the_second_process_trains_is_left_to_it_until_it_ends(files, tmp_path):
    training, _ = described_files(**files)
    mine, other = (simulator_of(training, 1, store_folder(tmp_path)) for _ in range(2))
    first, last = corners(training)[0], corners(training)[-1]
    second = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert other.take(last, 1, None)
    (sign,) = (tmp_path / "corners").glob("*.taken")
    sign.write_text(str(second.pid))
    assert not mine.take(last, 1, second.pid)
    turns = in_turn(mine, [last, first], 1, second)
    assert next(turns) == first
    second.kill()
    assert list(turns) == [last]


@pytest.mark.slow
def test_an_explanation_whose_second_process_dies_is_made_by_the_first(files, monkeypatch):
    monkeypatch.setattr(explaining, "WORTH_S", 0.0)
    dead, lines = [], []

    def started(*given, **named):
        process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
        dead.append(process)
        return process

    monkeypatch.setattr("foretrain.explain.model_file.start", started)
    made = explain_files(**files, seeds=1, core=0, tell=lines.append)
    assert dead[0].poll() == 3
    assert len(made.train) == 8
    assert any(line.startswith("A second process trains corners") for line in lines)
