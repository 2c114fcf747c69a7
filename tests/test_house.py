"""The house is as its plan says: imports run downwards without circles, and every study answers the whole contract."""

import ast
import contextlib
import importlib.util
import re
import shutil
from functools import cache
from pathlib import Path
from types import ModuleType

import networkx
import numpy as np
import pytest

from foretrain.claims.sentence import Sentence, check_inside
from foretrain.cli import main
from foretrain.plans import catalogue
from foretrain.plans.command import command
from foretrain.plans.parameters import rules
from foretrain.plans.plan import make_plan
from foretrain.streams import Seed

PACKAGE = Path(__file__).parents[1] / "src" / "foretrain"
DOCS = Path(__file__).parents[1] / "docs"
# From the top of the house to its ground; a room may import from its own line and later ones.
FLOORS = [
    {"__main__", "cli", "commands"},
    {"studies"},
    {"training"},
    {"study"},
    {"registry"},
    {"explain"},
    {"laboratory"},
    {"analyze"},
    {"elsewhere"},
    {"predict"},
    {"engine"},
    {"degeneracy"},
    {"theory"},
    {"networks"},
    {"dynamics"},
    {"report"},
    {"figures"},
    {"results"},
    {"plans"},
    {"tasks"},
    {"claims"},
    {"quantities"},
    {"provenance"},
    {*"words vocabulary graph references streams errors lazy machine arithmetic notebook".split()},
]
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
# Lines of .py, .js and .html of rooms: those that they may have now, which only go down, and those that they are to have.
LINES = {
    "cli, __main__, commands": (896, 896),
    "studies": (17_793, 17_793),
    "training": (2_457, 2_400),
    "predict": (1_845, 1_845),
    "explain": (3_334, 3_334),
    "analyze": (1_092, 1_092),
    "degeneracy": (4_868, 4_868),
    "elsewhere": (1_596, 1_596),
    "theory, networks, tasks, dynamics": (9_766, 9_766),
    "engine": (3_187, 3_187),
    "results, provenance": (3_856, 3_856),
    "laboratory, registry": (3_983, 3_983),
    "plans, claims, quantities": (6_108, 6_108),
    "report, figures": (4_356, 4_356),
    "ground floor": (1_442, 1_442),
    "all rooms": (66_540, 66_540),
    "tests": (37_000, 37_000),
}


def modules() -> dict[str, Path]:
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("foretrain", *path.relative_to(PACKAGE).with_suffix("").parts)
        names[".".join(part for part in parts if part != "__init__")] = path
    return names


MODULES = modules()


@cache
def imports(path: Path) -> set[str]:
    """Modules of foretrain that a file imports, inside functions and later too, but not those for a type checker alone."""
    tree = ast.parse(path.read_text("utf-8"))
    # What a type checker reads is imported when it is asked for; the names at the top are above the whole house.
    later = "= lazy(__name__" in path.read_text("utf-8") and path != PACKAGE / "__init__.py"
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not later
        for inner in ast.walk(node)
    }
    imported = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foretrain"):
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                imported.add(whole if whole in MODULES else node.module)
        elif isinstance(node, ast.Import):
            imported |= {name.name for name in node.names if name.name.startswith("foretrain")}
    return imported


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def test_every_room_has_its_floor():
    assert {room(module) for module in MODULES} - {"__init__"} == set(LEVEL)


def test_imports_run_downwards_also_inside_functions():
    for module, path in MODULES.items():
        if module == "foretrain":
            continue
        for other in imports(path):
            if other == "foretrain":
                continue
            high, low = LEVEL[room(module)], LEVEL[room(other)]
            assert high <= low, f"{module} imports {other}"


def test_imports_make_no_circle():
    graph = networkx.DiGraph(
        (module, other)
        for module, path in MODULES.items()
        for other in imports(path)
        if other != module
    )
    assert [
        sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1
    ] == []


BASE = {"engine", "plans", "results", "quantities", "claims", "laboratory"}
ABOVE_THE_BASE = {"degeneracy", "analyze", "explain", "elsewhere"}
STUDIES_ABOVE_THE_BASE = {
    "coordinate_check",
    "deep_linear_coefficients",
    "degeneracy_over_training",
    "entangled_networks",
    "free_directions",
    "interaction_basis",
    "landscapes",
    "planted_modules",
}


def test_base_and_studies_of_race_and_grokking_reach_nothing_above_the_base():
    # The names that an author imports from `foretrain.study` are looked up when one is asked for.
    graph = networkx.DiGraph(
        (module, other)
        for module, path in MODULES.items()
        if module not in ("foretrain", "foretrain.study")
        for other in imports(path)
    )
    for module in graph:
        own = room(module) == "studies" and module.count(".") > 1
        if room(module) in BASE or (own and module.split(".")[2] not in STUDIES_ABOVE_THE_BASE):
            reached = {room(other) for other in networkx.descendants(graph, module)}
            assert reached.isdisjoint(ABOVE_THE_BASE), module


def test_data_that_answer_know_neither_words_nor_pictures():
    for module, path in MODULES.items():
        text = path.read_text("utf-8")
        if re.search(r"^\s*class \w+\([^)]*\bFinding\b", text, re.MULTILINE):
            assert f"{module}_words" in MODULES, module
            assert re.findall(r"foretrain\S*(?:_words|_figures?|\.figures)\b", text) == [], module


def test_no_file_has_more_than_400_lines():
    assert [
        path for path in MODULES.values() if len(path.read_text("utf-8").splitlines()) > 400
    ] == []


def script(name: str) -> ModuleType:
    """A script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_the_house_is_that_of_its_imports():
    drawn = (DOCS / "images" / "house.svg").read_text("utf-8")
    assert script("draw_house").picture() == drawn, "Try python docs/draw_house.py."


def test_sizes_and_counts_of_the_coverage_of_documents_are_those_of_the_registry():
    page = (DOCS / "coverage.md").read_text("utf-8")
    assert script("write_coverage").written(page) == page, "Try python docs/write_coverage.py."


def test_no_study_imports_a_study():
    for module, path in MODULES.items():
        if room(module) != "studies" or module.count(".") < 2:
            continue
        own = ".".join(module.split(".")[:3])
        others = {
            other
            for other in imports(path)
            if room(other) == "studies" and not other.startswith(own)
        }
        assert others == set(), module


@pytest.mark.parametrize("name", catalogue.names())
def test_every_study_answers_the_whole_contract(name):
    study = catalogue.load(name)
    card = study.card
    assert (card.summary, card.source, card.cost) != ("", "", "")
    assert card.references
    assert study.sentences, "a study of the catalogue makes claims"
    plan = make_plan(name, {})
    p = plan.parameters
    assert all(len(label) == 2 for label in study.labels(p, study.stored_steps(p)).values())
    assert study.estimate(p) > 0
    assert isinstance(study.variants(p), dict)
    assert plan.seeds >= 5
    assert study.trains or study.computes
    if study.trains:
        assert {"steps", "observe_every", "precision"} <= set(rules(study.Parameters))


# Curves that sliders move to those of the theory, where these have other names.
THEORY = {"relative_loss": "flow_loss", "inside": "flow_inside", "outside": "flow_outside"}
THEORY["loss"] = "race_loss"


@pytest.mark.parametrize("name", "context initialization optimizers routing s-curves xor".split())
def test_sliders_move_the_curves_that_theory_predicts(name):
    study = catalogue.load(name)
    p, seed = make_plan(name, {"steps": 200}).parameters, Seed(0, 0)
    whole, moved = (study.predict(p, study.stored_steps(p), seed, part) for part in (False, True))
    for variable, values in moved.items():
        known = np.isfinite(values)
        assert known.any()
        predicted = whole[variable if variable in whole else THEORY[variable]]
        np.testing.assert_allclose(values[known], predicted[known], rtol=1e-6)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_sentence_is_whole_and_can_fail(name):
    study = catalogue.load(name)
    ids = [claim.id for claim in study.sentences]
    assert len(set(ids)) == len(ids)
    for claim in study.sentences:
        assert isinstance(claim, Sentence)
        assert claim.statement.endswith(".")
        assert claim.source
        assert claim.why
        assert set(claim.along) <= set(rules(study.Parameters)), claim.id
        if not callable(claim.inside):
            check_inside(claim.inside, np.nan if callable(claim.near) else claim.near, claim.id)


@pytest.mark.parametrize("name", catalogue.names())
def test_command_under_reproduce_makes_the_same_hash_for_every_preset(name):
    study = catalogue.load(name)
    for preset in study.presets:
        plan = make_plan(name, {}, preset=preset)
        assert plan.preset == preset
        assert remade(command(plan)).hash == plan.hash, preset
    for axis, values in study.axes.items():
        alone = make_plan(name, {axis: values[-1]}, seeds=7, root_seed=3)
        assert remade(command(alone)).hash == alone.hash, axis


def test_command_under_reproduce_says_values_that_equal_a_parameters_own_default():
    plan = make_plan("rank-one", {"weight_decay": 0, "init_scale": 1, "dimension": 100})
    assert remade(command(plan)).hash == plan.hash
    digits = make_plan("routing", {"data": "digits", "learning_rate": 0.04, "steps": 2500})
    assert remade(command(digits)).hash == digits.hash


def remade(words: list[str]):
    """The plan that the command line makes of these words, without running it."""
    from foretrain import cli
    from foretrain.commands import runs as commands

    arguments = cli._parse(words[1:], {})
    return make_plan(
        catalogue.load(arguments.study),
        commands.typed_values(arguments),
        seeds=arguments.seeds,
        root_seed=arguments.root_seed,
    )


def test_a_helper_file_or_a_broken_study_in_the_folder_breaks_no_list(
    tmp_path, monkeypatch, capsys
):
    folder = tmp_path / "studies"
    shutil.copytree(PACKAGE / "studies" / "one_mode", folder / "one_mode")
    (folder / "helper.py").write_text("raise RuntimeError\n")
    (folder / "notes").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "study.py").write_text("def (:\n")
    (folder / "bare").mkdir()
    (folder / "bare" / "study.py").write_text("x = 1\n")
    monkeypatch.setattr(catalogue, "_FOLDER", folder)
    catalogue.names.cache_clear()
    try:
        assert main(["list"]) == 0
    finally:
        catalogue.names.cache_clear()
    out = capsys.readouterr().out
    assert "one-mode" in out
    assert "broken" in out
    assert "helper" not in out


def lines(rooms: str) -> int:
    """Lines of rooms, the ground floor being the files that are no other's, and ``tests`` all of the tests."""
    if rooms == "tests":
        files = Path(__file__).parent.rglob("*.py")
    else:
        names = LEVEL if rooms == "all rooms" else rooms.split(", ")
        if rooms == "ground floor":
            names = ["__init__", "study", *FLOORS[-1]]
        files = [
            path
            for path in PACKAGE.rglob("*.*")
            if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in names
        ]
    return sum(
        len(path.read_text("utf-8").splitlines())
        for path in files
        if path.suffix in (".py", ".js", ".html")
    )


@pytest.mark.parametrize("rooms", LINES)
def test_no_room_has_more_lines_than_its_budget(rooms):
    most, aim = LINES[rooms]
    present = lines(rooms)
    print(f"{rooms}: {present:,} lines of {most:,}, {max(0, present - aim):,} above {aim:,}")
    assert present <= most, "A change takes from a room what it adds there; see LINES."


ROW = re.compile(
    r"^\| *(?:\**)(?:holds|fails|inconclusive)[^|]*\| *`([^`]+)` *((?:\\\||[^|])*?) *\|", re.M
)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_claim_of_a_studys_page_is_a_sentence_of_the_study(name):
    statements = {claim.id: claim.statement for claim in catalogue.load(name).sentences}
    rows = ROW.findall((DOCS / "studies" / f"{name}.md").read_text("utf-8"))
    assert rows, "a page shows its claims"
    for id, statement in rows:
        id = re.sub(r"\[[^]]*\]", "", id)
        assert id in statements, f"no claim `{id}`"
        assert statement.replace(r"\|", "|").startswith(statements[id]), f"`{id}` says otherwise"


@pytest.mark.parametrize("name", catalogue.names())
def test_a_study_has_few_headlines_and_statements_that_stand_alone(name):
    sentences = catalogue.load(name).sentences
    headlines = [claim.id for claim in sentences if claim.rank == "headline"]
    evidence = [claim.id for claim in sentences if claim.rank != "control"]
    assert min(3, len(evidence)) <= len(headlines) <= 6
    leading = re.compile(
        r"(They|It|Its|Of (these|this|them)|The same|This|These|That|Those|Both|So|Such|Their|Then)\b"
    )
    for claim in sentences:
        assert not leading.match(claim.statement), f"`{claim.id}` begins with a pronoun"
        assert len(claim.statement) <= 220, f"`{claim.id}` is longer than two lines of a page"


if __name__ == "__main__":
    for rooms in LINES:
        with contextlib.suppress(AssertionError):
            test_no_room_has_more_lines_than_its_budget(rooms)
