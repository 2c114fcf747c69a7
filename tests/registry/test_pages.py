"""Pages hold what the registry says, and no table of verdicts is typed."""

import re
from pathlib import Path

import pytest
from made_records import RECORD, stored_records
from typed_numbers import counted, percentages, typed

from foretrain.claims.rows import rows
from foretrain.plans import catalogue
from foretrain.registry.record import place
from foretrain.registry.render import rendered

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
VERDICT = re.compile(r"`(?:([\w-]+)/)?([\w.-]+)`,? (?:is )?(holds|fails|inconclusive)\b(?! *<!--)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_as_the_registry_renders_it(page):
    text = page.read_text("utf-8")
    assert rendered(text, stored_records()) == text, f"Try foretrain registry render {page}"


def test_no_table_of_verdicts_is_typed():
    for page in PAGES:
        text = page.read_text("utf-8")
        blocks = len(re.findall(r"^<!-- registry: (?!tally)", text, re.M))
        assert text.count("| verdict | claim |") == blocks, page


def test_every_record_stands_at_its_place_and_was_judged_by_code_that_a_commit_holds():
    for item in stored_records():
        assert place(ROOT / "registry", item.study, item.size).exists()
        benchmark = ROOT / "benchmarks" / item.study.replace("-", "_")
        assert item.study in catalogue.names() or benchmark.exists()
        assert item.commit


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_measured_number_in_prose_stands_before_its_reference(page):
    study = page.stem if page.parent.name == "studies" else ""
    assert [*typed(page.read_text("utf-8"), study, stored_records())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_number_of_verdicts_seeds_or_runs_stands_before_its_reference(page):
    study = page.stem if page.parent.name == "studies" else ""
    assert counted(page.read_text("utf-8"), study) == []
    assert counted(
        "Over ten seeds, in two more cells; of 5<!-- x/*:seeds --> seeds none.", "x"
    ) == ["ten seeds", "two more cells"]


def test_a_verdict_beside_the_name_of_its_sentence_is_that_of_a_record():
    verdicts = {}
    for record in stored_records():
        for row in rows(record.claims):
            verdicts.setdefault(f"{record.study}/{row.id}", {})[record.size] = row.verdict
    for page in PAGES:
        for study, id, verdict in VERDICT.findall(page.read_text("utf-8")):
            known = verdicts.get(f"{study or page.stem}/{id}", {"default": verdict})
            sizes = known if page.parent.name == "studies" else ["default"]
            assert verdict in [known[size] for size in sizes], f"{page.stem}: {id} {verdict}"


def test_a_percentage_on_the_page_of_a_study_or_the_first_page_stands_before_its_reference():
    for page in PAGES:
        if page.parent.name == "studies" or page.name == "README.md":
            assert percentages(page.read_text("utf-8")) == [], page.stem


@pytest.mark.parametrize(
    ("page", "numbers"),
    [
        ("It is .51 (`far`).", [".51"]),  # two digits beside the name of the sentence
        ("It is .51. And `made-up/far` is named.", [".51"]),
        ("It is .51.\n\nBut `far` is of another paragraph.", []),
        ("- It is .51.\n- But `far` is of another item.", []),
        ("It is .51<!-- made-up/far[rank=2.5] --> (`far`).", []),
        ("The document says .51<!-- elsewhere --> of `far`.", []),
        ("It is .510.", [".510"]),  # three digits wherever they stand
        ("It is 51.0% or 51.0 percent, and .511 is not.", ["51.0%", "51.0 percent"]),
        ("It is .5 (.5 to .5).", [".5"]),  # an interval wherever it stands
        ("It is .5 (.5 to .7).", []),
        ("# .510\n\n| .510 |\n\n`.510`, $.510$ and\n\n```\n.510\n```", [".510", ".510"]),
    ],
)
def test_numbers_are_seen_where_they_are_typed(page, numbers):
    assert [number for number, _ in typed(page, "made-up", [RECORD])] == numbers
