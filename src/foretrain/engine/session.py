"""A worker: one process, pinned to one core before JAX starts, that runs what it is told to and writes what is done.

It reads messages as JSON lines and answers in kind. It is told ``setup`` (first, once), ``group`` (a static signature,
when the runs of the one before are done), ``runs`` and ``stop``; it says

- ``ready``: with the device;
- ``lanes``: how many it takes for the group and how many of them move side by side, the fewest and the most bytes of a run in
  the labelled result, and, where the group is on trial, the steps per second of all lanes (0 where they do not run); for an
  estimate also its own seconds and bytes, and the ``error`` of a group that cannot be opened;
- ``moved``: numbers of the runs that entered, of those that left, and the work done so far;
- ``durable``: (number, outcome, steps) of runs that are on disk;
- ``fatal``: one line, after which it ends.

When the other side is gone it ends at once and writes nothing more, so that a new sweep of the folder never meets it.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from foretrain.dynamics.program import FAILED, Program, completed
from foretrain.engine import checkpoint
from foretrain.engine.cores import device, pin
from foretrain.engine.forks import guard
from foretrain.engine.host import Host, Waiting, by_step, computed
from foretrain.engine.noticed import Noticed
from foretrain.engine.places import CPU, GPU
from foretrain.errors import FolderError, ForetrainError, TooLarge
from foretrain.lazy import jax
from foretrain.machine import free_memory, memory_limited, peak_memory
from foretrain.plans import catalogue
from foretrain.plans.card import StudyError
from foretrain.plans.data import refuse_changed
from foretrain.plans.place import place
from foretrain.results.files import append_log
from foretrain.results.journal import Writer
from foretrain.results.manifest import edit_manifest
from foretrain.results.segment import FinishedRun
from foretrain.streams import Seed

_FLUSH_S = 1.0
_FLUSH_RUNS, _FLUSH_BYTES = 4096, 32 * 2**20
_REPORT_S = 0.5
_ORPHANED = 3
_MISTAKES = (Exception, SystemExit)  # of an author: what their code may raise


class Session:
    """The work of a worker, set up by a ``setup`` message; `say` takes each answer, a JSON-ready dictionary."""

    def __init__(self, setup: dict, say: Callable[[dict], None]):
        self._setup, self._folder = setup, Path(setup["folder"])
        self._study = catalogue.restore(setup["study"])
        self.backend = jax.default_backend()
        if setup["backend"] == GPU and self.backend == CPU:
            raise RuntimeError("JAX does not see the GPU. Try `--on cpu`, or `nvidia-smi`.")
        self._noticed = Noticed(self._folder)
        self._writer = Writer(self._folder, setup["worker"], setup["code"], self.backend)
        self._logged: set[str] = set()  # what went wrong and stands in the log
        self._say = say
        self._queue: deque = deque()  # of (number, identity, overrides, seed, checkpoint file)
        self._numbers: dict[str, int] = {}  # of the runs that entered and are not durable
        self._on_host: dict[str, Waiting] = {}  # runs in a lane that compute on the host, too
        self._lanes: Any = self._host()  # or Lanes of the group
        self._program: Any = None
        self._unwritten, self._unwritten_bytes, self._oldest = [], 0, 0.0
        self._reported = self._saved = time.monotonic()
        self._turn_s = 0.0
        self._entered, self._left = [], []
        self._steps = 0  # of the groups before

    @property
    def busy(self) -> bool:
        """True if a turn would do anything but wait."""
        return bool(self._queue or self._unwritten or self._lanes.busy)

    def handle(self, message: dict) -> None:
        """Take in a ``group`` or ``runs`` message."""
        if message["do"] == "group":
            self._open_group(message)
        else:
            self._queue.extend(message["runs"])

    def turn(self) -> None:
        """Move everything on by one chunk, and write what is due."""
        began = time.monotonic()
        if self._queue or self._lanes.busy:
            try:
                self._board()
                with self._noticed.watching():
                    finished = self._lanes.advance()
                self._keep(finished)
            except (FolderError, TooLarge):
                raise
            except _MISTAKES as error:
                self._fail_all(error)
        now = time.monotonic()
        self._turn_s = now - began
        if not (self._queue or self._lanes.busy) or self._due(now):
            self.flush()
        if now - self._saved > self._setup["checkpoint_every"]:
            self.save()
        if self._entered or self._left or now - self._reported > _REPORT_S:
            self._report()

    def flush(self) -> None:
        """Make every finished run durable."""
        if not self._unwritten:
            return
        runs, self._unwritten, self._unwritten_bytes = self._unwritten, [], 0
        try:
            self._writer.append(runs)
        except ValueError as error:  # what the study observed cannot be stored
            runs = [self._failed(run.identity, error) for run in runs]
            self._writer.append(runs)
        if new := self._noticed.new():
            with edit_manifest(self._folder) as manifest:
                if manifest:  # removed under way, which is said elsewhere
                    manifest["reads"] = sorted({*manifest.get("reads", []), *new})
        self._report()
        rows = [[self._numbers.pop(run.identity), run.outcome, run.steps_taken] for run in runs]
        self._say({"say": "durable", "runs": rows})

    def save(self) -> None:
        """Checkpoint the runs under way."""
        self._saved = time.monotonic()
        if riding := self._lanes.in_flight():
            checkpoint.write(self._folder, self._setup["worker"], riding)

    def close(self) -> None:
        """Leave the folder so that the sweep can be gone on with."""
        self.flush()
        self.save()

    def _due(self, now):
        """Return True if it is time to write: a turn may take long, and finished runs are to be on disk within seconds."""
        full = len(self._unwritten) >= _FLUSH_RUNS or self._unwritten_bytes >= _FLUSH_BYTES
        return full or now + self._turn_s - self._oldest > _FLUSH_S

    def _open_group(self, message):
        began = time.process_time()
        self._steps += self._steps_here()
        self._program = self._error = None
        answer = {"lanes": message["lanes"] or 3, "abreast": 1, "bytes": (0, 0), "rate": 0.0}
        try:
            answer |= self._opened(message)
        except _MISTAKES as error:
            # On trial on a GPU it is left to the cores, where it may fit.
            if isinstance(error, TooLarge) and not (message["trial"] and self.backend != CPU):
                raise
            # Every run of the group fails with this text when it comes; nothing else does.
            self._error, self._lanes = error, self._host()
            answer["error"] = _line(error)
        answer |= {"open_s": time.process_time() - began, "peak": peak_memory()}
        self._say({"say": "lanes", "group": message["group"], **answer})

    def _host(self):
        return Host(self._study, self._failed, self._setup["along_step"])

    def _opened(self, message):
        from foretrain.engine.capacity import choose_lanes
        from foretrain.engine.kernel import moves_in_turn
        from foretrain.engine.lanes import FEWEST, Lanes, with_snapshots
        from foretrain.engine.sizes import result_bytes

        with self._noticed.watching():  # also what a module reads as it is imported
            self._base = self._study.Parameters(**message["parameters"])
            self._last = ({}, self._base)
            program = self._study.program(self._base)
        answer: dict[str, Any] = {}
        _, *first, _ = message["samples"][0]
        if message["estimate"] and self._study.computes:
            began = time.process_time()
            arrays = computed(self._study, *self._run_of(*first[1:]))
            answer["host_s"] = time.process_time() - began
            answer["host_bytes"] = sum(array.nbytes for array in arrays.values())
        if program is None and self._study.computes:
            self._lanes = self._host()
            return answer | {"lanes": message["lanes"] or self._lanes.lanes}
        if not isinstance(program, Program):
            got = type(program).__name__
            raise StudyError(f"`program` must return a Program, but returns {got}.")
        keep_state = self._setup["keep_state"]
        program = self._program = with_snapshots(completed(program, self._base), keep_state)
        with self._noticed.watching():
            shared = self._study.shared(self._base)
        began = time.process_time()
        sample = self._sample(message["samples"], message["how"]["workers"])
        answer["inputs_s"] = time.process_time() - began
        lanes, rate = message["lanes"] or FEWEST, 0.0
        if sample is not None:
            answer["bytes"] = result_bytes(program, sample.inputs, shared)
            if message["lanes"] is None:
                lanes, rate = choose_lanes(program, sample, shared, **message["how"])
        elif message["estimate"]:
            self._passenger(*first)  # raises as it did
        self._lanes = Lanes(program, shared, lanes)
        abreast = 1 if moves_in_turn(program) else lanes
        return answer | {"lanes": lanes, "rate": rate, "abreast": abreast}

    def _sample(self, runs, workers):
        for _, identity, overrides, seed, _ in runs:
            try:
                with memory_limited(free_memory() / workers):
                    return self._passenger(identity, overrides, seed)
            except TooLarge:
                raise
            except _MISTAKES:  # this run will fail when its turn comes; others may be sound
                continue
        return None

    def _steps_here(self):
        return self._lanes.strides_done * (self._program.observe_every if self._program else 1)

    def _board(self):
        while self._queue and self._lanes.waiting < self._lanes.lanes:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._lanes.lanes))]
            for number, identity, *_ in batch:
                self._numbers[identity] = number
                self._entered.append(number)
            self._report()  # before anything of these runs can bring the process down
            saved = checkpoint.read(self._folder, {row[1]: row[4] for row in batch})
            for _, identity, overrides, seed, _ in batch:
                if self._error:
                    self._keep([self._failed(identity, self._error)])
                    continue
                try:
                    if self._study.computes:
                        on_host = Waiting(identity, *self._run_of(overrides, seed))
                        if isinstance(self._lanes, Host):
                            self._lanes.board([on_host])
                            continue
                        self._on_host[identity] = on_host
                    passenger = self._passenger(identity, overrides, seed)
                    self._lanes.board([replace(passenger, checkpoint=saved.get(identity))])
                except TooLarge:
                    raise
                except _MISTAKES as error:
                    self._keep([self._failed(identity, error)])
                if self._due(time.monotonic()):  # the inputs of a run may take long to make
                    self.flush()

    def _passenger(self, identity, overrides, seed) -> Any:
        from foretrain.engine.lanes import Passenger

        parameters, stream = self._run_of(overrides, seed)
        try:
            with self._noticed.watching():
                inputs = self._study.inputs(parameters, stream)
        except MemoryError as error:  # the same for every run of these sizes
            raise TooLarge(
                f"The inputs of a run do not fit into memory: {error}. Try smaller sizes or fewer workers."
            ) from error
        inputs.update(root_seed=stream.root, seed=seed, max_steps=parameters.steps)
        return Passenger(identity, inputs)

    def _run_of(self, overrides, seed):
        if overrides != self._last[0]:
            self._last = (overrides, replace(self._base, **overrides))
        parameters, stream = self._last[1], Seed(self._setup["root_seed"], seed)
        if self._setup["data"]:
            files = self._study.reads(parameters, stream)
            refuse_changed(files, self._setup["data"])
            self._noticed.know(file.path for file in files)
        return parameters, stream

    def _keep(self, finished):
        if finished and not self._unwritten:
            self._oldest = time.monotonic()
        for run in finished:
            run = self._with_host_part(run)
            self._unwritten.append(run)
            self._unwritten_bytes += sum(v.nbytes for v in run.curves.values())
            self._left.append(self._numbers[run.identity])

    def _with_host_part(self, run):
        on_host = self._on_host.pop(run.identity, None)
        if on_host is None or run.outcome == FAILED:
            return run
        try:
            with self._noticed.watching():
                arrays = computed(self._study, on_host.parameters, on_host.seed)
            _, curves, finals = by_step(arrays, self._setup["along_step"], run.steps)
        except MemoryError:
            raise
        except _MISTAKES as error:
            return self._failed(run.identity, error)
        return replace(run, curves=run.curves | curves, finals=run.finals | finals)

    def _fail_all(self, error):
        """The program itself raised: every run that has entered and not left has failed."""
        if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
            raise ForetrainError(
                f"A worker has run out of memory with {self._lanes.lanes} lanes. What was finished is kept: "
                "try fewer workers, or a machine with more memory."
            ) from error
        self._steps += self._steps_here()
        self._error, self._lanes = error, self._host()
        written = {run.identity for run in self._unwritten}
        self._keep([self._failed(name, error) for name in self._numbers if name not in written])

    def _failed(self, identity, error):
        """A run that an error has ended, with the author's place; the whole traceback goes to the log, once.

        Without a worker an author sees it, too; what a user got wrong says all in its own line.
        """
        note = _line(error)
        if note not in self._logged:
            self._logged.add(note)
            trace = "".join(traceback.format_exception(error))
            append_log(self._folder, f"Run {identity}:\n{trace}")
            if self._setup["here"] and not isinstance(error, ForetrainError):
                print(trace, file=sys.stderr)
        return FinishedRun(identity, FAILED, 0, np.zeros(0, np.int64), note=note)

    def _report(self):
        self._reported = time.monotonic()
        steps = self._steps + self._steps_here()
        self._say({"say": "moved", "entered": self._entered, "left": self._left, "steps": steps})
        self._entered, self._left = [], []


def _line(error):
    text = str(error) if isinstance(error, ForetrainError) else place(error)
    return " ".join(text.split())[:500]


def main() -> None:
    """Work for the process that holds the other ends of standard input and output."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the coordinator decides when to stop
        signal.signal(number, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a study prints must not end up among the answers

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    guard(answers.fileno())
    setup = json.loads(sys.stdin.readline())
    if setup["core"] is not None:
        pin(setup["core"])
    # Behind its own, so that a file of the current folder never stands for one of Python or of a package.
    sys.path += [place for place in setup["path"] if place not in sys.path]
    inbox: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_read, args=(inbox,), daemon=True).start()
    try:
        _work(setup, inbox, say)
    except ForetrainError as error:
        say({"say": "fatal", "kind": type(error).__name__, "line": str(error)})
    except BrokenPipeError:
        os._exit(_ORPHANED)
    os._exit(0)  # all is written, and JAX takes a while to be put away


def _work(setup, inbox, say):
    from foretrain.engine.cache import CompilationCache

    cache = CompilationCache()
    session = Session(setup, say)
    say({"say": "ready", "device": device()})
    try:
        while True:
            while not (session.busy and inbox.empty()):
                message = inbox.get()
                if message["do"] == "stop":
                    session.close()
                    return
                if message["do"] == "group":
                    cache.link()
                session.handle(message)
            session.turn()
            cache.publish()
    finally:
        cache.close()


def _read(inbox):
    for line in sys.stdin:
        inbox.put(json.loads(line))
    # Also in the middle of a compilation, which the main thread could not leave.
    os._exit(_ORPHANED)


if __name__ == "__main__":
    main()
