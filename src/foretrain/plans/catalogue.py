"""The catalogue of studies: which there are, what is known of them without importing, and the one that is asked for."""

import ast
import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from foretrain.errors import argument_error, nearest

_FOLDER = Path(__file__).parents[1] / "studies"
_PARTS = (
    "_claims",
    "_theory",
    "_training",
)  # a study that outgrows one file keeps these parts in files of their own


@dataclass(frozen=True)
class Entry:
    """What is known of a study without importing it."""

    name: str
    summary: str
    source: str
    cost: str


def names() -> list[str]:
    """Names of all studies, sorted."""
    stems = {path.stem for path in _FOLDER.glob("*.py") if not path.stem.endswith(_PARTS)}
    return sorted(stem.replace("_", "-") for stem in stems - {"__init__"})


def entry(name: str) -> Entry:
    """Summary, source and cost of a study, read from its file without running it."""
    tree = ast.parse((_FOLDER / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8"))
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("SOURCE", "COST")
    }
    summary = (ast.get_docstring(tree) or "").splitlines()[0]
    return Entry(name, summary, constants["SOURCE"], constants["COST"])


def load(name: str) -> ModuleType:
    """Import the study of that name; raises `ArgumentError` with the nearest name if there is none."""
    if not isinstance(name, str):
        raise argument_error("study", "name a study", f"is {name!r}")
    if name not in names():
        raise argument_error("study", "name a study", f"is `{name}`", nearest(name, names()))
    return importlib.import_module(f"foretrain.studies.{name.replace('-', '_')}")
