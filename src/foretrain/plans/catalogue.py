"""The catalogue: which studies there are, what is known of them without importing, and the one that is asked for.

A study is a name of the catalogue (a folder of `foretrain.studies`), the name of an entry point ``foretrain.studies`` of
another package, or the path of a file or folder of one's own.
"""

import base64
import importlib
import importlib.metadata
import importlib.util
import os
import pickle
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from foretrain.errors import argument_error, nearest
from foretrain.plans.card import Card, StudyError, read_card
from foretrain.plans.study import ROLES, Study
from foretrain.provenance import siblings

_PATH = re.compile(r"\.py\Z|[/\\]|^\.\.?\Z")
_FOLDER = Path(__file__).parents[1] / "studies"
GROUP = "foretrain.studies"


@cache
def names() -> tuple[str, ...]:
    """Names of all studies of the catalogue and of other packages, sorted."""
    own = {path.parent.name.replace("_", "-") for path in _FOLDER.glob("*/study.py")}
    return tuple(sorted(own | set(_entry_points())))


@cache
def _entry_points() -> dict[str, Any]:
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def card(name: str) -> Card:
    """Return a study's card without running its code. If the file cannot be parsed, the card holds its name and the reason."""
    folder = _FOLDER / name.replace("-", "_")
    if (folder / "study.py").exists():
        return read_card(folder / "study.py", name)
    point = _entry_points()[name]
    spec = importlib.util.find_spec(point.value.partition(":")[0].partition(".")[0])
    package = spec.name if spec else point.value
    return Card(name, f"A study of the package {package}.", point.value)


def load(study: str | Path | Study) -> Study:
    """The study of that name, path or entry point; a `Study` is returned as it is.

    Raises:
        ArgumentError: there is none of that name, or no such file.
        StudyError: an entry point gives no study.
    """
    if isinstance(study, Study):
        return study
    if isinstance(study, Path) or (isinstance(study, str) and _PATH.search(study)):
        return _from_path(Path(study))
    if not isinstance(study, str):
        raise argument_error("study", "name a study or the file of one", f"is {study!r}")
    near = {f"{study}.py": f"{study}.py", f"./{study}": os.path.join(study, "study.py")}
    own = (f"Did you mean `{path}`?" for path in near if os.path.isfile(near[path]))
    return load_by_name(study, next(own, ""))


@cache
def _known(name: str) -> Study:
    stem = name.replace("-", "_")
    if (_FOLDER / stem / "study.py").exists():
        return _of_folder(card(name), _FOLDER / stem, f"foretrain.studies.{stem}")
    target = _entry_points()[name].load()
    if isinstance(target, Study):
        return target
    if isinstance(target, ModuleType) and target.__file__:
        file = Path(target.__file__)
        return _from_path(file.parent if file.name == "__init__.py" else file)
    raise StudyError(
        f"The entry point `{name}` must give a study or a module of one, but gives {target!r}."
    )


def load_by_name(name: str, own: str = "") -> Study:
    """The study of a name in a file that may be anybody's: never the code at a path; raises `ArgumentError` for others."""
    if name not in names():
        raise argument_error("study", "name a study", f"is `{name}`", own or nearest(name, names()))
    return _known(name)


def refuse_borrowed_name(study: Study) -> None:
    """Raise where a study made from functions has the name of one of the catalogue, which a folder of it would mean."""
    if not study.files and (_FOLDER / study.name.replace("-", "_") / "study.py").exists():
        got = f"`{study.name}` is one of the catalogue"
        raise argument_error("study", "have a name of its own", got)


def describe(study: Study) -> dict[str, str]:
    """Return JSON-ready values from which another process can load the study; `restore` is the inverse.

    One that was made from functions (`foretrain.plans.define.define`) travels as what cloudpickle makes of it.
    """
    if study.where or (study.files and study.name in names()):
        return {"study": study.where or study.name}
    import cloudpickle

    # The process that restores it may not have the sources of its functions.
    content = {"card": study.card, "names": study.part("study"), "code": study.code}
    return {"pickled": base64.b64encode(cloudpickle.dumps(content)).decode()}


def restore(described: dict[str, str]) -> Study:
    """The study that `describe` described, in a process that this one started."""
    if "study" in described:
        return load(described["study"])
    content = pickle.loads(base64.b64decode(described["pickled"]))
    study = Study(content["card"], lambda role: content["names"] if role == "study" else None)
    study.code = content["code"]
    return study


def _from_path(path: Path) -> Study:
    path = path.expanduser().resolve()
    file = path / "study.py" if path.is_dir() else path
    if not file.is_file():
        got = f"{file} does not exist"
        raise argument_error("study", "be the file of a study, or a folder with a study.py", got)
    read = read_card(file, (path.stem if path.is_file() else path.name).replace("_", "-"))
    package = siblings.package_of(path, file.parent)
    if path.is_file():
        return _of_file(read, file, package)
    return _of_folder(read, path, package, str(path))


@cache
def _of_file(read: Card, file: Path, package: str) -> Study:
    def part(role: str) -> dict[str, Any] | None:
        return vars(importlib.import_module(f"{package}.{file.stem}")) if role == "study" else None

    return Study(read, part, str(file), {"study": str(file)})


def _of_folder(read: Card, folder: Path, package: str, where: str = "") -> Study:
    files = {role: str(folder / f"{role}.py") for role in ROLES if (folder / f"{role}.py").exists()}

    @cache
    def part(role: str) -> dict[str, Any] | None:
        return vars(importlib.import_module(f"{package}.{role}")) if role in files else None

    return Study(read, part, where, files)
