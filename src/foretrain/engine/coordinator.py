"""The coordinating process of a sweep: it gives runs to workers, hears what became of them, and never runs JAX."""

import os
import queue
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from foretrain import errors
from foretrain.dynamics.program import FAILED, OUTCOMES
from foretrain.engine import checkpoint
from foretrain.engine.cores import Core, take_cores
from foretrain.engine.dispatch import (
    DEATHS,
    Group,
    Worker,
    make_groups,
    next_group,
    overrides,
    recall,
    share,
)
from foretrain.engine.processes import InProcess, Process, count_workers, gpu_present
from foretrain.engine.progress import Forecast, Progress
from foretrain.errors import ForetrainError, TooLarge
from foretrain.machine import physical_memory
from foretrain.plans import catalogue
from foretrain.plans.plan import Plan, Run
from foretrain.results.journal import Writer, scan
from foretrain.results.lock import patient_lock
from foretrain.results.manifest import read_manifest, write_manifest
from foretrain.results.segment import FinishedRun

MEASURED_FROM = 16  # runs per worker from which the number of lanes may be measured
_TELL_S = 0.2
_LOCK_WAIT_S = 30
_MOST_KILLERS = 10  # runs that may take their workers with them before any other has ended


@dataclass
class Coordinator:
    """Gives the runs of one shard to workers and hears what became of them."""

    # What is to be run, and where to.
    plan: Plan
    folder: Path
    runs: list[Run]
    total: int  # runs of the shard, those found included
    # As in `foretrain.engine.sweep.execute`; `tell` is its `progress`,
    # and `workers` the number of processes once it is known.
    workers: Any
    checkpoint_every: float
    shard: tuple[int, int]
    keep_state: str
    tell: Callable[[Progress], None]
    began: float  # monotonic time of the start
    device: str = ""  # what the workers compute on, once known
    # What became of the runs that are done.
    outcomes: Counter = field(default_factory=Counter)
    groups: list[Group] = field(default_factory=list)  # the runs by static signature
    living: dict[int, Worker] = field(default_factory=dict)  # the living workers by number
    started: list[Worker] = field(default_factory=list)  # all workers there have been
    _cores: list[Core] = field(default_factory=list)  # one per worker
    _code: str = ""
    _prefix: str = ""
    _token: str = ""
    _answers: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    _saved: dict[str, str] = field(default_factory=dict)
    _deaths: dict[int, int] = field(default_factory=dict)
    _left: int = 0
    _barren: int = 0
    _killers: int = 0
    _predicted: float = 0.0
    _predicted_done: float = 0.0
    _actual_done: float = 0.0
    _first_move: float = 0.0
    _told: float = 0.0
    _last: Any = None
    _overrides: dict = field(default_factory=dict)
    _forecast: Forecast = field(default_factory=Forecast)

    def run(self) -> None:
        """Run everything; returns when every run is durable. On any exception the workers are ended first."""
        self._code = self.plan.study.code
        self.groups = make_groups(self.runs, self.plan.study.estimate)
        self.workers = count_workers(self.workers, len(self.runs), on_gpu=self._on_gpu)
        self._predicted = sum(group.steps for group in self.groups)
        self._cores = take_cores(max(1, self.workers)) if self.runs else []
        self._say("starting")
        if self.runs:
            try:
                self._prepare()
                self._work()
            except BaseException:
                self._say("stopped")
                raise
            finally:
                self._end()
                for core in self._cores:
                    core.give_back()
            checkpoint.remove(self.folder, self._prefix)
        self._say("done")

    @property
    def _on_gpu(self):
        return self.plan.study.trains and gpu_present()

    def _prepare(self):
        part, parts = self.shard
        self._prefix = f"s{part}of{parts}w"
        self._token = f"{os.getpid():x}{int(time.time() * 1e3) & 0xFFFFFFFF:x}"
        self._saved = checkpoint.find(self.folder)
        self._left = len(self.runs)
        stored = (read_manifest(self.folder) or {}).get("lanes", {})
        for group in self.groups:
            group.lanes = stored.get(group.name)
        for slot in range(max(1, self.workers)):
            self._start(slot)

    def _start(self, slot):
        number = len(self.started)
        on_cpu = self.workers == 0 or not self._on_gpu
        setup = {
            "study": catalogue.describe(self.plan.study),
            "code": self._code,
            "here": self.workers == 0,
            "root_seed": self.plan.root_seed,
            "folder": str(self.folder.resolve()),
            "worker": f"{self._prefix}{number}-{self._token}",
            "checkpoint_every": self.checkpoint_every,
            "keep_state": self.keep_state,
            "core": self._cores[slot].number if on_cpu else None,
        }
        if self.workers == 0:
            process = InProcess(number, setup, self._answers)
        else:
            process = Process(number, setup, self._answers, on_cpu=on_cpu)
        worker = Worker(process, slot)
        self.living[number] = worker
        self.started.append(worker)

    def _work(self):
        while self._left:
            if self.workers == 0 and self._answers.empty():
                self.living[0].process.turn()
            patience = _TELL_S if self.workers else 0
            try:
                number, message = self._answers.get(timeout=patience)
            except queue.Empty:
                self._say("running")
                continue
            worker = self.living[number]
            if message is None:
                self._on_death(number, worker)
            else:
                self._hear(worker, message)
            self._fill()
            if time.monotonic() - self._told > _TELL_S:
                self._say("running")

    def _fill(self):
        for worker in list(self.living.values()):
            if not self.device or worker.process is None:
                continue
            group = worker.group
            if worker.idle and (group is None or (worker.ready and not group.left)):
                group = next_group(self.groups, list(self.living.values()))
                if group is not None and group is not worker.group and not self._measured(group):
                    self._assign(worker, group)
            if worker.group is None or not worker.ready or worker.group.lanes is None:
                continue
            if worker.alone and worker.idle:
                worker.alone = False
            taken = share(worker.group, worker, list(self.living.values()))
            if taken:
                worker.queued.update(taken)
                rows = [self._row(number, worker.group) for number in taken]
                worker.process.send({"do": "runs", "runs": rows})

    def _measured(self, group):
        """Whether another worker is timing the lanes of a large group, which is worth waiting for."""
        large = group.count >= MEASURED_FROM * max(1, self.workers)
        return large and group.lanes is None and any(d.group is group for d in self.living.values())

    def _assign(self, worker, group):
        worker.group, worker.ready = group, False
        # The longest, a middle and the shortest run: what is measured is the first of them that can be made.
        waiting = group.waiting or group.suspects
        samples = [waiting[0], waiting[len(waiting) // 2], waiting[-1]]
        worker.sample = samples[0] if group.lanes is None else None
        worker.process.send(
            {
                "do": "group",
                "group": self._number(group),
                "parameters": overrides(group.parameters),
                "lanes": group.lanes,
                "samples": [self._row(number, group) for number in samples],
                "count": group.count,
                "steps": group.steps,
                "workers": max(1, self.workers),
            }
        )

    def _row(self, number, group):
        run = self.runs[number]
        if run.parameters is not self._last:
            self._last = run.parameters
            self._overrides = overrides(run.parameters, group.parameters)
        # A run that two workers have died with begins anew: its checkpoint may be what kills them.
        fresh = self._deaths.get(number, 0) >= DEATHS - 1
        saved = None if fresh else self._saved.get(run.identity)
        return [number, run.identity, self._overrides, run.seed.number, saved]

    def _hear(self, worker, message):
        match message["say"]:
            case "ready":
                self.device = message["device"]
            case "lanes":
                self._on_lanes(worker, message)
            case "moved":
                self._on_moved(worker, message)
            case "durable":
                self._on_durable(worker, message)
            case "fatal":
                raise getattr(errors, message["kind"], ForetrainError)(message["line"])

    def _on_lanes(self, worker, message):
        group, worker.ready, worker.sample = self.groups[message["group"]], True, None
        group.bytes = message["bytes"]
        self._check_size()
        if group.lanes is None:
            group.lanes = self._settle_lanes(group.name, message["lanes"])
        if group.lanes != message["lanes"]:
            self._assign(worker, group)

    def _check_size(self):
        """Refuse a grid whose labelled result cannot fit into memory, however early its runs end, before they are trained.

        A part of a grid is not refused: the whole may be folded on another machine.
        """
        needed, limit = sum(group.bytes * group.count for group in self.groups), physical_memory()
        if needed > limit and self.shard[1] == 1:
            raise TooLarge(
                f"The labelled result would take at least {needed / 1e9:.2g} GB of memory, but {limit / 1e9:.2g} GB are "
                "there. Try fewer runs, or parts of the grid in folders of their own."
            )

    def _settle_lanes(self, name, lanes):
        """Write the number of lanes to the manifest; what another shard has written there holds."""
        with patient_lock(self.folder, "manifest", _LOCK_WAIT_S):
            manifest = read_manifest(self.folder) or {}
            stored = manifest.setdefault("lanes", {})
            if name not in stored:
                stored[name] = lanes
                write_manifest(self.folder, manifest)
            return stored[name]

    def _on_moved(self, worker, message):
        self._first_move = self._first_move or time.monotonic()
        worker.queued.difference_update(message["entered"])
        worker.entered.update(message["entered"])
        worker.entered.difference_update(message["left"])
        worker.left.update(message["left"])
        worker.steps = message["steps"]

    def _on_durable(self, worker, message):
        for number, outcome, steps in message["runs"]:
            worker.left.discard(number)
            self._count(number, outcome, steps)

    def _count(self, number, outcome, steps):
        run = self.runs[number]
        self._left -= 1
        self.outcomes[OUTCOMES[outcome]] += 1
        self._predicted_done += float(self.plan.study.estimate(run.parameters))
        self._actual_done += steps if self.plan.study.trains else 1

    def _on_death(self, number, worker):
        reason = worker.process.reason()
        worker.process.kill()
        del self.living[number]
        # A worker that dies before it begins any run says something about the machine, not about a run.
        begun = worker.entered or worker.sample is not None
        self._barren = 0 if begun else self._barren + 1
        if self._barren >= DEATHS:
            raise ForetrainError(f"Workers die before they begin ({reason}).")
        if worker.group is not None:
            for lost in recall(worker, self._deaths, self._found_durable(worker)):
                self._fail(lost, f"its worker died {DEATHS} times with it ({reason})")
        if set(self.outcomes) == {OUTCOMES[FAILED]} and self._killers >= _MOST_KILLERS:
            raise ForetrainError(
                f"The first {self._killers} runs to end took their workers with them ({reason})."
            )
        self._saved.update(checkpoint.find(self.folder))
        if self._left:
            self._start(worker.slot)

    def _found_durable(self, worker):
        """Runs that a dead worker has written without having come to say so."""
        held = worker.entered | worker.left
        if not held:
            return set()
        journal = scan(self.folder)
        outcomes = dict(zip(journal.identities, journal.outcomes.tolist(), strict=True))
        durable = {number for number in held if self.runs[number].identity in outcomes}
        for number in durable:
            run = self.runs[number]
            self._count(number, outcomes[run.identity], self.plan.study.estimate(run.parameters))
        return durable

    def _fail(self, number, note):
        run = self.runs[number]
        writer = Writer(self.folder, f"{self._prefix}c-{self._token}", self._code)
        writer.append([FinishedRun(run.identity, FAILED, 0, np.zeros(0, np.int64), note=note)])
        self._count(number, FAILED, 0)
        self._killers += 1

    def _end(self):
        processes = [worker.process for worker in self.living.values()]
        orderly = sys.exc_info()[0] is None or sys.exc_info()[0] is KeyboardInterrupt
        for process in processes:
            process.stop() if orderly else process.kill()
        if not orderly:
            return
        for process in processes:
            process.wait()

    def _number(self, group):
        return next(n for n, other in enumerate(self.groups) if other is group)

    def _say(self, phase):
        self._told = time.monotonic()
        self.tell(self.progress(phase))

    def progress(self, phase: str = "done") -> Progress:
        """How far the sweep is."""
        now = time.monotonic()
        steps = sum(worker.steps for worker in self.started)
        remaining = None
        if steps and now - self._first_move > 1.0:
            ratio = self._actual_done / self._predicted_done if self._predicted_done else 1.0
            rate = steps / (now - self._first_move)
            left = max(0.0, ratio * self._predicted - steps) / rate
            remaining = self._forecast.left(now - self._first_move, left)
        return Progress(
            phase=phase,
            groups=len(self.groups),
            workers=self.workers,
            sharing=sum(core.shared for core in self._cores),
            total=self.total,
            found=self.total - len(self.runs),
            finished=sum(self.outcomes.values()),
            riding=sum(len(worker.entered) for worker in self.started),
            outcomes=dict(self.outcomes),
            predicted_steps=self._predicted,
            steps=steps,
            elapsed_s=now - self.began,
            remaining_s=remaining,
            bound=not self._actual_done,
            trains=self.plan.study.trains,
        )
