"""Workers as the coordinating process sees them: fresh processes that are told and answer in JSON lines.

They are not started by `multiprocessing`, whose spawned children import the caller's main module: so a sweep can be started
from a notebook, from ``python -c`` and from a script without a main guard. This side never imports JAX.
"""

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from foretrain.engine.cores import CPU, Place, device, pin
from foretrain.engine.places import environment
from foretrain.errors import argument_error
from foretrain.lazy import jax
from foretrain.machine import available_cores
from foretrain.plans import catalogue
from foretrain.plans.author import words
from foretrain.plans.plan import Plan
from foretrain.vocabulary import positions

_STOP_S = 30.0
_TAIL = 4000


def setup_message(plan: Plan, folder: Path, worker: str, place: Place, **how) -> dict[str, Any]:
    """Return the ``setup`` message of a worker of this name at a place.

    `how` may have `checkpoint_every` (s), `keep_state`, and `here`, which is True for the calling process.
    """
    with words(plan.study):
        along_step = positions("step")
    return {"checkpoint_every": math.inf, "keep_state": "no", "here": False} | {
        "study": catalogue.describe(plan.study),
        "code": plan.study.code,
        "data": plan.data,
        "root_seed": plan.root_seed,
        "folder": str(folder.resolve()),
        "worker": worker,
        "backend": place.backend,
        "core": place.core if place.backend == CPU else None,
        "along_step": along_step,
        **how,
    }


class Process:
    """A worker process at a place; `answers` receives (number, message), and (number, None) when it has ended."""

    def __init__(self, number: int, setup: dict, answers: queue.SimpleQueue, place: Place):
        self.backend = place.backend
        self._errors = tempfile.TemporaryFile()
        self._process: Any = subprocess.Popen(
            [sys.executable, "-P", "-m", "foretrain.engine.session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env={**os.environ, **environment(place.backend)},
        )
        self._listener = threading.Thread(target=self._listen, args=(number, answers), daemon=True)
        self._listener.start()
        self.send({**setup, "path": sys.path})

    def send(self, message: dict) -> None:
        """Tell it something; that it may be dead is noticed by the end of its answers."""
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def stop(self) -> None:
        """Let it write what is due and end; does not wait for it."""
        self.send({"do": "stop"})

    def wait(self) -> None:
        """Wait until it has ended; kill it if that takes longer than half a minute."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        self.kill()

    def kill(self) -> None:
        """End it without its help, and close what connects to it."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for end in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                end.close()

    def reason(self) -> str:
        """Return its exit and the last line that it wrote to standard error."""
        code = self._process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - _TAIL))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1].strip()}" if lines else how

    def _listen(self, number, answers):
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # a line cut short by death
                answers.put((number, json.loads(line)))
        answers.put((number, None))


class InProcess:
    """The calling process as its own worker, for debugging: one core, exceptions of the engine come through.

    A process whose JAX runs on several cores is refused, where two batched decompositions at once can block each other.
    """

    def __init__(self, number: int, setup: dict, answers: queue.SimpleQueue):
        check_can_run_here()
        if not _jax_runs():
            pin(setup["core"])
        from foretrain.engine.session import Session

        session = Session(setup, lambda message: answers.put((number, message)))
        self.backend, self.send, self.turn = session.backend, session.handle, session.turn
        self.stop = session.close
        answers.put((number, {"say": "ready", "device": device()}))

    def wait(self) -> None:
        """Do nothing: it has stopped."""

    kill = wait


def check_can_run_here() -> None:
    """Refuse to run in a process whose JAX has started on several cores."""
    if not _jax_runs() or len(available_cores()) == 1:
        return
    if jax.default_backend() == "cpu":
        rule = "be at least 1 where JAX already runs on several cores"
        repair = "Try `workers=1`, or start the process with `taskset -c 0`."
        raise argument_error("workers", rule, "is 0", repair)


def _jax_runs() -> bool:
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bridge.backends_are_initialized()
