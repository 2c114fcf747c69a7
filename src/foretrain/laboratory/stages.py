"""Progress of a run from training to its last figure: one bar on a terminal or in a notebook, a few lines in a log."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event, Thread

from foretrain.engine.progress import Progress, describe
from foretrain.notebook import is_notebook, progress_bar
from foretrain.words import animated, count, duration, encodable, outcome, say

_PATIENCE_S = 2.0  # a run that is over by then shows no bar
_FIRST_S, _EVERY_S = 10.0, 600.0
_MANY_STEPS = 1e6  # from here on a sweep may be long, whatever a step takes
_NAMES = 10  # columns of the longest name of a stage
_SPARE = 4  # columns left free: what a terminal echoes of Ctrl-C must not break the line


@dataclass(frozen=True)
class Stage:
    """Stage of a run, from training to its last figure."""

    name: str  # what is being done, such as "Training" or "Judging"
    # How many of how many; 0 of 0 where that is not known.
    done: int = 0
    total: int = 0
    of: str = ""  # what is counted, such as "runs"
    note: str = ""  # what else there is to say
    left: str = ""  # the time left, in words, where it is known


Tell = Callable[[Stage], None]


def silent(stage: Stage) -> None:
    """Tell nobody."""


@contextlib.contextmanager
def stages(*, quiet: bool = False) -> Iterator[Tell]:
    """Show the stages of a run on standard error until the context is left, by whatever exception.

    A terminal and a notebook get a bar after two seconds; afterwards they are as they were. A log gets lines: after ten
    seconds, then after twice the time each, every ten minutes at last, and one of each stage that takes ten seconds.
    """
    if quiet:
        yield silent
        return
    shown = _Cell() if is_notebook() else _Bar() if animated() else _Lines()
    with contextlib.closing(shown):
        yield shown


def training(tell: Tell) -> Callable[[Progress], None]:
    """Return a function that takes the progress of a sweep: it says the work that is left, and then shows the progress.

    To a log what is to be done is said only of more than a million steps.
    """
    remarks = {""}

    def hear(now: Progress) -> None:
        if now.remark not in remarks:
            remarks.add(now.remark)
            say(now.remark)
        long = animated() or (now.trains and now.predicted_steps > _MANY_STEPS)
        if now.phase == "starting" and now.total > now.stored and long:
            say(describe(now))
        parts = [f"{number} {outcome(name)}" for name, number in now.outcomes.items()]
        name = "Training" if now.trains else "Computing"
        if now.phase == "stopped":
            name, parts = "Stopping, what is done is kept", []
        elif now.trains and not now.steps and now.phase == "running":
            first = f"first of {now.groups} programs" if now.groups > 1 else "program"
            parts.append(f"compiling the {first}")
        elif now.trains and now.compile_s is not None and now.phase == "running":
            programs = count(now.uncompiled, "program")
            parts.append(f"{programs} to compile in about {duration(max(1, round(now.compile_s)))}")
        left = ""
        if now.remaining_s is not None and now.phase == "running":
            left = f"{'at most ' * now.bound}{duration(round(max(now.remaining_s, now.compile_s or 0)))}"
        tell(Stage(name, now.stored + now.finished, now.total, "runs", ", ".join(parts), left))

    return hear


def sentence(stage: Stage, lasted_s: float) -> str:
    """A stage as a line of a log."""
    name = f"{stage.name}: {_counted(stage)}" if stage.total else stage.name
    return f"{', '.join(filter(None, (name, stage.note, _when(stage, lasted_s))))}."


def _counted(stage):
    return f"{stage.done} of {count(stage.total, stage.of.removesuffix('s'))}"


def _when(stage, lasted_s):
    return f"{stage.left} left" if stage.left else f"for {duration(int(lasted_s))}"


def line(stage: Stage, columns: int, lasted_s: float, encoding: str = "utf-8") -> tuple[str, ...]:
    """A stage as a line of a terminal: its name, the part of the bar that is done, the rest of it, and a text."""
    full, empty = ("━", "─") if encodable("━", encoding) == "━" else ("#", "-")
    size = min(30, columns // 5) if stage.total else 0
    part = size * min(stage.done, stage.total) // max(stage.total, 1)
    counted = _counted(stage) if stage.total else ""
    parts = [counted, _when(stage, lasted_s), encodable(stage.note, encoding)]
    rest = empty * (size - part) + "  " * bool(size)
    return f"{stage.name:<{_NAMES}}  ", full * part, rest, ", ".join(filter(None, parts))


class Pace:
    """Times at which a log hears of a stage."""

    def __init__(self):
        self._next_s, self._name = _FIRST_S, ""

    def due(self, elapsed_s: float, name: str, lasted_s: float) -> bool:
        """Return True if it is time to show a stage, by the seconds since the start and those since the stage began."""
        if elapsed_s < self._next_s and (name == self._name or lasted_s < _FIRST_S):
            return False
        self._next_s, self._name = elapsed_s + min(elapsed_s, _EVERY_S), name
        return True


class _Shown:
    """Display of stages, beside the work, so that a long cell or figure is told too."""

    def __init__(self):
        self._began = self._since = time.monotonic()
        self._now: Stage | None = None
        self._ends = contextlib.ExitStack()
        self.close = self._ends.close

    def start(self) -> None:
        """Begin to show, at the first stage."""

    def __call__(self, now: Stage) -> None:
        if self._now is None:
            self.start()
        if self._now is None or self._now.name != now.name:
            self._since = time.monotonic()
        self._now = now


class _Lines(_Shown):
    """Lines for a log."""

    def start(self) -> None:
        self._pace, closed = Pace(), Event()
        thread = Thread(target=copy_context().run, args=(self._watch, closed), daemon=True)
        thread.start()
        self._ends.callback(thread.join)
        self._ends.callback(closed.set)

    def _watch(self, closed):
        while not closed.wait(0.5):
            if now := self._now:
                at = time.monotonic()
                self._show(now, at - self._began, at - self._since)

    def _show(self, now, elapsed_s, lasted_s):
        if self._pace.due(elapsed_s, now.name, lasted_s):
            say(sentence(now, lasted_s))


class _Cell(_Lines):
    """A bar below the cell of a notebook that runs, which the context of its thread tells."""

    def start(self) -> None:
        self._draw = progress_bar()
        self._ends.callback(self._draw, "", 0, 0, "")
        super().start()

    def _show(self, now, elapsed_s, lasted_s):
        if elapsed_s >= _PATIENCE_S:
            self._draw(now.name, now.done, now.total, line(now, 0, lasted_s)[-1])


class _Bar(_Shown):
    """A line at the foot of a terminal, above which everything else is printed."""

    def start(self) -> None:
        from rich.console import Console
        from rich.live import Live

        class Kept(Console):  # leaves the cursor alone, so that no end of this process hides it
            def show_cursor(self, show: bool = True) -> bool:
                return False

        console = Kept(stderr=True, highlight=False)
        live = Live(
            console=console,
            get_renderable=lambda: self._drawn(console),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )
        live.start()
        self._ends.callback(live.stop)

    def _drawn(self, console):
        from rich.text import Text

        now, at = self._now, time.monotonic()
        if now is None or at - self._began < _PATIENCE_S:
            return Text()
        parts = line(now, console.width, at - self._since, console.encoding)
        text = Text.assemble(*zip(parts, ("bold", "green", "dim", ""), strict=True), no_wrap=True)
        text.truncate(max(0, console.width - _SPARE))
        return text
