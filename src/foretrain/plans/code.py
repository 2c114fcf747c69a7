"""Which code makes the runs of a study: a hash of the sources that decide their numbers.

Of a study's own files those are the functions that make numbers and what these reach by name; of the files of foretrain
and of the study's folder that they import, everything but comments, docstrings, layout and sentences. A study made from
functions has no files: there it is the functions themselves and the values that they hold, see
`foretrain.plans.fingerprint`.
"""

import ast
import hashlib
import importlib.util
import symtable
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from foretrain.plans.fingerprint import fingerprint, is_users
from foretrain.plans.siblings import beside, file_of
from foretrain.plans.study import ROLES, Study

_PACKAGE = Path(__file__).parents[1]
# What an import leads to in other rooms decides where runs are kept and how they are read, not what they are.
_ROOMS = {
    "studies",
    "training",
    "networks",
    "dynamics",
    "quantities",
    "tasks",
    "theory",
    "degeneracy",
    "streams",
}
_ALWAYS = ("engine/kernel.py", "engine/lanes.py", "streams.py", "dynamics/program.py")
_MAKERS = ("program", "inputs", "shared", "measure", "posterior", "variants", "Parameters")
_WORK = {"program", "measure", "posterior"}
# With these names and attributes a function may reach any name of its file.
_BY_STRING = {"globals", "eval", "exec", "__name__"}
_AROUND = {"__module__", "__globals__", "__subclasses__"}
_Import = ast.Import | ast.ImportFrom
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def code_of(study: Study) -> str:
    """Hash (12 hex digits) of the code that makes a study's runs."""
    if study.files:
        parts = _of_files({role: Path(file) for role, file in study.files.items()}, ())
    else:
        names = study.part("study") or {}
        held, files = fingerprint({name: names[name] for name in _MAKERS if name in names})
        parts = [held, *_of_files({}, [file for file in files if _counts(file)])]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _counts(file: Path) -> bool:
    return file.relative_to(_PACKAGE).with_suffix("").parts[0] in _ROOMS


def _of_files(roles: dict[str, Path], others: Iterable[Path]) -> list[str]:
    """What counts of a study's own files, of others, and of all that they import, sorted.

    Args:
        roles: Files of the study, of which only what makes numbers counts.
        others: Files that count as they are.
    """
    own = set(roles.values())
    makers = ("study", "training", "measurement", "chains")
    roots = [roles[role] for role in makers if role in roles]
    bound = any(_WORK & _read(file).keys() for file in roots)
    waiting = [(file, name) for file in roots for name in (_MAKERS if bound else ("",))]
    waiting += [(file, "") for file in (*others, *(_PACKAGE / name for name in _ALWAYS))]
    seen, kept = set(), set()
    while waiting:
        file, name = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        found = [*_read(file).get(name, ()), *_read(file)["*"]] if name else [_whole(file)]
        folders = {file.parent, *(root.parent for root in roots)}
        for text, used, imports in found:
            kept.add(text)
            waiting += [(file, other) for other in used]
            for target, wanted in _targets(file, folders, imports):
                # The names of an own file are followed one by one, those of another file are taken with it.
                waiting.append((target, wanted if target in own else ""))
    return sorted(kept)


_Found = tuple[str, frozenset[str], tuple[tuple[str, str, int], ...]]  # text, names, imports


def _read(file: Path) -> dict[str, list[_Found]]:
    known = file.stat()
    return _definitions(file, known.st_mtime_ns, known.st_size)


def _whole(file: Path) -> _Found:
    known = file.stat()
    return _plain(file, known.st_mtime_ns, known.st_size)


@cache
def _definitions(file: Path, changed: int, size: int) -> dict[str, list[_Found]]:
    """What a study's own file binds, name to all that makes it; under "*" what counts whatever is asked for.

    The latter is what is run for its effect: loops, conditions, calls, imports of everything, or of a module that is used
    nowhere. Declarations of variables decide no number. A definition that a decorator or a base class may put into a table
    makes that table, too.
    """
    tree = _tree(file)
    if tree is None:
        return {"*": [_whole(file)]}
    part = file.stem if file.stem in ROLES else "study"  # the name of a study decides no number
    anywhere = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    made = _made(tree)
    imported = {
        _bound(one) for node in tree.body if isinstance(node, _Import) for one in node.names
    }
    found: dict[str, list[_Found]] = {"*": []}
    around: set[str] = set()
    for node in tree.body:
        if _is_text(node) or _is_declaration(node, made) or _is_not_run(node):
            continue
        if isinstance(node, _Import):
            for alias in node.names:
                name, one = _bound(alias), _copy(node, alias)
                alone = isinstance(node, ast.Import) and name not in anywhere
                found.setdefault("*" if alone else name, []).append(_entry(one))
            continue
        if isinstance(node, ast.ClassDef):
            _drop_fields(node, made)
        names = _binds(node)
        if not isinstance(node, _DEFINES) and (not names or names & {"_", *imported}):
            names = {"*"}
        text, used, imports = _entry(node)
        if _BY_STRING & used or _AROUND & {getattr(one, "attr", "") for one in ast.walk(node)}:
            around |= names
        for name in names:
            there = found.setdefault(name, [])
            there.append((f"{part}.py {name} {len(there)} {text}", used, imports))
    for name in around:
        found[name].append(_whole(file))
    for node in tree.body:
        if isinstance(node, _DEFINES):
            for name in _keepers(file, tree, node) - {node.name}:
                found.setdefault(name, []).extend(found[node.name])
    return found


_DEFINES = _Function | ast.ClassDef


def _keepers(file: Path, tree: ast.Module, node: ast.stmt) -> set[str]:
    """Names of a study's own file by which others may reach a definition that its decorators or base classes have kept.

    Of a decorator or base class of the file these are the variables that it uses, of one from a file beside it all that is
    imported from there. Those of libraries keep nothing.
    """
    made = {one.name: one for one in tree.body if isinstance(one, _DEFINES)}
    over = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
    over += [one.value for one in getattr(node, "keywords", ())]
    waiting, seen = [_first(one) for one in over], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _entry(made[name])[1] if name in made else ()
    assigned = ast.Assign | ast.AnnAssign
    found = {name for one in tree.body if isinstance(one, assigned) for name in _binds(one)} & seen
    for one in tree.body:
        if isinstance(one, _Import):
            names = {_bound(alias) for alias in one.names}
            files = _targets(file, {file.parent}, _imports(one)) if names & seen else ()
            if any(not path.is_relative_to(_PACKAGE) for path, _ in files):
                found |= names
    return found


def _first(node: ast.AST) -> str:
    """The name with which an expression begins, "" if it begins otherwise."""
    while inner := getattr(node, "func", getattr(node, "value", None)):
        node = inner
    return getattr(node, "id", "")


def _made(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, _DEFINES)}


def _binds(node: ast.stmt) -> set[str]:
    """Names of the file that a definition or an assignment makes or changes; none for all other statements."""
    if isinstance(node, _DEFINES):
        return {node.name}
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    found = set()
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Tuple | ast.List):
            targets += target.elts
        elif isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            targets.append(target.value)
        else:
            found.add(target.id if isinstance(target, ast.Name) else "_")
    return found


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _copy(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _is_declaration(node: ast.stmt, made: set[str]) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    return _last(node.value.func) in {"declare"} - made


def _is_not_run(node: ast.stmt) -> bool:
    """Whether it stands under ``if TYPE_CHECKING`` or ``if __name__ == "__main__"``."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return _last(node.test) == "TYPE_CHECKING" or ast.unparse(node.test) == "__name__ == '__main__'"


def _last(node: ast.AST) -> str:
    """The name of a function, with or without the module before it."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _drop_fields(node: ast.ClassDef, made: set[str]) -> None:
    """Leave out what a parameter is by default and what is said of it: its value is part of a run's identity."""
    for part in node.body:
        value = part.value if isinstance(part, ast.AnnAssign) else None
        if isinstance(value, ast.Call) and _last(value.func) in {"parameter", "default"} - made:
            value.args = []
            value.keywords = [one for one in value.keywords if one.arg in ("static", None)]


def _entry(node: ast.stmt) -> _Found:
    """A statement without what does not decide numbers, the names of its file that it uses, and its imports."""
    _strip(node)
    source = ast.unparse(ast.fix_missing_locations(node))
    used: set[str] = set()
    tables = [symtable.symtable(source, "study", "exec")]
    for table in tables:
        tables += table.get_children()
        # What is local to a class is looked for outside, too.
        function = table.get_type() not in ("module", "class")
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if (symbol.is_global() if function else symbol.is_referenced())
        }
    return ast.dump(node), frozenset(used), _imports(node)


def _strip(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [part for part in body if not _is_text(part)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]  # every node here has a body


@cache
def _plain(file: Path, changed: int, size: int) -> _Found:
    """All of a file without what does not decide numbers."""
    tree = _tree(file)
    if tree is None:
        return hashlib.sha256(file.read_bytes()).hexdigest(), frozenset(), ()
    makers, said = {"sentence"}, set()
    kept = []
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call):
            of, first = value.func, value.args[0] if value.args else None
            if _last(of) == "partial" and first is not None and _last(first) in makers:
                makers |= _binds(node)
                continue
            if isinstance(of, ast.Attribute) and of.attr == "corrected" and _last(of.value) in said:
                said |= _binds(node)
                continue
        if isinstance(node, ast.FunctionDef):
            over = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
            if any(_last(one) in makers for one in over):
                said.add(node.name)
                continue
        if not _is_declaration(node, _made(tree)):
            kept.append(node)
    tree.body = kept
    _strip(tree)
    return ast.dump(tree), frozenset(), _imports(tree)


def _tree(file: Path) -> ast.Module | None:
    """The syntax of a file in whatever encoding it names; None where this Python cannot read it, nor then import it."""
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imports(tree: ast.AST) -> tuple[tuple[str, str, int], ...]:
    """Module, name in it ("" for the module itself) and level of all that is imported."""
    found: list[tuple[str, str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", one.name, node.level) for one in node.names]
        elif isinstance(node, ast.Import):
            found += [(one.name, "", 0) for one in node.names]
        elif isinstance(node, ast.Call) and _last(node.func) in ("import_module", "__import__"):
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                module = name.value.lstrip(".")
                found.append((module, "", len(name.value) - len(module)))
    return tuple(found)


def _targets(
    file: Path, folders: set[Path], imports: Iterable[tuple[str, str, int]]
) -> list[tuple[Path, str]]:
    """Files that decide numbers and are imported, with the name asked for, "" for all of a file."""
    found = []
    for module, name, level in imports:
        parts = module.split(".") if module else []
        name = "" if name == "*" else name
        # The packages around a module are run, too; and a name may be that of a module.
        around = [parts[:n] for n in range(1, len(parts))] + [[*parts, name]] * bool(name)
        wanted = [(parts, name), *((one, "") for one in around)]
        found += [
            (path, asked) for one, asked in wanted for path in _files(file, folders, one, level)
        ]
    return found


def _files(file: Path, folders: set[Path], parts: list[str], level: int) -> list[Path]:
    """Files that a module may be, as another file names it; none where it decides no numbers."""
    if level:
        bases = [file.parents[level - 1].joinpath(*parts)] if level <= len(file.parents) else []
        found = [file_of(base) for base in bases if base.name]
    elif parts[:1] == ["foretrain"]:
        found = [file_of(_PACKAGE.joinpath(*parts[1:]))] if len(parts) > 1 else []
    else:
        found = [beside(folder, ".".join(parts)) for folder in sorted(folders)]
        if not any(found) and not file.is_relative_to(_PACKAGE):
            found = [_elsewhere(file, parts)]
    return [
        path
        for path in found
        if path is not None and (not path.is_relative_to(_PACKAGE) or _counts(path))
    ]


def _elsewhere(file: Path, parts: list[str]) -> Path | None:
    """The file of a module of the package that a file is of, or of the user's in Python's path; nothing is run to find it."""
    top = next(one for one in file.parents if not (one / "__init__.py").exists())
    if parts and file.relative_to(top).parts[0] == parts[0]:
        return file_of(top.joinpath(*parts))
    try:
        found = importlib.util.find_spec(parts[0]) if parts else None
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None or not is_users(found.origin):
        return None
    within = parts if found.submodule_search_locations is None else parts[1:]
    return file_of(Path(found.origin).parent.joinpath(*within))
