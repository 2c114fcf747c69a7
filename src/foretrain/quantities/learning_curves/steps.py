r"""Steps of a falling loss and the plateaus before them, by a definition that hangs on no setting.

A plateau is where the loss takes longer to fall by an amount than it takes just above and just below. For a window d (a
share of the first loss) let the dwell of a level be the time from first reaching it to first reaching d below it; a plateau of
strength A at that window is a local maximum of the dwell over levels that exceeds what lies between it and any longer dwell
by the factor A, on both sides (before the first level lies nothing, so that training may begin on one). Instead of one window
all are looked at, from a fiftieth of the first loss to half of it: noise makes plateaus at small windows, wide windows bridge
them, and the number found over the longest range of windows, on a logarithmic scale, is the number of plateaus. The strength
of the nth strongest is the largest A at which that number is n or more.

What rises above the first loss counts as that, and noise is taken out by the nearest curve that never rises (isotonic
regression), which has no setting either. No unit of time or of loss enters. What only slows down (an exponential, a power
law, a straight line that ends) has no plateau; nor has the flat end of training, as no fall follows.
"""

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.signal import find_peaks

from foretrain.quantities.learning_curves.plateaus import by_run

WINDOWS = np.geomspace(0.02, 0.5, 24)  # below the first, noise of two percent makes what there is
FACTORS = np.geomspace(1.1, 64, 32)
_LEVELS = 400


def plateau_strengths(times, losses, nth: int = 1, *, floor: float = 0.0) -> np.ndarray:
    """Strength of the `nth` strongest plateau of every run: 1 if it has fewer, nan if it diverged.

    Returns one of `FACTORS` or 1, shape (run,). Arguments as for `foretrain.quantities.learning_curves.plateaus`;
    losses below the share `floor` of the first are taken for it.
    """

    def strength(times, losses):
        enough = np.flatnonzero(_numbers(_diagram(times, losses, floor), FACTORS) >= nth)
        return float(FACTORS[enough[-1]]) if enough.size else 1.0

    return by_run(strength, times, losses)


def _diagram(times, losses, floor):
    """Start, dwell, level and strength of every local maximum of the dwell at every window, shape (plateau,) each."""
    times, losses = np.asarray(times, float), np.asarray(losses, float)
    fallen = -isotonic_regression(np.clip(losses / losses[0], floor, 1), increasing=False).x
    windows = WINDOWS[WINDOWS <= fallen[-1] - fallen[0], None]
    # Of shape (window, level).
    levels = np.linspace(fallen[0], fallen[-1] - windows[:, 0], _LEVELS, axis=-1)
    reached = _reached(times, fallen, levels)
    dwells = _reached(times, fallen, levels + windows) - reached
    logs = np.log(np.maximum(dwells, 1e-9 * (times[-1] - times[0])))
    plateaus = []
    for level, start, dwell, log in zip(levels, reached, dwells, logs, strict=True):
        # Nothing precedes the first level.
        peaks, traits = find_peaks(np.append(log.min() - 1, log), prominence=0)
        at = peaks - 1
        plateaus.append((start[at], dwell[at], -level[at], np.exp(traits["prominences"])))
    return plateaus + [(np.empty(0),) * 4] * (len(WINDOWS) - len(windows))


def _reached(times, fallen, levels):
    after = np.minimum(np.searchsorted(fallen, levels - 1e-12), len(fallen) - 1)
    before = np.maximum(after - 1, 0)
    rise = fallen[after] - fallen[before]
    share = np.where(rise > 0, (levels - fallen[before]) / np.where(rise > 0, rise, 1.0), 1.0)
    return times[before] + np.clip(share, 0, 1) * (times[after] - times[before])


def _numbers(by_window, factors):
    """Smallest of the numbers of plateaus, other than 0, that most windows show at each strength; 0 if there is none."""
    # Of shape (window, strength).
    counts = np.stack(
        [window[-1].size - np.searchsorted(np.sort(window[-1]), factors) for window in by_window]
    )
    windows = np.stack([(counts == number).sum(0) for number in range(counts.max() + 1)])
    windows[0] = 0
    return windows.argmax(0)
