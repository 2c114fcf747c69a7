"""Mistakes of the author of a study end in one line that names it, before anything is trained where that can be."""

import dataclasses
import json

import numpy as np
import pytest
from tiny_study import DECAY, RUN, one_line

import foretrain
from foretrain.claims.markup import formulas
from foretrain.cli import main
from foretrain.errors import ForetrainError
from foretrain.laboratory.check import check
from foretrain.laboratory.labelled import theory_of
from foretrain.plans import catalogue
from foretrain.plans.grid import Grid
from foretrain.study import declare, define
from foretrain.vocabulary import VocabularyError


def test_the_study_itself_lacks_nothing(study, tmp_path):
    assert check(study()) == check("mask-spectrum") == []  # of which nothing is trained by default
    assert main(["run", str(study()), *RUN, "--out", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["problems"] == []


def test_a_slider_of_no_parameter_is_found_by_check_with_the_nearest(study):
    (line,) = check(study('SOURCE = "own"', 'SOURCE = "own"\nEXPLORE = ("scael",)'))
    assert line.endswith("but is 'scael'. Did you mean `scale`?")


def test_a_misspelt_name_is_found_by_check_and_a_theory_that_is_nan_is_the_reason(study, tmp_path):
    (line,) = check(study('c["other"]', 'c["othre"]'))
    assert line.endswith("There is no network `othre`. Did you mean `other`?")
    panel = "FIGURES = {'decay': lab.figure('a', 'b', lab.panel(lambda c: c.lsos, by='mode'))}"
    (line,) = check(study("CLAIMS =", f"{panel}\nCLAIMS ="))
    assert line.startswith("The figure `decay`: ")
    assert line.endswith("There is no variable `lsos`. Did you mean `loss`?")
    file = study('"pair": pair,', '"pair": pair * np.nan,')
    claims = foretrain.run(file, seeds=2, workers=0, quiet=True, out=tmp_path / "out").claims
    assert "since the theory predicts nan for 12 of 12 values of `pair`" in claims["decays"].reason


FIELD = "    scale: float"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def check(p):\n", "def check(p):\n    1 / 0\n", "tiny.py, line 29: ZeroDivisionError"),
        ("def variants(p):\n", "def variants(p):\n    1 / 0\n", "`variants` of the study raised"),
        ("def estimate(p):\n", "def estimate(p):\n    1 / 0\n", "`estimate` of the study raised"),
        ("    return p.steps\n", '    return float("nan")\n', "`estimate` must give a finite number"),
        ('{"other": {"scale": 2.0}}', '{"other": {"scal": 2.0}}', "`scal` = 2.0 in `other`"),
        ('{"other": {"scale": 2.0}}', '{"other": {"scale": [2.0]}}', "must change parameters"),
        ('{"other": {"scale": 2.0}}', '{"other": {"seeds": 0}}', "Argument `variants.other.seeds`"),
        ('{"other": {"scale": 2.0}}', '["other"]', "`variants` must be a dictionary, but is list"),
        ('SOURCE = "own"', 'SOURCE = "own"\nAXES = ["scale"]', "`AXES` must be a dictionary"),
        ('SOURCE = "own"', 'SOURCE = "own"\nPRESETS = {"a": 3}', "`PRESETS` must be a dictionary"),
        ('SOURCE = "own"', 'SOURCE = "own"\nSEEDS = "many"', "Argument `SEEDS`"),
        ('SOURCE = "own"', 'SOURCE = "own"\nREVISION = "b"', "Argument `REVISION`"),
        ('SOURCE = "own"', 'SOURCE = "own"\nREFERENCES = ("no",)', "must name a reference"),
        ('SOURCE = "own"', 'SOURCE = "own"\nREFERENCES = 3', "`REFERENCES` must be a list"),
        ('SOURCE = "own"', "SOURCE = 3", "`SOURCE` of the study `tiny` must be words"),
        (FIELD, f'    seeds: int = lab.parameter(5, "x")\n{FIELD}', "no field `seeds`"),
        (FIELD, f'    seed: int = lab.parameter(5, "x")\n{FIELD}', "no field `seed`"),
        (FIELD, f'    out: int = lab.parameter(5, "x")\n{FIELD}', "no field `out`"),
        (FIELD, f'    more: list = lab.parameter((), "x")\n{FIELD}', "must be int, float, bool"),
        (FIELD, f'    more: "Flaot" = lab.parameter(1, "x")\n{FIELD}', "'Flaot' is not defined"),
        ('(1.0, "scale", above=0)', '(-1.0, "scale", above=0)', "Argument `scale`"),
        ("@dataclass(frozen=True)\n", "", "@dataclass(frozen=True)"),
        ("import numpy as np", "raise SystemExit(3)", "tiny.py, line 5: SystemExit: 3"),
        ('of="other"', 'along="nope"', "must look along parameters, but names `nope`"),
        ('of="other"', "among=True", "`among` must be words"),
        ('why="Half."', 'why=""', "the reason for just this interval"),
        ('claim("bigger"', 'claim("decays"', "must have distinct ids, but two are `decays`"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_before_anything_is_trained(
    study, tmp_path, capsys, old, new, message
):
    file = study(old, new)
    assert main(["run", str(file), *RUN, "--out", str(tmp_path / "out")]) == 2
    one_line(capsys.readouterr().err, message)
    assert main(["check", str(file)]) == 2
    text = capsys.readouterr()
    assert message in text.out + text.err
    assert not (tmp_path / "out" / "journal").exists()


@pytest.mark.parametrize("name", ["loss", "outcome", "step", "time", "mode"])
def test_no_axis_has_the_name_of_what_results_hold(study, tmp_path, capsys, name):
    file = study(FIELD, f'    {name}: float = lab.parameter(0.5, "x")\n{FIELD}')
    words = [f"--{name}", "0.1", "0.2", "--out", str(tmp_path / "out")]
    assert main(["run", str(file), *RUN, *words]) == 2
    one_line(capsys.readouterr().err, f"Argument `--{name}` must have a name of its own")


SIZE = "be 0 or between 1.2e-38 and 3.4e+38 in size in float32"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--width 99999999999999999999999", "Argument `--width` must be between"),
        ("--width 3000000000", "Argument `--width` must be between"),
        ("--scale 0.01 1e-300", f"Argument `--scale` must {SIZE}, but is 1e-300."),
        ("--scale 0.01 1e300 --precision tf32", f"Argument `--scale` must {SIZE}, but is 1e+300."),
        ("--scale 0.01 1e-310 --precision float64", "2.2e-308 and 1.8e+308 in size in float64"),
    ],
)
def test_a_number_that_programs_cannot_hold_is_refused(study, tmp_path, capsys, words, message):
    assert main(["run", str(study()), *RUN, *words.split(), "--out", str(tmp_path / "out")]) == 2
    one_line(capsys.readouterr().err, message)


def test_inputs_that_do_not_fit_into_memory_are_one_line_and_no_lost_runs(study, tmp_path, capsys):
    line = '    return {"start": lab.generator(seed, "w").standard_normal(p.width)}'
    file = study(line, f"    np.empty(2**50)\n{line}")
    assert main(["run", str(file), *RUN, "--out", str(tmp_path / "out")]) == 2
    one_line(capsys.readouterr().err, "The inputs of a run do not fit into memory: Unable to")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert not {"plan", "seal"} & manifest.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def labels(p):\n", "def labels(p):\n    1 / 0\n", "`labels` of the study raised"),
        ("def time(p, step):\n", "def time(p, step):\n    1 / 0\n", "`time` of the study raised"),
        ("return step * p", "return step[1:] * p", "`time` must give one number per step"),
    ],
)
def test_labels_that_raise_are_one_line_and_the_runs_are_kept(
    study, tmp_path, capsys, old, new, message
):
    out = tmp_path / "out"
    assert main(["run", str(study(old, new)), *RUN, "--out", str(out)]) == 2
    one_line(capsys.readouterr().err, message)
    assert main(["check", str(tmp_path / "tiny.py")]) == 2
    assert main(["report", str(out), "--study", str(study())]) == 0
    assert len(foretrain.open(out).claims) == 2


REFUSAL = 'raise lab.argument_error("scale", "lie elsewhere", "is here")'


def test_labels_of_another_number_than_what_they_label_are_found_by_check(study):
    (line,) = check(study("np.arange(p.width)", "np.arange(p.width + 1)"))
    assert "Labels `mode` must be as many as there are along `mode`, 2, but are 3." in line


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def inputs(p, seed):\n", "def inputs(p, seed):\n    raise SystemExit\n", "SystemExit"),
        ("def inputs(p, seed):\n", f"def inputs(p, seed):\n    {REFUSAL}\n", "`scale` must lie elsewhere, but is here."),
        ('    return {"start"', '    {"start"', "`inputs` must be a dictionary, but is NoneType"),
        ('return {"start"', 'return {"seed": 3, "start"', "must give no `seed`"),
        ("    return lab.Program(", "    lab.Program(", "`program` must return a Program"),
        ("    def step(inputs, w):\n", "    def step(inputs, w):\n        exit(0)\n", "SystemExit"),
        ('return {"loss": jnp.sum(w**2), "pair": w}', "return [w]", "`observe` must return a dictionary of arrays"),
    ],
)  # fmt: skip
def test_what_ends_a_run_is_its_reason(study, tmp_path, capsys, old, new, message):
    out = tmp_path / "out"
    assert main(["run", str(study(old, new)), *RUN, "--out", str(out)]) == 3
    assert REFUSAL not in new or "Traceback" not in capsys.readouterr().err
    summary = json.loads((out / "summary.json").read_text())
    assert summary["runs"] == {"failed": 4}
    assert all(message in reason for reason in summary["failures"].values())
    assert '<p class="lead">Every run was lost. ' in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message", "left"),
    [
        ("def decays(c):\n", "def decays(c):\n    raise SystemExit(0)\n", "tiny.py, line 73: SystemExit", 1),
        ("seed):\n    pair", "seed):\n    1 / 0\n    pair", "tiny.py, line 64: ZeroDivisionError: division by zero", 1),
        ("isel(step=0) / 4", "isel(step=0)[:1] / 4", "each of 2 seeds, nan where there is none, but gave 1", 1),
        ("isel(step=0) / 4", "isel(step=0).values[[0, 1, 1, 1]]", "each of 2 seeds, but gave 4", 1),
        ("def fit(cell):\n    return {}", 'def fit(cell):\n    return {"x": 1}', "`x` is not declared", 2),
        ("CLAIMS =", "FIGURES = [3]\nCLAIMS =", "`FIGURES` must be a dictionary", 2),
        ("CLAIMS =", "FIGURES = {'../a': lab.drawn(lambda grid: 3)}\nCLAIMS =", "without a folder", 2),
        ("CLAIMS =", "FIGURES = {'a': lambda grid: 3}\nCLAIMS =", "must hold rows made by", 2),
        ("CLAIMS =", "FIGURES = {'bad': lab.drawn(lambda grid: 1 / 0)}\nCLAIMS =", "The figure `bad` of the study raised", 2),
        ("    return c.pair -", "    c.loss[:] = 0\n    return c.pair -", "copy() array first", 1),
    ],
)  # fmt: skip
def test_what_looks_at_runs_and_raises_costs_itself_only(
    study, tmp_path, capsys, old, new, message, left
):
    out = tmp_path / "out"
    code = main(["run", str(study(old, new)), *RUN, "--out", str(out)])
    text = capsys.readouterr().err
    assert code == (3 if left == 1 else 0)
    assert main(["report", str(out)]) == code
    one_line(text, message)
    assert ".. See" not in text
    assert formulas(message) in (out / "report.html").read_text()
    assert "Traceback" in (out / "log.txt").read_text()
    assert len(json.loads((out / "summary.json").read_text())["problems"]) == 1
    result = foretrain.open(out)
    assert len(result.claims) == left
    assert (result.simulation["loss"].isel(step=0) > 0).all()


@pytest.mark.slow
def test_runs_that_are_lost_or_diverge_are_told_once_in_python_too(study, tmp_path, capsys):
    options = {"seeds": 2, "workers": 0, "quiet": True}
    lost = study('    return {"start"', '    1 / seed.number\n    return {"start"')
    for _ in range(2):  # found done the second time
        foretrain.run(lost, out=tmp_path / "lost", **options)
        text = capsys.readouterr().err
        assert (
            text.count("2 runs were lost: ") == text.count("The theory of the study raised: ") == 1
        )
    far = foretrain.run(study(), learning_rate=5.0, steps=200, out=tmp_path / "far", **options)
    assert all("2 of 2 runs diverged" in claim.reason + claim.note for claim in far.claims)
    one_line(capsys.readouterr().err, "4 of 4 runs diverged. See ")
    words = ["--learning-rate", "5", "--steps", "200", "--out", str(tmp_path / "far")]
    assert main(["run", str(study()), *RUN, *words]) == 3
    one_line(capsys.readouterr().err, "foretrain: 4 of 4 runs diverged.")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(pair**2).sum(1)", "(pair[1:] ** 2).sum(1)", "Variable `loss` must have dims (step: 3), with"),
        ("(pair**2).sum(1)", "pair**2", "Variable `loss` must have dims (step: 3), with"),
        ('"pair": pair,', '"pair": pair[seed.number :],', "`pair` must have one shape for all seeds"),
        ('"pair": pair,', '"scores": pair.T, "pair": pair,', "Variable `scores` must have dims (step: 3,"),
    ],
)  # fmt: skip
def test_a_prediction_of_another_shape_is_told_with_the_expected_dims(study, old, new, message):
    outcome = catalogue.load(study(old, new))
    with pytest.raises(VocabularyError) as text:
        theory_of(outcome, Grid(outcome.Parameters(), {}, 2))
    assert message in str(text.value)


def test_a_sentence_of_a_network_that_was_never_trained_is_inconclusive(study, tmp_path):
    file = study('of="other"', 'of="nobody"')
    result = foretrain.run(file, seeds=2, workers=0, quiet=True, out=tmp_path / "out")
    (claim,) = (claim for claim in result.claims if claim.id == "bigger")
    assert (claim.verdict, claim.reason) == ("inconclusive", "no network `nobody` was trained")


KIND = """"scale", above=0)
    kind: str = lab.parameter("a", "k", choices=("a", "b"))
    twice = property(lambda self: self.kind * 2)  # here"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"        return w * (": "        return w * p.scale * (  # here\n"},
            '`program` must use inputs["scale"], which is traced; `p.scale` is not that of a run but the default.',
        ),
        (
            {"    def init(inputs):": "    assert p.steps  # here\n    def init(inputs):"},
            '`program` must use inputs["max_steps"], which is traced',
        ),
        (
            {
                "def program(p):": "def shared(p):\n    return {'one': p.scale}  # here\ndef program(p):"
            },
            '`shared` must make `scale` static=True, or leave it to `program`, which must use inputs["scale"]',
        ),
        (
            {'"scale", above=0)': KIND, "    def init(": "    assert p.twice\n    def init("},
            "`program` must make `kind` static=True, since text cannot be traced",
        ),
    ],
)
def test_a_field_that_is_not_static_is_refused_where_runs_that_differ_in_it_share_a_program(
    study, tmp_path, changes, message
):
    file = study()
    for old, new in changes.items():
        file.write_text(file.read_text().replace(old, new))
    lines = file.read_text().splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if line.endswith("# here"))
    (text,) = check(file)
    assert f"{file}, line {number}: TypeError: {message}" in text
    main(["run", str(file), *RUN, "--out", str(tmp_path / "out")])
    failures = json.loads((tmp_path / "out" / "summary.json").read_text())["failures"]
    assert (
        {item for item in failures.values() if message in item} == set(failures.values()) != set()
    )


declare(distance="Distance of the mean from zero.")
declare("half", parts="Means of both halves.")
MEASURED = {"distance": 0.5, "parts": np.zeros(2)}


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda p, seed: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda p, seed: None, "`measure` must be a dictionary, but is NoneType"),
        (lambda p, seed: {"other": 1.0}, "Variable `other` is not declared."),
        (lambda p, seed: {"parts": np.zeros((2, 1))}, "Variable `parts` must have dims ('half',)"),
        (lambda p, seed: {"distance": np.nan}, "Variable `distance` must be finite, but is nan."),
        (lambda p, seed: {"distance": "far"}, "`distance` must hold numbers, but has dtype <U3."),
    ],
)
def test_a_mistake_in_what_is_measured_is_found_by_check(measure, message):
    parts = {"Parameters": dataclasses.make_dataclass("Parameters", [], frozen=True)}
    sound = check(define("measured", measure=lambda p, seed: MEASURED, **parts))
    assert (sound, sound.seconds is None) == ([], False)
    (line,) = check(define("measured", measure=measure, **parts))
    assert line.startswith("first run: ")
    assert message in line


def test_data_that_users_get_can_be_written(study, tmp_path):
    result = foretrain.run(study(), seeds=2, workers=0, quiet=True, out=tmp_path / "out")
    result.simulation["loss"][:] = 0
    assert np.all(result.simulation["loss"] == 0)


@pytest.mark.parametrize(
    ("program", "axes", "message"),
    [
        (3, {"rate": 0.1}, "Argument `program` must be a Program"),
        (DECAY, ["rate"], "Argument `axes` must give values by name"),
        (DECAY, {"a b": 1}, "names as in Python"),
        (DECAY, {"class": 1}, "names as in Python"),
        (DECAY, {"rate": None}, "Argument `rate` must be a number or several"),
        (DECAY, {"rate": []}, "Argument `rate` must be a number or several"),
        (DECAY, {"loss": [1, 2]}, "Argument `loss` must have a name of its own"),
        (DECAY, {"seed": 1}, "no field `seed`"),
    ],
)
def test_a_program_that_cannot_be_trained_is_refused_in_one_line(tmp_path, program, axes, message):
    with pytest.raises(ForetrainError, match=message):
        foretrain.train(program, axes, seeds=2, steps=20, workers=0, out=tmp_path / "out")


def test_training_of_which_every_run_fails_raises_its_reason(tmp_path, capsys):
    options = {"seeds": 2, "steps": 20, "workers": 0, "quiet": True}
    with pytest.raises(ForetrainError, match=r"2 runs were lost: .*KeyError: 'start'"):
        foretrain.train(DECAY, {"rate": 0.1}, out=tmp_path / "all", **options)

    def inputs(p, seed):
        return {"start": 1.0 / seed.number}

    data = foretrain.train(DECAY, {"rate": 0.1}, inputs=inputs, out=tmp_path / "some", **options)
    assert data["loss"].isel(step=0).notnull().values.tolist() == [False, True]
    assert "1 run was lost:" in capsys.readouterr().err


@pytest.mark.slow
def test_an_axis_may_change_the_length_of_a_dim_with_labels_or_without(study, tmp_path, capsys):
    for number, words in enumerate(("{}", "{'mode': np.arange(p.width) + p.width}")):
        file, out = study('{"mode": np.arange(p.width)}', words), tmp_path / str(number)
        assert main(["run", str(file), *RUN, "--width", "2", "3", "--out", str(out)]) == 0
        assert capsys.readouterr().err == ""
        stored = foretrain.open(out)
        assert stored.theory["pair"].sizes == stored.simulation["pair"].sizes
        gap = np.abs(stored.theory["pair"].values - stored.simulation["pair"].values)
        assert np.isnan(gap[0, ..., 2]).all()
        assert gap[0, ..., :2].max() < 1e-5
        assert gap[1].max() < 1e-5
        assert (out / "figures" / "pair.svg").exists()
