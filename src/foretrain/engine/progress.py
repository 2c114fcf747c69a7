"""How far a sweep is, as numbers, and as a line on a terminal."""

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foretrain.words import duration, outcome

PATIENCE_S = 2.0
_SETTLED_S = 30.0  # before that compiling distorts the speed, and with it the time left
_LOG_EVERY_S = 600.0
# By so much foreseen ends may differ: in seconds, and as a share of the time so far.
_SLACK_S, _SLACK = 2.0, 0.05
_MANY_STEPS = 1e6  # from here on a sweep may be long, whatever a step takes


@dataclass(frozen=True)
class Progress:
    """A sweep at one moment.

    Attributes:
        phase: "starting" (before any worker), "running", "done", or "stopped" (by an exception).
        groups: Number of static signatures, each of which is compiled once per worker.
        workers: Number of workers.
        total: Runs of this shard.
        found: Those that were done before.
        finished: Those done since.
        riding: Those in a lane now.
        outcomes: Name of an outcome to the number of runs that ended so since the start.
        predicted_steps: Steps still to be done at the start, as predicted.
        steps: Steps done since the start.
        elapsed_s: Seconds since the start.
        remaining_s: Seconds left, from the speed so far and the ratio of actual to predicted steps; None until it is known to
            within a factor of two, see `Forecast`.
        bound: Whether `remaining_s` is the most it can be, since no run has ended yet that tells how early others may.
        occupancy: Share of the lanes' work that moved a run.
    """

    phase: str
    groups: int
    workers: int
    total: int
    found: int = 0
    finished: int = 0
    riding: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    predicted_steps: float = 0.0
    steps: int = 0
    elapsed_s: float = 0.0
    remaining_s: float | None = None
    bound: bool = False
    occupancy: float = 1.0


class Forecast:
    """The seconds left, said once the estimates made since half of the time so far agree on it to within a factor of two."""

    def __init__(self):
        # When an end was foreseen, and when it was to be.
        self._ends: deque[tuple[float, float]] = deque()

    def left(self, now_s: float, estimate_s: float) -> float | None:
        """The estimate, or None where earlier ones tell another end.

        Args:
            now_s: Seconds since the first step.
            estimate_s: Seconds left as it seems now.
        """
        self._ends.append((now_s, now_s + estimate_s))
        while self._ends[0][0] < now_s / 2:
            self._ends.popleft()
        slack = max(_SLACK_S, _SLACK * now_s)
        told = [end - now_s for _, end in self._ends]
        seen = self._ends[0][0] <= 0.6 * now_s
        close = max(told) <= 2 * estimate_s + slack and min(told) >= estimate_s / 2 - slack
        return estimate_s if seen and close else None


def _time_left(now: Progress) -> str:
    assert now.remaining_s is not None, "asked where it is known"
    return f"{'at most ' if now.bound else ''}{duration(round(now.remaining_s))}"


def describe(now: Progress) -> str:
    """What is left to do, in a line: printed before a long sweep."""
    left = now.total - now.found
    programs = "1 program" if now.groups == 1 else f"{now.groups} programs"
    text = f"{left} runs, about {now.predicted_steps:.2g} steps, {programs} to compile, "
    text += "1 worker" if now.workers == 1 else f"{now.workers} workers"
    if now.found:
        text += f" ({now.found} runs were found done)"
    if now.remaining_s is not None:
        text += f"; {'' if now.bound else 'about '}{_time_left(now)}"
    return text + "."


def terminal_progress() -> Callable[[Progress], None]:
    """A callback that says what is to be done and draws a bar once that takes over two seconds.

    Where standard error is no terminal (a log, a notebook) it writes what is to be done if that is over a million steps,
    how long it takes after half a minute, when that can be known, and then after twice the time each, every ten minutes
    at last.
    """
    return _Bar() if sys.stderr.isatty() else _Log()


class _Log:
    """Lines for a file."""

    def __init__(self):
        self._next_s = _SETTLED_S

    def __call__(self, now: Progress) -> None:
        if now.phase == "starting" and now.predicted_steps > _MANY_STEPS:
            print(describe(now), file=sys.stderr, flush=True)
        if now.phase != "running" or now.remaining_s is None:
            return
        if now.elapsed_s > self._next_s:
            self._next_s = now.elapsed_s + min(now.elapsed_s, _LOG_EVERY_S)
            line = f"{now.found + now.finished} of {now.total} runs done"
            print(f"{line}, {_time_left(now)} left.", file=sys.stderr, flush=True)


class _Bar:
    """A rich progress bar that appears late; what is to be done is said first, and again with its time."""

    def __init__(self):
        self._began, self._told = time.monotonic(), False
        self._bar: Any = None  # a bar of rich, and its task, once there is one
        self._task: Any = None

    def __call__(self, now: Progress) -> None:
        if now.phase == "starting" and now.total > now.found:
            print(describe(now), file=sys.stderr)
        if now.phase in ("done", "stopped"):
            if self._bar is not None:
                self._update(now)
                self._bar.stop()
            return
        if self._bar is None and time.monotonic() - self._began > PATIENCE_S:
            self._open(now)
        if self._bar is not None:
            if not self._told and now.remaining_s is not None and now.elapsed_s > _SETTLED_S:
                self._bar.console.print(describe(now), highlight=False)
                self._told = True
            self._update(now)

    def _open(self, now):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=now.total)
        self._bar.start()

    def _update(self, now):
        parts = [f"{count} {outcome(name)}" for name, count in now.outcomes.items()]
        if now.remaining_s is not None:
            parts.append(f"{_time_left(now)} left")
        elif not now.steps:
            parts.append("compiling")
        completed = now.found + now.finished
        self._bar.update(self._task, completed=completed, description=", ".join(parts))
