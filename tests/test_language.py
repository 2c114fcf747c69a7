"""The project is written in plain English: a docstring begins with a verb or with the thing, and a name is a noun or a verb.

`python tests/test_language.py` prints every place.
"""

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "src" / "foretrain"
OPENINGS = {"What", "Whether", "How", "That", "Who", "Where"}
# Prepositions, participles and the pronoun that name no thing and no deed.
NAMES = set("one further beside apart told said held found made given asked".split())


def rooms() -> dict[str, list[Path]]:
    """Files of each room of the package, of its ground floor, of the tests and of the benchmarks."""
    files = {name: [*(REPOSITORY / name).rglob("*.py")] for name in ("tests", "benchmarks")}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        files.setdefault(parts[0] if len(parts) > 1 else "ground floor", []).append(path)
    return files


def words(tree: ast.Module) -> Iterator[tuple[bool, int, str]]:
    """Each unplain word: True where a docstring begins with it, False where a name is one; its line, and what stands there."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or "."
            if text.split()[0].strip(",:") in OPENINGS:
                yield True, line, text.splitlines()[0]
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
            yield False, line, name


def places(room: str) -> tuple[list[str], list[str]]:
    """File, line and text of docstrings, and of names, in the files of a room."""
    lines = [], []
    for path in sorted(rooms()[room]):
        for opens, line, text in words(ast.parse(path.read_text("utf-8"))):
            lines[not opens].append(f"{path.relative_to(REPOSITORY)}:{line}: {text}")
    return lines


@pytest.mark.parametrize("room", rooms())
def test_no_room_has_unplain_words(room):
    lines = [*itertools.chain(*places(room))]
    assert not lines, "\n".join(lines)


if __name__ == "__main__":
    for room in rooms():
        print(*itertools.chain(*places(room)), sep="\n")
