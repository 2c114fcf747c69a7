import json
import re

import pytest

from foretrain.claims.rows import families, rows
from foretrain.claims.table import ClaimTable
from foretrain.cli import main
from foretrain.laboratory.info import info
from foretrain.laboratory.listing import Listing, list_studies
from foretrain.plans import catalogue
from foretrain.plans.card import Card
from foretrain.registry import needed
from foretrain.registry.sizes import shipped
from foretrain.report.derivation import questions
from foretrain.report.sections import verdicts


def test_a_study_tells_its_question_size_claims_and_parameters_before_it_runs(capsys):
    result = info("one-mode")
    assert result["runs"] == result["seeds"] * len(result["networks"]) or result["axes"]
    text = result.text(60, details=True)
    assert str(result) == result.text(80)
    assert max(map(len, text.splitlines())) <= 60
    for message in result["claims"]:
        assert f"\n  {message['id']}\n" in text
    assert ", ".join(result["figures"]) in text
    for name in result["parameters"]:
        assert f"--{name.replace('_', '-')} (" in text
    assert main(["info", "one-mode"]) == 0
    assert result["question"].split()[0] in capsys.readouterr().out


@pytest.mark.parametrize("name", catalogue.names())
def test_a_short_answer_is_one_screen_with_every_headline_and_every_parameter(name):
    result = info(name)
    result["needs"] = needed.likely(name)
    text = result.text(120)
    assert len(text.splitlines()) <= 32
    assert len(result.text(80).splitlines()) <= 44
    words = " ".join(text.split())
    for message in result["claims"]:
        assert message["rank"] != "headline" or message["sentence"] in words
    assert all(f"--{parameter.replace('_', '-')} (" in words for parameter in result["parameters"])
    # First line, page and terminal count as many headlines and claims, and the headlines were told before.
    record = shipped(name)[0]
    table, total = ClaimTable(record.claims), len(families(rows(record.claims)))
    page = verdicts({"claims": record.claims, "runs": record.runs})
    (number,) = map(int, re.findall(r": (\d+) headline claims?\b", page.finding))
    first = [entry.row for rank, _, some in page.groups[:1] for entry in some]
    assert sum(not row.lead for row in first) == number
    assert all(f"{'Corrected:' if row.lead else '-'} {row.statement}" in words for row in first)
    assert page.tally.startswith(f"{total} claims")
    assert f"<summary>Headlines ({number})<" in table._repr_html_()
    head, *_ = table.format(999, details=True).split("\n\n")
    assert sum(line[0] != " " for line in head.splitlines()) == 1 + number  # below their heading
    assert (f"\n{total - number} more: " in table.format(999)) == (number < total)


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_has_a_line_for_each_study_below_its_question(width):
    text = list_studies().text(width)
    assert max(map(len, text.splitlines())) <= width
    parts = (part.splitlines() for part in text.split("\n\n"))
    below = {head: tuple(line.split()[0] for line in lines) for head, *lines in parts}
    assert below == questions()
    assert sorted(name for names in below.values() for name in names) == sorted(catalogue.names())


def test_studies_of_other_packages_are_listed_last(monkeypatch):
    listing = Listing([Card("theirs", "What it asks.", cost="5 s"), *list_studies()])
    assert listing.text().endswith(
        "\n\nOf other packages\n  " + f"{'theirs':<26}5 s    What it asks."
    )
    monkeypatch.setattr("foretrain.laboratory.listing.questions", dict)
    assert len(listing.text().splitlines()) == 1 + len(listing)


def test_what_is_told_is_also_json_with_open_ends_as_null(capsys):
    assert main(["info", "one-mode", "--json"]) == 0
    result = json.loads(capsys.readouterr().out, parse_constant=lambda name: 1 / 0)
    assert result["study"] == "one-mode"
    assert result["claims"]
    assert main(["list", "--json"]) == 0
    assert "routing" in {card["name"] for card in json.loads(capsys.readouterr().out)}


def test_a_study_of_one_file_may_draw(tmp_path):
    assert main(["new", str(tmp_path / "mine.py")]) == 0
    assert info(tmp_path / "mine.py")["figures"] == ["strength"]
    text = (tmp_path / "mine.py").read_text().partition("\nFIGURES")[0]
    (tmp_path / "bare.py").write_text(f"{text}\n")
    assert "figures   what theory and simulation share" in str(info(tmp_path / "bare.py"))
