import json

from foretrain.cli import main
from foretrain.laboratory.info import info


def test_a_study_tells_its_question_size_claims_and_parameters_before_it_runs(capsys):
    found = info("one-mode")
    assert found["runs"] == found["seeds"] * len(found["networks"]) or found["axes"]
    text = found.text(60)
    assert str(found) == found.text(80)
    assert max(map(len, text.splitlines())) <= 60
    for said in found["claims"]:
        assert f"\n  {said['id']}\n" in text
    assert ", ".join(found["figures"]) in text
    for name in found["parameters"]:
        assert f"--{name.replace('_', '-')} (" in text
    assert main(["info", "one-mode"]) == 0
    assert found["question"].split()[0] in capsys.readouterr().out


def test_what_is_told_is_also_json_with_open_ends_as_null(capsys):
    assert main(["info", "one-mode", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: 1 / 0)
    assert found["study"] == "one-mode"
    assert found["claims"]
    assert main(["list", "--json"]) == 0
    assert "routing" in {card["name"] for card in json.loads(capsys.readouterr().out)}


def test_a_study_of_one_file_may_draw(tmp_path):
    assert main(["new", str(tmp_path / "mine.py")]) == 0
    drawn = info(tmp_path / "mine.py")
    assert (drawn["figures"], drawn["draws"]) == (["strength"], "Figures of its own.")
    text = (tmp_path / "mine.py").read_text().partition("\nFIGURES")[0]
    (tmp_path / "bare.py").write_text(f"{text}\n")
    assert info(tmp_path / "bare.py")["draws"].startswith("Every variable")
