"""Studies of one's own import the files beside them, from wherever they are run and without sharing them.

Every such study stands in a package of its own, `package_of`, whose path is the study's folder. As a file of it is read,
``import helper`` becomes an import from that package wherever the folder has such a file, also inside functions that are
called much later. `sys.path` and the modules of others are left alone, so that two studies may each have a ``helper.py``.
The standard library comes before the folder: a file ``random.py`` there hides nothing.
"""

import ast
import hashlib
import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from foretrain.provenance.sources import WHOLE, file_of, reached

_PREFIX = "foretrain_study_"


def package_of(file: Path, folder: Path) -> str:
    """Name of the package of a study: another one as soon as a file changes that the study imports."""
    roots = [file] if file.is_file() else sorted(folder.glob("*.py"))
    files = reached([(root, WHOLE) for root in roots], [folder], set())[1]
    states = [(str(f), f.stat()) for f in sorted(files)]
    text = repr((str(file), [(name, now.st_mtime_ns, now.st_size) for name, now in states]))
    package = _PREFIX + hashlib.sha256(text.encode()).hexdigest()[:16]
    if package not in sys.modules:
        importlib.invalidate_caches()
        holder = ModuleType(package)
        holder.__path__ = [str(folder)]
        sys.modules[package] = holder
    return package


def sibling(folder: Path, name: str) -> Path | None:
    """The file that ``import name`` means in the files of a folder; None where it means nothing in that folder."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "foretrain":
        return None
    return file_of(folder.joinpath(*name.split(".")))


class _Loader(SourceFileLoader):
    """Reads a file of a study's folder, with its imports from that folder made imports from the package."""

    def get_code(self, fullname: str) -> CodeType:
        """The file, compiled anew: a cached one is told from an older one by whole seconds only."""
        package = fullname.partition(".")[0]
        (folder,) = map(Path, sys.modules[package].__path__)
        tree = _Redirected(package, folder).visit(ast.parse(self.get_data(self.path), self.path))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Redirected(ast.NodeTransformer):
    """Imports that mean a file of a folder, made imports of the package that stands for it."""

    def __init__(self, package: str, folder: Path):
        self._package, self._folder = package, folder

    def _means(self, name: str) -> bool:
        return sibling(self._folder, name.partition(".")[0]) is not None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
        if not node.level and self._means(node.module or ""):
            node.module = f"{self._package}.{node.module}"
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        imports: list[ast.stmt] = []
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if not self._means(top):
                imports.append(ast.Import([alias]))
                continue
            if alias.asname is None:
                imports.append(ast.ImportFrom(self._package, [ast.alias(top)], 0))
            if alias.asname or alias.name != top:
                # ``import lib.deep`` binds ``lib`` alone.
                name = alias.asname or f"_{self._package}"
                imports.append(ast.Import([ast.alias(f"{self._package}.{alias.name}", name)]))
        return [ast.copy_location(statement, node) for statement in imports]


class _Finder:
    """Finds what the files of a study import from their own folder."""

    @staticmethod
    def find_spec(
        name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a file in the folder of a study; None for all other modules."""
        if not name.startswith(_PREFIX):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder)
