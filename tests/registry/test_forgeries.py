"""Edits of a record are noticed: by the ledger without a run, and by a second run where the ledger was written anew."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_records import RECORD

import foretrain
from foretrain.cli import main
from foretrain.errors import StoreError
from foretrain.registry.check import compare
from foretrain.registry.ledger import LEDGER, refuse_edited, seal, unmatched
from foretrain.registry.measure import measure
from foretrain.registry.record import read, records, toml, write

# Each edit to the text, the text in its place, and the field that a second run names, on the same machine and with other bits.
# Elsewhere a number within the interval of the other run is not noticed, nor is an exact one beside the same verdict.
FORGERIES = {
    "no verdict": ('verdict = "holds', 'reason="a"\nverdict="inconclusive', "verdict", "verdict"),
    "a number": ("measured = RANDOM", "measured = 0.09", "measured", ""),
    "a number with its interval": (
        "measured = RANDOM\nuncertainty = [",
        "measured = 0.6\nuncertainty = [0.5, 0.7]#",
        "measured",
        "measured",
    ),
    "an interval": ("uncertainty = [", "uncertainty = [0.0, 0.9]#", "uncertainty", ""),
    "what is allowed": ("allowed = [0.0, 1.02]", "allowed = [0.0, 3.0]", "allowed", "allowed"),
    "a prediction": ("predicted = 0.0", "predicted = 0.3", "predicted", "predicted"),
    "seeds of a verdict": ("\nseeds = 10\nmethod", "\nseeds = 1000\nmethod", "seeds", "seeds"),
    "a statement": ("flow conserves", "flow never conserves", "statement", "statement"),
    "a source": ("eq. (21)", "eq. (22)", "document", "document"),
    "a reason": ('why = "', 'why = "By theory. ', "why", "why"),
    "a rank": ('rank = "control"', 'rank = "headline"', "rank", "rank"),
    "runs that diverged": ("out_of_steps = 30", "diverged = 30", "runs", ""),
    "bits": ('simulation = "', 'simulation = "0', "other bits", ""),
    "a network": ('precision = "float64"', 'precision = "float32"', "precision", "precision"),
}


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The record of a run of the smallest study."""
    out = tmp_path_factory.mktemp("runs") / "one-mode"
    foretrain.run("one-mode", out=out, workers=0, quiet=True)
    return replace(measure(out, commit="abc"), small={"makes": {"one-mode": "0"}})


def planted(registry, record, old, new):
    """Write a record, edit the text of it, and return the file."""
    path = write(registry, record)
    measured = next(claim.measured for claim in record.claims if claim.id == "imbalance")
    text, old = path.read_text("utf-8"), old.replace("RANDOM", repr(measured))
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    return path


@pytest.mark.parametrize(("old", "new", "here", "elsewhere"), FORGERIES.values(), ids=FORGERIES)
def test_a_second_run_names_what_was_edited(tmp_path, again, old, new, here, elsewhere):
    forged = read(planted(tmp_path, again, old, new))
    agree, lines = compare(forged, again)
    assert not agree
    assert any(f" {here}" in line for line in lines)
    agree, lines = compare(replace(forged, device="another"), replace(again, checksums={}))
    assert agree == (not elsewhere)
    assert any(f" {elsewhere} is " in line for line in lines) == (elsewhere != "")


def test_a_second_run_names_a_verdict_that_was_taken_out_or_added(again):
    fewer = replace(again, claims=again.claims[1:])
    assert compare(fewer, again)[1][-1].endswith("is not in the record.")
    assert compare(again, fewer)[1][-1].endswith("is not judged any more.")
    assert compare(again, again) == (True, ["It comes out the same, to the bit."])


@pytest.mark.parametrize(
    ("old", "new"), [forgery[:2] for forgery in FORGERIES.values()], ids=FORGERIES
)
def test_an_edited_record_is_refused_without_a_run(tmp_path, again, capsys, old, new):
    registry = tmp_path / "registry"
    planted(registry, again, old, new)
    for command in commands(registry, "one-mode"):
        assert main(command) == 2
        assert "one-mode/default" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def commands(registry, study):
    """The commands that read a registry, each with a page, a site and a study."""
    page = registry.parent / "page.md"
    page.write_text(f"<!-- registry: {study} -->\n<!-- end -->\n", "utf-8")
    site, verb = page.with_name("site"), "registry"
    words = f"{verb} list,{verb} render {page},publish --out {site},{verb} check {study}"
    return [[*text.split(), "--registry", str(registry)] for text in words.split(",")]


@pytest.mark.parametrize("spoil", [Path.unlink, lambda ledger: ledger.write_bytes(b"")])
def test_records_without_a_ledger_are_refused_until_a_flag_takes_them_on_trust(
    tmp_path, capsys, spoil
):
    registry = tmp_path / "registry"
    path = write(registry, RECORD)
    spoil(registry / LEDGER)
    path.write_text(path.read_text("utf-8").replace("seeds = 3", "seeds = 99"), "utf-8")
    sealing = ["registry", "seal", "--registry", str(registry)]
    for command in (*commands(registry, "made-up"), sealing):
        assert main(command) == 2
        assert "1 in all, have no ledger" in capsys.readouterr().err
    with pytest.raises(StoreError, match="no ledger"):
        write(registry, replace(RECORD, size="paper"))
    assert unmatched(registry)[0] == [path]
    assert main([*sealing, "--all"]) == 0
    assert "1 record taken on trust" in capsys.readouterr().out


def test_a_record_that_is_gone_is_named_unless_its_study_was_taken_out(tmp_path, capsys):
    registry = tmp_path / "registry"
    for study in ("made-up", "one-mode", "taken-out"):
        for size in ("default", "paper"):
            write(registry, replace(RECORD, study=study, size=size))
    for name in ("made-up/paper", "one-mode/default", "one-mode/paper"):
        (registry / f"{name}.toml").unlink()
    shutil.rmtree(registry / "taken-out")
    for command in commands(registry, "made-up")[:3]:
        assert main(command) == 0
        err = capsys.readouterr().err
        assert "has lost made-up/paper, one-mode/default, one-mode/paper, by its ledger" in err


def test_records_are_written_anew_one_by_one_and_two_branches_may_each_add_one(tmp_path):
    write(tmp_path, RECORD)
    write(tmp_path, replace(RECORD, size="paper"))
    before = (tmp_path / LEDGER).read_text("utf-8")
    added = {}
    for size in ("paper", "large"):
        (tmp_path / LEDGER).write_text(before, "utf-8")
        write(tmp_path, replace(RECORD, size=size, seeds=4))
        added[size] = (tmp_path / LEDGER).read_text("utf-8").removeprefix(before)
    (tmp_path / LEDGER).write_text(before + added["paper"] + added["large"], "utf-8")  # git's union
    assert [item.seeds for item in records(tmp_path)] == [3, 4, 4]
    (tmp_path / "made-up" / "large.toml").write_bytes(toml(RECORD).replace("\n", "\r\n").encode())
    with pytest.raises(StoreError, match=r"made-up/large\."):
        records(tmp_path)


def test_a_record_that_was_taken_back_or_put_in_is_named(tmp_path):
    path = write(tmp_path, RECORD)
    first = path.read_text("utf-8")
    write(tmp_path, replace(RECORD, seeds=4))
    path.write_text(first, "utf-8")
    with pytest.raises(StoreError, match="did not write: made-up/default"):
        records(tmp_path)
    write(tmp_path, RECORD)
    path.with_name("other.toml").write_text(first, "utf-8")
    with pytest.raises(StoreError, match=r"no line of made-up/other\. Try foretrain registry seal"):
        records(tmp_path)


def test_a_verdict_that_does_not_follow_from_its_numbers_is_refused_without_a_ledger(
    tmp_path, again
):
    for old, new in (("holds", "fails"), ("holds", "inconclusive")):
        path = planted(tmp_path, again, f'verdict = "{old}', f'verdict = "{new}')
        words = f"`{new}` does not follow from the numbers of `closed-form`"
        with pytest.raises(StoreError, match=words):
            read(path)


def test_an_edited_line_of_the_ledger_breaks_its_chain(tmp_path):
    paths = [write(tmp_path, replace(RECORD, size=size)) for size in ("a", "b", "c")]
    lines = (tmp_path / LEDGER).read_text("utf-8").splitlines(keepends=True)
    renamed = [lines[0].replace("/a", "/d"), *lines[1:]]
    for text in (lines[1:], lines[::2], renamed, [*lines, lines[0]], ["\n"]):
        (tmp_path / LEDGER).write_text("".join(text), "utf-8")
        with pytest.raises(StoreError, match="was edited"):
            refuse_edited(tmp_path, paths)
    (tmp_path / LEDGER).unlink()
    (tmp_path / LEDGER).symlink_to(tmp_path / "nothing")
    with pytest.raises(StoreError, match="is no ledger"):
        refuse_edited(tmp_path, paths)


def test_a_check_names_what_differs_and_the_pages_and_ends_with_1(
    tmp_path, again, monkeypatch, capsys
):
    """One record was edited and the ledger written anew; a page of another repository was edited, too."""
    registry = tmp_path / "registry"
    path = planted(registry, again, *FORGERIES["a statement"][:2])
    (registry / LEDGER).unlink()
    seal(registry, [path])
    monkeypatch.setattr("foretrain.registry.check.run_again", lambda *_, **__: again)
    monkeypatch.setattr("foretrain.registry.present.changed", lambda _: "")
    check = ["registry", "check", "one-mode", "--registry", str(registry)]
    assert main(check) == 1
    assert "imbalance: statement is `Gradient flow never conserves" in capsys.readouterr().out
    write(registry, again)
    assert main(check) == 0
    (tmp_path / "README.md").write_text("Off by 7<!-- one-mode/imbalance -->.", "utf-8")
    assert main(check) == 1
    assert "README.md is not as the registry renders it" in capsys.readouterr().out
