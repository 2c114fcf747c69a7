"""Words about claims, theory and judge that were changed after the first run, and of files edited by hand."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import foretrain
from foretrain.cli import main
from foretrain.errors import StoreError
from foretrain.laboratory.listing import write_template
from foretrain.provenance.record import remarks, verdicts

SEALED = {"predicts": "p", "judges": "j", "claims": {"a": ["w", "m"], "b": ["w", "m"]}}


def look(seeds=3, at="monday", verdicts=None, **seal):
    stored = verdicts or {"a": "holds", "b": "holds"}
    return {"seeds": seeds, "at": at, "seal": {**SEALED, **seal}, "verdicts": stored}


def claims(**changes):
    return {**SEALED["claims"], **changes}


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([look()], []),
        ([look(), look(commit="later")], []),
        (
            [look(claims=claims(a=["v", "m"]))],
            ["Reworded after the first run (what they measure, allow and predict is the same): a."],
        ),
        (
            [look(), look(claims=claims(a=["w", "n"]), verdicts={"a": "fails", "b": "holds"})],
            [
                "Changed after the first run in what they measure, allow or predict, and so not fixed before it: a.",
                "Verdicts that differ from earlier ones by other code: a (holds on monday, fails now).",
            ],
        ),
        (
            [look(claims=claims(a=["w", "n"])), look()],
            [
                "Changed after the first run in what they measure, allow or predict, and changed back: a.",
                "Other code gave the same verdicts before.",
            ],
        ),
        (
            [look(claims=claims(c=["w", "m"]))],
            ["Added after the first run, and so not fixed before it: c."],
        ),
        (
            [look(verdicts={"a": "fails", "b": "holds"}), look(claims={"b": ["w", "m"]}, verdicts={"b": "holds"})],
            [
                "Taken out after the first run: a.",
                "Verdicts that differ from earlier ones by other code: a (fails on monday, not judged now).",
            ],
        ),
        (
            [look(), look(predicts="q", verdicts={"a": "2 holds, 1 fails", "b": "holds"})],
            [
                "The theory was changed after the first run.",
                "Verdicts that differ from earlier ones by other code: a (holds on monday, 2 holds, 1 fails now).",
            ],
        ),
        (
            [look(seeds=2, predicts="q", verdicts={"a": "fails", "b": "holds"}), look()],
            [
                "The theory was changed after the first run and changed back.",
                "Verdicts that differ from earlier ones by other code: a (fails with 2 seeds on monday, holds now).",
                "Verdicts were seen before with other numbers of seeds (2 then 3). Intervals are wider for "
                "that, so that they are right over all 2 looks.",
            ],
        ),
        ([look(judges="k")], ["The code that judges all claims was changed after the first run."]),
    ],
)  # fmt: skip
def test_what_was_changed_is_said_with_the_verdicts_of_then(looks, expected):
    assert remarks(SEALED, looks) == expected


def test_of_a_folder_without_a_seal_the_seeds_alone_are_told():
    assert remarks(None, [{"seeds": 3}, {"seeds": 3}]) == []
    assert remarks({}, [{"seeds": 3}, {"seeds": 4}])[0].startswith("Verdicts were seen before")


def test_verdicts_of_several_cells_are_counted():
    rows = ("a", "holds"), ("a", "fails"), ("a", "holds"), ("b", "fails")
    result = [SimpleNamespace(id=id, verdict=verdict) for id, verdict in rows]
    assert verdicts(result) == {"a": "2 holds, 1 fails", "b": "fails"}


SMALL = {"steps": 200, "seeds": 2, "workers": 0, "quiet": True}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ran")
    foretrain.run(write_template(folder / "mine.py"), out=folder / "out", **SMALL)
    return folder


@pytest.fixture
def results(ran, tmp_path):
    """A copy of a finished folder of results, and of the study that it remembers."""
    shutil.copytree(ran / "out", tmp_path / "out")
    shutil.copy(ran / "mine.py", tmp_path / "mine.py")
    foretrain.rebuild(tmp_path / "out", tmp_path / "mine.py")
    return tmp_path / "out"


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def test_a_theory_changed_after_a_look_is_told_everywhere_also_when_it_is_changed_back(
    results, capsys
):
    file = results.parent / "mine.py"
    before = file.read_text()
    assert summary(results)["remarks"] == []
    other = before.replace('return {"strength": strength', 'return {"strength": 1.05 * strength')
    assert other != before
    file.write_text(other)
    foretrain.rebuild(results, file)
    line = "The theory was changed after the first run"
    assert summary(results)["remarks"][0] == f"{line}."
    assert [len(item["verdicts"]) for item in summary(results)["looks"]] == [2, 2]
    file.write_text(before)
    foretrain.rebuild(results, file)
    assert summary(results)["remarks"][0] == f"{line} and changed back."
    assert f"{line} and changed back." in (results / "report.html").read_text()
    main(["show", str(results)])
    assert f"{line} and changed back." in capsys.readouterr().out


def test_show_says_that_the_code_is_another_now_without_running_it_and_shows_claims_beside_a_damaged_manifest(
    results, capsys
):
    file = results.parent / "mine.py"
    before = file.read_text()
    for text, part in (
        (before, ""),
        (before + "\n# A remark.\n", ""),
        (before.replace("lambda w, g: w -", "lambda w, g: w - 2 *"), "makes the runs"),
        ("raise RuntimeError\n" + before, "makes the runs, predicts, judges, states its claims"),
        (before.replace('return {"strength": strength', 'return {"strength": 1.05 * strength'), "predicts"),
        (before.replace("(0.5, 1)", "(0.4, 1)"), "states its claims"),
    ):  # fmt: skip
        assert text == before or part or "remark" in text
        file.write_text(text)
        main(["show", str(results)])
        words = capsys.readouterr().out
        assert (f"study that {part} has changed since" in words) == bool(part), part
    (results / "manifest.json").write_text("[]")
    assert main(["show", str(results)]) == 0
    words = capsys.readouterr().out
    assert "Every component follows" in words
    assert "has changed since" not in words


@pytest.mark.slow
def test_a_summary_and_results_edited_by_hand_are_noticed_and_made_anew_from_the_journal(
    results, capsys
):
    import zarr

    file = results / "summary.json"
    file.write_text(file.read_text().replace('"seeds": 2', '"seeds": 20'))
    main(["show", str(results)])
    assert "summary.json is not as foretrain wrote it" in capsys.readouterr().err
    foretrain.run(results.parent / "mine.py", out=results, **SMALL)
    assert summary(results)["seeds"] == 2
    assert "summary.json was not as foretrain had written it" in summary(results)["history"][0]
    main(["show", str(results)])
    assert "not as foretrain wrote it" not in capsys.readouterr().err
    before = foretrain.open(results).simulation["loss"].values
    zarr.open_group(results / "results.zarr", mode="r+")["simulation/loss"][...] = 0
    main(["show", str(results)])
    assert "results.zarr is not as foretrain wrote it" in capsys.readouterr().err
    with pytest.raises(StoreError, match="not as foretrain wrote it"):
        foretrain.open(results)
    assert not foretrain.open(results, strict=False).simulation["loss"].values.any()
    foretrain.rebuild(results)
    np.testing.assert_array_equal(foretrain.open(results).simulation["loss"].values, before)
