"""Studies of one's own that import the files beside them."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foretrain
from foretrain.errors import ForetrainError
from foretrain.plans import catalogue

STUDY = '''"""A decay."""

from dataclasses import dataclass
import random

import helper
from helper import FACTOR as factor
from tools.more import start

from foretrain.study import Program, Training, default, parameter


@dataclass(frozen=True)
class Parameters(Training):
    """Fields."""

    scale: float = parameter(1.0, "scale", above=0)
    steps: int = default(20)


def inputs(p, seed):
    import helper as again

    assert again is helper and random.random
    return {"start": start(seed.number), "factor": helper.FACTOR}


def program(p):
    def step(inputs, w):
        from helper import shrink

        return shrink(inputs, w)

    return Program(lambda inputs: inputs["start"], step, lambda inputs, w: {"loss": w**2})
'''


@pytest.fixture(autouse=True)
def nothing_leaks():
    """No name of a file beside a study is left among the modules, and nothing in the path."""
    path, before = list(sys.path), set(sys.modules)
    yield
    assert sys.path == path
    assert not {"helper", "tools", "random2"} & (set(sys.modules) - before)


def written(folder: Path, factor: float, name: str = "mine.py") -> Path:
    (folder / "tools").mkdir(parents=True)
    texts = {
        name: STUDY,
        "helper.py": f"FACTOR = {factor}\n\n\ndef shrink(inputs, w):\n    return w * inputs['factor']\n",
        "tools/__init__.py": "",
        "tools/more.py": "from helper import FACTOR\n\n\ndef start(number):\n    return FACTOR + number\n",
        "random.py": "1 / 0  # hides nothing of the standard library\n",
        "numpyy.py": "1 / 0  # nobody asks for it\n",
    }
    for file, text in texts.items():
        (folder / file).write_text(text)
    return folder / name


def last(result) -> np.ndarray:
    return result.simulation["loss"].isel(step=-1).values


@pytest.mark.slow
def test_two_studies_have_helpers_of_one_name(tmp_path):
    item = written(tmp_path / "a", 0.5)
    two = written(tmp_path / "b", 0.9, "study.py").parent  # a folder
    options = {"seeds": 2, "quiet": True}
    first = foretrain.run(item, out=tmp_path / "one", workers=0, **options)
    second = foretrain.run(two, out=tmp_path / "two", workers=1, **options)
    for result, factor in ((first, 0.5), (second, 0.9)):
        expected = ((factor + np.arange(2)) * factor**20) ** 2
        np.testing.assert_allclose(last(result), expected, rtol=1e-4)


@pytest.mark.slow
def test_a_study_and_what_it_imports_run_from_anywhere(tmp_path):
    file = written(tmp_path / "a", 0.5)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "helper.py").write_text("1 / 0\n")
    words = [sys.executable, "-m", "foretrain", "run", str(file), "--seeds", "2", "--quiet"]
    words += ["--workers", "0", "--out", str(tmp_path / "out"), "--shard"]
    for part in ("1/2", "2/2"):
        done = subprocess.run([*words, part], cwd=elsewhere, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    result = foretrain.open(tmp_path / "out")
    np.testing.assert_allclose(last(result)[0], (0.5 * 0.5**20) ** 2, rtol=1e-4)


def test_a_helper_that_changes_is_read_again_and_is_other_code(tmp_path):
    file = written(tmp_path / "a", 0.5)
    before = catalogue.load(file)
    code = before.code
    assert catalogue.load(file) is before
    helper = file.parent / "helper.py"
    helper.write_text(helper.read_text().replace("0.5", "0.6"))
    after = catalogue.load(file)
    assert after.inputs(after.Parameters(), foretrain.study.Seed(0, 0))["factor"] == 0.6
    assert after.code != code


def test_a_helper_that_raises_is_told_with_its_line(tmp_path):
    file = written(tmp_path / "a", 0.5)
    (file.parent / "helper.py").write_text("FACTOR = 1\n1 / 0\n")
    with pytest.raises(ForetrainError, match=r"helper\.py, line 2: ZeroDivisionError"):
        _ = catalogue.load(file).Parameters
