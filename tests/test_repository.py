"""The repository is as it says of itself."""

import re
import tomllib
from pathlib import Path

import pytest

from foretrain.plans import catalogue

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])


def test_readme_holds_the_two_commands_and_the_python_range():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "    python -m pip install . && foretrain run routing\n" in readme
    assert '    python -m pip install ".[test]" && pytest\n' in readme
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"Python {oldest} or newer" in readme


def test_version_is_the_same_everywhere():
    import foretrain

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == foretrain.__version__
    assert f"version: {foretrain.__version__}" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_of_every_page_exist(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


def test_every_page_stands_in_the_contents_once():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line and line[0] != ":"]
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")}
    inner = {name for name in pages if name.startswith("api/")} - {"api/index"}
    assert sorted(listed) == sorted(pages - inner - {"index"})


def test_every_study_stands_in_the_gallery_and_in_the_readme_once():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = [
        name for result in re.findall(r"<!-- gallery: (.*) -->", page) for name in result.split()
    ]
    assert sorted(shown) == sorted(catalogue.names())
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Studies")[2]
    rows = re.findall(r"^\| (`.*?) \|", readme, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted(catalogue.names())


def test_the_contents_name_the_rooms_of_the_house_as_they_are():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    table = index.partition("## The house")[2]
    named = {
        name.removesuffix("/")
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`([\w./]+)`", row)
    }
    package = ROOT / "src" / "foretrain"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    files = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert named == rooms | files


def test_paper_cites_what_its_bibliography_holds():
    cited = set(
        re.findall(r"@(\w+)", (ROOT / "paper.md").read_text("utf-8").partition("---\n\n")[2])
    )
    assert cited == set(re.findall(r"^@\w+{(\w+),", (ROOT / "paper.bib").read_text("utf-8"), re.M))


def test_one_address_of_the_repository_stands_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Repository"]
    assert all(url.startswith(address) for url in project["urls"].values())
    assert f'repository-code: "{address}"' in (ROOT / "CITATION.cff").read_text("utf-8")


def test_pages_for_agents_name_pages_that_there_are():
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / "llms.txt").read_text("utf-8")):
        assert (ROOT / target).exists(), target


def test_what_is_released_holds_what_its_tests_read():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    released = set(settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert {"/src", "/tests", "/docs", "/registry", "/*.md", "/paper.bib", "/llms.txt"} <= released
