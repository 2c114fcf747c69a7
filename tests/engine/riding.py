"""Runs in lanes from first to last, as the engine boards them."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from foretrain.dynamics.program import Completed, Program, completed
from foretrain.engine.lanes import Lanes, Passenger
from foretrain.results.segment import FinishedRun


def ride(
    program: Completed, passengers: Iterable[Passenger], shared: dict[str, Any], lanes: int
) -> Iterator[FinishedRun]:
    """Run all passengers, taking them from the iterable as lanes get free; yields each run when it is done."""
    queue, riding = iter(passengers), Lanes(program, shared, lanes)
    more = True
    while more or riding.busy:
        while more and riding.waiting < riding.lanes:
            passenger = next(queue, None)
            more = passenger is not None
            riding.board(() if passenger is None else (passenger,))
        yield from riding.advance()


def trained(
    program: Program, parameters: Any, inputs: Iterable[dict], shared: dict | None = None, **more
) -> list[FinishedRun]:
    """Runs of a study's program in three lanes, one for each of some inputs and in their order; `more` goes to all."""
    common = {"root_seed": np.uint32(0), "max_steps": np.int32(parameters.steps), **more}
    passengers = (
        Passenger(f"{number:03}", {**fed, **common, "seed": np.uint32(number)})
        for number, fed in enumerate(inputs)
    )
    runs = ride(completed(program, parameters), passengers, shared or {}, 3)
    return sorted(runs, key=lambda run: run.identity)
