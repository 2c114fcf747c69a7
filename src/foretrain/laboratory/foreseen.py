"""The seconds that a study will take on this machine: what is known of two cores elsewhere, and a short trial here."""

import re
import time

import numpy as np

from foretrain.machine import usable_cores

CORES = 2  # on which the cost of a study is said
# Seconds of the trial on one of them: an AMD EPYC with nothing else to do.
REFERENCE_S = 0.155
# Of these seconds, the share in which one core works: starting, compiling, predicting, judging, drawing.
ALONE = 0.4
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_LOOPS, _PRODUCTS, _WIDTH = 1_400_000, 10_000, 32


def trial() -> float:
    """Seconds of a fixed piece of work on one core: half of it loops of Python, half small products, as steps take them.

    On a machine that others use as well it takes longer, as a study will. Cost: a sixth of a second where nobody does.
    """
    weights = np.full((_WIDTH, _WIDTH), 1 / _WIDTH, np.float32)
    state, total = np.ones_like(weights), 0
    began = time.perf_counter()
    for number in range(_LOOPS):
        total += number & 3
    for _ in range(_PRODUCTS):
        state = np.tanh(weights @ state)
    return time.perf_counter() - began


def seconds_on_two_cores(cost: str) -> float | None:
    """The cost of a study in seconds, such as 120 of "2 min"; None where its author says it otherwise, or not."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) (s|min|h)", cost.strip())
    return float(found[1]) * _UNITS[found[2]] if found else None


def seconds_here(cost: str) -> float | None:
    """The seconds that a study of this cost will take on the cores of this machine, as the trial tells; None as above."""
    elsewhere = seconds_on_two_cores(cost)
    if elsewhere is None:
        return None
    return elsewhere * (ALONE + (1 - ALONE) * CORES / usable_cores()) * trial() / REFERENCE_S
