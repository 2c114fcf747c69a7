"""How far a sweep is, as numbers, and as a line on a terminal."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foretrain.words import duration

PATIENCE_S = 2.0
_SETTLED_S = 30.0  # before that compiling distorts the speed, and with it the time left
_LOG_EVERY_S = 600.0
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
        remaining_s: Seconds left, from the speed so far and the ratio of actual to predicted steps; None if unknown.
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
    occupancy: float = 1.0


def describe(now: Progress) -> str:
    """What is left to do, in a line: printed before a long sweep."""
    left = now.total - now.found
    programs = "1 program" if now.groups == 1 else f"{now.groups} programs"
    text = f"{left} runs, about {now.predicted_steps:.2g} steps, {programs} to compile, "
    text += "1 worker" if now.workers == 1 else f"{now.workers} workers"
    if now.found:
        text += f" ({now.found} runs were found done)"
    if now.remaining_s is not None:
        text += f"; about {duration(round(now.remaining_s))}"
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
            print(f"{line}, {duration(round(now.remaining_s))} left.", file=sys.stderr, flush=True)


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
        parts = [f"{count} {name.replace('_', ' ')}" for name, count in now.outcomes.items()]
        if now.remaining_s is not None:
            parts.append(f"{duration(round(now.remaining_s))} left")
        elif not now.finished:
            parts.append("compiling")
        completed = now.found + now.finished
        self._bar.update(self._task, completed=completed, description=", ".join(parts))
