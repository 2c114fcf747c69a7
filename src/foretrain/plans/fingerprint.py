"""What functions are and what they hold: their code, closures, defaults and the names that they use, down to plain values."""

import dataclasses
import dis
import hashlib
import importlib.util
import pickle
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from foretrain.claims.callables import codes, used_names, within

_PACKAGE = Path(__file__).parents[1]
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_CODE = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags")
_CODE += ("co_argcount", "co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable")
_OF_A_CLASS = {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__"} | {
    *("__annotations__", "__firstlineno__", "__static_attributes__", "__dataclass_fields__"),
    *("__dataclass_params__", "__match_args__", "__abstractmethods__", "_abc_impl"),
}
_OF_A_DATACLASS = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}
_STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def fingerprint(value: Any) -> tuple[str, set[Path]]:
    """What tells a value from others, and the files of foretrain that it is made of.

    Functions count by their bytecode and all that they refer to, arrays by their bytes, classes by their methods, other
    objects by what they hold or as they are pickled. Functions and classes of other packages count by their names, those
    of foretrain by their files, and both by their closures and defaults. What none of this reads counts by its type.

    Args:
        value: Anything.

    Returns:
        A hash (64 hex digits), and the files.
    """
    reader = _Reader()
    try:
        reader.read(value)
    except RecursionError:
        reader.say("too deep")
    return reader.digest.hexdigest(), reader.files


class _Reader:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.files: set[Path] = set()
        self.seen: dict[
            int, tuple[int, Any]
        ] = {}  # the object is held, so that no other gets its id

    def say(self, *words: Any) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self.digest.update(b"%d:" % len(data) + data)

    def read(self, value: Any) -> None:
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            self.say(type(value).__name__, repr(value))
            return
        if id(value) in self.seen:
            self.say("seen", self.seen[id(value)][0])
            return
        if type(value) is not tuple:  # equal ones may or may not be one object
            self.seen[id(value)] = len(self.seen), value
        self.say(f"{type(value).__module__}.{type(value).__qualname__}")
        match value:
            case CodeType():
                self.say(*(getattr(value, name) for name in _CODE))
                self.read(value.co_consts)
            case FunctionType():
                self.function(value)
            case type():
                self.class_(value)
            case ModuleType():
                self.say(value.__name__)
            case dict():
                self.read([*value.items()])
                self.held(value)
            case list() | tuple():
                self.say(len(value))
                for one in value:
                    self.read(one)
                self.held(value)
            case set() | frozenset():
                self.say(*sorted(fingerprint(one)[0] for one in value))
            case _ if held := within(value):
                self.read(tuple(held) if len(held) > 1 else held[0])
            case _:
                self.object(value)

    def held(self, value: Any) -> None:
        """Attributes of an instance, and its class."""
        if type(value) in (dict, list, tuple):
            return
        self.read(type(value))
        if vars_of := getattr(value, "__dict__", None):
            self.read(dict(vars_of))

    def place(self, module: str) -> str:
        """Whose a module is: the "user's", "foretrain"'s, of which the file is noted, or of an "other" package."""
        name = getattr(sys.modules.get(module), "__file__", None)
        if module.partition(".")[0] == "foretrain":
            if name and Path(name).is_relative_to(_PACKAGE):
                self.files.add(Path(name))
            return "foretrain"
        if name is None:
            return "other" if module.partition(".")[0] in sys.stdlib_module_names else "user's"
        return "user's" if is_users(name) else "other"

    def function(self, value: FunctionType) -> None:
        self.read((value.__defaults__, value.__kwdefaults__))
        for cell in value.__closure__ or ():
            try:
                self.read(cell.cell_contents)
            except ValueError:
                self.say("empty")
        if self.place(value.__module__ or "") != "user's":
            self.say(value.__module__, value.__qualname__)
            return
        code = value.__code__
        names = used_names(code)
        if code.co_consts and value.__doc__ is not None and code.co_consts[0] == value.__doc__:
            code = code.replace(co_consts=(None, *code.co_consts[1:]))
        self.read(code)
        for name in sorted(_globals(value.__code__) & value.__globals__.keys()):
            used = value.__globals__[name]
            self.say(name)
            self.read(used)
            if isinstance(used, ModuleType):
                self.module(used, names)
        for imported in sorted(_imported(value.__code__)):
            self.imported(value, *imported, names)

    def imported(self, value: FunctionType, module: str, level: int, names: set[str]) -> None:
        """What a function imports itself: of a package also those of its modules that the code names."""
        package = value.__globals__.get("__package__") or ""
        try:
            full = importlib.util.resolve_name("." * level + module, package) if level else module
            if self.is_others(full):
                return
            found = importlib.import_module(full)
            for name in sorted(names) if hasattr(found, "__path__") else ():
                if name.isidentifier() and importlib.util.find_spec(f"{full}.{name}"):
                    self.module(importlib.import_module(f"{full}.{name}"), names)
        except Exception:
            self.say("not to be imported", module)
            return
        self.module(found, names)

    def is_others(self, module: str) -> bool:
        """Whether a module is of another package than foretrain and the user's, found without running it."""
        if module in sys.modules:
            return self.place(module) == "other"
        top = module.partition(".")[0]
        found = importlib.util.find_spec(top)
        return top != "foretrain" and (found is None or not is_users(found.origin))

    def module(self, value: ModuleType, names: set[str]) -> None:
        """What is used of a module: attributes of the names that stand in the code."""
        if self.place(value.__name__) == "other":
            return
        for name in sorted(names & vars(value).keys()):
            used = vars(value)[name]
            self.say(name)
            self.read(used)
            if isinstance(used, ModuleType) and used is not value:
                self.module(used, names - {name})

    def class_(self, value: type) -> None:
        self.say(value.__qualname__)
        if self.place(value.__module__) != "user's":
            self.say(value.__module__)
            return
        self.read(value.__bases__)
        left_out = set(_OF_A_CLASS)
        if "__dataclass_fields__" in vars(value):
            left_out |= _OF_A_DATACLASS
            fields = {one.name: one.metadata for one in dataclasses.fields(value)}
            # The values of parameters are part of a run's identity.
            left_out |= {name for name, said in fields.items() if {"rule", "changed"} & said.keys()}
            self.say(*(name for name in fields))
        for name in sorted(vars(value).keys() - left_out):
            self.say(name)
            self.read(vars(value)[name])

    def object(self, value: Any) -> None:
        if hasattr(value, "dtype") and hasattr(value, "shape") and self.array(value):
            return
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            self.read(wrapped)
            return
        if self.place(type(value).__module__) != "other" or dataclasses.is_dataclass(value):
            self.held(value)
            for owner in type(value).__mro__:
                slots = vars(owner).get("__slots__", ())
                for name in (slots,) if isinstance(slots, str) else slots:
                    self.read((name, getattr(value, name, None)))
            return
        try:
            self.say(pickle.dumps(value))
        except Exception:
            self.held(value)  # such as what holds a lambda

    def array(self, value: Any) -> bool:
        import numpy as np

        try:
            array = np.asarray(value)
        except Exception:
            return False
        self.say(array.dtype, array.shape)
        if array.dtype.hasobject:
            self.read(array.tolist())
        else:
            self.say(np.ascontiguousarray(array).tobytes())
        return True


def is_users(name: str | None) -> bool:
    """Whether a file belongs neither to Python nor to what is installed."""
    if name is None or not Path(name).is_absolute():
        return False
    file = Path(name)
    installed = {"site-packages", "dist-packages"} & {*file.parts}
    return not installed and not any(file.is_relative_to(one) for one in _STANDARD)


def _imported(code: CodeType) -> set[tuple[str, int]]:
    """Modules that a function and those within it import, with the level of a relative import."""
    steps = [step for one in codes(code) for step in dis.get_instructions(one)]
    return {
        (step.argval, next(one.argval for one in steps[at - 2 :: -1] if type(one.argval) is int))
        for at, step in enumerate(steps)
        if step.opname == "IMPORT_NAME"
    }


def _globals(code: CodeType) -> set[str]:
    """Global names that a function and those within it look up; not those of attributes."""
    return {
        step.argval
        for one in codes(code)
        for step in dis.get_instructions(one)
        if "GLOBAL" in step.opname or step.opname == "LOAD_NAME"
    }
