"""Files and environment variables that a study reads beside its code and the data that it names, noticed during its calls.

Such a file is no part of the identity of a run: with other content the runs would be others under the same name. Noticed is
what is opened through Python in the thread that calls the study, not what a library opens in C, as HDF5 does. Left out are
files of Python, of packages, of the system and of caches, those that the study has written itself, and Python files, which its
code is known by.
"""

import _collections_abc
import contextlib
import functools
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from foretrain.machine import cache_folder
from foretrain.plans.copies import without_copies
from foretrain.plans.place import is_authors

_SOURCES = (".py", ".pyc", ".pyd", ".so", ".pth")
_SYSTEM = "/proc /sys /dev /etc /lib /lib64 /usr/lib /usr/lib64 /usr/share".split()
_OWN = "FORETRAIN_"  # how variables of foretrain begin
_PASSED = {os.__file__, _collections_abc.__file__, "<frozen os>", "<frozen _collections_abc>"}
_MOST = 100  # names that are told
_active: Callable[..., None] | None = None


class Noticed:
    """The names of what a study has read; files in the folder of the results are left out."""

    def __init__(self, results: Path):
        installed = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()}
        installed |= {place for place in sys.path if "site-packages" in place}
        folders = [results, cache_folder(), Path(__file__).parents[1], *_SYSTEM, *installed]
        self._left_out = tuple(os.path.join(os.path.abspath(path), "") for path in folders)
        self._opened: set[str] = set()
        self._known: set[str] = set()
        self._variables: set[str] = set()
        self._named: set[str] = set()

    def know(self, files: Iterable[Path | None]) -> None:
        """Leave out files that the study has named as data."""
        self._known |= {os.path.abspath(file) for file in files if file is not None}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Call the code of a study where it may read data; a copy of this process that comes back from there ends at once."""
        global _active
        _install()
        thread, hearing = threading.get_ident(), False
        environment: Any = type(os.environ)
        plain = environment.__getitem__

        def hear(note: Callable[..., None], *about: Any) -> None:
            nonlocal hearing
            # What is read while something is noted, is read by this very code.
            if not hearing and threading.get_ident() == thread:
                hearing = True
                try:
                    note(*about)
                finally:
                    hearing = False

        def reading(variables: Any, name: Any) -> Any:
            hear(self._ask, name, sys._getframe(1))
            return plain(variables, name)

        before, _active = _active, functools.partial(hear, self._open)
        environment.__getitem__ = reading
        try:
            with without_copies():
                yield
        finally:
            environment.__getitem__, _active = plain, before

    def new(self) -> list[str]:
        """Return what was read since the last call: paths of files, and names of variables behind a ``$``."""
        jax, matplotlib = sys.modules.get("jax"), sys.modules.get("matplotlib")
        compiled = jax and jax.config.jax_compilation_cache_dir
        fonts = matplotlib and matplotlib.get_cachedir()  # their list, of another worker perhaps
        caches = tuple(os.path.join(folder, "") for folder in (compiled, fonts) if folder)
        unknown = self._opened - self._known
        files = (p for p in unknown if os.path.isfile(p) and not p.startswith(caches))
        names = {*files, *(f"${name}" for name in self._variables)}
        new = sorted(names - self._named)[: _MOST - len(self._named)]
        self._named |= {*new}
        return new

    def _open(self, path: object, mode: object, flags: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name.endswith(_SOURCES) or name.startswith(self._left_out):
            return
        writes = isinstance(mode, str) and bool({*mode} & {*"wax"})
        if writes or (isinstance(flags, int) and flags & (os.O_TRUNC | os.O_EXCL)):
            self._known.add(name)
        else:
            self._opened.add(name)

    def _ask(self, name: object, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_filename in _PASSED:
            frame = frame.f_back
        own = isinstance(name, str) and not name.startswith(_OWN)
        if own and frame is not None and is_authors(frame.f_code.co_filename):
            self._variables.add(str(name))


@functools.cache
def _install() -> None:
    """Listen to what is opened; Python has no way to stop listening again."""

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _active is not None:
            _active(*arguments)

    sys.addaudithook(listen)
