"""Claims made up for tests of tables, pages and figures."""

import math
from collections.abc import Sequence

import numpy as np

from foretrain.claims.claim import FAILS, HOLDS, INCONCLUSIVE, Claim
from foretrain.claims.interval import interval


def sample(
    id: str = "made",
    samples: Sequence[float] | np.ndarray | float = (1.0, 1.1),
    allowed: tuple[float, float] = (0.0, 2.0),
    **fields,
) -> Claim:
    """A claim of the mean of samples, one per seed, of the fraction that is True, or of a worst deviation, a number."""
    if isinstance(samples, float):
        inside = allowed[0] <= samples <= allowed[1]
        result = {"measured": samples, "uncertainty": None, "method": "exact", "seeds": 3}
        result["verdict"] = HOLDS if inside else FAILS
    else:
        kept = np.array(samples, None if np.asarray(samples).dtype == bool else float)
        kept = kept[np.isfinite(kept)]
        ends = interval(kept)
        result = {"measured": ends.measured if kept.size else math.nan, "method": ends.method}
        result |= {"seeds": int(kept.size), "left_out": len(samples) - int(kept.size)}
        result["uncertainty"] = (ends.low, ends.high)
        inside = allowed[0] <= ends.low and ends.high <= allowed[1]
        outside = ends.high < allowed[0] or ends.low > allowed[1]
        result["verdict"] = HOLDS if inside else FAILS if outside else INCONCLUSIVE
    words = {"statement": "It is small.", "source": "eq. (1)", "predicted": math.nan}
    options = {**words, **result, **fields}
    return Claim(id=id, allowed=(float(allowed[0]), float(allowed[1])), **options)
