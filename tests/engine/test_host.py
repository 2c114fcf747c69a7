"""Runs that train nothing: measured on the host, through the ordinary machinery."""

import time

import numpy as np
import pytest

import foretrain
from foretrain.laboratory.check import check
from foretrain.plans.card import StudyError
from foretrain.results.journal import scan
from foretrain.results.summary import read_summary
from foretrain.study import define

MEASURED = '''"""The mean of draws comes closer to zero."""

from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np

from foretrain.study import declare, generator, parameter, claim

AXES = {"size": (10, 1000)}
declare(distance="Distance of the mean from zero.")
declare("half", parts="Means of both halves.")


@dataclass(frozen=True)
class Parameters:
    """Draws."""

    size: int = parameter(10, "draws", minimum=1)


def measure(p, seed):
    marks = Path(__file__).with_name("marks")
    if marks.exists():
        sleep(0.2)
        number = len(list(marks.iterdir()))
        (marks / f"{number}").touch()
        if number in (2, 4):
            raise KeyboardInterrupt
    if p.size == 7 and seed.number == 1:
        raise ValueError("seven")
    x = generator(seed, "data").standard_normal(p.size)
    return {"distance": abs(x.mean()), "parts": np.array([x[::2].mean(), x[1::2].mean()])}


def predict(p, step):
    assert step.shape == (0,)
    return {"distance": (2 / np.pi / p.size) ** 0.5}


CLOSE = "The mean of draws is close to zero."
CLAIMS = [claim("close", CLOSE, lambda c: c.distance, source="x", near=0, inside=(-2, 2), why="y")]
'''

ALONG_STEP = '''"""Draws, added up."""

from dataclasses import dataclass

import numpy as np

from foretrain.study import declare, generator, parameter, claim

AXES = {"length": (4, 6)}
declare("step", total="Sum of the draws so far.")
declare("half step", parts="Sums so far, of positive and of negative draws.")


@dataclass(frozen=True)
class Parameters:
    """Draws."""

    length: int = parameter(4, "draws", minimum=1)
    learning_rate: float = parameter(0.1, "time of a draw", above=0)


def measure(p, seed):
    x = generator(seed, "data").standard_normal(p.length)
    return {"total": x.cumsum(), "parts": np.cumsum([x * (x > 0), x * (x < 0)], axis=1)}


def predict(p, step):
    return {"total": 0.0 * step}


FEW = "The draws add up to less than 100."
CLAIMS = [claim("few", FEW, lambda c: c.end.total, source="x", near=0, inside=(-99, 99), why="y")]
'''


@pytest.fixture
def measured(tmp_path):
    file = tmp_path / "measured.py"
    file.write_text(MEASURED)
    return file


@pytest.mark.slow
def test_a_measuring_study_goes_on_after_interruptions_and_its_runs_have_no_steps(
    measured, tmp_path
):
    assert check(measured) == []
    began, marks = time.monotonic(), tmp_path / "marks"
    marks.mkdir()
    for stored in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            foretrain.run(measured, seeds=3, out=tmp_path / "a", workers=0, quiet=True)
        assert len(scan(tmp_path / "a").identities) == stored
    result = foretrain.run(measured, seeds=3, out=tmp_path / "a", workers=0, quiet=True)
    assert len(list(marks.iterdir())) == 6 + 2
    # Seconds are those of all sessions, also of those that were interrupted.
    assert 8 * 0.2 <= read_summary(tmp_path / "a").wall_time_s <= time.monotonic() - began
    other = foretrain.run(measured, seeds=3, out=tmp_path / "b", workers=2, quiet=True)
    runs = other.simulation
    assert runs.equals(result.simulation)
    assert runs["parts"].dims == ("size", "seed", "half")
    assert "step" not in runs.dims
    assert (runs["outcome"] == 6).all()
    assert [claim.verdict for claim in other.claims] == ["holds", "holds"]
    assert other.theory["distance"].dims == ("size",)
    assert other.figures == {"measurements": "Measurements"}
    page = (tmp_path / "b" / "report.html").read_text()
    assert "6 computed" in page
    assert "Measurements" in page


@pytest.mark.slow
def test_a_measurement_that_raises_fails_alone_with_its_line(measured, tmp_path):
    result = foretrain.run(measured, size=7, seeds=3, out=tmp_path / "a", workers=1, quiet=True)
    assert result.simulation["outcome"].values.tolist() == [6, 5, 6]
    assert "ValueError: seven" in (tmp_path / "a" / "log.txt").read_text()
    assert result.claims[0].verdict == "inconclusive"


@pytest.mark.parametrize("numbered", [False, True])
def test_a_study_may_measure_along_step_with_numbers_of_its_own(tmp_path, numbered):
    file, out = tmp_path / "along.py", tmp_path / "a"
    steps = "\n\ndef labels(p):\n    return {'step': [2**n for n in range(p.length)]}\n"
    file.write_text(ALONG_STEP + steps * numbered)
    assert check(file) == []
    result = foretrain.run(file, seeds=2, out=out, workers=1, quiet=True)
    runs, known = result.simulation, 2 ** np.arange(6) if numbered else np.arange(6)
    assert runs["total"].dims == ("length", "seed", "step")
    assert runs["parts"].dims == ("length", "seed", "half", "step")
    assert runs["step"].values.tolist() == result.theory["step"].values.tolist() == known.tolist()
    np.testing.assert_allclose(runs["time"], 0.1 * known)
    np.testing.assert_allclose(runs["parts"].sum("half", skipna=False), runs["total"])
    assert runs["total"].notnull().sum("step").values.tolist() == [[4, 4], [6, 6]]
    assert runs["step_length"].values.tolist() == [4, 6]
    assert [claim.verdict for claim in result.claims] == ["holds", "holds"]
    assert "total" in result._drawn()
    assert any("step" in path.name for path in foretrain.export(out, "csv", tmp_path / "b"))
    assert foretrain.open(out).simulation.equals(runs)


def test_any_file_of_a_folder_may_declare_variables(tmp_path):
    words = 'declare("step", total'
    folder = tmp_path / "along"
    folder.mkdir()
    (folder / "study.py").write_text(ALONG_STEP.replace(words, 'declare("step", other'))
    measured = "from foretrain.study import declare\n\nfrom .study import measure\n"
    (folder / "measurement.py").write_text(f'{measured}\n{words}="Sum of the draws so far.")\n')
    result = foretrain.run(folder, seeds=1, length=3, out=tmp_path / "a", workers=1, quiet=True)
    assert result.simulation["total"].dims == ("seed", "step")


def test_measurements_that_do_not_fit_the_steps_are_named(tmp_path):
    file = tmp_path / "along.py"
    for steps, message in (
        ([1, 2], "`total` must have one value along `step` for each of 2 steps, but has 4"),
        ([2, 1, 3, 4], "`labels` must give rising whole numbers"),
    ):
        file.write_text(f"{ALONG_STEP}\n\ndef labels(p):\n    return {{'step': {steps}}}\n")
        assert message in str(check(file))


def test_a_study_must_do_something(tmp_path):
    with pytest.raises(StudyError, match="`program`, `measure` or `posterior`"):
        define("idle", Parameters=type("Parameters", (), {}))
    file = tmp_path / "idle.py"
    file.write_text(MEASURED.replace("def measure", "def other"))
    assert "must define `program`, `measure` or `posterior`" in check(file)[0]


@pytest.mark.slow
def test_a_study_that_trains_and_measures_stores_both_and_may_train_in_some_cells_only(tmp_path):
    file = tmp_path / "both.py"
    text = MEASURED.replace("class Parameters:", "class Parameters(Run):")
    text = text.replace("study import ", "study import Program, Run, default, ")
    program = """

def program(p):
    return Program(lambda i: i["size"] * 1.0, lambda i, w: w / 2, lambda i, w: {"loss": w})
"""
    file.write_text(text.replace("assert step.shape == (0,)", "") + program)
    options = {"seeds": 2, "steps": 4, "observe_every": 2, "workers": 1, "quiet": True}
    result = foretrain.run(file, out=tmp_path / "a", **options).simulation
    assert result["loss"].sizes["step"] == 3
    assert result["distance"].notnull().all()
    assert (result["outcome"] == 4).all()  # out of steps
    file.write_text(file.read_text().replace("    return Program", "    return None and Program"))
    result = foretrain.run(file, out=tmp_path / "b", **options).simulation
    assert (result["outcome"] == 6).all()
    assert "loss" not in result
