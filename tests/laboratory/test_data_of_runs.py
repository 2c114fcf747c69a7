"""Contents of a file of data are part of the identity of the runs that read it: never two files in one interval."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import foretrain
from foretrain.errors import ArgumentError, FolderError
from foretrain.plans.define import define
from foretrain.plans.plan import make_plan, plan_from_dict, runs
from foretrain.study import data, declare, parameter
from foretrain.tasks.data_files import DataFile

declare(average="Mean of a file.")


@dataclass(frozen=True)
class Parameters:
    """The mean of a file."""

    file: str = parameter("x.npy", "file of numbers", static=True)


def study(reads=lambda p: [data(p.file)]):
    return define(
        "mean-of-a-file",
        Parameters=Parameters,
        measure=lambda p, seed: {"average": np.load(data(p.file)).mean()},
        reads=reads,
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORETRAIN_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "x.npy", np.arange(3.0))
    return tmp_path


def identities(plan):
    return [run.identity for run in runs(plan)]


def test_runs_are_known_by_what_files_hold_and_not_by_where_they_lie(folder, monkeypatch):
    first = make_plan(study(), {}, seeds=2)
    (folder / "data").rename(folder / "elsewhere")
    monkeypatch.setenv("FORETRAIN_DATA_DIR", str(folder / "elsewhere"))
    assert identities(make_plan(study(), {}, seeds=2)) == identities(first)
    np.save(folder / "elsewhere" / "x.npy", np.arange(4.0))
    other = make_plan(study(), {}, seeds=2)
    assert not {*identities(other)} & {*identities(first)}
    assert other.hash != first.hash
    assert identities(plan_from_dict(first.as_dict(), study())) == identities(first)


def test_a_study_that_reads_nothing_has_runs_of_the_same_identity_as_ever(folder):
    no_reads = define("mean-of-a-file", Parameters=Parameters, measure=lambda p, seed: {})
    nothing = make_plan(study(lambda p: []), {}, seeds=2)
    assert identities(nothing) == identities(make_plan(no_reads, {}, seeds=2))
    assert "data" not in nothing.as_dict()


def test_a_file_of_a_seed_is_part_of_the_runs_of_that_seed_alone(folder):
    by_seed = study(lambda p, seed: [data(f"{seed.number}.npy")])
    for number in (0, 1):
        np.save(folder / "data" / f"{number}.npy", np.arange(3))
    first = identities(make_plan(by_seed, {}, seeds=2))
    np.save(folder / "data" / "1.npy", np.arange(9))
    again = identities(make_plan(by_seed, {}, seeds=2))
    assert (again[0], again[1] != first[1]) == (first[0], True)


def test_a_folder_is_neither_gone_on_with_nor_judged_with_another_file(folder):
    out = folder / "out"
    result = foretrain.run(study(), out=out, seeds=2, workers=0, quiet=True)
    assert result.simulation["average"].values.tolist() == [1, 1]
    (name, digest), *_ = json.loads((out / "summary.json").read_text())["data"].items()
    assert (name, len(digest)) == ("x.npy", 64)
    assert digest[:12] in (out / "report.html").read_text()
    np.save(folder / "data" / "x.npy", np.arange(4.0))
    with pytest.raises(FolderError, match=r"of the same data, but `x\.npy` was another file then"):
        foretrain.run(study(), out=out, seeds=3, workers=0, quiet=True)
    with pytest.raises(FolderError, match=r"`x\.npy`, which holds something else now"):
        foretrain.rebuild(out, study())
    (folder / "data" / "x.npy").unlink()
    with pytest.raises(FolderError, match=r"`x\.npy`, which is not there"):
        foretrain.rebuild(out, study())
    assert foretrain.open(out).simulation["average"].values.tolist() == [1, 1]


def test_a_folder_whose_runs_knew_no_data_takes_none_that_do(folder):
    before = define(
        "mean-of-a-file", Parameters=Parameters, measure=lambda p, seed: {"average": 0.0}
    )
    foretrain.run(before, out=folder / "out", seeds=1, workers=0, quiet=True)
    with pytest.raises(FolderError, match=r"`x\.npy` was another file then \(unknown; now"):
        foretrain.run(study(), out=folder / "out", seeds=1, workers=0, quiet=True)


def test_a_file_that_changes_while_runs_are_made_fails_the_runs_that_follow(folder):
    def measure(p, seed):
        np.save(folder / "data" / "x.npy", np.arange(9.0))
        return {"average": np.load(data("x.npy")).mean()}

    changing = define("changing", Parameters=Parameters, measure=measure, reads=lambda p: ["x.npy"])
    with pytest.raises(FolderError, match="holds something else now"):
        foretrain.run(changing, out=folder / "out", seeds=2, workers=0, quiet=True)
    from foretrain.results.journal import scan

    stored = scan(folder / "out")
    assert len(stored.notes) == 1
    assert "holds something else now" in next(iter(stored.notes.values()))


@pytest.mark.parametrize(
    ("reads", "error"),
    [
        (lambda p: "x.npy", "returns one path"),
        (lambda p: [""], "`data` must be a path, but is empty"),
        (lambda p: [data("none.npy")], r"name a file that is there, but is `none\.npy`"),
        (lambda p: 1 / 0, "`reads` of the study raised: .*ZeroDivisionError"),
    ],
)
def test_files_that_cannot_be_read_are_refused_in_one_line_before_anything_runs(
    folder, reads, error
):
    with pytest.raises(foretrain.errors.ForetrainError, match=error):
        make_plan(study(reads), {})


def test_a_file_is_looked_for_below_the_folder_of_data_first(folder, monkeypatch):
    monkeypatch.chdir(folder)
    np.save("x.npy", np.zeros(1))
    assert data("x.npy").path == folder / "data" / "x.npy"
    monkeypatch.delenv("FORETRAIN_DATA_DIR")
    assert str(data("x.npy").path) == "x.npy"
    assert data("y.npy", "x.npy").digest == data("x.npy").digest
    assert DataFile("none", optional=True).digest == ""
    with pytest.raises(ArgumentError, match="name a file that is there"):
        open(data("none"))
