"""The project is written in plain English: a docstring begins with a verb or with the thing, and a name is a noun or a verb.

Each room has a ceiling for what is not yet so, which only goes down; a room that stands in no table has none.
`python tests/test_language.py` prints every place.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "src" / "foretrain"
OPENINGS = {"What", "Whether", "How", "That", "Who", "Where"}
# Prepositions, participles and the pronoun that name no thing and no deed.
NAMES = set("one further beside apart told said held found made given asked".split())
# Docstrings that begin with a word of OPENINGS, by room.
DOCSTRINGS = {
    "benchmarks": 1,
    "degeneracy": 3,
    "elsewhere": 4,
    "explain": 10,
    "ground floor": 4,
    "predict": 1,
    "provenance": 8,
    "registry": 2,
    "results": 19,
    "studies": 2,
    "tests": 50,
}
# Functions, fields, arguments and variables named by a word of NAMES, by room.
NAMED = {
    "benchmarks": 93,
    "degeneracy": 200,
    "elsewhere": 55,
    "explain": 194,
    "ground floor": 6,
    "predict": 38,
    "provenance": 62,
    "registry": 56,
    "results": 28,
    "studies": 81,
    "tests": 1174,
    "training": 1,
}


def rooms() -> dict[str, list[Path]]:
    """Files of each room of the package, of its ground floor, of the tests and of the benchmarks."""
    files = {name: [*(REPOSITORY / name).rglob("*.py")] for name in ("tests", "benchmarks")}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        files.setdefault(parts[0] if len(parts) > 1 else "ground floor", []).append(path)
    return files


def openings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and first line of each docstring that begins with a word of OPENINGS."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or "."
            if text.split()[0].strip(",:") in OPENINGS:
                yield getattr(node, "lineno", 1), text.splitlines()[0]


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each thing that is bound to a word of NAMES."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case ast.alias(asname=str(name)):
                pass
            case _:
                continue
        if name.strip("_") in NAMES:
            yield getattr(node, "lineno", 1), name


def places(room: str, seek) -> list[str]:
    """File, line and text of what `seek` finds in the files of a room."""
    return [
        f"{path.relative_to(REPOSITORY)}:{line}: {text}"
        for path in sorted(rooms()[room])
        for line, text in sorted(seek(ast.parse(path.read_text("utf-8"))))
    ]


RULES = [(DOCSTRINGS, openings), (NAMED, names)]


@pytest.mark.parametrize(("ceilings", "seek"), RULES, ids=["docstrings", "names"])
@pytest.mark.parametrize("room", rooms())
def test_no_room_has_more_unplain_words_than_its_ceiling(room, ceilings, seek):
    lines = places(room, seek)
    most = ceilings.get(room, 0)
    assert len(lines) <= most, f"{len(lines)} in {room}, at most {most}:\n" + "\n".join(lines)


def test_words_are_counted_where_they_are_bound():
    program = '''
def held(one, *, beside):
    """How it is held."""
    found, told.said = one, lambda apart: further
import x as made
'''
    tree = ast.parse(program)
    words = "held one beside found said apart made".split()
    assert sorted(name for _, name in names(tree)) == sorted(words)
    assert [text for _, text in openings(tree)] == ["How it is held."]


if __name__ == "__main__":
    for room in rooms():
        print(*(place for _, seek in RULES for place in places(room, seek)), sep="\n")
