"""What the repository says of itself is so."""

import ast
import functools
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


STUDIES = ROOT / "src" / "foretrain" / "studies"
ROW = re.compile(
    r"^\| *(?:holds|fails|inconclusive) *\| *`([^`]+)` *((?:\\\||[^|])*?) *\|", re.MULTILINE
)


def pattern(node) -> str:
    """What an expression that makes a text can be, as a regular expression; `.*` where only a run would tell."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(pattern(part) for part in node.values)
    if isinstance(node, ast.IfExp):
        return f"(?:{pattern(node.body)}|{pattern(node.orelse)})"
    if isinstance(node, ast.BinOp):
        return pattern(node.left) + pattern(node.right)
    return ".*"


def is_text(node) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and (is_text(node.left) or is_text(node.right))
    if isinstance(node, ast.IfExp):
        return is_text(node.body) or is_text(node.orelse)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@functools.cache
def texts(module: str) -> tuple[re.Pattern, ...]:
    """Every text that a module of the studies may write, but those of which hardly a letter is fixed."""
    tree = ast.parse((STUDIES / f"{module}.py").read_text("utf-8"))
    found = {pattern(node) for node in ast.walk(tree) if is_text(node)}
    fixed = {text for text in found if len(re.sub(r"\.\*|\W", "", text)) >= 3}
    return tuple(re.compile(text, re.DOTALL) for text in sorted(fixed))


def modules_of(study: str) -> set[str]:
    """The modules of a study, and those of other studies that they import."""
    name = study.replace("-", "_")
    own = {path.stem for path in STUDIES.glob(f"{name}*.py")}
    imports = r"^\s*from foretrain\.studies(?: import (\w+)|\.(\w+))"
    for module in tuple(own):
        text = (STUDIES / f"{module}.py").read_text("utf-8")
        own |= {one or other for one, other in re.findall(imports, text, re.MULTILINE)}
    return own


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "studies").glob("*.md")), ids=lambda p: p.stem
)
def test_every_claim_of_a_page_stands_in_the_code_of_its_study(page):
    known = [text for module in sorted(modules_of(page.stem)) for text in texts(module)]
    for id, statement in ROW.findall(page.read_text("utf-8")):
        name = re.sub(r"\[[^]]*\]", "", id).removesuffix(".corrected")
        # An id may be the name of a variable, with its underscores.
        names = (id, name, name.replace("-", "_"))
        named = any(text.fullmatch(one) for text in known for one in names)
        assert named, f"no claim `{id}`"
        said = statement.replace(r"\|", "|")
        assert any(text.fullmatch(said) for text in known), f"`{id}` says otherwise: {said}"


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
