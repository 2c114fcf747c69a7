"""Intervals that sentences of several studies allow."""

import math
from typing import Any

import numpy as np

from foretrain.quantities.measured import PerSeed

# "A plateau is there", "it is not", "I see two": a statement about every run one looks at. One in ten may differ.
ALWAYS, NEVER, SOME = (0.9, 1.0), (0.0, 0.1), (0.1, 0.9)
MOST = (0.5, 1.0)  # a majority
POSITIVE, NEGATIVE = (1e-9, math.inf), (-math.inf, -1e-9)  # a difference that the seeds establish


def around(middle: float, reach: float) -> tuple[float, float]:
    """The interval of values that lie within a reach of the middle."""
    return float(middle - reach), float(middle + reach)


def tolerance(near: Any, reach: Any) -> dict[str, Any]:
    """Fields `near` and `inside` of a sentence that allows `reach` on either side; both numbers or functions of the cell."""

    def inside(c):
        ends: list[Any] = [value(c) if callable(value) else value for value in (near, reach)]
        return around(*ends)

    return {"near": near, "inside": inside if callable(near) or callable(reach) else inside(None)}


# How many times slower than beside it the loss falls on what counters call a plateau, from the mildest to the strictest.
SETTINGS = (1.5, 4.0)
FOUND, NOT_FOUND = (0.5, 1.0), (0.0, 0.5)  # in most runs, and in a minority


def by_settings(source: str, inside: tuple[float, float], nth: str = "", **more) -> dict[str, Any]:
    """Fields that sentences on the `nth` strongest plateau share, judged at all settings of a counter; for `sentence`."""
    why = "At every setting of a counter from 1.5 to 4 in most runs, or at none; what is so at some of them only is open."
    note = f"Share of runs with a {nth}plateau, from the strictest to the mildest setting."
    common = {"statistic": "fraction", "why": why, "note": note}
    return {**common, "source": source, "inside": inside, **more}


def over_settings(strengths: np.ndarray) -> PerSeed:
    """Return, per run, plateaus at the strictest setting of `SETTINGS` (1 or 0), up to plateaus at the mildest.

    Args:
        strengths: How many times slower the loss falls there than beside it, shape (seed,); nan where nothing is known.
    """
    known = np.isfinite(strengths)
    mild, strict = (np.where(known, strengths >= least, np.nan) for least in SETTINGS)
    median = f"{np.median(strengths[known]):.3g}" if known.any() else "unknown"
    return PerSeed(strict, f"Median strength {median}.", upto=mild)
