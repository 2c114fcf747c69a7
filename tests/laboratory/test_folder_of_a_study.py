"""A folder whose study has moved, has changed or is made of functions is told apart, left as it is, or gone on with."""

import shutil

import pytest
from tiny_study import DECAY, RUN, TINY, Decay, contents, one_line

import foretrain
from foretrain.cli import main
from foretrain.errors import ForetrainError
from foretrain.plans import catalogue
from foretrain.study import define


@pytest.fixture
def finished(study, tmp_path, capsys):
    """The file of a study, and a folder of its runs."""
    file, out = study(), tmp_path / "out"
    assert main(["run", str(file), *RUN, "--out", str(out)]) == 0
    capsys.readouterr()
    return file, out


@pytest.mark.slow
def test_a_study_that_has_moved_or_is_broken_is_told_so_and_gone_on_with(
    finished, tmp_path, capsys
):
    file, out = finished
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(file, tmp_path / "elsewhere" / "tiny.py")
    assert main(["report", str(out)]) == 0
    one_line(capsys.readouterr().err, f"not at {file} any more")
    assert main(["run", str(moved), *RUN, "--out", str(out)]) == 0
    assert main(["report", str(out)]) == 0
    moved.write_text("def broken(")
    capsys.readouterr()
    assert main(["report", str(out), "--study", str(moved)]) == 2
    one_line(capsys.readouterr().err, f"{moved}, line 1: SyntaxError")


@pytest.mark.slow
def test_a_study_or_parameter_of_another_name_is_told_with_the_repair(finished, tmp_path, capsys):
    file, out = finished
    moved = file.rename(tmp_path / "other.py")
    assert main(["report", str(out)]) == 0
    one_line(capsys.readouterr().err, "Try foretrain report with --study and the place")
    more = ["run", str(moved), *RUN, "--seeds", "3", "--out", str(out)]
    assert main(more) == 2
    one_line(capsys.readouterr().err, f"foretrain report with this folder and --study {moved}")
    assert main(["report", str(out), "--study", str(moved)]) == 0
    assert f"remembers that its study is at {moved}.\n" in capsys.readouterr().err
    assert main(["report", str(out)]) == 0
    assert main(more) == 0
    grown = foretrain.open(out)
    assert [len(grown.claims), main(["show", str(out)])] == [2, 0]
    assert grown.config["study"] == "tiny"
    assert grown.simulation["outcome"].values.tolist() == [4, 4, 4]
    moved.write_text(TINY.replace("    scale: float", "    size: float"))
    capsys.readouterr()
    assert main(["report", str(out), "--study", str(moved)]) == 2
    one_line(capsys.readouterr().err, "a parameter `scale`, which the study `tiny` has no longer.")
    assert main(["show", str(out)]) == 0


@pytest.mark.slow
def test_a_place_of_other_code_is_remembered_and_told_to_be_that(finished, tmp_path, capsys):
    file, out = finished
    other = tmp_path / "other.py"
    other.write_text(file.read_text().replace("w * (1 - inputs", "w * (0.9 - inputs"))
    assert main(["report", str(out), "--study", str(other)]) == 0
    text = capsys.readouterr().err
    assert f"remembers that its study is at {other}. Its runs were made by other code (" in text
    assert main(["run", str(other), *RUN, "--seeds", "3", "--out", str(out)]) == 2
    one_line(capsys.readouterr().err, "--retrain to train them again, or --keep")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('SOURCE = "own"', 'SOURCE = "own"\nREVISION = 2', "of revision 1 of the study `tiny`"),
        (
            "    learning_rate: float",
            '    momentum: float = lab.parameter(0.5, "m")\n    learning_rate: float',
            "before the study `tiny` had the parameter `momentum`",
        ),
    ],
)
def test_runs_of_another_revision_or_of_fewer_parameters_are_left_as_they_are_by_report(
    study, finished, capsys, old, new, message
):
    _, out = finished
    before = contents(out)
    assert main(["report", str(out), "--study", str(study(old, new))]) == 2
    text = capsys.readouterr().err
    one_line(text, message)
    assert "another folder" in text
    assert contents(out) == before
    assert [len(foretrain.open(out).claims), main(["show", str(out)])] == [2, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damaged", ["", "zarr.json", "simulation/pair/c/0/0/0", "theory/zarr.json"]
)
def test_results_are_not_replaced_by_none_where_the_journal_is_gone(finished, capsys, damaged):
    _, out = finished
    shutil.rmtree(out / "journal")
    if damaged:
        file = out / "results.zarr" / damaged
        file.write_bytes(file.read_bytes()[:-9])
    before = contents(out)
    assert main(["report", str(out)]) == 2
    message = "may, but" if damaged else "hold 4"
    one_line(
        capsys.readouterr().err, f"of the runs of its plan, while the results beside it {message}"
    )
    assert contents(out) == before


def test_the_folder_of_a_study_of_functions_is_rebuilt_with_the_study(tmp_path, capsys):
    def inputs(p, seed):
        return {"start": 1.0 + seed.number}

    result = define("decaying", Parameters=Decay, program=lambda p: DECAY, inputs=inputs)
    out = tmp_path / "out"
    foretrain.run(result, seeds=2, steps=20, workers=0, quiet=True, out=out)
    assert main(["report", str(out)]) == 0
    one_line(capsys.readouterr().err, "Try foretrain.rebuild(folder, study) in Python")
    (out / "report.html").unlink()
    foretrain.rebuild(out, result)
    assert (out / "report.html").exists()


def test_a_study_of_functions_trains_its_own_program_whatever_its_name():
    own = define("one-mode", Parameters=Decay, program=lambda p: DECAY)
    assert catalogue.restore(catalogue.describe(own)).Parameters.__name__ == "Decay"
    with pytest.raises(ForetrainError, match="`one-mode` is one of the catalogue"):
        foretrain.run(own, seeds=2, steps=20)
    with pytest.raises(ForetrainError, match="must be that of a folder"):
        define("a/b", Parameters=Decay, program=lambda p: DECAY)
