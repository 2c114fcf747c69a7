"""The card of a study: what its text says of it, read without running any of its code."""

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foretrain.errors import ForetrainError
from foretrain.provenance.reading import MOST_TEXT, read_file
from foretrain.provenance.siblings import sibling
from foretrain.provenance.sources import file_of
from foretrain.references import bibtex

_CARD = {"SOURCE": "", "COST": "", "REFERENCES": ()}
_PACKAGE = Path(__file__).parents[1]
_DEPTH = 5  # of names that are imported from a file that imports them


class StudyError(ForetrainError, TypeError):
    """A study lacks something, or answers in a form that cannot be used."""


@dataclass(frozen=True)
class Card:
    """A study's summary, source, cost and references, read without importing anything."""

    name: str  # with hyphens
    summary: str = ""  # first line of its docstring
    source: str = ""  # document and figure
    cost: str = ""  # what the default size costs on 2 cores, in words
    references: tuple[str, ...] = ()  # keys of `foretrain.references`

    def __post_init__(self):
        for name, text in (("SOURCE", self.source), ("COST", self.cost)):
            if not isinstance(text, str):
                raise StudyError(
                    f"`{name}` of the study `{self.name}` must be words, but is {text!r}."
                )
        if self.references:
            bibtex(self.references)


def read_card(file: Path, name: str) -> Card:
    """The card of a study's file, read from its text."""
    try:
        tree = ast.parse(read_file(file, MOST_TEXT))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Card(name, f"cannot be read: {error}".splitlines()[0])
    values = _CARD | constants(file, tree, set(_CARD))
    summary = next(iter((ast.get_docstring(tree) or "").splitlines()), "")
    if not isinstance(values["REFERENCES"], tuple | list):
        raise StudyError(f"{file}: `REFERENCES` must be a list of keys of references.")
    return Card(name, summary, values["SOURCE"], values["COST"], tuple(values["REFERENCES"]))


def constants(file: Path, tree: ast.Module, names: set[str], depth: int = _DEPTH) -> dict[str, Any]:
    """Name to value of constants that a file assigns or imports, those left out that only running it would tell.

    What is read are literals, their sums, lists and tuples, texts with names in braces, and names of other constants:
    those above in the file, and those of files of foretrain or of the same folder that it imports.

    Args:
        file: The file.
        tree: Its syntax tree.
        names: Names of the constants.
        depth: How many imports are followed from file to file.
    """
    known: dict[str, Any] = {}
    imported: dict[str, tuple[Path, str]] = {}

    def read(node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return value_of(name)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return read(left) + read(right)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values: list[Any] = []
                for part in parts:
                    values += read(part.value) if isinstance(part, ast.Starred) else [read(part)]
                return tuple(values)
            case ast.JoinedStr(values=parts):
                return "".join(str(read(part)) for part in parts)
            case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
                return read(inner)
            case _:
                return ast.literal_eval(node)

    def value_of(name: str) -> Any:
        if name not in known and name in imported and depth:
            source, original = imported[name]
            below = ast.parse(read_file(source, MOST_TEXT))
            known[name] = constants(source, below, {original}, depth - 1)[original]
        return known[name]

    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            source = _file(file, node)
            for alias in node.names:
                name = alias.asname or alias.name
                known.pop(name, None)
                imported.pop(name, None)
                if source is not None:
                    imported[name] = source, alias.name
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for name in (target.id for target in targets if isinstance(target, ast.Name)):
            known.pop(name, None)
            imported.pop(name, None)
            with suppress(KeyError, TypeError, ValueError, SyntaxError, OSError):
                known |= {} if value is None else {name: read(value)}
    for name in names & imported.keys():
        with suppress(KeyError, ValueError, SyntaxError, OSError):
            value_of(name)
    return {name: known[name] for name in names if name in known}


def _file(file: Path, node: ast.ImportFrom) -> Path | None:
    module = node.module or ""
    if node.level:
        parts = module.split(".") if module else ()
        return file_of(file.parents[node.level - 1].joinpath(*parts))
    if module.split(".")[0] == "foretrain":
        return file_of(_PACKAGE.joinpath(*module.split(".")[1:]))
    return sibling(file.parent, module)


def dictionary(name: str, value: Any) -> dict:
    """Return a dictionary that a study gave under a name; raise `StudyError` where it is none."""
    if not isinstance(value, Mapping):
        raise StudyError(f"`{name}` must be a dictionary, but is {type(value).__name__}.")
    return dict(value)
