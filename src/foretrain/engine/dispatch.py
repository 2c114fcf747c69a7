"""Who runs what: groups of runs, what each worker holds, and what becomes of the runs of a worker that dies."""

from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from foretrain.plans.parameters import static_only, static_signature
from foretrain.plans.plan import Run

DEATHS = 3  # a run that takes so many workers with it has failed
_MOST_AHEAD = 1024  # runs a worker holds beyond its lanes


@dataclass
class Group:
    """Runs of one static signature."""

    parameters: Any  # ``Parameters`` with every field that is not static at its default
    # The static fields that differ from their default, as text; key of the lane count in the manifest.
    name: str
    # Numbers of the runs that no worker holds, longest-predicted first.
    waiting: deque = field(default_factory=deque)
    # Numbers of runs that are done one at a time, since two workers have died with them.
    suspects: deque = field(default_factory=deque)
    steps: float = 0.0  # predicted steps of all runs
    count: int = 0  # number of runs
    # Lanes per worker, once known; None before.
    lanes: Any = None  # an int, once known
    bytes: int = 0  # fewest bytes that a run takes in the labelled result, once known

    @property
    def left(self) -> int:
        """Number of runs that no worker holds."""
        return len(self.waiting) + len(self.suspects)


@dataclass
class Worker:
    """What a worker holds."""

    process: Any  # the worker
    slot: int = 0  # its number among those that live at once
    group: Group | None = None  # group it is at
    ready: bool = False  # whether it has started and knows the lanes of its group
    # Number of the run with which it settles the lanes of its group, if it does.
    sample: int | None = None
    queued: set = field(default_factory=set)  # numbers of runs it was given and has not begun
    entered: set = field(default_factory=set)  # numbers of runs that wait for or ride in a lane
    left: set = field(default_factory=set)  # numbers of runs that are done and not yet durable
    alone: bool = False  # whether its only run is a suspect
    steps: int = 0  # steps that it has reported

    @property
    def held(self) -> int:
        """Number of runs it has not finished."""
        return len(self.queued) + len(self.entered)

    @property
    def idle(self) -> bool:
        """Whether it holds nothing at all."""
        return not (self.queued or self.entered or self.left)


def make_groups(runs: Sequence[Run], estimate: Callable[[Any], float]) -> list[Group]:
    """Sort runs into groups, the one with most predicted steps first."""
    groups: dict[tuple, Group] = {}
    predicted = [0.0] * len(runs)
    last, group, steps = None, None, 0.0
    for number, run in enumerate(runs):
        # The seeds of a cell share their parameters.
        if group is None or run.parameters is not last:
            last, steps = run.parameters, float(estimate(run.parameters))
            signature = static_signature(last)
            group = groups.get(signature)
            if group is None:
                common = static_only(last)
                name = ", ".join(f"{name}={value}" for name, value in overrides(common).items())
                group = groups[signature] = Group(common, name or "default")
        predicted[number] = steps
        group.waiting.append(number)
        group.steps += steps
        group.count += 1
    for group in groups.values():
        group.waiting = deque(sorted(group.waiting, key=lambda number: -predicted[number]))
    return sorted(groups.values(), key=lambda group: -group.steps)


def share(group: Group, worker: Worker, workers: Sequence[Worker]) -> list[int]:
    """Take from the group what its worker should get now.

    A worker gets its lanes full, and ahead of that a part of what is left that shrinks with it, so that all end at
    about the same time. When there are fewer runs than lanes each worker gets its part of the long and the short ones.
    """
    if worker.alone:
        return []
    if not group.waiting:
        if group.suspects and worker.idle:
            worker.alone = True
            return [group.suspects.popleft()]
        return []
    others = [other for other in workers if other.group is group]
    ahead = min(_MOST_AHEAD, len(group.waiting) // (2 * len(others)))
    total = len(group.waiting) + sum(other.held for other in others)
    fair = -(-total // len(others))
    wanted = min(fair, group.lanes + ahead) - worker.held
    # A few at a time cost a message each: wait until there is something worth sending.
    if wanted <= 0 or (worker.held >= group.lanes and wanted < ahead // 2):
        return []
    wanted = min(wanted, len(group.waiting))
    if len(group.waiting) > group.lanes * len(others):
        return [group.waiting.popleft() for _ in range(wanted)]
    picked = {place * len(group.waiting) // wanted for place in range(wanted)}
    taken = [number for place, number in enumerate(group.waiting) if place in picked]
    group.waiting = deque(n for place, n in enumerate(group.waiting) if place not in picked)
    return taken


def next_group(groups: Sequence[Group], workers: Sequence[Worker]) -> Group | None:
    """The group a free worker should go to: one nobody is at, else the one with most runs left."""
    open_groups = [group for group in groups if group.left]
    taken = [worker.group for worker in workers if not worker.idle]
    for group in open_groups:
        if not any(group is other for other in taken):
            return group
    # A group whose lanes are still being measured has nothing to give yet.
    return max(open_groups, key=lambda group: group.left, default=None)


def recall(worker: Worker, deaths: dict[int, int], durable: Container[int] = ()) -> list[int]:
    """Take back the runs of a worker that has died, but for those that it made durable; returns those that have failed.

    Runs it had begun are redone from their checkpoints; if a second worker dies with one, it is set apart and done
    alone, so that it takes no other down with it; a third time it has failed.
    """
    group, failed = worker.group, []
    if group is None:
        return failed
    again = sorted(number for number in worker.queued | worker.left if number not in durable)
    for number in sorted(number for number in worker.entered if number not in durable):
        deaths[number] = deaths.get(number, 0) + 1
        if deaths[number] >= DEATHS:
            failed.append(number)
        elif deaths[number] == DEATHS - 1:
            group.suspects.append(number)
        else:
            again.append(number)
    group.waiting.extendleft(reversed(again))
    sample = worker.sample
    # It may have died of the run it measured, which then waits for the next.
    if sample is not None and sample in group.waiting:
        deaths[sample] = deaths.get(sample, 0) + 1
        if deaths[sample] >= DEATHS:
            group.waiting.remove(sample)
            failed.append(sample)
    worker.queued, worker.entered, worker.left = set(), set(), set()
    return failed


def overrides(parameters: Any, base: Any = None) -> dict:
    """The fields in which parameters differ from others, by default from their defaults."""
    known = asdict(type(parameters)() if base is None else base)
    return {name: value for name, value in asdict(parameters).items() if value != known[name]}
