"""Spectral descent of deep linear paths: every singular value of every layer grows by the same amount a step.

M paths of L layers add up to modes of strengths s. Where layers are aligned the gradient of each is (s - p) a^(L-1) per mode,
of which spectral descent takes the sign: a(t) = a_0 + t, t being the step times the learning rate. Derived, with what Muon
does, in ``docs/studies/muon-race.md``; that smaller modes converge first is a result of Rhee, Simon & Karkada (2026),
arXiv 2606.30509, of which the abstract alone was read.
"""

from typing import Any

import numpy as np

#: Critical values of Muon's x -> 3.4445 x - 4.775 x^3 + 2.0315 x^5, at 1.050 and .5545: the iteration stays between them.
SHORTEST, LONGEST = 0.68183, 1.20237
#: Five iterations bring there what is at least `LEAST`; what is far smaller they multiply by `GAIN`, 3.4445^5.
LEAST, GAIN = 0.0015052, 484.88
#: In steps: 1 / (1 - .95) that the momentum remembers, and .95^2 / (1 - .95), the mean age of what Nesterov's form follows.
MEMORY, LAG = 20.0, 18.05
SLACK = 0.005  # error of a growth that is read off stored steps, a twelfth of the run apart at most


def learning_time(strengths: Any, fraction: Any, paths: int, depth: int) -> Any:
    """Return when modes (..., mode) are learned to a fraction, (fraction s / M)^(1/L); a start at a_0 is ahead by a_0."""
    return (fraction * strengths / paths) ** (1 / depth)


def muon_band(learning_rate: float, init_scale: float, shortest: float) -> tuple[float, float]:
    """Return the least and the largest time of Muon over that of spectral descent, of which `shortest` is the least.

    From layers of typical singular value `init_scale`; holds where `muon_margin` is at least 1.
    """
    start, memory = init_scale / shortest, MEMORY * learning_rate / shortest
    return (1 - start) / LONGEST, (1 + start) / SHORTEST + memory


def muon_margin(strengths: np.ndarray, fraction: float, depth: int) -> float:
    """Return by what factor all modes of square layers are within reach of Muon, below 1 where the weakest may be lost.

    Of the gradient's norm the weakest mode has r = s_n / |s|. Growth by SHORTEST beside LONGEST leaves, when the mode is
    nearly learned, r (1 - fraction) (SHORTEST / LONGEST)^(L-1), to be LEAST. A direction of y of the others grows as fast
    as they from GAIN r y^(L-1) = y on; half of all random layers have one below .5447 / n (Edelman 1988).
    """
    r = strengths.min() / np.linalg.norm(strengths)
    late = r * (1 - fraction) * (SHORTEST / LONGEST) ** (depth - 1) / LEAST
    return float(min(late, GAIN * r * (0.5447 / len(strengths)) ** (depth - 2)))


def muon_alone(
    learning_rate: float, strengths: np.ndarray, fraction: float, depth: int
) -> tuple[float, float]:
    """Return the least and the most that Muon's layers grow by in the first mode, in steps a step, once others are learned.

    Strengths are those over the number of paths. Learned layers a are off by D, LONGEST times LAG steps, at most; A is that of
    the first mode, up to its fraction q. Of its gradient others have up to r = L D |a^(2L-2)| / ((1 - q) q^(1-1/L) A^(2L-1)),
    so that it has 1 / (1 + r^2)^(1/2) to 1 of the norm; of 1 five iterations leave .6964. Paths whose layers differ by
    what stays add up more slowly, by mean(a^(L-1)) / mean(a^L)^(1-1/L), least where layers are 1 and LONGEST / SHORTEST.
    """
    layers = strengths ** (1 / depth)
    off = depth * LONGEST * LAG * learning_rate * np.linalg.norm(layers[1:] ** (2 * depth - 2))
    left = (1 - fraction) * fraction ** (1 - 1 / depth) * layers[0] ** (2 * depth - 1)
    part = np.linspace(1 / np.hypot(1, off / left), 1, 1000)
    for _ in range(5):
        part = 3.4445 * part - 4.775 * part**3 + 2.0315 * part**5
    low, high = ((LONGEST / SHORTEST) ** power - 1 for power in (depth - 1, depth))
    share = np.linspace(0, 1, 1000)
    unequal = ((1 + share * low) / (1 + share * high) ** (1 - 1 / depth)).min()
    return float(part.min() * unequal) - SLACK, float(part.max()) + SLACK


def muon_paths(depth: int) -> float:
    """Return the least share of all paths, (sum p)^2 / M sum p^2, that carry a mode where layers grow within Muon's bounds."""
    most = (LONGEST / SHORTEST) ** depth
    return 4 * most / (1 + most) ** 2


def strength(time: np.ndarray, strengths: np.ndarray, paths: int, depth: int) -> np.ndarray:
    """Return what aligned paths from zero pass on of each mode, min(M t^L, s), shape (time, mode)."""
    return np.minimum(paths * np.asarray(time)[:, None] ** depth, strengths)
