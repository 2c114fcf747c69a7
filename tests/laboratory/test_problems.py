"""A part of a study that raises costs itself only; divergence is a result."""

import json

import pytest

import foretrain
from foretrain.cli import main
from foretrain.plans import catalogue
from foretrain.plans.parameters import rules


@pytest.fixture
def mine(tmp_path):
    assert main(["new", str(tmp_path / "mine.py")]) == 0
    return tmp_path / "mine.py"


@pytest.mark.parametrize("part", ["sentence", "figure", "predict", "fit"])
def test_what_raises_is_one_line_of_the_page_and_a_traceback_in_the_log(
    mine, tmp_path, part, capsys
):
    text = mine.read_text()
    if part == "sentence":
        text = text.replace(
            "lambda c: c.strength - c.theory.strength,", "lambda c: (\n    1 / 0\n),"
        )
    elif part == "predict":
        text = text.replace("    start, time = p", "    1 / 0\n    start, time = p")
    elif part == "figure":
        text = text.replace("panel(lambda c: c.strength,", "panel(lambda c: (\n    1 / 0\n),")
    else:
        text += "\n\ndef fit(whole):\n    1 / 0\n"
    mine.write_text(text)
    line = 1 + text.splitlines().index("    1 / 0")
    out = tmp_path / "out"
    assert main(["run", str(mine), "--seeds", "3", "--workers", "0", "--out", str(out)]) == 0
    err = capsys.readouterr().err
    assert f"{mine}, line {line}: ZeroDivisionError: division by zero" in err
    assert "Traceback" not in err
    assert "ZeroDivisionError" in (out / "report.html").read_text()
    assert "Traceback" in (out / "log.txt").read_text()
    summary = json.loads((out / "summary.json").read_text())
    assert len(summary["problems"]) == 1
    result = foretrain.open(out)
    assert result.simulation["loss"].notnull().all()
    # Without theory the claim that needs it does not apply.
    left = {"sentence": 1, "figure": 2, "predict": 1, "fit": 2}
    assert len(result.claims) == left[part]


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
@pytest.mark.parametrize("how", ["all", "some"])
def test_every_study_concludes_where_runs_diverge_or_are_cut_off(name, how, tmp_path):
    """Steps of any size, scales of any size: whatever the runs do, there is a store, a summary and a page."""
    study = catalogue.load(name)
    fields = study.Parameters.__dataclass_fields__
    given = {"seeds": 2, "workers": 1, "quiet": True, "out": tmp_path / "out"}
    given |= {axis: values[0] for axis, values in study.axes.items()}
    given["steps"] = 3 * fields["observe_every"].default
    rate = next(
        (one for one in ("learning_rate", "relative_rate", "init_scale") if one in fields), None
    )
    if rate is not None:
        large = rules(study.Parameters)[rate].maximum or 1e6
        given[rate] = large if how == "all" else [fields[rate].default, large]
    result = foretrain.run(name, **given)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["problems"] == []
    assert (tmp_path / "out" / "report.html").exists()
    assert result.simulation.sizes["seed"] == 2
