"""The coordinating process of a sweep: it deals runs to workers, hears what became of them, and never runs JAX."""

import os
import queue
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from foretrain import errors
from foretrain.dynamics.program import FAILED, OUTCOMES
from foretrain.engine import checkpoint
from foretrain.engine.dispatch import (
    DEATHS,
    Desk,
    Group,
    make_groups,
    next_group,
    overrides,
    recall,
    share,
)
from foretrain.engine.processes import Here, Process, count_workers, gpu_present
from foretrain.engine.progress import Progress
from foretrain.errors import FolderError, ForetrainError, TooLarge
from foretrain.plans import catalogue
from foretrain.plans.plan import Plan, Run
from foretrain.results.folding import physical_memory
from foretrain.results.journal import FinishedRun, Writer, scan
from foretrain.results.lock import lock
from foretrain.results.manifest import read_manifest, write_manifest

MEASURED_FROM = 16  # runs per worker from which the number of lanes may be measured
_TELL_S = 0.2
_MOST_KILLERS = 10  # runs that may take their workers with them before any other has ended


@dataclass
class Coordinator:
    """Deals the runs of one shard to workers and hears what became of them.

    Attributes:
        plan, folder, runs: What is to be run, and where to.
        total: Runs of the shard, those found included.
        workers, checkpoint_every, shard, keep_state, tell: As in `foretrain.engine.sweep.execute`; `tell` is its `progress`.
        began: Monotonic time of the start.
        device: What the workers compute on, once known.
        compiled, from_cache: Programs that the workers compiled, and that they read from the cache instead.
        outcomes, failures: What became of the runs that are done.
        groups: The runs by static signature.
        desks: The living workers by number.
        all_desks: All workers there have been.
    """

    plan: Plan
    folder: Path
    runs: list[Run]
    total: int
    workers: int | None
    checkpoint_every: float
    shard: tuple[int, int]
    keep_state: str
    tell: Callable[[Progress], None]
    began: float
    device: str = ""
    compiled: int = 0
    from_cache: int = 0
    outcomes: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    desks: dict[int, Desk] = field(default_factory=dict)
    all_desks: list[Desk] = field(default_factory=list)

    def run(self) -> None:
        """Run everything; returns when every run is durable. On any exception the workers are ended first."""
        self._estimate = self.plan.study.estimate
        self.groups = make_groups(self.runs, self._estimate)
        self.workers = count_workers(self.workers, len(self.runs))
        self._predicted = sum(group.steps for group in self.groups)
        self._first_move = self._told = 0.0
        self._predicted_done = self._actual_done = 0.0
        self._say("starting")
        if self.runs:
            self._prepare()
            try:
                self._work()
            finally:
                self._end()
            checkpoint.remove(self.folder, self._prefix)
        self._say("done")

    def _prepare(self):
        part, parts = self.shard
        self._prefix = f"s{part}of{parts}w"
        self._token = f"{os.getpid():x}{int(time.time() * 1e3) & 0xFFFFFFFF:x}"
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        self._saved = checkpoint.find(self.folder)
        self._deaths: dict[int, int] = {}
        self._left = len(self.runs)
        self._barren = self._killers = 0
        stored = (read_manifest(self.folder) or {}).get("lanes", {})
        for group in self.groups:
            group.lanes = stored.get(group.name)
        for slot in range(max(1, self.workers)):
            self._hire(slot)

    def _hire(self, slot):
        number = len(self.all_desks)
        on_cpu = self.workers == 0 or not gpu_present()
        core = (self.shard[0] - 1) * max(1, self.workers) + slot
        setup = {
            "study": catalogue.describe(self.plan.study),
            "root_seed": self.plan.root_seed,
            "folder": str(self.folder.resolve()),
            "worker": f"{self._prefix}{number}-{self._token}",
            "checkpoint_every": self.checkpoint_every,
            "keep_state": self.keep_state,
            "core": core if on_cpu else None,
        }
        if self.workers == 0:
            hand = Here(number, setup, self._answers)
        else:
            hand = Process(number, setup, self._answers, on_cpu=on_cpu)
        desk = Desk(hand, slot)
        self.desks[number] = desk
        self.all_desks.append(desk)

    def _work(self):
        while self._left:
            if self.workers == 0 and self._answers.empty():
                self.desks[0].hand.turn()
            patience = _TELL_S if self.workers else 0
            try:
                number, message = self._answers.get(timeout=patience)
            except queue.Empty:
                self._say("running")
                continue
            desk = self.desks[number]
            if message is None:
                self._on_death(number, desk)
            else:
                getattr(self, f"_on_{message['say']}")(desk, message)
            self._deal()
            if time.monotonic() - self._told > _TELL_S:
                self._say("running")

    def _deal(self):
        """Give every worker that could do with it more to do."""
        for desk in list(self.desks.values()):
            if not self.device or desk.hand is None:
                continue
            group = desk.group
            if desk.idle and (group is None or (desk.ready and not group.left)):
                group = next_group(self.groups, list(self.desks.values()))
                if group is not None and group is not desk.group and not self._measured(group):
                    self._assign(desk, group)
            if desk.group is None or not desk.ready or desk.group.lanes is None:
                continue
            if desk.alone and desk.idle:
                desk.alone = False
            taken = share(desk.group, desk, list(self.desks.values()))
            if taken:
                desk.queued.update(taken)
                desk.hand.send({"do": "runs", "runs": [self._row(n, desk.group) for n in taken]})

    def _measured(self, group):
        """Whether another worker is timing the lanes of a large group, which is worth waiting for."""
        large = group.count >= MEASURED_FROM * max(1, self.workers)
        return large and group.lanes is None and any(d.group is group for d in self.desks.values())

    def _assign(self, desk, group):
        desk.group, desk.ready = group, False
        # The longest, a middle and the shortest run: what is measured is the first of them that can be made.
        waiting = group.waiting or group.suspects
        samples = [waiting[0], waiting[len(waiting) // 2], waiting[-1]]
        desk.sample = samples[0] if group.lanes is None else None
        desk.hand.send(
            {
                "do": "group",
                "group": self._number(group),
                "parameters": overrides(group.parameters, Group(type(group.parameters)(), "")),
                "lanes": group.lanes,
                "samples": [self._row(number, group) for number in samples],
                "count": group.count,
                "steps": group.steps,
                "workers": max(1, self.workers),
            }
        )

    def _row(self, number, group):
        run = self.runs[number]
        if run.parameters is not getattr(self, "_last", None):
            self._last, self._overrides = run.parameters, overrides(run.parameters, group)
        # A run that two workers have died with begins anew: its checkpoint may be what kills them.
        fresh = self._deaths.get(number, 0) >= DEATHS - 1
        saved = None if fresh else self._saved.get(run.identity)
        return [number, run.identity, self._overrides, run.seed.number, saved]

    def _on_ready(self, desk, message):
        self.device = message["device"]

    def _on_lanes(self, desk, message):
        group, desk.ready, desk.sample = self.groups[message["group"]], True, None
        group.bytes = message["bytes"]
        self._check_size()
        if group.lanes is None:
            group.lanes = self._settle_lanes(group.name, message["lanes"])
        if group.lanes != message["lanes"]:
            self._assign(desk, group)

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
        for _ in range(50):
            try:
                with lock(self.folder, "manifest"):
                    manifest = read_manifest(self.folder) or {}
                    stored = manifest.setdefault("lanes", {})
                    if name not in stored:
                        stored[name] = lanes
                        write_manifest(self.folder, manifest)
                    return stored[name]
            except FolderError:
                time.sleep(0.1)
        raise FolderError(f"The manifest of {self.folder} stays locked. Try again.")

    def _on_moved(self, desk, message):
        self._first_move = self._first_move or time.monotonic()
        desk.queued.difference_update(message["entered"])
        desk.entered.update(message["entered"])
        desk.entered.difference_update(message["left"])
        desk.left.update(message["left"])
        desk.work = {name: message[name] for name in ("steps", "done", "paid")}

    def _on_durable(self, desk, message):
        for number, outcome, steps, note in message["runs"]:
            desk.left.discard(number)
            self._count(number, outcome, steps, note)

    def _count(self, number, outcome, steps, note):
        run = self.runs[number]
        self._left -= 1
        self.outcomes[OUTCOMES[outcome]] += 1
        if outcome == FAILED:
            self.failures.append((run.identity, note))
        self._predicted_done += float(self._estimate(run.parameters))
        self._actual_done += steps

    def _on_fatal(self, desk, message):
        raise getattr(errors, message["kind"], ForetrainError)(message["line"])

    def _on_death(self, number, desk):
        reason = desk.hand.reason()
        desk.hand.kill()
        del self.desks[number]
        # A worker that dies before it begins any run says something about the machine, not about a run.
        begun = desk.entered or desk.sample is not None
        self._barren = 0 if begun else self._barren + 1
        if self._barren >= DEATHS:
            raise ForetrainError(f"Workers die before they begin ({reason}).")
        if desk.group is not None:
            for lost in recall(desk, self._deaths, self._found_durable(desk)):
                self._fail(lost, f"its worker died {DEATHS} times with it ({reason})")
        if set(self.outcomes) == {OUTCOMES[FAILED]} and self._killers >= _MOST_KILLERS:
            raise ForetrainError(
                f"The first {self._killers} runs to end took their workers with them ({reason})."
            )
        self._saved.update(checkpoint.find(self.folder))
        if self._left:
            self._hire(desk.slot)

    def _found_durable(self, desk):
        """Runs that a dead worker has written without having come to say so."""
        held = desk.entered | desk.left
        if not held:
            return set()
        journal = scan(self.folder)
        outcomes = dict(zip(journal.identities, journal.outcomes.tolist(), strict=True))
        durable = {number for number in held if self.runs[number].identity in outcomes}
        for number in durable:
            run = self.runs[number]
            note = journal.notes.get(run.identity, "")
            self._count(number, outcomes[run.identity], self._estimate(run.parameters), note)
        return durable

    def _fail(self, number, note):
        run = self.runs[number]
        writer = Writer(self.folder, f"{self._prefix}c-{self._token}")
        writer.append([FinishedRun(run.identity, FAILED, 0, np.zeros(0, np.int64), note=note)])
        self._count(number, FAILED, 0, note)
        self._killers += 1

    def _end(self):
        hands = [desk.hand for desk in self.desks.values()]
        orderly = sys.exc_info()[0] is None or sys.exc_info()[0] is KeyboardInterrupt
        for hand in hands:
            hand.stop() if orderly else hand.kill()
        if not orderly:
            return
        for hand in hands:
            hand.wait()
        while not self._answers.empty():
            _, message = self._answers.get()
            if message and message["say"] == "stopped":
                self.compiled += message["misses"]
                self.from_cache += message["hits"]

    def _number(self, group):
        return next(n for n, other in enumerate(self.groups) if other is group)

    def _say(self, phase):
        self._told = time.monotonic()
        self.tell(self.progress(phase))

    def progress(self, phase: str = "done") -> Progress:
        """How far the sweep is."""
        now = time.monotonic()
        steps, done, paid = (
            sum(desk.work[name] for desk in self.all_desks) for name in ("steps", "done", "paid")
        )
        remaining = None
        if steps and now - self._first_move > 1.0:
            ratio = self._actual_done / self._predicted_done if self._predicted_done else 1.0
            rate = steps / (now - self._first_move)
            remaining = max(0.0, ratio * self._predicted - steps) / rate
        return Progress(
            phase=phase,
            groups=len(self.groups),
            workers=self.workers,
            total=self.total,
            found=self.total - len(self.runs),
            finished=sum(self.outcomes.values()),
            riding=sum(len(desk.entered) for desk in self.all_desks),
            outcomes=dict(self.outcomes),
            predicted_steps=self._predicted,
            steps=steps,
            elapsed_s=now - self.began,
            remaining_s=remaining,
            occupancy=done / paid if paid else 1.0,
        )
