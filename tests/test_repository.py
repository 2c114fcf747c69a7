"""What the repository says of itself is so."""

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


def test_every_study_has_its_page():
    for name in catalogue.names():
        assert (ROOT / "docs" / "studies" / f"{name}.md").exists(), name


def test_every_page_stands_in_the_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = [
        line
        for block in re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL)
        for line in block.split()
    ]
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem in listed or page.stem == "index", page.name
    assert {"studies/*", "theory/*"} <= set(listed)


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
