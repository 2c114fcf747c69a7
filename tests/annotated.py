"""The run-time check of annotations that the tests switch on, at the cost of what is called only.

The import hook of jaxtyping decorates every function with `jaxtyping.jaxtyped`, which binds the arguments of each call
and makes two functions of each one, nested ones anew at every call of what holds them, and walks through the whole syntax
tree of every file. Here functions within functions, and those without annotations, stay as they are; where annotations are
jaxtyping's, its decorator holds them; others are beartype's alone, which writes the check of a function at its first call.
"""

import ast
import functools
import importlib.machinery
import inspect
import random
import sys
from dataclasses import is_dataclass
from typing import Any

import jaxtyping

# Of a list one entry is checked, drawn at random: not from where Hypothesis, and tests, draw.
_shared, random.getrandbits = random.getrandbits, random.Random(0).getrandbits
try:
    from beartype import BeartypeConf, beartype
finally:
    random.getrandbits = _shared

# Whole numbers pass for floats, as everywhere in Python.
check = beartype(conf=BeartypeConf(is_pep484_tower=True))
_HELD = "__held__"  # name of the decorator in every module
# They take whatever a user or a file gives and say in one line what is wrong with it, which tests put to the proof.
_REFUSE_THEMSELVES = {
    "foretrain.quantities.measured.Exact.__init__",
    "foretrain.claims.sentence.claim",
    "foretrain.claims.sentence.Sentence.__init__",
    "foretrain.graph.Edge.__init__",
    "foretrain.laboratory.conduct.conduct",
    "foretrain.laboratory.conduct.data_from",
    "foretrain.laboratory.conduct.folder_of",
    "foretrain.laboratory.conduct.run",
    "foretrain.laboratory.train.train",
    "foretrain.plans.options.Options.__init__",
    "foretrain.plans.plan.make_plan",
    "foretrain.plans.card.Card.__init__",
    "foretrain.figures.drawings.drawings",
    "foretrain.results.manifest.claim_folder",
    "foretrain.results.result.open_result",
}
_LOOK_AT_THEIR_CALLER = {"foretrain.vocabulary.declare"}


def install() -> None:
    """Hold every annotation of what is imported of foretrain from now on, in this process."""
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the modules of foretrain as Python does, and lets them be loaded with their functions decorated."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != "foretrain":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a file with its annotated functions and its classes decorated; compiled files are neither read nor written."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        _decorate(tree)
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module):
        vars(module)[_HELD] = _held
        super().exec_module(module)


def _decorate(tree):
    """Decorate what a syntax tree defines: functions last of all, classes first, and nothing within functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            more = (one for one in (node.args.vararg, node.args.kwarg) if one)
            if node.returns or any(one.annotation for one in (*every, *more)):
                node.decorator_list.append(_name(node))
        elif isinstance(node, ast.ClassDef):
            node.decorator_list.insert(0, _name(node))
            _decorate(node)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            _decorate(node)


def _name(node):
    return ast.copy_location(ast.Name(_HELD, ast.Load()), node)


def _held(part):
    """A function that holds its annotations, and a class whose fields are held when it is made."""
    if inspect.isclass(part):
        if is_dataclass(part) and "__init__" in vars(part):
            part.__init__ = _held(part.__init__)
        return part
    if f"{part.__module__}.{part.__qualname__}" in _REFUSE_THEMSELVES | _LOOK_AT_THEIR_CALLER:
        return part
    part.__annotations__ = {
        name: _resolved(hint, part) for name, hint in part.__annotations__.items()
    }
    if "jaxtyping" in repr(part.__annotations__):
        return jaxtyping.jaxtyped(part, typechecker=check)
    return _checked_from_its_first_call_on(part)


def _checked_from_its_first_call_on(part):
    checked = None

    @functools.wraps(part)
    def called(*given, **named):
        nonlocal checked
        checked = checked or check(part)
        return checked(*given, **named)

    # As code that beartype makes, it is of no file: an error is told at the place of an author, which this is not.
    called.__code__ = called.__code__.replace(co_filename=f"<checked {part.__qualname__}>")
    return called


def _resolved(hint, part):
    """Meaning of an annotation in quotes; anything where that is imported for the eyes of a type checker alone."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, part.__globals__)
    except NameError:
        own = part.__qualname__.split(".")[0]  # a class that is being made
        return hint if hint == own else Any
