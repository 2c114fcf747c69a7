"""Names of Python files as the statements that they are made of, in every file that they reach. No file is run.

A name counts by the statement that binds it, without comments, docstrings, annotations and layout, and by every name that
this statement uses, through imports too. Followed are the files of the user and the rooms of foretrain that decide
numbers; of a library only the imported name counts.
"""

import ast
import copy
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType

from foretrain.provenance.reading import MOST_TEXT, read_file

PACKAGE = Path(__file__).parents[1]
ROOMS = {
    *("studies", "training", "networks", "dynamics", "quantities", "tasks", "theory"),
    *("degeneracy", "explain", "streams", "study"),
}
WHOLE = ""  # stands for all of a file
EFFECT = "*"  # stands for what a file does when it is imported, whatever is asked for
_STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_REFLECTION = {"globals", "eval", "exec"}  # may reach any name of the file
_IMPORT = ast.Import | ast.ImportFrom
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Place = tuple[Path, str]


@dataclass(frozen=True, eq=False)
class Statement:
    """A part of a file."""

    names: frozenset[str]  # names under which it counts
    node: ast.stmt | ast.Lambda  # its syntax

    @cached_property
    def text(self) -> str:
        """The statement without what decides no number."""
        _strip(self.node)
        return ast.dump(self.node)

    @cached_property
    def uses(self) -> frozenset[str]:
        """Names that it looks up outside of itself, ``helper.fit`` where of a name one attribute alone is used."""
        if isinstance(self.node, _IMPORT):
            return frozenset()
        _ = self.text  # leaves out the names of annotations
        inside = [*ast.walk(self.node)]
        attributes = {id(node.value): node for node in inside if isinstance(node, ast.Attribute)}
        outer = self._looked_up()
        return frozenset(
            f"{node.id}.{over.attr}" if (over := attributes.get(id(node))) else node.id
            for node in inside
            if isinstance(node, ast.Name) and (outer is None or node.id in outer)
        )

    def _looked_up(self) -> set[str] | None:
        """Names that are not local, those of attributes included; None where the compiler cannot tell."""
        node = ast.Expr(self.node) if isinstance(self.node, ast.Lambda) else self.node
        try:
            module = ast.fix_missing_locations(ast.Module([node], []))
            compiled = compile(module, "statement", "exec", dont_inherit=True)
        except SyntaxError:  # such as ``nonlocal`` of the function around
            return None
        return {name for code in codes(compiled) for name in code.co_names}

    @cached_property
    def imports(self) -> tuple[tuple[int, str, str], ...]:
        """Level, module and name ("" for the module itself) of all that it imports."""
        imports: list[tuple[int, str, str]] = []
        for node in ast.walk(self.node):
            match node:
                case ast.ImportFrom():
                    imports += [(node.level, node.module or "", a.name) for a in node.names]
                case ast.Import():
                    imports += [(0, alias.name, "") for alias in node.names]
                case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                    if _last(node.func) == "import_module":
                        module = name.lstrip(".")
                        imports.append((len(name) - len(module), module, ""))
        return tuple(imports)


def reached(
    roots: Iterable[Place], folders: Iterable[Path] = (), rooms: set[str] = ROOMS
) -> tuple[list[str], set[Path]]:
    """Return the statements that some names are made of.

    Args:
        roots: Each a file and a name in it, or `WHOLE`.
        folders: Folders in which the files of a study look for the modules that they import.
        rooms: Rooms of foretrain that are followed.

    Returns:
        The texts, in an order that does not depend on where the files lie, and the files.
    """
    waiting, folders = list(roots), list(folders)
    own = {file for file, _ in waiting}
    seen: set[Place] = set()
    kept: dict[Path, set[Statement]] = {}
    outside: set[str] = set()
    while waiting:
        place = file, name = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        statements = kept.setdefault(file, set())
        known = source(file).statements
        name, _, attribute = name.partition(".")
        taken = known[WHOLE] if name == WHOLE else [*known.get(name, ()), *known.get(EFFECT, ())]
        for statement in taken:
            if statement not in statements:
                waiting += [(file, used) for used in statement.uses]
                waiting += [(file, used) for used in known if _REFLECTION & statement.uses]
            statements.add(statement)
            for module, targets in targets_of(statement, file, folders, attribute):
                outside |= {module} if not targets else set()
                waiting += [target for target in targets if counts(target[0], rooms)]
    for file, statements in kept.items():
        outside |= {f"{_label(file, own)}: {text}" for text in _texts(file, statements)}
    return sorted(outside), set(kept)


def targets_of(
    statement: Statement, file: Path, folders: Iterable[Path], attribute: str = ""
) -> Iterator[tuple[str, list[Place]]]:
    """Yield the modules that a statement imports, and where each is; of a module the attribute alone, if it is named."""
    for level, module, name in statement.imports:
        places = _targets(file, folders, level, module, name)
        yield f"{module}.{name}", [(place, part or attribute) for place, part in places]


def counts(file: Path, rooms: set[str] = ROOMS) -> bool:
    """Say if a file decides numbers: any of the user's, and those in some rooms of foretrain."""
    room = _room(file)
    return not room or room in rooms


@cache
def _room(file: Path) -> str:
    inside = file.is_relative_to(PACKAGE)
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py") if inside else ""


def is_users(file: str | None) -> bool:
    """Say if a file belongs to the user: neither to Python, nor to a library, nor to foretrain."""
    if file is None or not Path(file).is_absolute() or Path(file).is_relative_to(PACKAGE):
        return False
    installed = {"site-packages", "dist-packages"} & {*Path(file).parts}
    return not installed and not any(Path(file).is_relative_to(folder) for folder in _STANDARD)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a statement and that of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def file_of(base: Path) -> Path | None:
    """The file of a module, given its path without an ending; None if there is none."""
    files = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((file for file in files if file.is_file()), None)


class Source:
    """The text of a file, or of a cell of a notebook, in its parts."""

    def __init__(self, content: bytes):
        try:
            self._text = importlib.util.decode_source(content)
            self._tree = ast.parse(self._text)
        except Exception:  # this Python cannot import it either
            self._text = repr(content)
            self._tree = ast.parse(f"unreadable = {self._text}")

    @cached_property
    def statements(self) -> dict[str, list[Statement]]:
        """The statements by the names under which they count; under `WHOLE` all of them."""
        body = self._tree.body
        # The names of a lazy package stand under ``if TYPE_CHECKING``, see `foretrain.lazy`.
        if "= lazy(__name__" in self._text:
            body = [x for node in body for x in (node.body if isinstance(node, ast.If) else [node])]
        assigned = {name for node in body for name in _assigned(node)}
        defined = {node.name: node for node in body if isinstance(node, _DEFINITION)}
        statements: dict[str, list[Statement]] = {WHOLE: []}
        for node in body:
            if _is_left_out(node):
                continue
            for part, names in _parts(node, assigned, defined):
                statement = Statement(frozenset(names), part)
                for name in (WHOLE, *names):
                    statements.setdefault(name, []).append(statement)
        return statements

    @cached_property
    def functions(self) -> dict[tuple[int, str], list[Statement]]:
        """All functions by the line in which they begin and their name, lambdas included, without their decorators."""
        functions: dict[tuple[int, str], list[Statement]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Lambda):
                place, function = (node.lineno, "<lambda>"), node
            elif isinstance(node, ast.FunctionDef):
                place = (min(x.lineno for x in (node, *node.decorator_list)), node.name)
                function = copy.copy(node)
                function.decorator_list = []
            else:
                continue
            functions.setdefault(place, []).append(Statement(frozenset(), function))
        return functions


def source(file: Path) -> Source:
    """The parts of a file, read once as long as it stays as it is."""
    known = file.stat()
    return _source(file, known.st_mtime_ns, known.st_size)


@cache
def _source(file: Path, changed: int, size: int) -> Source:
    return Source(read_file(file, MOST_TEXT))


def _parts(
    node: ast.stmt, assigned: set[str], defined: Mapping[str, ast.stmt]
) -> Iterator[tuple[ast.stmt, set[str]]]:
    """The statement with the names under which it counts; of an import each name by itself."""
    match node:
        case ast.Import() | ast.ImportFrom():
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                alone = ast.Import([alias])
                if isinstance(node, ast.ImportFrom):
                    alone = ast.ImportFrom(node.module, [alias], node.level)
                yield alone, {EFFECT if name == "*" else name}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node, {node.name, *_keepers(node, assigned, defined)}
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield node, {name if name in assigned else EFFECT}  # TABLE.append(3)
        case _:
            yield node, _assigned(node) or {EFFECT}


def _keepers(node: ast.AST, assigned: set[str], defined: Mapping[str, ast.stmt]) -> set[str]:
    """Names by which others may reach what decorators or base classes of the same file have kept, such as a table."""
    over = [*getattr(node, "decorator_list", ()), *getattr(node, "bases", ())]
    makers = {getattr(getattr(node, "func", node), "id", "") for node in over} & defined.keys()
    inside = [node for name in makers for node in ast.walk(defined[name])]
    return makers | ({node.id for node in inside if isinstance(node, ast.Name)} & assigned)


def _assigned(node: ast.AST) -> set[str]:
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _is_left_out(node: ast.stmt) -> bool:
    """Say if a statement decides no number: a text, a declared variable, what only a type checker or a script runs."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Expr(value=ast.Call(func=function)):
            return _last(function) == "declare"
        case ast.If(orelse=[]):
            test = node.test
            return _last(test) == "TYPE_CHECKING" or ast.unparse(test) == "__name__ == '__main__'"
    return False


def _last(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _strip(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            # The default of a parameter is part of a run's identity, and its words decide nothing.
            if _last(node.value.func) in ("parameter", "default"):
                node.value.args = []
                node.value.keywords = [k for k in node.value.keywords if k.arg == "static"]
        body = getattr(node, "body", None)
        if isinstance(body, list):
            texts = {
                p for p in body if isinstance(p, ast.Expr) and isinstance(p.value, ast.Constant)
            }
            kept = [part for part in body if part not in texts]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]  # every node here has a body


def _texts(file: Path, statements: set[Statement]) -> list[str]:
    numbers: dict[str, int] = {}
    texts = []
    for statement in source(file).statements[WHOLE]:
        if statement in statements and not isinstance(statement.node, _IMPORT):
            name = min(statement.names)
            numbers[name] = numbers.get(name, 0) + 1
            texts.append(f"{name} {numbers[name]} {statement.text}")
    return texts


def _label(file: Path, own: set[Path]) -> str:
    """The name of a file, without that of the study, which decides no number."""
    if _room(file):
        return file.relative_to(PACKAGE).as_posix()
    return "study" if file in own else file.stem


def _targets(
    file: Path, folders: Iterable[Path], level: int, module: str, name: str
) -> tuple[Place, ...]:
    """Files that an import means, with the name asked for; none where they are neither the user's nor foretrain's."""
    # The files of foretrain stay where they are, those of a user may come and go.
    look = _known_targets if _room(file) else _known_targets.__wrapped__
    return look(file, tuple(folders), level, module, name)


@cache
def _known_targets(
    file: Path, folders: tuple[Path, ...], level: int, module: str, name: str
) -> tuple[Place, ...]:
    parts = module.split(".") if module else []
    for base in _bases(file, folders, level, parts):
        outer = file_of(base)
        inner = file_of(base / name) if name and name != "*" else None
        if outer is None and inner is None:
            continue
        # The packages around a module are run, too.
        around = [file_of(base.parents[number]) for number in range(len(parts) - 1)]
        places = [(package, EFFECT) for package in around if package is not None]
        if inner is not None:
            places.append((inner, WHOLE))
        if outer is not None:
            places.append((outer, EFFECT if inner else WHOLE if name in ("", "*") else name))
        return tuple(places)
    return ()


def _bases(file: Path, folders: tuple[Path, ...], level: int, parts: list[str]) -> Iterator[Path]:
    """Paths, without an ending, that a module may have."""
    if level:
        if level <= len(file.parents):
            yield file.parents[level - 1].joinpath(*parts)
        return
    if parts[0] == "foretrain":
        yield PACKAGE.joinpath(*parts[1:])
    if _room(file) or parts[0] in {"foretrain", *sys.stdlib_module_names}:
        return
    yield from (folder.joinpath(*parts) for folder in (*folders, file.parent))
    top = next(folder for folder in file.parents if not (folder / "__init__.py").exists())
    if file.relative_to(top).parts[0] == parts[0]:
        yield top.joinpath(*parts)
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError):
        return
    if spec is not None and spec.origin and is_users(spec.origin):
        within = parts[1:] if spec.submodule_search_locations else parts
        yield Path(spec.origin).parent.joinpath(*within)
