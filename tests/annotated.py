"""The run-time check of annotations that the tests switch on, at the cost of what is annotated only.

The import hook of jaxtyping decorates every function with `jaxtyping.jaxtyped`, which binds the arguments of each call
and makes two functions of each one, nested ones anew at every call of what holds them. Here that falls to functions
whose annotations are jaxtyping's; others are beartype's alone, and those without annotations stay as they are.
"""

import functools
import inspect
import random
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
_jaxtyped = jaxtyping.jaxtyped
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
    jaxtyping.jaxtyped = _held
    jaxtyping.install_import_hook("foretrain", "annotated.check")


def _held(part=None, *, typechecker):
    """Stands for `jaxtyping.jaxtyped` where the hook decorates."""
    if part is None:
        return functools.partial(_held, typechecker=typechecker)
    if inspect.isclass(part):
        if is_dataclass(part) and "__init__" in vars(part):
            part.__init__ = _held(part.__init__, typechecker=typechecker)
        return part
    if not inspect.isfunction(part):
        return _jaxtyped(part, typechecker=typechecker)
    if not part.__annotations__ or "<locals>" in part.__qualname__:
        return part
    if f"{part.__module__}.{part.__qualname__}" in _REFUSE_THEMSELVES | _LOOK_AT_THEIR_CALLER:
        return part
    part.__annotations__ = {
        name: _resolved(hint, part) for name, hint in part.__annotations__.items()
    }
    if "jaxtyping" in repr(part.__annotations__):
        return _jaxtyped(part, typechecker=typechecker)
    return typechecker(part)


def _resolved(hint, part):
    """What an annotation in quotes means; anything where that is imported for the eyes of a type checker alone."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, part.__globals__)
    except NameError:
        own = part.__qualname__.split(".")[0]  # a class that is being made
        return hint if hint == own else Any
