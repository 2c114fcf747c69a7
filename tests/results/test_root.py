"""The root of trust: who changes a folder by hand is named, unless every hash is computed anew."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from altered_files import flip

from foretrain.claims.claim import Claim, as_it_follows, follows
from foretrain.cli import main
from foretrain.laboratory.compare import compare
from foretrain.laboratory.index import write_index
from foretrain.laboratory.opened import opened
from foretrain.results import root
from foretrain.results.manifest import read_manifest, write_manifest
from foretrain.results.result import make_tree
from foretrain.results.store import begin_tree
from foretrain.results.summary import Summary, read_summary, write_summary

CLAIM = Claim("a", "A statement.", "eq. 1", 1.0, 0.05, (0.04, 0.06), (0.0, 0.08), "holds", 3)
PLAN = {"schema": 2, "study": "s", "parameters": {}, "axes": {}, "seeds": 3, "root_seed": 0}
SEAL = {"predicts": "p", "judges": "j", "claims": {"a": ["words", "rule"]}}


def looked(seal, count):
    looks = []
    for number in range(count):
        item = {"seeds": 3 + number, "at": f"2026-01-0{number + 1}", "seal": SEAL}
        looks.append({**item, "chain": root.link(seal, looks, item)})
    return looks


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    looks = looked(SEAL, 2)
    write_manifest(folder, {"plan": PLAN, "seal": SEAL, "looks": looks})
    simulation = xr.Dataset({"loss": (("seed", "step"), np.arange(6000.0).reshape(3, 2000))})
    begin_tree(folder, make_tree(simulation=simulation, claims=[CLAIM]))()
    options = {"claims": (CLAIM,), "looks": tuple(looks), "seal": SEAL}
    write_summary(folder, Summary(study="s", seeds=3, **options))
    return folder


def forged(folder, change, name=root.SUMMARY, again=False):
    content = json.loads((folder / name).read_text())
    change(content)
    if again:
        content.pop(root.ROOT)
        content[root.ROOT] = root.digest(content)
    (folder / name).write_text(json.dumps(content))


def test_what_foretrain_wrote_is_not_doubted_and_its_root_is_the_same_wherever_it_lies(folder):
    assert root.altered(folder, whole=True) == root.warnings(folder, [CLAIM]) == []
    first = root.root_of(folder)
    there = folder.rename(folder.with_name("elsewhere"))
    assert root.root_of(there) == first
    assert root.warnings(there, [CLAIM]) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("verdict", "fails"),
        ("measured", 0.051),
        ("uncertainty", [0.01, 0.07]),
        ("allowed", [0.0, 9.0]),
        ("statement", "Another statement."),
        ("seeds", 30),
    ],
)
def test_a_claim_that_was_edited_is_named(folder, name, value):
    forged(folder, lambda content: content["claims"][0].update({name: value}))
    assert root.altered(folder) == [root.SUMMARY]
    assert "summary.json is not as foretrain wrote it" in root.doubts(folder)[0]


def test_a_verdict_that_does_not_follow_is_read_as_what_follows_though_every_hash_fits(folder):
    forged(folder, lambda content: content["claims"][0].update(measured=5.0), again=True)
    assert root.altered(folder) == []
    (claim,) = read_summary(folder).claims
    assert claim.verdict == "inconclusive"
    assert "the file says `holds`, which does not follow" in claim.reason
    assert "says that `a` holds, which does not follow" in root.doubts(folder)[0]
    forged(folder, lambda content: content["claims"][0].update(uncertainty=[4, 6]), again=True)
    assert read_summary(folder).claims[0].verdict == "fails"


def test_claims_that_were_forged_in_one_of_two_places_are_named_where_both_are_read(folder):
    forged(folder, lambda content: content["claims"][0].update(measured=0.051), again=True)
    assert root.doubts(folder) == []
    assert "hold other claims than each other" in root.doubts(folder, [CLAIM])[0]


def test_a_look_that_was_taken_out_breaks_the_chain_though_the_root_fits(folder):
    forged(folder, lambda content: content["looks"].pop(0), again=True)
    assert root.SUMMARY in root.altered(folder)


@pytest.mark.parametrize("change", ["look", "seal", "plan", "gone"])
def test_a_manifest_of_which_something_was_taken_away_is_named(folder, change):
    manifest = read_manifest(folder)
    if change == "gone":
        (folder / root.MANIFEST).unlink()
    elif change == "plan":  # by hand, as an editor would
        forged(folder, lambda content: content["plan"].update(seeds=4), root.MANIFEST)
    else:  # by who computes the digest of the manifest anew
        seal = {"seal": {**SEAL, "judges": "k"}}
        parts = {"look": {"looks": manifest["looks"][:1]}, "seal": seal}
        write_manifest(folder, {**manifest, **parts[change]})
    assert root.altered(folder) == [root.MANIFEST]


def test_a_run_that_is_under_way_adds_to_the_manifest_and_raises_no_alarm(folder):
    manifest = read_manifest(folder)
    write_manifest(folder, {**manifest, "plan": {**PLAN, "seeds": 9}, "looks": looked(SEAL, 3)})
    assert root.altered(folder) == []


def test_a_value_altered_behind_an_old_checksum_is_noticed_where_every_byte_is_read(folder):
    chunk = next(f for f in (folder / "results.zarr/simulation/loss/c").rglob("*") if f.is_file())
    flip(chunk)  # the four bytes at its end stay
    assert (root.altered(folder), root.altered(folder, whole=True)) == ([], [root.STORE])
    chunk.unlink()
    assert root.altered(folder) == [root.STORE]


def test_a_folder_of_an_earlier_foretrain_opens_with_one_line(folder):
    forged(folder, lambda content: content.pop(root.ROOT))
    assert root.altered(folder) == []
    (line,) = root.warnings(folder)
    assert "carries no root" in line
    assert read_summary(folder).claims == (CLAIM,)


def test_looks_of_an_earlier_foretrain_are_held_by_the_first_hash_after_them():
    looks = [{"seeds": 3}]
    item = {"seeds": 4}
    looks.append({**item, "chain": root.link({}, looks, item)})
    assert root._unbroken({"looks": looks})
    assert not root._unbroken({"looks": [{"seeds": 2}, looks[1]]})
    assert not root._unbroken({"looks": looks[1:]})
    assert not root._unbroken({"looks": [*looks, {"seeds": 5}]})


def test_verdicts_follow_as_the_judge_finds_them():
    draw = np.random.default_rng(0)
    for _ in range(2000):
        low, high = sorted(draw.integers(-6, 7, 2).tolist())
        allowed = tuple(sorted(draw.integers(-6, 7, 2).tolist()))
        inside = {allowed[0] <= point <= allowed[1] for point in range(low, high + 1)}
        right = "inconclusive" if len(inside) > 1 else "holds" if True in inside else "fails"
        assert follows(Claim("a", "", "", 0, low, (low, high), allowed, "holds", 3)) == right


def test_a_verdict_is_inconclusive_against_its_numbers_only_for_a_reason():
    claim = replace(CLAIM, verdict="inconclusive", reason="too few steps")
    assert as_it_follows(claim) == claim
    for odd in (replace(claim, reason=""), replace(CLAIM, verdict="fails")):
        assert as_it_follows(odd).verdict == "holds"


@pytest.mark.parametrize(
    ("measured", "uncertainty", "verdict"),
    [
        (1.0, None, "holds"),
        (3.0, None, "fails"),
        (math.nan, None, "inconclusive"),
        (1.0, (math.nan, math.nan), "inconclusive"),
        (1.0, (0.5, math.nan), "inconclusive"),  # an infinite end is stored as none
        (math.nan, (math.nan, math.nan), "inconclusive"),
        (9.0, (0.5, 1.5), ""),
    ],
)
def test_what_follows_from_facts_and_from_intervals_without_ends(measured, uncertainty, verdict):
    assert follows(Claim("a", "", "", 0, measured, uncertainty, (0.0, 2.0), "holds", 3)) == verdict


def test_every_way_to_look_at_a_forged_folder_names_it(folder, capsys):
    assert main(["show", str(folder), "--check"]) == 0
    forged(folder, lambda content: content["claims"][0].update(measured=5.0))
    line = "summary.json is not as foretrain wrote it"
    assert main(["show", str(folder)]) == 0
    assert main(["show", str(folder), "--check"]) == 2
    assert capsys.readouterr().err.count(line) == 2
    assert line in str(compare(folder, folder))
    index = write_index(folder.parent).read_text()
    assert line in index
    assert "does not follow from the numbers beside it" in index
    opened(folder)
    assert line in capsys.readouterr().err
