"""The registry holds what a command has judged anew, and nothing else; pages say what it holds."""

import re
import shutil
from dataclasses import replace

import pytest
from made_claims import sample
from made_records import CLAIMS, RECORD

import foretrain
from foretrain.claims.rows import rows
from foretrain.cli import main
from foretrain.errors import ArgumentError, FolderError, ForetrainError, StoreError
from foretrain.plans import catalogue
from foretrain.registry import measure as measured
from foretrain.registry.present import changed
from foretrain.registry.record import place, read, write
from foretrain.registry.render import markdown_table, rendered
from foretrain.registry.sizes import notes, reached
from foretrain.registry.table import tally


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of the smallest study, cut short."""
    out = tmp_path_factory.mktemp("runs") / "one-mode"
    foretrain.run("one-mode", steps=40, observe_every=20, seeds=2, out=out, workers=0, quiet=True)
    return out


def test_a_record_is_read_as_it_was_written_to_the_bit(tmp_path):
    path = write(tmp_path, RECORD)
    assert repr(read(path)) == repr(RECORD)  # nan is not equal to itself
    before = path.read_text("utf-8")
    write(tmp_path, read(path))
    assert path.read_text("utf-8") == before
    assert 'verdict = "fails at symbols=19"' in before


def test_a_sentence_that_is_not_claimed_stays_so_in_a_record_and_says_why_in_the_table(tmp_path):
    words = {"verdict": "not claimed", "reason": "lambda_1 is .94"}
    claims = (*CLAIMS, sample("wide", (5.0, 5.1), (0, 1), size={"width": ("8", "64")}, **words))
    again = read(write(tmp_path, replace(RECORD, claims=claims)))
    assert repr(again.claims[-1]) == repr(claims[-1])
    assert "| not claimed at width=8 (lambda_1 is .94) |" in markdown_table(again)
    assert tally([again]).endswith("1 are not claimed.")


def test_a_file_that_is_no_record_is_one_line(tmp_path):
    path = write(tmp_path, RECORD)
    for text in ("", "study = 3", path.read_text("utf-8").replace("seeds = 3", "seeds = 'x'")):
        path.write_text(text, "utf-8")
        with pytest.raises(StoreError, match="is no record of verdicts"):
            read(path)
    with pytest.raises(ArgumentError, match="`size`"):
        place(tmp_path, "made-up", "../up")


def test_without_a_registry_or_a_record_a_command_says_so_in_a_line(tmp_path, capsys):
    assert main(["registry", "list", "--registry", str(tmp_path / "none")]) == 2
    assert "it stands in foretrain's repository" in capsys.readouterr().err
    assert main(["registry", "add", "--registry", str(tmp_path)]) == 2
    capsys.readouterr()
    assert main(["registry", "list", "roting"]) == 2
    assert "Did you mean `routing`?" in capsys.readouterr().err
    (tmp_path / "no.md").write_bytes(b"\xff")
    for name, fault in (("missing.md", "No such file"), ("no.md", "'utf-8' codec can't decode")):
        assert main(["registry", "render", str(tmp_path / name)]) == 2
        assert fault in capsys.readouterr().err.partition(f"{name} cannot be rendered: ")[2]


def test_no_text_of_a_record_and_no_path_steers_a_terminal_or_a_page(tmp_path, monkeypatch, capsys):
    bad = "\x1b]0;a\x07\x9b31m\u202eb"
    claims = (sample("far", [2.0, 2.1, 2.05], allowed=(0, 1), statement=bad, unit=bad),)
    texts = dict.fromkeys(("device", "commit", "renewed", "precision", "command"), bad * 99)
    record = replace(RECORD, claims=claims, remarks=(bad,), **texts)
    write(tmp_path / bad, record)
    page = tmp_path / f"{bad}.md"
    page.write_text("<!-- registry: made-up -->\n<!-- end -->\n", "utf-8")
    again = replace(record, day="2", claims=(replace(claims[0], why=bad * 999),))
    monkeypatch.setattr("foretrain.registry.check.run_again", lambda *_: again)
    words = f"registry list,registry check made-up,registry render {page},publish --out {page}-site"
    for line in words.split(","):
        assert main([*line.split(), "--registry", str(tmp_path / bad)]) == ("check" in line)
    shown = "".join(capsys.readouterr())
    assert max(map(len, shown.splitlines())) < 2000
    assert not {*bad} - {*"]0;a31mb"} & {*shown, *page.read_text("utf-8")}


def test_in_a_folder_without_a_registry_the_one_that_foretrain_carries_is_read_and_never_written(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["registry", "list", "one-mode"]) == 0
    assert "one-mode  default" in capsys.readouterr().out
    assert main(["registry", "check", "--all"]) == 2
    monkeypatch.setattr("foretrain.commands.registry._check_whole", lambda *_: True)
    assert main(["registry", "check", "one-mode"]) == 0


def test_a_run_is_judged_anew_and_told_with_its_size_and_hashes(folder):
    with pytest.raises(ArgumentError, match="`size` must name the size"):
        measured.measure(folder)
    record = measured.measure(folder, "short")
    study = catalogue.load("one-mode")
    assert record.makes == study.code
    assert record.settings == {"steps": 40, "observe_every": 20}
    assert record.differs == {"learning_rate": ("0.01", "0.001"), "steps": ("40", "20000")}
    assert {claim.id for claim in record.claims} == {words.id for words in study.sentences}
    assert record.runs == {"out_of_steps": 6}
    assert changed(record) == ""
    assert changed(replace(record, judges="0")) == "judges"


def test_a_folder_that_is_not_whole_or_not_of_this_code_is_refused(folder, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    summary = copy / "summary.json"
    summary.write_text(summary.read_text("utf-8").replace('"seeds": 2', '"seeds": 3', 1), "utf-8")
    with pytest.raises(FolderError, match="is not as foretrain wrote it"):
        measured.measure(copy, "short")
    shutil.rmtree(copy)
    shutil.copytree(folder, copy)
    next((copy / "journal").iterdir()).unlink()
    with pytest.raises(FolderError, match="are missing or failed"):
        measured.measure(copy, "short")
    monkeypatch.setitem(vars(catalogue.load("one-mode")), "code", "0" * 12)
    with pytest.raises(FolderError, match="runs of other code"):
        measured.measure(folder, "short")


def test_a_table_has_size_seeds_commit_cost_and_command_and_a_row_for_each_sentence():
    text = markdown_table(RECORD)
    for part in ("symbols 19", "3 seeds", "commit abc", "1.5 s", "`foretrain run made-up`"):
        assert part in text.replace("document's size is not known", "symbols 19")
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(rows(CLAIMS)) == 3
    assert lines[0].startswith("| fails at symbols=19 (1 of 2 cells hold) | `far` It is small.")
    assert "Fails in 1 cell: rank=1" in lines[0]


def test_a_page_gets_tables_and_numbers_and_is_the_same_when_rendered_twice():
    page = (
        "Off by .4<!-- made-up/far[rank=2.5] -->, 1%<!-- made-up/exact -->, -0.00<!-- made-up/exact -->,"
        " 2e-3<!-- made-up/exact -->, 7<!-- made-up/far[rank=1]:high -->.\n\n"
        "<!-- registry: made-up -->\nstale\n<!-- end -->\n"
    )
    once = rendered(page, [RECORD])
    assert once.startswith("Off by .5<!-- made-up/far[rank=2.5] -->, 0%<!--")
    assert "0.00<!-- made-up/exact -->, 1e-12<!--" in once
    assert "2<!-- made-up/far[rank=1]:high -->" in once
    assert "stale" not in once
    assert rendered(once, [RECORD]) == once


@pytest.mark.parametrize(
    "page",
    [
        "<!-- registry: made-up paper -->\n<!-- end -->",
        "1<!-- made-up/none -->",
        "1<!-- made-up/far -->",
        "1<!-- made-up/exact:middle -->",
        "1<!-- made-up/*:measured -->",
    ],
)
def test_a_page_that_names_what_is_not_there_is_refused(page):
    with pytest.raises(ForetrainError, match="made-up"):
        rendered(page, [RECORD])


def test_a_page_gets_the_counts_of_a_whole_record():
    page = "1<!-- made-up/*:seeds -->, 1,000<!-- made-up/*:runs -->, 0<!-- made-up/*:hold -->, 0<!-- made-up/*:fail -->"
    page += ", 0<!-- made-up/*:open --> of 0<!-- made-up/*:sentences -->."
    text = re.sub("<.+?>", "", rendered(page, [replace(RECORD, runs={"lost": 2, "done": 36_000})]))
    assert text == "3, 36,002, 1, 1, 1 of 3."


def sized(size, **fields):
    return replace(RECORD, claims=tuple(replace(item, size=size) for item in CLAIMS), **fields)


def test_a_study_is_at_its_document_size_or_it_is_said_what_is_missing():
    small = sized({name: ("1", "2") for name in "abcd"})
    assert reached([]) == "no: not in the registry"
    assert reached([sized(None)]) == "not known: the study has no preset `paper`"
    assert reached([small, sized({"a": ("1", "2")})]) == "no: a 1 (document 2)"
    assert reached([small]).endswith("c 1 (document 2), and 1 parameter more")
    assert reached([small, sized({})]) == "yes"


def test_every_study_of_foretrain_is_listed_with_its_size_and_none_without_a_registry(capsys):
    assert notes([]) == {}
    assert notes([sized({}, study="routing")])["routing"] == "yes"
    assert main(["list", "-v"]) == 0
    assert capsys.readouterr().out.count("At the document's size: ") == len(catalogue.names())


def test_a_tally_counts_a_sentence_once_at_the_size_of_the_document_where_it_is():
    own = sized({}, study="one-mode")
    more = replace(own, size="paper", seeds=9, claims=own.claims[:2])
    text = tally([own, sized({"a": ("1", "2")}), replace(sized({}), size="paper"), more])
    # Of three sentences one is exact, and of one nothing was measured.
    assert "verdicts on 4 sentences of 1 study and 1 benchmark; 2 are evidence by" in text
    assert text.endswith("Of 4 at the document's size, 2 hold, 2 fail, 0 are inconclusive.")
    assert "Of 2 at other sizes only" in tally([sized({"a": ("1", "2")})])
    assert "Of 2 at a size that cannot be compared" in tally([sized(None)])
    less = replace(own, size="small", seeds=2, claims=(replace(own.claims[2], verdict="fails"),))
    assert tally([own, less]) == tally([less, own]) == tally([own])
