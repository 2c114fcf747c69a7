"""A Python file that is run because it was named."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from foretrain.errors import ForetrainError, argument_error, file_argument
from foretrain.plans.place import place
from foretrain.provenance.reading import MOST_TEXT


@contextmanager
def neighbours(path: Path) -> Iterator[None]:
    """Context in which a file imports what stands beside it."""
    folder = str(path.absolute().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def run_file(path: Path) -> ModuleType:
    """The module that a file makes.

    Raises:
        ArgumentError: It is no Python file, or fails; the text has its line. A `ForetrainError` of its own stays.
    """
    if not file_argument("model", path, MOST_TEXT).is_file():
        raise argument_error("model", "be a file", f"{path} is not there")
    spec = importlib.util.spec_from_file_location(f"_model_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise argument_error("model", "be a Python file", f"is {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    try:
        with neighbours(path):
            spec.loader.exec_module(module)
    except ForetrainError:
        raise
    except (Exception, SystemExit) as error:
        got = f"fails at {place(error)}".rstrip(".")
        raise argument_error("model", "be a Python file that runs", got) from error
    return module
