"""Number of seeds that a study's headlines are likely to need, said before it is run, from stored runs or the registry."""

import pytest
from made_claims import sample

from foretrain.claims.power import seeds_needed
from foretrain.cli import main
from foretrain.errors import FolderError
from foretrain.registry import needed
from foretrain.results.summary import Summary, write_summary

WIDE = sample("wide", (0.9, 1.0, 1.2, 0.8, 1.1), (0.5, 1.5), rank="headline")
NARROW = sample("narrow", (1.0, 1.01, 0.99, 1.02, 0.98), (0.5, 1.5), rank="headline")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = {"few": (3, [NARROW]), "many": (5, [WIDE, NARROW, sample("detail")])}
    for name, (seeds, claims) in stored.items():
        place = tmp_path / "runs" / name
        place.mkdir(parents=True)
        write_summary(place, Summary(study="one-mode", seeds=seeds, claims=claims))
    return tmp_path / "runs"


def test_of_stored_runs_those_with_most_seeds_count_and_of_claims_the_headlines(folder):
    lines = needed.lines("one-mode")
    assert lines[0] == "Seeds for a verdict four times in five, by runs/many (5 seeds):"
    assert lines[1:] == [
        f"  wide: {seeds_needed(WIDE)} seeds",
        f"  narrow: {seeds_needed(NARROW)} seeds",
    ]
    assert seeds_needed(NARROW) < seeds_needed(WIDE)


def test_a_headline_of_several_cells_needs_the_most_of_them_and_one_that_is_open_for_a_reason_none():
    cells = [
        sample("a", values, (0, 2), rank="headline", cell={"rank": n})
        for n, values in enumerate([(1, 1.1, 1), (0.5, 1.5, 1)])
    ]
    assert needed.needs(cells)["a"] == f"{max(seeds_needed(item) for item in cells)} seeds"
    lost = sample("b", (1.0, 1.1), rank="headline", verdict="inconclusive", reason="2 runs failed")
    assert needed.needs([lost])["b"] == "no number: 2 runs failed"


def test_without_runs_the_registry_says_it_and_of_an_unknown_study_nothing_is_said(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert "by the registry, default" in needed.lines("one-mode")[0]
    assert needed.lines("mine.py") == []


def test_the_folder_that_is_named_must_hold_runs_of_the_study(folder, capsys):
    with pytest.raises(FolderError, match="must hold results of `routing`"):
        needed.lines("routing", folder / "few")
    assert main(["info", "one-mode", "--pilot", str(folder / "few")]) == 0
    assert f"by{folder / 'few'}(3seeds)" in "".join(capsys.readouterr().out.split())
