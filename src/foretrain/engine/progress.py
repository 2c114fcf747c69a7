"""Progress of a sweep, as numbers and in words."""

from collections import deque
from dataclasses import dataclass, field

from foretrain.words import count

# By so much foreseen ends may differ: in seconds, and as a share of the time so far.
_SLACK_S, _SLACK = 2.0, 0.05
# Of the ends foreseen within such a share of the time so far one is kept.
_APART = 0.005


@dataclass(frozen=True)
class Progress:
    """A sweep at one moment."""

    phase: str  # "starting" (before any worker), "running", "done", or "stopped" (by an exception)
    groups: int  # number of static signatures, each of which is a program to compile
    total: int  # runs of this shard
    stored: int = 0  # those that were done before
    finished: int = 0  # those done since
    outcomes: dict[str, int] = field(default_factory=dict)  # of these, runs by name of the outcome
    predicted_steps: float = 0.0  # steps still to be done at the start, as predicted
    steps: int = 0  # steps done since the start
    # Seconds left, by the speed and the ratio of actual to predicted steps so far; None until `RemainingTime` knows.
    remaining_s: float | None = None
    bound: bool = False  # whether `remaining_s` is the most, as no run has ended yet
    uncompiled: int = 0  # programs that no worker has taken a step of yet
    compile_s: float | None = None  # seconds that these take, if each takes as long as those so far
    trains: bool = True  # whether runs are trained; else they are computed on the host
    places: str = ""  # where the workers run, in words, see `foretrain.engine.places.described`
    remark: str = ""  # what has become of a place, a sentence


class RemainingTime:
    """The seconds left, said once the estimates made since half of the time so far agree on it to within a factor of two."""

    def __init__(self):
        self._ends: deque[tuple[float, float]] = deque()  # when an end was foreseen, and that end

    def left(self, now_s: float, estimate_s: float) -> float | None:
        """The estimate, `now_s` seconds after the first step, or None where earlier ones tell another end."""
        if not self._ends or now_s - self._ends[-1][0] >= _APART * now_s:
            self._ends.append((now_s, now_s + estimate_s))
        while self._ends[0][0] < now_s / 2:
            self._ends.popleft()
        slack = max(_SLACK_S, _SLACK * now_s)
        estimates = [estimate_s, *(end - now_s for _, end in self._ends)]
        lowest, highest = estimate_s / 2 - slack, 2 * estimate_s + slack
        close = lowest <= min(estimates) and max(estimates) <= highest
        return estimate_s if close and self._ends[0][0] <= 0.6 * now_s else None


def describe(now: Progress) -> str:
    """Return the work that is left, in a line: printed before a long sweep."""
    left = now.total - now.stored
    text = f"{count(left, 'run')} to compute"
    if now.trains:
        programs = count(now.groups, "program")
        text = f"{count(left, 'run')}, about {now.predicted_steps:.2g} steps, {programs} to compile"
    known = f" ({now.stored} runs were found done)" if now.stored else ""
    return f"{text}, {now.places}{known}."
