"""Studies that stand outside of the catalogue: files, folders, functions, and other packages."""

import json
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_records import RECORD
from tiny_study import DECAY, RUN, Decay

import foretrain
from foretrain.cli import main
from foretrain.errors import ArgumentError, FolderError
from foretrain.laboratory.check import check
from foretrain.plans import catalogue
from foretrain.plans.card import StudyError
from foretrain.registry.record import read, write
from foretrain.results.journal import scan
from foretrain.results.summary import read_summary
from foretrain.study import Program, Run, claim, declare, define, generator

SMALL = {"seeds": 3, "workers": 0, "quiet": True, "steps": 200}


@pytest.fixture
def mine(tmp_path):
    assert main(["new", str(tmp_path / "mine.py")]) == 0
    return tmp_path / "mine.py"


def edited(file: Path, old: str, new: str) -> Path:
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))
    return file


def test_the_template_is_short_lacks_nothing_and_runs_and_holds(mine, tmp_path):
    assert len(mine.read_text().splitlines()) <= 100
    assert check(mine) == []
    result = foretrain.run(mine, out=tmp_path / "out", workers=0, quiet=True)
    assert {claim.id: claim.verdict for claim in result.claims} == {
        "closed-form": "holds",
        "larger-first": "holds",
    }
    assert {path.suffix for path in (tmp_path / "out" / "figures").iterdir()} == {".csv", ".svg"}
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_a_file_runs_from_the_command_line_with_axes_and_is_found_done(mine, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["run", str(mine), "--init-scale", "0.01", "0.02", "--seeds", "3", "--steps", "100"]
    words += ["--workers", "1", "--out", str(out)]
    assert main(words) == 0
    assert main(words) == 0
    assert "Found done" in capsys.readouterr().err
    root = out / "results.zarr" / "zarr.json"
    root.write_bytes(root.read_bytes()[:100])  # which the journal mends
    assert main(words) == 0
    assert foretrain.open(out).simulation.sizes["init_scale"] == 2
    command = json.loads((out / "summary.json").read_text())["command"]
    assert command.startswith(f"foretrain run {mine.resolve()} ")
    assert main(["report", str(out)]) == 0
    assert main(["list", str(mine), "--claims"]) == 0
    assert "larger-first" in capsys.readouterr().out


@pytest.mark.slow
def test_functions_make_a_study_that_workers_run_while_it_predicts_once(tmp_path):
    threads = []

    def inputs(p, seed):
        return {"start": 1 + generator(seed, "weights").random()}

    def predict(p, step):
        threads.append(threading.current_thread() is threading.main_thread())
        assert threads != [False, False], "met again by who needs it"
        return {"loss": (1 - p.rate) ** (2.0 * step)}

    parts = {"Parameters": Decay, "program": lambda p: DECAY}
    study = define("decay", inputs=inputs, predict=predict, **parts)
    results = [
        foretrain.run(study, steps=50, seeds=3, workers=n, out=tmp_path / str(n), quiet=True)
        for n in (1, 2)
    ]
    assert threads == [False, False, True]
    assert results[0].plan.study is study
    assert results[0].theory.equals(results[1].theory)
    item, two = (result.simulation["loss"].values for result in results)
    np.testing.assert_array_equal(item, two)
    starts = [1 + generator(foretrain.study.Seed(0, n), "weights").random() for n in range(3)]
    np.testing.assert_allclose(item[:, 0], np.square(starts), rtol=1e-6)
    np.testing.assert_allclose(item[:, -1], item[:, 0] * 0.9**100, rtol=1e-4)
    with pytest.raises(StudyError, match="no part `predictt`"):
        define("decay", predictt=None, **parts)


@pytest.mark.slow
def test_a_program_alone_is_trained_over_a_grid_and_gone_on_with(tmp_path):
    declare("step", distance="Distance from the end.")
    program = Program(
        lambda inputs: inputs["start"],
        lambda inputs, x: x * (1 - inputs["rate"]),
        lambda inputs, x: {"loss": x**2, "distance": x},
    )
    options = {"steps": 20, "observe_every": 5, "workers": 1, "quiet": True, "out": tmp_path / "a"}
    axes = {"rate": [0.1, 0.2], "start": 2}
    data = foretrain.train(program, axes, seeds=2, **options)
    assert data["distance"].dims == ("rate", "seed", "step")
    assert np.abs(data["distance"] - 2 * (1 - data["rate"]) ** data["step"]).max() < 1e-5
    foretrain.train(program, axes, seeds=3, **options)
    assert len(scan(tmp_path / "a").identities) == 6


@pytest.mark.slow
def test_another_value_that_a_program_holds_is_trained_again(tmp_path):
    def go(K):
        def observe(inputs, x):
            return {"loss": x}

        def init(inputs):
            return 1.0 + 0 * inputs["rate"]

        p = Program(init=init, step=lambda i, x: x * (1 - K * i["rate"]), observe=observe)
        options = {"steps": 4, "observe_every": 1, "workers": 0, "quiet": True}
        data = foretrain.train(p, {"rate": [0.1]}, seeds=2, out=tmp_path / "out", **options)
        (code,) = scan(tmp_path / "out").codes
        return data["loss"].values.ravel()[:5], code

    first, code = go(1)
    np.testing.assert_allclose(first, 0.9 ** np.arange(5), rtol=1e-5)
    again, same = go(1)
    np.testing.assert_array_equal(again, first)
    other, another = go(5)
    np.testing.assert_allclose(other, 0.5 ** np.arange(5), rtol=1e-5)
    assert code == same != another


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
def test_a_mistake_in_a_program_ends_with_file_line_and_message(mine, tmp_path, workers):
    edited(mine, "        first = inputs", "        oops = inputs['oops']\n        first = inputs")
    line = 1 + mine.read_text().splitlines().index("        oops = inputs['oops']")
    words = [sys.executable, "-m", "foretrain", "run", str(mine), "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [*words, "--workers", str(workers), "--seeds", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert f"{mine}, line {line}: KeyError: 'oops'" in done.stderr.strip().splitlines()[-1]
    log = (tmp_path / "out" / "log.txt").read_text()
    assert "Traceback" in log
    assert log.count("KeyError: 'oops'") == 1, "told once, not for every run"
    assert ("Traceback" in done.stderr) is (workers == 0)


@pytest.mark.slow
def test_a_mended_program_is_trained_without_being_asked_to(mine, tmp_path):
    sound = mine.read_text()
    edited(mine, "        first = inputs", "        oops = inputs['oops']\n        first = inputs")
    broken = foretrain.run(mine, out=tmp_path / "out", **SMALL)
    assert (broken.simulation["outcome"].values == 5).all()
    mine.write_text(sound)
    mended = foretrain.run(mine, out=tmp_path / "out", **SMALL)
    assert (mended.simulation["outcome"].values == 4).all()


NEAR, INSIDE = "        near=1,\n", "        inside=(0.5, 1),\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def program(p):", "def programme(p):", "must define `program`"),
        ("class Parameters(Training):", "class Params(Training):", "must define `Parameters`"),
        ('"strength": jnp.diagonal(passed_on(weights))', '"force": jnp.zeros(3)', "`force` is not declared"),
        ('"strength": jnp.diagonal(passed_on(weights))', '"strength": jnp.zeros(())', "must have dims"),
        ("        return first, first.T", "        return first", "line"),
        ("(p.hidden_width, 3)", "(p.hidden_width + seed.number, 3)", "must have the same shape and dtype in all runs"),
        ('return {"strength": strength, "loss"', 'return {"force": strength, "power"', "not declared"),
        ("def program(p):", "def program(p:", "SyntaxError"),
        ("c.strength - c.theory", "c.strenght - c.theory", "no variable `strenght`. Did you mean `strength`?"),
        ('"strength": jnp.diagonal', '"strenght": jnp.diagonal', "not declared. Did you mean `strength`?"),
        ("    strength = 1 / (1", "    strength = np.nan / (1", "predicts nan for 303 of 303 values of `strength`"),
        ('.all("mode"),', ",", "must measure one number per seed, but has dims ('seed', 'mode')"),
        ("default(0.01)", "default(5.0)", "first run: The run must stay finite, but diverged after"),
        ('hidden_width: int = parameter(8, "width', 'hidden_width: int = max(8, "width', "line"),
        ("        near=1,\n", "        near=1,\n        where=True,\n", "`where` must be a function"),
        (NEAR, NEAR + "        where=lambda cell: cell.loss.min() < 1,\n", "cannot look at what was trained"),
        ("        near=1,\n", "        near=1,\n        corrects='nothing',\n", "names `nothing`"),
        ("    strength = 1 / (1", "    return {'strength': 'much'}\n    strength = 1 / (1", "real numbers"),
        ("    strength = 1 / (1", "    return {'loss': [[1], [2, 3]]}\n    strength = 1 / (1", "real numbers"),
        ('{"strength": strength, "loss"', '{"strength": strength[:, :2], "loss"', "as long along `mode`"),
    ],
)  # fmt: skip
def test_what_a_study_lacks_is_found_before_anything_is_trained(mine, old, new, message, capsys):
    edited(mine, old, new)
    assert main(["check", str(mine)]) == 2
    output = capsys.readouterr()
    lines = output.out.strip().splitlines() + output.err.strip().splitlines()
    assert any(message in line for line in lines), lines
    assert "Traceback" not in output.out + output.err
    if "simulation" in new:
        assert re.search(rf"{mine}, line \d+", lines[0])


@pytest.mark.parametrize("name", ["mine", "no-module.py", "1.py", "folder/"])
def test_new_refuses_what_is_no_module_and_what_is_there(tmp_path, name, capsys):
    assert main(["new", str(tmp_path / name)]) == 2
    (tmp_path / "there.py").write_text("mine")
    assert main(["new", str(tmp_path / "there.py")]) == 2
    assert (tmp_path / "there.py").read_text() == "mine"
    assert "Argument `file`" in capsys.readouterr().err


def test_runs_of_other_code_are_never_mixed_in_silence(mine, tmp_path, capsys):
    out = tmp_path / "out"
    foretrain.run(mine, out=out, **SMALL)
    first = catalogue.load(mine).code
    edited(mine, "lambda w, g: w - inputs", "lambda w, g: w - 0.5 * inputs")
    second = catalogue.load(mine).code
    assert first != second
    foretrain.run(mine, out=out, **{**SMALL, "quiet": False})
    assert "than the present" in capsys.readouterr().err
    more = {**SMALL, "seeds": 5}
    with pytest.raises(FolderError, match="--retrain"):
        foretrain.run(mine, out=out, **more)
    with pytest.raises(ArgumentError, match="`retrain`"):
        foretrain.run(mine, out=out, retrain=True, keep=True, **more)
    kept = foretrain.run(mine, out=out, keep=True, **more)
    assert dict(scan(out).codes) == {first: 3, second: 2}
    loss = kept.simulation["loss"].values
    assert loss[3:, 5].min() > 2 * loss[:3, 5].max() or loss[3:, 5].min() > loss[:3, 5].max()
    summary = json.loads((out / "summary.json").read_text())
    assert "were kept beside" in summary["history"][0]
    assert set(summary["codes"]) == {first, second}
    page = (out / "report.html").read_text()
    assert first in page
    assert second in page
    foretrain.run(mine, out=out, retrain=True, **more)
    assert dict(scan(out).codes) == {second: 5}


def test_what_a_sentence_allows_is_only_asked_where_it_speaks(mine):
    edited(mine, INSIDE, "        inside=lambda cell: (1, 0),\n")
    assert "low <= high" in check(mine)[0]
    edited(mine, NEAR, NEAR + "        where=lambda cell: cell.parameters.steps < 5,\n")
    assert check(mine) == []


def test_what_needs_several_values_of_a_swept_axis_is_no_mistake_at_one_but_a_look_at_runs_is(mine):
    gap = "lambda cell: (0, np.diff(cell.values('init_scale')).min())"
    edited(mine, INSIDE, f"        inside={gap},\n        along='init_scale',\n")
    assert "zero-size array" in check(mine)[0]
    edited(mine, "@dataclass", "AXES = {'init_scale': (0.01, 0.02)}\n\n\n@dataclass")
    assert check(mine) == []
    edited(mine, gap, "lambda cell: (0, cell.fits['rate'])")
    assert "cannot look at what was trained" in check(mine)[0]


def test_an_infinite_exact_claim_stays_so_in_a_folder_and_in_a_record(study, tmp_path, capsys):
    file = str(study('w * (1 - inputs["learning_rate"])', "w * 1e30"))
    assert main(["run", file, *RUN, "--out", str(tmp_path / "out")]) == 3
    capsys.readouterr()
    assert main(["show", str(tmp_path / "out"), "--check"]) == 1
    assert capsys.readouterr().err == "foretrain: 1 claims fail, 1 are inconclusive.\n"
    claims = read_summary(tmp_path / "out").claims
    assert (claims[0].measured, claims[0].verdict) == (np.inf, "fails")
    assert "∞, predicted 0" in (tmp_path / "out" / "report.html").read_text("utf-8")
    again = read(write(tmp_path / "registry", replace(RECORD, claims=claims)))
    assert (again.claims[0].measured, again.claims[0].verdict) == (np.inf, "fails")


def test_a_theory_may_be_padded_behind_what_the_program_observes(mine):
    longer = "np.pad(strength, ((0, 0), (0, 1)), constant_values={})"
    edited(mine, '{"strength": strength', '{"strength": ' + longer.format("np.nan"))
    assert check(mine) == []
    edited(mine, "constant_values=np.nan", "constant_values=0")
    assert "as long along `mode` as what a run holds, 3, but is 4" in check(mine)[0]


def test_claims_are_rows_and_what_is_none_is_refused():
    low = claim("low", "A.", lambda c: None, inside=(0, 1), why="w")
    parts = {"Parameters": Run, "program": lambda p: None}
    assert define("mine", CLAIMS=[low], **parts).sentences == (low,)
    for wrong in ([3], [low, lambda c: None], "low"):
        with pytest.raises(StudyError, match=r"must hold rows made by `claim\(...\)`"):
            _ = define("mine", CLAIMS=wrong, **parts).sentences
