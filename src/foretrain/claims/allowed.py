"""Intervals that sentences of several studies allow."""

import math
from typing import Any

# "A plateau is there", "it is not", "I see two": a statement about every run one looks at. One in ten may differ.
ALWAYS, NEVER, SOME = (0.9, 1.0), (0.0, 0.1), (0.1, 0.9)
MOST = (0.5, 1.0)  # a majority
POSITIVE, NEGATIVE = (1e-9, math.inf), (-math.inf, -1e-9)  # a difference that the seeds establish


def around(middle: float, reach: float) -> tuple[float, float]:
    """The interval of values that lie within a reach of the middle."""
    return float(middle - reach), float(middle + reach)


# How much slower the loss falls on a plateau than beside it. Counters of plateaus ask for 1.5 to 4: what is stronger is
# there at every setting, what is weaker at none.
PLATEAU, NO_PLATEAU = (4.0, math.inf), (1.0, 1.5)


def by_strength(source: str, allowed: tuple[float, float], nth: str = "", **more) -> dict[str, Any]:
    """What sentences on the `nth` strongest plateau ("" is the strongest) have in common, for `sentence`."""
    why = "Counters of plateaus ask for 1.5 to 4: found at every such setting, or at none, in half of the runs."
    note = f"How many times slower the loss falls on the {nth}strongest plateau than beside it."
    common = {"statistic": "median", "why": why, "note": note}
    return {**common, "source": source, "allowed": allowed, **more}
