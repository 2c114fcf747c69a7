"""The coordinating process of a sweep: it gives runs to workers, hears what became of them, and never runs JAX."""

import itertools
import os
import queue
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from foretrain import errors
from foretrain.dynamics.program import FAILED, OUTCOMES
from foretrain.engine import checkpoint, dispatch
from foretrain.engine.dispatch import Group, Worker
from foretrain.engine.places import CPU, GPU, described, take_places
from foretrain.engine.processes import InProcess, Process, setup_message
from foretrain.engine.progress import Progress, RemainingTime
from foretrain.errors import ForetrainError, TooLarge
from foretrain.machine import physical_memory
from foretrain.plans.plan import Plan, Run
from foretrain.results.journal import Writer, scan
from foretrain.results.manifest import edit_manifest, read_manifest
from foretrain.results.segment import FinishedRun

_TELL_S = 0.2
_MOST_KILLERS = 10  # runs that may take their workers with them before any other has ended


@dataclass
class Coordinator:
    """Gives the runs of one shard to workers and hears what became of them."""

    # What is to be run, and where to.
    plan: Plan
    folder: Path
    runs: list[Run]
    total: int  # runs of the shard, those found included
    # As in `foretrain.engine.sweep.execute`; `tell` is its `progress`.
    workers: int | None
    on: str | None
    checkpoint_every: float
    shard: tuple[int, int]
    keep_state: str
    tell: Callable[[Progress], None]
    devices: list[str] = field(default_factory=list)  # what the workers compute on, once known
    by_backend: Counter = field(default_factory=Counter)  # backend to the number of runs made on it
    # What became of the runs that are done.
    outcomes: Counter = field(default_factory=Counter)
    groups: list[Group] = field(default_factory=list)  # the runs by static signature
    living: dict[int, Worker] = field(default_factory=dict)  # the living workers by number
    started: list[Worker] = field(default_factory=list)  # all workers there have been
    _remark: str = ""
    _answers: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    _deaths: dict[int, int] = field(default_factory=dict)
    _barren: int = 0
    _killers: int = 0
    _predicted_done: float = 0.0
    _actual_done: float = 0.0
    _first_move: float = 0.0
    _reported: float = 0.0
    _counted: float = field(default_factory=time.monotonic)  # seconds until then are stored
    _last: Any = None
    _overrides: dict = field(default_factory=dict)
    _remaining: RemainingTime = field(default_factory=RemainingTime)

    def run(self) -> None:
        """Run everything; returns when every run is durable. On any exception the workers are ended first."""
        self.groups = dispatch.make_groups(self.runs, self.plan.study.estimate)
        trains = self.plan.study.trains
        self._places = take_places(self.workers, len(self.runs), self.on, trains=trains)
        self._backends = [place.backend for place in self._places]
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
                for place in self._places:
                    place.give_back()
            for path in (self.folder / checkpoint.FOLDER).glob(f"{self._prefix}*.npz"):
                path.unlink(missing_ok=True)
        self._say("done")

    def _prepare(self):
        self._prefix = "s{}of{}w".format(*self.shard)
        self._token = f"{os.getpid():x}{int(time.time() * 1e3) & 0xFFFFFFFF:x}"
        self._saved = checkpoint.find(self.folder)
        stored = (read_manifest(self.folder) or {}).get("lanes", {})
        for group, place in itertools.product(self.groups, self._places):
            if lanes := stored.get(dispatch.lanes_key(group, place.backend)):
                group.backend, group.lanes = place.backend, lanes
        for slot in range(len(self._places)):
            self._start(slot)

    def _start(self, slot):
        number, place = len(self.started), self._places[slot]
        setup = setup_message(
            self.plan,
            self.folder,
            f"{self._prefix}{number}-{place.backend}-{self._token}",
            place,
            checkpoint_every=self.checkpoint_every,
            keep_state=self.keep_state,
            here=self.workers == 0,
        )
        if self.workers == 0:
            process = InProcess(number, setup, self._answers)
        else:
            process = Process(number, setup, self._answers, place)
        self.living[number] = Worker(process, slot, process.backend)
        self.started.append(self.living[number])

    def _work(self):
        while self._left():
            if self.workers == 0 and self._answers.empty():
                self.living[0].process.turn()
            try:
                number, message = self._answers.get(timeout=_TELL_S if self.workers != 0 else 0)
            except queue.Empty:
                self._say("running")
                continue
            worker = self.living[number]
            if message is None:
                self._on_death(number, worker)
            else:
                self._hear(worker, message)
            self._fill()
            if time.monotonic() - self._reported > _TELL_S:
                self._say("running")

    def _left(self):
        return len(self.runs) - self.outcomes.total()

    def _fill(self):
        for group in self.groups:
            if group.backend is None and group.trials:
                self._settle(group)
        for worker in list(self.living.values()):
            if not self.devices:
                return
            group = worker.group
            if worker.idle and (group is None or (worker.ready and not group.left)):
                group = dispatch.next_group(self.groups, list(self.living.values()), worker.backend)
                if group not in (None, worker.group):
                    self._assign(worker, group)
            if worker.group is None or not worker.ready or worker.group.lanes is None:
                continue
            worker.alone &= not worker.idle
            if taken := dispatch.share(worker.group, worker, list(self.living.values())):
                worker.queued.update(taken)
                rows = [self._row(number, worker) for number in taken]
                worker.process.send({"do": "runs", "runs": rows})

    def _assign(self, worker, group):
        worker.group, worker.ready, worker.start_s = group, False, time.monotonic()
        # The longest, a middle and the shortest run: what is measured is the first of them that can be made.
        waiting = group.waiting or group.suspects
        samples = [waiting[0], waiting[len(waiting) // 2], waiting[-1]]
        worker.sample = samples[0] if group.lanes is None else None
        workers = self._backends.count(worker.backend)
        trial = group.backend is None and len(set(self._backends)) > 1
        rows = [self._row(number, worker) for number in samples]
        order = dispatch.group_message(group, self.groups.index(group), rows, workers, trial=trial)
        worker.process.send(order)

    def _row(self, number, worker):
        run = self.runs[number]
        if run.parameters is not self._last:
            self._last = run.parameters
            self._overrides = dispatch.overrides(run.parameters, worker.group.parameters)
        # A run that two workers have died with begins anew: its checkpoint may be what kills them.
        fresh = self._deaths.get(number, 0) >= dispatch.DEATHS - 1
        saved = "" if fresh else self._saved.get(run.identity, "")
        # With one of another backend no backend could make the bits of the run again.
        saved = saved if f"-{worker.backend}-" in saved else None
        return [number, run.identity, self._overrides, run.seed.number, saved]

    def _hear(self, worker, message):
        match message["say"]:
            case "ready":
                self.devices = [*dict.fromkeys([*self.devices, message["device"]])]
            case "lanes":
                self._on_lanes(worker, message)
            case "moved":
                self._first_move = self._first_move or time.monotonic()
                worker.queued.difference_update(message["entered"])
                worker.entered.update(message["entered"])
                worker.entered.difference_update(message["left"])
                worker.left.update(message["left"])
                if worker.group and not worker.group.open_s and message["steps"] > worker.steps:
                    worker.group.open_s = time.monotonic() - worker.start_s
                worker.steps = message["steps"]
            case "durable":
                for number, outcome, steps in message["runs"]:
                    worker.left.discard(number)
                    self.by_backend[worker.backend] += 1
                    self._count(number, outcome, steps)
            case "fatal":
                raise getattr(errors, message["kind"], ForetrainError)(message["line"])

    def _on_lanes(self, worker, message):
        group = self.groups[message["group"]]
        group.bytes = message["bytes"][0]
        self._check_size()
        if worker.group is not group:  # settled elsewhere before its trial was over
            return
        worker.ready, worker.sample = True, None
        if group.backend is None:
            group.trials[worker.backend] = message["lanes"], message["rate"]
            self._settle(group)
        elif group.lanes != message["lanes"]:
            self._assign(worker, group)

    def _settle(self, group):
        """Settle where the runs of a group are made, and the lanes there, once trials tell; other workers leave it."""
        backend = dispatch.choose_backend(group, self.groups, list(self.living.values()))
        if backend is None or backend not in group.trials:
            return
        lanes, _ = group.trials[backend]
        group.backend = backend
        with edit_manifest(self.folder) as manifest:  # another process may have settled them
            known = manifest.setdefault("lanes", {})
            group.lanes = known.setdefault(dispatch.lanes_key(group, backend), lanes)
        for worker in self.living.values():
            if worker.group is group and worker.backend != backend:
                worker.group = None
            elif worker.group is group and worker.ready and group.lanes != lanes:
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

    def _count(self, number, outcome, steps):
        self.outcomes[OUTCOMES[outcome]] += 1
        self._predicted_done += float(self.plan.study.estimate(self.runs[number].parameters))
        self._actual_done += steps if self.plan.study.trains else 1

    def _on_death(self, number, worker):
        reason = worker.process.reason()
        worker.process.kill()
        del self.living[number]
        # A worker that dies before it begins any run says something about the machine, not about a run.
        unfit = worker.backend == GPU and not worker.entered and CPU in self._backends
        if unfit:
            worker.sample = None
        begun = unfit or worker.entered or worker.sample is not None
        self._barren = 0 if begun else self._barren + 1
        if self._barren >= dispatch.DEATHS:
            raise ForetrainError(f"Workers die before they begin ({reason}).")
        if worker.group is not None:
            for lost in dispatch.recall(worker, self._deaths, self._durable_of(worker)):
                self._fail(lost, f"its worker died {dispatch.DEATHS} times with it ({reason})")
        if set(self.outcomes) == {OUTCOMES[FAILED]} and self._killers >= _MOST_KILLERS:
            first = f"The first {self._killers} runs to end took their workers with them"
            raise ForetrainError(f"{first} ({reason}).")
        self._saved.update(checkpoint.find(self.folder))
        if unfit:
            self._remark = f"The GPU is left out, its worker ended before its first run ({reason})."
            for group in self.groups:
                if group.backend == GPU:
                    group.backend = group.lanes = None
        elif self._left():
            self._start(worker.slot)

    def _durable_of(self, worker):
        """Runs that a dead worker has written without having come to say so."""
        journal, begun = scan(self.folder), worker.entered | worker.left
        outcomes = dict(zip(journal.identities, journal.outcomes.tolist(), strict=True))
        durable = {number for number in begun if self.runs[number].identity in outcomes}
        for number in durable:
            run = self.runs[number]
            self._count(number, outcomes[run.identity], self.plan.study.estimate(run.parameters))
        return durable

    def _fail(self, number, note):
        run = self.runs[number]
        writer = Writer(self.folder, f"{self._prefix}c-{self._token}", self.plan.study.code)
        writer.append([FinishedRun(run.identity, FAILED, 0, np.zeros(0, np.int64), note=note)])
        self._count(number, FAILED, 0)
        self._killers += 1

    def _end(self):
        orderly = sys.exc_info()[0] in (None, KeyboardInterrupt)
        for worker in self.living.values():
            compiles = worker.idle and not worker.ready  # what nobody needs any more
            worker.process.stop() if orderly and not compiles else worker.process.kill()
        for worker in self.living.values() if orderly else ():
            worker.process.wait()

    def _uncompiled(self):
        """Programs to be compiled, and the seconds left if all take as long as those so far, None before the first."""
        at = [worker for worker in self.living.values() if worker.load or not worker.ready]
        begun = {worker.group: time.monotonic() - worker.start_s for worker in at}
        left = [each for each in self.groups if not each.open_s and (each.left or each in begun)]
        known = [each.open_s for each in self.groups if each.open_s]
        if not (left and known):
            return len(left), None
        seconds = [max(0.0, sum(known) / len(known) - begun.get(each, 0.0)) for each in left]
        return len(left), sum(seconds) / min(len(left), len(self.living) or 1)

    def _say(self, phase):
        """Tell the progress of the sweep, and add its seconds to the manifest; a kill loses those since the last time."""
        self._reported = time.monotonic()
        seconds = self._reported - self._counted
        if self.runs and (phase in ("done", "stopped") or seconds > self.checkpoint_every):
            self._counted = self._reported
            with suppress(ForetrainError), edit_manifest(self.folder) as manifest:
                if manifest:  # removed under way, which is said elsewhere
                    manifest["seconds"] = round(manifest.get("seconds", 0.0) + seconds, 3)
        moving_s = self._reported - self._first_move
        steps = sum(worker.steps for worker in self.started)
        predicted = sum(group.steps for group in self.groups)
        remaining = None
        if steps and moving_s > 1.0:
            ratio = self._actual_done / self._predicted_done if self._predicted_done else 1.0
            left = max(0.0, ratio * predicted - steps) / (steps / moving_s)
            remaining = self._remaining.left(moving_s, left)
        uncompiled, compile_s = self._uncompiled()
        now = Progress(
            phase=phase,
            groups=len(self.groups),
            places=described(self._places),
            remark=self._remark,
            total=self.total,
            stored=self.total - len(self.runs),
            finished=sum(self.outcomes.values()),
            outcomes=dict(self.outcomes),
            predicted_steps=predicted,
            steps=steps,
            remaining_s=remaining,
            bound=not self._actual_done,
            uncompiled=uncompiled,
            compile_s=compile_s,
            trains=self.plan.study.trains,
        )
        self.tell(now)
