"""Studies of one's own import the files beside them, from wherever they are run and without sharing them.

Every such study stands in a package of its own, `package_of`, whose path is the study's folder. What its files import is
looked for there first, ``import helper`` as well as ``from .helper import draw``, also inside functions that are called
much later; `sys.path` and the modules of others are left alone, so that two studies may each have a ``helper.py``. The
standard library comes before the folder: a file ``random.py`` there hides nothing.
"""

import builtins
import hashlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

PREFIX = "foretrain_study_"
_READ: dict[str, dict[str, tuple[int, int] | None]] = {}  # package: file to what it was when read


def package_of(file: Path, folder: Path) -> str:
    """Name of the package of a study, another one as soon as a file of the folder, or one below that it read, changes.

    Args:
        file: The study, a file or a folder.
        folder: Where its files are.
    """
    parts = [str(file)]
    for one in sorted(folder.glob("*.py")):
        known = one.stat()
        parts.append(f"{one.name} {known.st_mtime_ns} {known.st_size}")
    package, number = "", 0
    while not package or any(_state(name) != was for name, was in _READ.get(package, {}).items()):
        text = "\0".join([*parts, str(number)])
        package, number = PREFIX + hashlib.sha256(text.encode()).hexdigest()[:16], number + 1
    if package not in sys.modules:
        holder = ModuleType(package)
        holder.__path__ = [str(folder)]
        sys.modules[package] = holder
    return package


def _state(file: str) -> tuple[int, int] | None:
    """When a file was changed and its size, None if it is gone."""
    try:
        known = Path(file).stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size


def part(package: str, file: Path) -> ModuleType:
    """A file of a study's folder, imported once.

    Raises:
        Exception: whatever the file raises.
    """
    name = f"{package}.{file.stem}"
    if name not in sys.modules:
        loader = _Loader(name, str(file))
        spec = spec_from_file_location(name, file, loader=loader)
        assert spec is not None, "a loader is given"
        module = sys.modules[name] = module_from_spec(spec)
        try:
            loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def beside(folder: Path, name: str) -> Path | None:
    """The file that ``import name`` means in the files of a folder; None where it means nothing in that folder."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "foretrain":
        return None
    return file_of(folder.joinpath(*name.split(".")))


def file_of(base: Path) -> Path | None:
    """The file of a module, given its path without an ending; None if there is none."""
    files = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((file for file in files if file.is_file()), None)


class _Loader(SourceFileLoader):
    """Reads a file of a study's folder and lets its import statements look into that folder first."""

    def get_code(self, fullname: str) -> CodeType:
        """The file, compiled anew: a cached one is told from an older one by whole seconds only."""
        _READ.setdefault(fullname.partition(".")[0], {})[self.path] = _state(self.path)
        return self.source_to_code(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the file."""
        package = module.__name__.partition(".")[0]
        (folder,) = map(Path, sys.modules[package].__path__)

        def imported(
            name: str,
            globals: Any = None,
            locals: Any = None,
            fromlist: Sequence[str] = (),
            level: int = 0,
        ) -> ModuleType:
            if level or beside(folder, name.partition(".")[0]) is None:
                return builtins.__import__(name, globals, locals, fromlist, level)
            found = builtins.__import__(f"{package}.{name}", globals, locals, fromlist, 0)
            return found if fromlist else sys.modules[f"{package}.{name.partition('.')[0]}"]

        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": imported}
        super().exec_module(module)


class _Finder:
    """Finds what the files of a study import from their own folder."""

    @staticmethod
    def find_spec(
        name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a file in the folder of a study; None for all other modules."""
        if not name.startswith(PREFIX):
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found


sys.meta_path.insert(0, _Finder)
