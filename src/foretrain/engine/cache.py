"""Compiled programs kept from one start to the next, per user, machine type and version.

JAX's own cache writes its entries in place, so that one cut short by a crash or read by a second worker while it is
written stays broken for good. Here each worker has a folder of its own for JAX, filled with links to the entries that
are whole; what it adds is published under a name that holds its checksum, in one rename. Entries whose checksum
differs are deleted.
"""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from foretrain.engine.cores import processor
from foretrain.lazy import jax
from foretrain.machine import cache_folder
from foretrain.results.files import write_atomic, written_at

_MOST_BYTES = 64 * 2**20  # all of them are read when a worker starts, in a tenth of a second
_ABANDONED_NS = 24 * 3600 * 10**9
_DIGITS = 16


class CompilationCache:
    """The cache of this process, from when it is made until `close`.

    Where the folder cannot be written nothing is kept or taken in, which costs time only.
    """

    def __init__(self):
        self._misses = 0  # programs that were compiled and are not published
        self._known: set[str] = set()  # names, as JAX knows them, of what is linked or published
        jax.monitoring.register_event_listener(self._count)
        # Compiled programs are not shared between types of machine, which execute other instructions.
        kind = f"{platform.machine()}-{_digest(processor('flags', 'Features').encode())[:8]}"
        self._entries = cache_folder() / f"jax-{importlib.metadata.version('jaxlib')}-{kind}"
        self._own: Any = cache_folder() / "in-use" / f"{os.getpid()}-{time.time_ns():x}"
        try:
            self._entries.mkdir(parents=True, exist_ok=True)
            self._own.mkdir(parents=True)
            self.link()
            for path in self._own.parent.iterdir():
                if time.time_ns() - written_at(path) > _ABANDONED_NS:
                    shutil.rmtree(path, ignore_errors=True)
        except OSError:
            self._own = None
            return
        jax.config.update("jax_compilation_cache_dir", str(self._own))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        # XLA's own caches would lie inside the folder, whose name would then be part of every key.
        jax.config.update("jax_persistent_cache_enable_xla_caches", "none")
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

    def publish(self) -> None:
        """Keep what was compiled since the last time."""
        if self._own is None or not self._misses:
            return
        self._misses = 0
        with suppress(OSError):
            for path in self._own.iterdir():
                if path.name not in self._known:
                    self._known.add(path.name)
                    content = path.read_bytes()
                    name = f"{path.name}.{_digest(content)}"
                    temporary = self._entries / f".{name}.{os.getpid()}.tmp"
                    temporary.write_bytes(content)
                    os.replace(temporary, self._entries / name)

    def close(self) -> None:
        """Publish, and remove the folder of this process."""
        self.publish()
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def _count(self, event, **_):
        self._misses += event == "/jax/compilation_cache/cache_misses"

    def link(self) -> None:
        """Take in the whole entries that others have published since the last time, newest first, as links or copies."""
        total = 0
        for path in sorted(self._entries.glob("[!.]*"), key=written_at, reverse=True):
            name, _, digest = path.name.rpartition(".")
            with suppress(OSError):  # deleted just now
                total += path.stat().st_size
                known = name in self._known
                if total > _MOST_BYTES or not (known or digest == _digest(path.read_bytes())):
                    path.unlink()
                elif self._own is not None and not known:
                    try:
                        os.link(path, self._own / name)
                    except OSError:
                        write_atomic(self._own / name, path.read_bytes())
                    self._known.add(name)


@contextmanager
def program_cache() -> Iterator[None]:
    """Context in which this process keeps its programs, too, unless JAX has been told of a folder for them."""
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    before = {name: value for name, value in jax.config.values.items() if "cache" in name}
    if before["jax_compilation_cache_dir"]:
        yield
        return
    cache = CompilationCache()
    reset_cache()  # JAX looks at its options only once
    try:
        yield
    finally:
        cache.close()
        jax.monitoring.unregister_event_listener(cache._count)
        for name, value in before.items():
            jax.config.update(name, value)
        reset_cache()


def _digest(content):
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
