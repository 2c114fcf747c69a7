"""What the repository says of itself is so."""

import re
import tomllib
from pathlib import Path

import pytest

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


def test_every_study_has_its_page_and_its_figures():
    from foretrain.plans import catalogue

    for name in catalogue.names():
        assert (ROOT / "docs" / "studies" / f"{name}.md").exists(), name
        module = f"src/foretrain/figures/{name.replace('-', '_')}.py"
        assert (ROOT / module).exists(), name


def test_modules_import_only_from_rooms_above_them():
    rooms = [
        "errors",
        "streams",
        "vocabulary",
        "claims",
        "references",
        "graph",
        "results",
        "tasks",
        "networks",
        "theory",
        "measures",
        "plans",
        "dynamics",
        "studies",
        "figures",
        "report",
        "experiment",
        "cli",
    ]
    folder = ROOT / "src" / "foretrain"
    for path in folder.rglob("*.py"):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        if own not in rooms:
            continue
        # Imports at the top of a module; one inside a function is a deliberate, lazy exception.
        for room in re.findall(r"^from foretrain\.(\w+)", path.read_text("utf-8"), re.MULTILINE):
            if room in rooms:
                assert rooms.index(room) <= rooms.index(own), f"{path} imports from {room}"
