"""Which code makes the runs of a study: a hash of the sources that decide their numbers.

Those are the files of the study and of foretrain that its parameters, draws and program reach by imports, without
comments, docstrings, layout, and without what only looks at runs (sentences, theory, figures).
"""

import ast
import hashlib
import inspect
from functools import cache
from pathlib import Path

from foretrain.plans.siblings import beside, file_of
from foretrain.plans.study import Study

_PACKAGE = Path(__file__).parents[1]
# What an import leads to in other rooms decides where runs are kept and how they are read, not what they are.
_ROOMS = {"studies", "training", "networks", "dynamics", "measures", "tasks", "theory", "streams"}
_ALWAYS = ("engine/kernel.py", "engine/lanes.py", "streams.py", "dynamics/program.py")
_LOOKS = {"check", "predict", "fit", "draw", "labels", "time", "estimate", "sentences"}


def code_of(study: Study) -> str:
    """Hash (12 hex digits) of the code that makes a study's runs."""
    roots = [Path(study.files[role]) for role in ("study", "training") if role in study.files]
    parts = _of_functions(study) if not roots else [_of_files(tuple(roots), _stamp(roots))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _stamp(roots: list[Path]) -> tuple[int, ...]:
    """When the files of a study were changed last, so that what was read of them once is read anew then."""
    return tuple(
        file.stat().st_mtime_ns
        for folder in {root.parent for root in roots}
        for file in sorted(folder.glob("*.py"))
    )


def _of_functions(study: Study) -> list[str]:
    names = study.part("study") or {}
    found = []
    for name in sorted(names.keys() - _LOOKS):
        value = names[name]
        if callable(value):
            try:
                found.append(f"{name}:{_plain(inspect.getsource(value))}")
            except (OSError, TypeError, SyntaxError):
                code = getattr(value, "__code__", None)
                found.append(f"{name}:{code.co_code.hex() if code else value!r}")
    return found


@cache
def _of_files(roots: tuple[Path, ...], stamp: tuple[int, ...]) -> str:
    waiting = [*roots, *(_PACKAGE / name for name in _ALWAYS)]
    seen: dict[Path, str] = {}
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        text = file.read_text(encoding="utf-8")
        seen[file] = _plain(text)
        waiting += [found for found in _imported(file, ast.parse(text)) if found not in seen]
    digest = hashlib.sha256()
    for content in sorted(seen.values()):
        digest.update(content.encode())
    return digest.hexdigest()


def _plain(text: str) -> str:
    """Source without what does not decide numbers."""
    tree = ast.parse(inspect.cleandoc(text) if text[:1] in " \t" else text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        kept = [part for part in body if not _only_looks(part) and not _is_text(part)]
        node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]  # every node here has a body
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _only_looks(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return node.name in _LOOKS or any(
        isinstance(one, ast.Name) and one.id == "sentence" for one in decorators
    )


def _imported(file: Path, tree: ast.AST) -> list[Path]:
    """Files of the rooms that decide numbers, and of the same folder, that a file imports."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{one.name}".strip(".") for one in node.names)]
            found += [_file(file, name, node.level) for name in names]
        elif isinstance(node, ast.Import):
            found += [_file(file, one.name, 0) for one in node.names]
    return [one for one in found if one is not None]


def _file(file: Path, module: str, level: int) -> Path | None:
    first, *rest = module.split(".")
    if not level and first == "foretrain":
        path = _PACKAGE.joinpath(*rest).with_suffix(".py") if rest and rest[0] in _ROOMS else None
    elif not level:
        path = beside(file.parent, module)
    else:
        base = file.parents[level - 1].joinpath(*module.split(".") if module else ())
        path = base.with_suffix(".py") if file.is_relative_to(_PACKAGE) else file_of(base)
    if path is None or not path.is_file() or path.name in ("claims.py", "figures.py"):
        return None
    return path
