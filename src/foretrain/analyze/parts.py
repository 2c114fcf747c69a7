"""Finished parts of an analysis in a file, so that one that was interrupted goes on behind them."""

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foretrain import __version__
from foretrain.errors import file_argument
from foretrain.lazy import jax
from foretrain.results.files import write_atomic

_ARRAYS = {"ndarray", "dtype", "scalar", "_reconstruct", "_frombuffer"}  # that NumPy makes


def kept(path: Path | None, name: str, source: Any, make: Callable[[], Any]) -> Any:
    """Return the part of this name that was made of the same source by this version, or make and keep it.

    The source is a tree of arrays, numbers, texts. Without a path nothing is kept; another file than one of parts has none.
    """
    if path is None:
        return make()
    path = file_argument("parts", path)
    try:
        with path.open("rb") as file:
            known = dict(_Reader(file).load())
    except Exception:
        known = {}
    digest = hashlib.sha256(pickle.dumps((__version__, *jax.tree.leaves(source)))).hexdigest()
    if known.get(name, ("", None))[0] != digest:
        known[name] = digest, make()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, pickle.dumps(known))
    return known[name][1]


class _Reader(pickle.Unpickler):
    """Reads arrays and data of degeneracy alone: nothing in the file is called."""

    def find_class(self, module, name):
        data = module.startswith("foretrain.degeneracy.") and "." not in name
        if data or (module.partition(".")[0] == "numpy" and name in _ARRAYS):
            loaded = super().find_class(module, name)
            if not data or (isinstance(loaded, type) and loaded.__module__ == module):
                return loaded
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an analysis")
