"""Runs that are computed on the host of a worker: what a study measures, and what it samples of a posterior.

Nothing of a run is stored before it has ended, so that one that was interrupted begins anew.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import COMPUTED, DIVERGED
from foretrain.plans.study import Study
from foretrain.results.segment import FinishedRun
from foretrain.streams import Seed

_SAMPLED = "learning_coefficient"


class Waiting(NamedTuple):
    """A run that has not begun: its identity, its parameters and its seed."""

    identity: str
    parameters: Any
    seed: Seed


class Host:
    """Computes one run after another; stands where `foretrain.engine.lanes.Lanes` stands for runs that are trained.

    Args:
        study: The study whose ``measure`` and ``posterior`` are asked.
        failed: ``failed(identity, error)``: the record of a run that has raised.

    Attributes:
        strides_done: Runs that were computed.
    """

    lanes = 1

    def __init__(self, study: Study, failed: Callable[[str, BaseException], FinishedRun]):
        self._study, self._failed = study, failed
        self._queue: deque[Waiting] = deque()
        self.strides_done = 0

    @property
    def waiting(self) -> int:
        """Number of runs that have not begun."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """Whether a run is left."""
        return bool(self._queue)

    def board(self, runs: Iterable[Waiting]) -> None:
        """Add runs to the end of the queue."""
        self._queue.extend(runs)

    def advance(self) -> list[FinishedRun]:
        """Compute the next run; one that raises has failed, and no other with it."""
        if not self._queue:
            return []
        run = self._queue.popleft()
        self.strides_done += 1
        try:
            arrays = computed(self._study, run.parameters, run.seed)
        except (Exception, SystemExit) as error:
            if isinstance(error, MemoryError):
                raise
            return [self._failed(run.identity, error)]
        sampled = arrays.get(_SAMPLED)
        outcome = COMPUTED if sampled is None or np.isfinite(sampled).all() else DIVERGED
        return [FinishedRun(run.identity, outcome, 0, np.zeros(0, np.int64), finals=arrays)]

    def in_flight(self) -> list:
        """Nothing: no run is half done between two calls."""
        return []


class Nothing:
    """Lanes of a group whose program cannot be made or run: nothing ever rides."""

    lanes, waiting, strides_done, busy = 3, 0, 0, False

    def advance(self) -> list:
        """No run."""
        return []

    def in_flight(self) -> list:
        """No run."""
        return []


def computed(study: Study, p: Any, seed: Seed) -> dict[str, np.ndarray]:
    """All that one run of a study computes on the host, by name.

    Posteriors are sampled in float64 unless the parameters have a `precision` that says otherwise.
    """
    arrays = study.measure(p, seed)
    with arithmetic(vars(p).get("precision", "float64")):
        posterior = study.posterior(p, seed)
        if posterior is not None:
            from foretrain.degeneracy.sampled.sampling import sampled

            arrays |= sampled(posterior, p, seed)
    return {name: np.asarray(value) for name, value in arrays.items()}
