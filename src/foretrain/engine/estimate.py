"""Time and memory that the runs of a plan will take, from a trial of their own programs on one core of this machine.

A worker opens a group of runs as in a sweep: it makes the inputs of a run, compiles the program, and moves its lanes on for a
third of a second, or computes one run on the host; then it opens the group once more, now compiled. Seconds are those that the
core has worked, whatever else the machine is doing.
"""

import dataclasses
import heapq
import math
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from foretrain import errors
from foretrain.engine.dispatch import TRIAL_S, Group, group_message, make_groups, overrides
from foretrain.engine.places import CPU, take_places, usual_workers
from foretrain.engine.processes import Process, setup_message
from foretrain.errors import ForetrainError
from foretrain.machine import usable_cores
from foretrain.plans.plan import Plan, Run
from foretrain.words import count, duration, memory

HERE = 350e6  # bytes of the process that deals out runs, with what judges and draws them
COPIES = 4  # of the labelled result, while it is stored, judged and drawn
_TRIED = 4  # most groups of a trial
_PATIENCE_S = 60.0  # a group that takes longer to open ends the trial
START_S = 1.2  # of a worker: Python, JAX and XLA
_RUN_S = 3e-4  # of a run beside its steps, see benchmarks/scaling.py
_SHORT_S = 10.0  # a host run that takes longer is not computed twice


@dataclass(frozen=True)
class Estimate:
    """Seconds on idle cores and bytes that a plan's runs take."""

    run_s: float  # to train or compute all runs
    open_s: float  # to start workers and to open and compile programs
    conclude_s: float  # to predict, judge and draw, on one core
    workers: int
    worker: float  # bytes of each worker
    here: float  # bytes of the process that deals out runs, judges and draws
    tried: int  # kinds of runs, each with a program of its own, of the trial
    kinds: int
    core_s: float  # CPU seconds of all processes together
    at_least: bool = False  # a trial was given up: the runs take longer than this

    @property
    def seconds(self) -> float:
        """All seconds from the start to the page."""
        return self.run_s + self.open_s + self.conclude_s

    @property
    def time(self) -> str:
        """The seconds in words."""
        parts = (self.seconds, self.run_s, self.open_s, self.conclude_s)
        whole, run, start, conclude = (duration(float(f"{seconds:.2g}")) for seconds in parts)
        head = f"{'more than' if self.at_least else 'about'} {whole} on {count(self.workers, 'idle core')}"
        split = f"{run} to run, {start} to start and compile, {conclude} to predict, judge and draw"
        trial = f"{self.tried} of " * (self.tried < self.kinds) + count(self.kinds, "kind")
        return f"{head}: {split}, by a trial of {trial} of runs"

    @property
    def memory(self) -> str:
        """The bytes in words."""
        total = memory(self.here + self.workers * self.worker)
        workers = f"{memory(self.worker)}{' for each' * (self.workers > 1)} of {count(self.workers, 'worker')}"
        return f"at most {total}: {workers}, {memory(self.here)} to judge and draw"


@dataclass(frozen=True)
class Trial:
    """The trial of one group of runs; seconds are those of one core."""

    abreast: int = 1  # lanes that move side by side
    step_s: float = 0.0  # of one step of all lanes that move side by side
    host_s: float = 0.0  # of what a run computes on the host, for each of its predicted steps
    inputs_s: float = 0.0  # of the inputs of one run
    open_s: float = 0.0  # to open the group once it is compiled
    compile_s: float = 0.0  # to compile it
    kept: float = 0.0  # bytes of a run in the labelled result, if it takes all its steps
    observed: float = 0.0  # bytes of what is observed in all lanes
    peak: float = 0.0  # bytes of the worker after it


def estimate(
    plan: Plan, left: Sequence[Run], *, workers: int | None = None, conclude_s: float = 0.0
) -> Estimate:
    """Estimate the time and memory of the runs that are left of a plan, at least one, and of `conclude_s` to judge and draw.

    None of the runs ends earlier than the study's ``estimate`` says.

    Raises:
        TooLarge: three lanes of a program do not fit into memory.
        ForetrainError: a run of the trial raises; the text has the place.

    Cost: at most four programs are compiled, and kept for the sweep, or one or two runs of four groups computed.
    """
    groups = make_groups(left, plan.study.estimate)
    wanted = usual_workers(len(left), usable_cores()) if workers is None else workers
    workers = max(1, min(wanted, len(left)))
    trials, at_least = _trials(plan, left, groups, workers)
    own = max(1, workers // len(groups))  # workers of a group
    run_s = open_s = kept = 0.0
    for number, group in enumerate(groups):
        trial = trials.get(number) or _interpolated(groups, trials, number)
        steps = [plan.study.estimate(left[n].parameters) for n in group.waiting]
        run_s += own * _makespan(steps, own * trial.abreast) * trial.step_s
        run_s += group.steps * trial.host_s
        run_s += group.count * (trial.inputs_s + _RUN_S)
        open_s += own * (trial.open_s + (number not in trials) * trial.compile_s)
        kept += group.count * trial.kept
    return Estimate(
        run_s / workers,
        START_S + open_s / workers,
        conclude_s,
        workers,
        max(trial.peak + trial.observed for trial in trials.values()),
        HERE + COPIES * kept,
        len(trials),
        len(groups),
        run_s + open_s + workers * START_S + conclude_s,
        at_least,
    )


def _makespan(steps: Sequence[float], slots: int) -> float:
    """Return the steps of the fullest of so many lanes if the next run, longest first, takes the lane that is free first."""
    ends = [0.0] * min(slots, len(steps))
    for length in steps:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def _extent(group: Group) -> float:
    """Logarithm of the product of a group's numbers, along which costs are interpolated."""
    numbers = (v for v in vars(group.parameters).values() if isinstance(v, int | float))
    return sum(math.log(v) for v in numbers if not isinstance(v, bool) and v > 0)


def _interpolated(groups: Sequence[Group], trials: dict[int, Trial], number: int) -> Trial:
    """Return the trial of a group that was not tried: a power law of the extent between its neighbours, for every cost."""
    extents = np.array([_extent(groups[tried]) for tried in trials])
    known = np.unique(extents)
    costs = np.array([dataclasses.astuple(trial) for trial in trials.values()])
    logs = np.log(np.maximum(costs, 1e-12))
    means = np.array([logs[extents == extent].mean(axis=0) for extent in known])
    here = [np.interp(_extent(groups[number]), known, column) for column in means.T]
    return Trial(max(1, round(math.exp(here[0]))), *np.exp(here[1:]).tolist())


def _trials(
    plan: Plan, left: Sequence[Run], groups: Sequence[Group], workers: int
) -> tuple[dict[int, Trial], bool]:
    """Try at most four groups, from the smallest to the largest; True where the patience was too short for all."""
    order = sorted(range(len(groups)), key=lambda number: _extent(groups[number]))
    chosen = np.linspace(0, len(groups) - 1, min(_TRIED, len(groups))).round().astype(int)
    answers: queue.SimpleQueue = queue.SimpleQueue()
    trials: dict[int, Trial] = {}
    (place,) = take_places(1, 1, CPU)
    number = order[0]
    with TemporaryDirectory() as folder:
        process = Process(0, setup_message(plan, Path(folder), "trial", place), answers, place)

        def opened(group: Group, run: Run) -> dict[str, Any]:
            changes = overrides(run.parameters, group.parameters)
            sample = [0, run.identity, changes, run.seed.number, ""]
            process.send(group_message(group, 0, [sample], workers, trial=False, estimate=True))
            return _answer(process, answers)

        try:
            for number in (order[position] for position in chosen):
                trials[number] = _trial(plan, left, groups[number], opened)
            process.stop()  # it keeps what it has compiled
            process.wait()
            return trials, False
        except queue.Empty:  # no answer came in time
            trials[number] = Trial(host_s=_PATIENCE_S / max(1.0, groups[number].steps))
            return trials, True
        finally:
            process.kill()
            place.give_back()


def _trial(
    plan: Plan, left: Sequence[Run], group: Group, opened: Callable[[Group, Run], dict[str, Any]]
) -> Trial:
    """Open a group with its longest run and once more, now compiled, or on the host with five runs from all over it.

    Of these the median counts: a run with a shape of its own compiles, which few runs do.
    """
    # The first runs are those of the network itself; variants beside it may end at once.
    waiting = list(group.waiting)
    spread = np.linspace(len(waiting) - 1, 0, 5).round().astype(int)
    order = (waiting * 2)[:2] if plan.study.trains else [waiting[at] for at in (-1, *spread)]
    tried, answers = [left[number] for number in order], []
    for run in tried:
        answers.append(opened(group, run))
        if not answers[0]["rate"] and sum(answer["open_s"] for answer in answers) > _SHORT_S:
            break
    first, second, rate = answers[0], answers[-1], answers[-1]["rate"]
    host_s = [
        answer.get("host_s", 0.0) / max(1.0, plan.study.estimate(run.parameters))
        for run, answer in [*zip(tried, answers, strict=False)][min(1, len(answers) - 1) :]
    ]
    kept = second["bytes"][1] + second.get("host_bytes", 0)
    return Trial(
        abreast=second["abreast"],
        step_s=second["abreast"] / rate if rate else 0.0,
        host_s=float(np.median(host_s)),
        inputs_s=second.get("inputs_s", 0.0),
        open_s=max(0.0, second["open_s"] - second.get("host_s", 0.0) - TRIAL_S * bool(rate)),
        compile_s=max(0.0, first["open_s"] - second["open_s"]),
        kept=kept,
        observed=2.0 * second["lanes"] * kept,
        peak=second["peak"],
    )


def _answer(process: Process, answers: queue.SimpleQueue) -> dict[str, Any]:
    until = time.monotonic() + _PATIENCE_S
    while True:
        _, answer = answers.get(timeout=max(0.0, until - time.monotonic()))
        if answer is None:
            raise ForetrainError(f"A trial of the runs ended its worker ({process.reason()}).")
        if answer["say"] == "fatal":
            raise getattr(errors, answer["kind"], ForetrainError)(answer["line"])
        if answer["say"] == "lanes":
            if "error" in answer:
                raise ForetrainError(answer["error"])
            return answer
