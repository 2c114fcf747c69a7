"""Runs that are computed on the host of a worker: what a study measures, and what it samples of a posterior.

Nothing of a run is stored before it has ended, so that one that was interrupted begins anew.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple

import numpy as np

from foretrain.arithmetic import arithmetic
from foretrain.dynamics.program import COMPUTED, DIVERGED
from foretrain.plans.card import StudyError
from foretrain.plans.study import Study
from foretrain.results.segment import FinishedRun
from foretrain.streams import Seed

_SAMPLED = "learning_coefficient"
_SAMPLER = "foretrain.degeneracy.sampled.sampling:sampled"  # looked up where a study asks for it


class Waiting(NamedTuple):
    """A run that has not begun: its identity, its parameters and its seed."""

    identity: str
    parameters: Any
    seed: Seed


class Host:
    """Computes one run after another; stands where `foretrain.engine.lanes.Lanes` stands for runs that are trained.

    ``failed(identity, error)`` is the record of a run that has raised; for `along_step` see `by_step`.
    """

    lanes = 1

    def __init__(
        self,
        study: Study,
        failed: Callable[[str, BaseException], FinishedRun],
        along_step: Mapping[str, int],
    ):
        self._study, self._failed, self._along_step = study, failed, along_step
        self._queue: deque[Waiting] = deque()
        self.strides_done = 0  # runs that were computed

    @property
    def waiting(self) -> int:
        """Number of runs that have not begun."""
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """True if a run is left."""
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
            stored = self._study.stored_steps(run.parameters)
            steps, curves, finals = by_step(arrays, self._along_step, stored)
        except (Exception, SystemExit) as error:
            if isinstance(error, MemoryError):
                raise
            return [self._failed(run.identity, error)]
        sampled = arrays.get(_SAMPLED)
        outcome = COMPUTED if sampled is None or np.isfinite(sampled).all() else DIVERGED
        return [FinishedRun(run.identity, outcome, 0, steps, curves, finals)]

    def in_flight(self) -> list:
        """Nothing: no run is half done between two calls."""
        return []


def computed(study: Study, p: Any, seed: Seed) -> dict[str, np.ndarray]:
    """All that one run of a study computes on the host, by name.

    Posteriors are sampled in float64 unless the parameters have a `precision` that says otherwise.
    """
    arrays = study.measure(p, seed)
    with arithmetic(vars(p).get("precision", "float64")):
        posterior = study.posterior(p, seed)
        if posterior is not None:
            arrays |= resolve_name(_SAMPLER)(posterior, p, seed)
    return {name: np.asarray(value) for name, value in arrays.items()}


def by_step(
    arrays: Mapping[str, np.ndarray], along_step: Mapping[str, int], steps: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Part what a run computed into step numbers, arrays along ``step``, with ``step`` in front, and all others.

    Args:
        arrays: Name to array.
        along_step: Name of every variable with a dim ``step`` to the position of that dim.
        steps: Known step numbers, shape (step,); where there are none, they are 0, 1, ...

    Raises:
        StudyError: an array is longer or shorter along ``step`` than the step numbers.
    """
    curves = {
        name: np.moveaxis(array, along_step[name], 0)
        for name, array in arrays.items()
        if array.ndim > along_step.get(name, array.ndim)
    }
    others = {name: array for name, array in arrays.items() if name not in curves}
    if not curves:
        return np.zeros(0, np.int64), {}, others
    if not len(steps):
        steps = np.arange(len(next(iter(curves.values()))))
    for name, curve in curves.items():
        if len(curve) != len(steps):
            raise StudyError(
                f"Variable `{name}` must have one value along `step` for each of {len(steps)} steps, but has {len(curve)}."
            )
    return steps, curves, others
