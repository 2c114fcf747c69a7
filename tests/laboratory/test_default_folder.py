"""Without `out` more is added to what is there: seeds in the same folder, other runs taken from the folders beside it."""

import hashlib
from pathlib import Path

import pytest

import foretrain
from foretrain.errors import FolderError
from foretrain.laboratory.elsewhere import take
from foretrain.plans.plan import make_plan
from foretrain.registry.measure import measure
from foretrain.results.journal import scan
from foretrain.results.manifest import read_manifest
from foretrain.results.root import doubts
from foretrain.results.summary import read_summary

SMALL = {"steps": 40, "observe_every": 20, "workers": 0}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_more_seeds_go_into_the_same_default_folder_and_nothing_is_trained_twice(here, capsys):
    first = foretrain.run("one-mode", seeds=2, **SMALL)
    before = {path.name: path.read_bytes() for path in (first.path / "journal").iterdir()}
    more = foretrain.run("one-mode", seeds=3, **SMALL)
    assert more.path == first.path
    assert more.simulation.sizes["seed"] == 3
    kept = {path.name: path.read_bytes() for path in (more.path / "journal").iterdir()}
    assert before.items() <= kept.items()
    assert "6 runs were found done, 3 were added." in capsys.readouterr().err
    assert foretrain.run("one-mode", seeds=2, **SMALL).simulation.sizes["seed"] == 3
    assert "holds 3 seeds; all of them are shown." in capsys.readouterr().err


def test_another_grid_takes_the_runs_that_folders_beside_it_hold(here, capsys):
    item = foretrain.run("one-mode", seeds=2, init_scale=0.1, **SMALL)
    two = foretrain.run("one-mode", seeds=2, init_scale=[0.1, 0.2], **SMALL)
    assert "6 runs were taken from" in capsys.readouterr().err
    assert two.path != item.path
    loss = item.simulation["loss"].values
    assert (two.simulation["loss"].sel(init_scale=0.1).values == loss).all()
    assert read_manifest(two.path)["lanes"] == read_manifest(item.path)["lanes"]
    assert any("were taken from" in line for line in read_manifest(two.path)["history"])
    again = foretrain.run("one-mode", seeds=2, init_scale=0.2, **SMALL)
    assert "6 runs were found done, nothing was trained." in capsys.readouterr().err
    assert set(again.simulation.dims) == set(item.simulation.dims)


def test_with_the_runs_come_the_looks_at_them_and_the_registry_takes_no_later_look(here):
    plans = (2, 0.1, 1), (3, 0.1, 2), (4, [0.1, 0.2], 3), (3, [0.1, 0.3], 2)
    for seeds, scale, number in plans:
        later = foretrain.run("one-mode", seeds=seeds, init_scale=scale, quiet=True, **SMALL)
        claim = next(claim for claim in later.claims if claim.id == "imbalance")
        assert claim.method == "skew-corrected t" + f" over {number} looks" * (number > 1)
        assert doubts(later.path) == []
        remarks = read_summary(later.path).remarks
        lines = [f"right over all {number} looks" in line for line in remarks]
        assert lines == [True] * (number > 1)
    with pytest.raises(FolderError, match="seen with other seeds"):
        measure(later.path)


def test_runs_of_other_code_another_root_or_a_damaged_segment_are_not_taken(here):
    result = foretrain.run("one-mode", seeds=1, quiet=True, **SMALL)
    plan = make_plan("one-mode", {"steps": 40, "observe_every": 20}, seeds=1)
    wanted = set(scan(result.path).identities)
    (Path("runs/new")).mkdir()
    other = make_plan("one-mode", {"steps": 40, "observe_every": 20}, seeds=1, root_seed=1)
    assert take(Path("runs/new"), other, wanted) == {}
    (segment,) = (result.path / "journal").iterdir()
    content = segment.read_bytes()
    assert take(Path("runs/new"), plan, wanted) == {result.path: len(wanted)}
    for altered in (content[:-65] + b"?" + content[-64:], _by_other_code(content, plan.study.code)):
        segment.write_bytes(altered)
        assert take(Path("runs/new"), plan, wanted) == {}
    assert segment.name not in scan(result.path).damaged


def _by_other_code(content, code):
    """Return the segment as other code would have written it, whole."""
    assert code.encode() in content
    changed = content[:-64].replace(code.encode(), b"0" * len(code))
    return changed + hashlib.sha256(changed).hexdigest().encode()
