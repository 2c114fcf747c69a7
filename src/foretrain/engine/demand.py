"""The memory that the inputs of a run take while they are made, foretold from smaller ones of the same study.

Where a whole number among the parameters is large, inputs are made with all such numbers made smaller by one factor, which
doubles until they take megabytes; the bytes that NumPy holds are continued as a constant and a power of that factor.
"""

import dataclasses
import math
import tracemalloc
from typing import Any

from foretrain.errors import TooLarge
from foretrain.plans.blocks import Run
from foretrain.plans.parameters import rules, types
from foretrain.streams import Seed
from foretrain.words import count
from foretrain.words import memory as in_words

_LARGE = 20_000  # smaller numbers are not looked at: inputs are then made at once
_FIRST = 1000  # the largest number of the first trial
_ENOUGH = 4 * 2**20  # bytes from which on what Python itself holds does not count
_NOT_SIZES = {field.name for field in dataclasses.fields(Run)}


def refuse_too_large(study: Any, p: Any, seed: Seed, *, workers: int, free: float) -> None:
    """Raise `TooLarge` where the inputs of one run per worker, as foretold, do not fit into what is free.

    Args:
        study: A `foretrain.plans.study.Study`.
        p: Parameters of a run.
        seed: Its seed.
        workers: Number of workers, which may all make inputs at once.
        free: Bytes of memory that are free.

    Cost: nothing unless a whole number is above 20,000; else inputs of some megabytes.
    """
    large = _large(p)
    needed = foretold_bytes(study, p, seed)
    if needed * workers > free:
        names = ", ".join(f"{name} = {value}" for name, value in large.items())
        raise TooLarge(
            f"The inputs of a run would take about {in_words(needed)} while they are made, by each of "
            f"{count(workers, 'worker')}, but {in_words(free)} are free. Try smaller sizes than {names}."
        )


def foretold_bytes(study: Any, p: Any, seed: Seed) -> float:
    """Most bytes that NumPy would hold while it makes the inputs of a run; 0.0 where smaller inputs cannot be made."""
    large = _large(p)
    share, peaks = _FIRST / max(large.values(), default=_FIRST), []
    while share < 1 and (len(peaks) < 3 or peaks[-1] < _ENOUGH):
        smaller = {n: max(_least(p, n), round(share * value)) for n, value in large.items()}
        try:
            peaks.append(_peak(study, dataclasses.replace(p, **smaller), seed))
        except Exception:  # the inputs of the run itself will say what is wrong
            return 0.0
        share *= 2
    return continued([share / 8, share / 4, share / 2], peaks[-3:]) if len(peaks) > 2 else 0.0


def _peak(study: Any, p: Any, seed: Seed) -> int:
    study.check(p)
    tracemalloc.start()
    try:
        study.inputs(p, seed)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def continued(shares: list[float], values: list[float]) -> float:
    """The value at 1 of a + b x^c, c within [0, 4], that takes three values where x is in the ratios 1, 2 and 4."""
    early, late = values[1] - values[0], values[2] - values[1]
    if early <= 0 or late <= 0:
        return float(values[2])
    power = min(4.0, max(1e-3, math.log2(late / early)))
    slope = late / (shares[2] ** power - shares[1] ** power)
    return values[2] + slope * (1 - shares[2] ** power)


def _large(p: Any) -> dict[str, int]:
    kinds = types(type(p))
    sizes = (name for name, kind in kinds.items() if kind is int and name not in _NOT_SIZES)
    return {name: getattr(p, name) for name in sizes if getattr(p, name) > _LARGE}


def _least(p: Any, name: str) -> int:
    least = rules(type(p))[name].minimum
    return 1 if least is None else int(least)
