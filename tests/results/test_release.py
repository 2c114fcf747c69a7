"""A folder that a released foretrain wrote opens, with every number and verdict, and is as it was written."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

import foretrain
from foretrain.cli import main
from foretrain.results.journal import scan
from foretrain.results.root import root_of, warnings
from foretrain.results.summary import read_summary

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Roots, as the release wrote them.
RELEASES = {"one-mode-0.1": "05e5ed1949f28f63b20df9a46a28cc9b368264c45ccdae3ca23103b556ed596e"}


@pytest.fixture(params=RELEASES)
def folder(request, tmp_path):
    with zipfile.ZipFile(FIXTURES / f"{request.param}.zip") as archive:
        archive.extractall(tmp_path / request.param)
    return tmp_path / request.param


def test_it_has_its_root_nothing_of_it_is_in_doubt_and_its_verdicts_are_those_of_its_summary(
    folder, capsys
):
    stored, summary = foretrain.open(folder).claims, read_summary(folder)
    assert root_of(folder) == RELEASES[folder.name]
    assert warnings(folder, stored) == []
    assert main(["show", str(folder), "--check"]) == 0
    assert capsys.readouterr().err == "foretrain: 0 claims fail, 0 are inconclusive.\n"
    assert [item.as_dict() for item in stored] == [item.as_dict() for item in summary.claims]
    verdicts = {item.id: item.verdict for item in stored}
    assert verdicts == {"closed-form": "holds", "imbalance": "holds"}
    assert summary.seeds == 5
    assert summary.runs == {"out_of_steps": 10}


def test_its_curves_are_those_of_the_network_and_of_the_closed_form(folder):
    result = foretrain.open(folder)
    run, theory, config = result.simulation, result.theory, result.config["parameters"]
    s, step = config["singular_value"], np.arange(0, config["steps"] + 1, config["observe_every"])
    np.testing.assert_array_equal(run.step, step)
    np.testing.assert_array_equal(run.time, step * config["learning_rate"])
    for item in (run, theory):  # float64
        np.testing.assert_allclose(item.loss, (s - item.strength) ** 2 / 2, atol=1e-15, rtol=1e-12)
    odds = theory.strength / (s - theory.strength)  # of a logistic curve, they grow exponentially
    growth = np.log(odds / odds.isel(step=0))
    np.testing.assert_allclose(
        growth, 2 * s * run.time.broadcast_like(growth), rtol=1e-9, atol=1e-12
    )
    # Descent is later by learning_rate / 4 of the logarithm of growth, and of twice what is left, the strength moves by at
    # most half of that times s.
    assert abs(run.strength - theory.strength).max() < config["learning_rate"] * 2 * s


def test_its_journal_gives_every_run_and_other_tools_get_it(folder, tmp_path):
    assert len(scan(folder).identities) == 10
    assert main(["export", str(folder), "--to", "csv", "--out", str(tmp_path / "table")]) == 0
    assert main(["compare", str(folder), str(folder)]) == 0
    assert "loss" in foretrain.open(folder).figures
