"""Dealing of runs: groups of runs, the runs of each worker, and those of a worker that dies."""

from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from foretrain.engine.places import CPU, GPU
from foretrain.plans.parameters import static_only, static_signature
from foretrain.plans.plan import Run

SMALL_S = 20.0  # runs that the cores would do in less stay there, without a trial elsewhere
TRIAL_S = 0.3  # of a number of lanes
DEATHS = 3  # a run that takes so many workers with it has failed
_MOST_AHEAD = 1024  # runs a worker holds beyond its lanes


@dataclass(eq=False)
class Group:
    """Runs of one static signature."""

    parameters: Any  # ``Parameters`` with every field that is not static at its default
    name: str  # its static fields that differ from their default, as text; key of the lane count in the manifest
    waiting: deque = field(default_factory=deque)  # numbers of runs without a worker, longest first
    suspects: deque = field(default_factory=deque)  # those done alone: two workers died with them
    steps: float = 0.0  # predicted steps of all runs
    count: int = 0  # number of runs
    backend: str | None = None  # on which its runs are made, once known
    lanes: Any = None  # of a worker there, an int, once known
    # Backend to the lanes of a worker there and the steps per second of all of them.
    trials: dict[str, tuple[int, float]] = field(default_factory=dict)
    bytes: int = 0  # fewest bytes that a run takes in the labelled result, once known
    open_s: float = 0.0  # from when a worker was sent to it until its first steps, once known

    @property
    def left(self) -> int:
        """Number of runs that no worker holds."""
        return len(self.waiting) + len(self.suspects)


@dataclass
class Worker:
    """A worker and its runs."""

    process: Any  # the worker
    slot: int = 0  # number of its place among those of the sweep
    backend: str = CPU  # where it runs
    group: Group | None = None  # group it is at
    start_s: float = 0.0  # time at which it was sent there
    ready: bool = False  # whether it has started and knows the lanes of its group
    sample: int | None = None  # number of the run by which it settles the lanes of its group
    queued: set = field(default_factory=set)  # numbers of runs it was given and has not begun
    entered: set = field(default_factory=set)  # numbers of runs that wait for or ride in a lane
    left: set = field(default_factory=set)  # numbers of runs that are done and not yet durable
    alone: bool = False  # whether its only run is a suspect
    steps: int = 0  # steps that it has reported

    @property
    def load(self) -> int:
        """Number of runs that it has not finished."""
        return len(self.queued) + len(self.entered)

    @property
    def idle(self) -> bool:
        """True if it has no run at all."""
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


def group_message(
    group: Group, number: int, samples: list, workers: int, *, trial: bool, estimate: bool = False
) -> dict:
    """Return the ``group`` message of `foretrain.engine.session`: on trial for a backend, or for an estimate of its cost."""
    # Without steps other numbers of lanes are not tried.
    how = {"runs": group.count, "steps": 0.0 if estimate else group.steps, "workers": workers}
    return {
        "do": "group",
        "group": number,
        "parameters": overrides(group.parameters),
        "lanes": group.lanes,
        "samples": samples,
        "how": how | {"timed": trial or estimate},
        "trial": trial,
        "estimate": estimate,
    }


def share(group: Group, worker: Worker, workers: Sequence[Worker]) -> list[int]:
    """Take from the group what its worker should get now.

    A worker gets its lanes full, and ahead of that a part of what is left that shrinks with it, so that all end at about the
    same time. Of fewer runs than lanes each worker, also one that will come, gets its part of the long and the short ones.
    """
    if worker.alone:
        return []
    if not group.waiting:
        if group.suspects and worker.idle:
            worker.alone = True
            return [group.suspects.popleft()]
        return []
    free = [w for w in workers if w.idle and not (w.group and w.group.left)]
    others = [w for w in workers if w.backend == worker.backend and (w.group is group or w in free)]
    ahead = min(_MOST_AHEAD, len(group.waiting) // (2 * len(workers)))
    fair = -(-(len(group.waiting) + sum(other.load for other in others)) // len(others))
    wanted = min(fair, group.lanes + ahead, worker.load + len(group.waiting)) - worker.load
    # A few at a time cost a message each: wait until there is something worth sending.
    if wanted <= 0 or (worker.load >= group.lanes and wanted < ahead // 2):
        return []
    if len(group.waiting) > group.lanes * len(others):
        return [group.waiting.popleft() for _ in range(wanted)]
    picked = {place * len(group.waiting) // wanted for place in range(wanted)}
    taken = [number for place, number in enumerate(group.waiting) if place in picked]
    group.waiting = deque(n for place, n in enumerate(group.waiting) if place not in picked)
    return taken


def next_group(
    groups: Sequence[Group], workers: Sequence[Worker], backend: str = CPU
) -> Group | None:
    """The group a free worker of a backend should go to: one nobody of it is at, else the one with most runs left.

    A group whose lanes another measures is awaited, and its compiled program with them; so are other backends' trials.
    """
    others = [worker for worker in workers if worker.backend == backend]
    measured = [worker.group for worker in others if not worker.ready and worker.sample is not None]
    open_groups = [
        group
        for group in groups
        if group.left
        and group not in measured
        and (group.backend == backend or (not group.backend and backend not in group.trials))
    ]
    taken = [worker.group for worker in others if not (worker.idle and worker.ready)]
    free = [group for group in open_groups if group not in taken]
    return max(free[:1] or open_groups, key=lambda group: group.left, default=None)


def choose_backend(group: Group, groups: Sequence[Group], workers: Sequence[Worker]) -> str | None:
    """The backend on which the runs of a group are made, as trials on it tell; None while a trial is worth waiting for.

    The GPU must do more steps per second than the cores that the group could have, those of all groups shared out equally;
    without a trial there it gets none. A group that the cores do in seconds, or that comes while the GPU is at another,
    stays on the cores.
    """
    cores = [worker for worker in workers if worker.backend == CPU]
    gpus = [worker for worker in workers if worker.backend == GPU]
    if not (cores and gpus):
        return GPU if gpus else CPU
    if CPU not in group.trials:
        return None
    lanes, rate = group.trials[CPU]
    others = sum(1 for other in groups if other.left and other.backend != GPU)
    rate *= min(max(1, len(cores) // max(1, others)), -(-group.count // lanes))
    if group.steps <= SMALL_S * rate:
        return CPU
    if GPU in group.trials:
        return GPU if group.trials[GPU][1] > rate else CPU
    at = [worker.group for worker in gpus if worker.idle]
    return None if rate and any(g in (None, group) or not g.left for g in at) else CPU


def lanes_key(group: Group, backend: str) -> str:
    """Key of the lanes of a group on a backend, in the manifest."""
    return group.name if backend == CPU else f"{backend}: {group.name}"


def recall(worker: Worker, deaths: dict[int, int], durable: Container[int] = ()) -> list[int]:
    """Take back the runs of a worker that has died, but for those that it made durable; returns those that have failed.

    Runs it had begun are redone from their checkpoints; if a second worker dies with one, it is set apart and done
    alone, so that it takes no other down with it; a third time it has failed.
    """
    group: Any = worker.group
    failed = []
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
    return failed


def overrides(parameters: Any, base: Any = None) -> dict:
    """The fields in which parameters differ from others, by default from their defaults."""
    known = asdict(type(parameters)() if base is None else base)
    return {name: value for name, value in asdict(parameters).items() if value != known[name]}
