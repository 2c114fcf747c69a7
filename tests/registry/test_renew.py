"""A record is renewed by the small run of its study where the code has changed and no number has, and by nothing else."""

from dataclasses import replace

import pytest
from made_records import RECORD
from tiny_study import TINY

from foretrain.claims import judge
from foretrain.cli import main
from foretrain.plans import catalogue
from foretrain.registry import present, small
from foretrain.registry.measure import command_of, measure
from foretrain.registry.record import read, write
from foretrain.registry.renew import renewable, renewed


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """The record of the study, which stands where foretrain's own do."""
    folder = tmp_path_factory.mktemp("decay")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(present, "BENCHMARKS", folder)
        patch.setitem(small.PRESETS, "decay", {"scale": (0.25, 0.5)})
        patch.setattr("foretrain.laboratory.conclude.write_page", lambda *_, **__: None)
        (folder / "decay.py").write_text(TINY, "utf-8")
        small.small_run("decay", folder / "runs", folder / "decay.py")
        checksums = small.small_checksums(folder / "decay.py", "decay")
        yield replace(measure(folder / "runs", "small", "abc"), small=checksums)


@pytest.fixture
def file(record):
    file = present.BENCHMARKS / "decay.py"
    yield file
    file.write_text(TINY, "utf-8")


def edit(file, *pairs):
    text = file.read_text("utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, "utf-8")


def test_a_renaming_renews_the_hashes_and_nothing_else(record, file):
    assert record.command.startswith(f"foretrain run {file.parent.name}/decay.py ")
    assert present.changed(record) == ""
    assert not renewable(record)
    edit(file, ("init", "begin"))
    assert present.changed(record) == "makes the runs"
    assert renewable(record)
    new, lines = renewed(record, small.small_checksums(file, "decay"), "def")
    assert (lines, present.changed(new), new.renewed) == ([], "", "by its small run at def")
    hashes = {kind: getattr(record, kind) for kind in present.HASHES}
    assert replace(new, **hashes, renewed="") == record


RUNS = ["of the runs `decay other` differs.", "of the runs `decay simulation` differs."]
THEORY = "of the prediction `decay theory` differs."
SENTENCE = "the sentence `decay decays` differs."


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("w * (1 - inputs", "w * (1.01 - inputs", [*RUNS, SENTENCE]),
        ("* (1 - p.", "* (1.001 - p.", [THEORY, SENTENCE]),
        ("It decays.", "It falls.", [SENTENCE]),
        ("(0, 0.01)", "(0, 0.02)", [SENTENCE]),
        ("default(20)", "default(30)", ["its command makes other runs.", *RUNS, THEORY]),
    ],
)
def test_a_changed_number_or_word_does_not_renew_and_is_named(record, file, old, new, lines):
    edit(file, (old, new))
    before = replace(record, makes="0")
    assert renewed(before, small.small_checksums(file, "decay"), "def") == (before, lines)


def test_another_judge_does_not_renew(record, file, monkeypatch):
    exact = judge._exact
    monkeypatch.setattr(judge, "_exact", lambda *of: exact(*of)._replace(measured=1.0))
    _, lines = renewed(replace(record, judges="0"), small.small_checksums(file, "decay"), "def")
    assert lines == [SENTENCE]


def test_what_was_not_stored_is_not_renewed(record, file):
    parts = {kind: checksums for kind, checksums in record.small.items() if kind != "judges"}
    new, lines = renewed(replace(record, makes="0", judges="0", small=parts), record.small, "def")
    assert (lines, present.changed(new)) == ([], "judges")
    assert not renewable(new)


def test_a_sentence_more_or_less_is_named(record, file):
    now = {**record.small, "judges": {**record.small["judges"], "decay rises": "0"}}
    del now["judges"]["decay decays"]
    lines = ["the sentence `decay decays` is gone.", "the sentence `decay rises` is new."]
    assert renewed(replace(record, makes="0"), now, "def")[1] == lines


def test_bits_of_another_machine_say_nothing_but_where_nothing_has_changed_they_are_stored(
    record, file
):
    now = {**record.small, "machine": {"device": "another"}}
    assert "another machine type" in renewed(replace(record, makes="0"), now, "def")[1][0]
    assert renewed(record, now, "def")[0].small == now


def test_the_command_renews_what_a_process_of_its_own_finds_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("foretrain.registry.measure.commit_of_package", lambda: "def")
    registry, now = tmp_path / "registry", present.hashes(catalogue.load("one-mode"))
    small_parts = small.small_checksums("one-mode", "one-mode")
    record = replace(RECORD, study="one-mode", settings={}, small=small_parts, **now)
    plan = present.plan_of(record)
    record = replace(record, plan=plan.hash, command=command_of(plan))
    write(registry, replace(record, makes="0"))
    write(registry, replace(record, makes="0", size="b", small={**small_parts, "makes": {}}))
    write(registry, replace(record, study="xor", makes="0"))  # not named, so it is left alone
    assert main(["registry", "check", "one-mode", "--all", "--registry", str(registry)]) == 1
    text = capsys.readouterr().out
    assert "[1/1] one-mode, default: renewed by its small run at def." in text
    assert "[1/1] one-mode, b: of the runs `one-mode simulation` is new." in text
    renewed_record = read(registry / "one-mode" / "default.toml")
    assert repr(renewed_record) == repr(replace(record, renewed="by its small run at def"))
    assert main(["registry", "list", "--registry", str(registry)]) == 0
    assert capsys.readouterr().out.count("by its small run at def") == 1


def test_every_study_has_a_small_run():
    assert set(catalogue.names()) <= set(small.PRESETS)
