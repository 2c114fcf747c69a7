"""The seconds foreseen grow with the cost, with the seconds of the trial, and fall with the cores."""

import pytest

from foretrain.cli import main
from foretrain.laboratory import foreseen
from foretrain.laboratory.info import info


def test_costs_in_words_are_seconds_and_others_are_not_guessed():
    said = {
        "50 s": 50,
        "2 min": 120,
        "1.5 h": 5400,
        "": None,
        "an evening": None,
        "2 minutes": None,
    }
    for words, seconds in said.items():
        assert foreseen.seconds_on_two_cores(words) == seconds


@pytest.mark.parametrize(("cores", "slower", "seconds"), [(2, 1, 50), (2, 3, 150), (1, 1, 80)])
def test_a_study_takes_as_much_longer_as_the_trial_takes(monkeypatch, cores, slower, seconds):
    """On one core what two would do, three fifths, takes twice as long: 20 + 2 x 30 s of 50 s."""
    monkeypatch.setattr(foreseen, "trial", lambda: slower * foreseen.REFERENCE_S)
    monkeypatch.setattr(foreseen, "usable_cores", lambda: cores)
    assert foreseen.seconds_here("50 s") == pytest.approx(seconds)


def test_what_one_core_must_do_alone_is_not_saved_by_many(monkeypatch):
    monkeypatch.setattr(foreseen, "trial", lambda: foreseen.REFERENCE_S)
    monkeypatch.setattr(foreseen, "usable_cores", lambda: 10**6)
    assert foreseen.seconds_here("100 s") == pytest.approx(100 * foreseen.ALONE, rel=1e-4)


def test_info_says_seconds_here_beside_those_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(foreseen, "trial", lambda: 2 * foreseen.REFERENCE_S)
    monkeypatch.setattr(foreseen, "usable_cores", lambda: 2)
    found = info("one-mode")
    assert found["seconds"] == pytest.approx(2 * foreseen.seconds_on_two_cores(found["cost"]))
    assert "s here, as a short trial tells" in " ".join(found.text(60).split())
    mine = tmp_path / "mine.py"
    assert main(["new", str(mine)]) == 0
    mine.write_text(mine.read_text().replace("\nCOST = ", "\nCOSTS_NOBODY_KNOWS = "))
    assert info(mine)["seconds"] is None
