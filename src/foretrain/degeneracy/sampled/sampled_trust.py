"""When a sampled number of effective parameters is trusted: the numbers behind a verdict, and what speaks against a value."""

from typing import NamedTuple

import numpy as np

# What a trusted estimate has at least or at most.
RHAT, EFFECTIVE, LENGTHS, ERROR, ACCEPTED = 1.04, 400, 100, 0.05, 0.4
ERRORS = 3.5  # standard errors by which what must be equal may differ
SHARE = 0.02  # of d, within which the virial must be known
NARROW = 0.02  # share of the mean loss that is not quadratic, up to which curvature must agree


class Checks(NamedTuple):
    """Numbers behind a verdict, of one scale.

    `virial` is (share, error, d): E[(w - w*) . grad U] as a mean along trajectories, in units of d, its standard error, and
    the number of parameters; `leaves` the same of every leaf of the parameters, by name. Along a trajectory of momenta p the
    time-average of u . grad U is that of p^2, whose mean is d, less the change of u . p over its length, which is what is
    measured: the plain mean scatters by far more. `rhat` is the larger of loss and |w - w*|^2, `between` how many standard
    errors the two groups of chains differ in the worse of them, `effective` and `lengths` the effective draws of loss and
    |w - w*|^2. `curvature` is N of the quadratic at w*, nan where not all of it is known; `beyond` is the share of the mean
    loss that the quadratic does not explain, 1 where chains do not move in its units. `accepted` is the least acceptance of
    a chain.
    """

    virial: tuple[float, float, int]
    leaves: dict[str, tuple[float, float, int]]
    rhat: float
    between: float
    effective: float
    lengths: float
    curvature: float
    beyond: float
    accepted: float


def growth(value: float, error: float, checks: Checks) -> float:
    """Return by how much draws must grow for `doubts` to end, if effective draws grow as draws do; at least 1.

    Of chains that agree R-hat^2 - 1 falls as their number does: halves of chains, 2 m of them, differ by 2 m/effective of the
    variance within.
    """
    wide = error / (ERROR * max(abs(value), 0.2))
    disagreement = (checks.rhat**2 - 1) / (RHAT**2 - 1)
    few = EFFECTIVE / max(checks.effective, 1.0), LENGTHS / max(checks.lengths, 1.0)
    return float(max(1.0, wide**2, disagreement, *few))


def doubts(value: float, error: float, checks: Checks) -> list[str]:
    """Why a value is not to be trusted; empty if it is."""
    if not np.isfinite(value):
        return ["no chain stayed finite"]
    reasons = []
    if not checks.rhat < RHAT:
        reasons.append(f"chains disagree, R-hat {checks.rhat:.3f}")
    if not checks.between < ERRORS:
        reasons.append(
            f"chains from w* and from outside differ by {checks.between:.1f} standard errors"
        )
    if not checks.effective >= EFFECTIVE:
        reasons.append(f"{checks.effective:.0f} effective draws")
    if not checks.lengths >= LENGTHS:
        reasons.append(f"{checks.lengths:.0f} effective draws of |w - w*|")
    if not error < ERROR * max(abs(value), 0.2):
        reasons.append(f"standard error {error:.2g}")
    for name, (share, own, _) in {"all": checks.virial, **checks.leaves}.items():
        if not abs(share - 1) < ERRORS * own:
            reasons.append(
                f"chains have not come round in {name}: E[(w - w*) . grad U] is {share:.1%} of d"
            )
    if not checks.virial[1] < SHARE:
        reasons.append(f"E[(w - w*) . grad U] is known to {checks.virial[1]:.0%} of d only")
    if not checks.accepted >= ACCEPTED:
        reasons.append(f"a chain moves in {checks.accepted:.0%} of its trajectories")
    gap = abs(value - checks.curvature)
    if checks.beyond < NARROW and gap > ERRORS * error + checks.beyond * value:
        reasons.append(f"curvature says {checks.curvature:.4g}, and the loss is quadratic there")
    if value < -ERRORS * error:
        reasons.append("it is negative: w* is no minimum")
    return reasons
