"""Finished parts of an analysis in a file, so that one that was interrupted goes on behind them."""

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.results.files import write_atomic

_ARRAYS = {"ndarray", "dtype", "scalar", "_reconstruct", "_frombuffer"}  # that NumPy makes


class Parts:
    """Parts by name in a file, each with a digest of what it depends on; without a path nothing is kept."""

    def __init__(self, path: Path | None = None):
        self.path = path

    def of(self, name: str, source: Any, make: Callable[[], Any]) -> Any:
        """Return the part that was made of the same, or make and keep it; `source` is a tree of arrays, numbers, texts."""
        if self.path is None:
            return make()
        known, digest = self._known(), _digest(source)
        if known.get(name, ("", None))[0] != digest:
            known[name] = digest, make()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path, pickle.dumps(known))
        return known[name][1]

    def _known(self) -> dict[str, tuple[str, Any]]:
        """All parts of the file, none where it is absent or is no such file."""
        try:
            with self.path.open("rb") as file:  # pyright: ignore[reportOptionalMemberAccess]
                return dict(_Reader(file).load())
        except Exception:
            return {}


class _Reader(pickle.Unpickler):
    """Reads arrays and data of degeneracy alone: nothing in the file is called."""

    def find_class(self, module, name):
        data = module.startswith("foretrain.degeneracy.") and "." not in name
        if data or (module.partition(".")[0] == "numpy" and name in _ARRAYS):
            loaded = super().find_class(module, name)
            if not data or (isinstance(loaded, type) and loaded.__module__ == module):
                return loaded
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an analysis")


def _digest(source):
    """Digest of a tree of arrays, numbers and texts, and of the version that reads it."""
    import jax

    from foretrain import __version__

    digest = hashlib.sha256(__version__.encode())
    for leaf in jax.tree.leaves(source):
        array = np.ascontiguousarray(leaf)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
