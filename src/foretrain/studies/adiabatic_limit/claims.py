"""What is claimed of the adiabatic limit; the corrected forms are derived in ``docs/studies/adiabatic-limit.md``."""

import numpy as np

from foretrain.quantities.power_law import power
from foretrain.study import Exact, sentence

from .study import SOURCE

OWN = "docs/studies/adiabatic-limit.md"
ORDER = {
    "source": OWN,
    "predicted": 1,
    "allowed": (0.85, 1.15),
    "why": "Errors of second order at ratios up to .03; were the first order missing, or not caught, it would be 0 or 2.",
    "over": "rate_ratio",
    "note": "Slope in logarithms, over ratios of at most .03.",
}


def order(cell, error):
    """Slope of an error (rate_ratio, seed) at the small ratios; None where there are fewer than three."""
    ratios = np.array(cell.values("rate_ratio"))
    small = (ratios <= 0.03) & (ratios > 0)
    if small.sum() < 3 or cell.parameters.weight_decay:
        return None
    return power(ratios[small], error[small])


def deviation_error(cell, isotropic=False):
    """Largest distance over time from the frozen map's deviations, or from exp(-t), over that at the start; (axis, seed)."""
    found, said = cell.simulation["deviations"], cell.theory["deviations"]
    first = found.isel(step=0, drop=True)
    if isotropic:
        said = first * np.exp(-found["time"])
    gap, size = (
        ((x**2).sum(("sample", "coordinate"), skipna=False)) ** 0.5 for x in (found - said, first)
    )
    return (gap.max("step", skipna=False) / size).values


@sentence(
    "Inputs of the same label attract each other by (x1 - x2)' = -eta_x A'A (x1 - x2), whatever the ratio.",
    source=f"{SOURCE}, eq. (40)",
    predicted=0,
    allowed=(0, 1e-10),
    why="Bias and label cancel in the difference; one solver steps both sides, which leaves rounding.",
    note="Largest deviation from the propagator of the run's own A'A.",
)
def pairs(cell):
    return Exact(float(cell.simulation["pair_gap"].max(skipna=False)))


@sentence(
    "The bias is (1 - exp(-eta_A t)) y.",
    source=f"{SOURCE}, eq. (38)",
    predicted=0,
    allowed=(0, 0.05),
    why="What is dropped, A x, should be small beside the label.",
    note="Relative error of b . y at the end.",
)
def bias(cell):
    if cell.parameters.rate_ratio == 0:
        return None
    found = cell.simulation["learned_bias"].isel(step=-1).values
    time = float(cell.simulation["time"].values[-1])
    return np.abs(found / -np.expm1(-cell.parameters.rate_ratio * time) - 1)


@sentence(
    "The bias integrates what the frozen map leaves of the label, with an error of first order in the ratio.",
    corrects="bias",
    **ORDER,
)
def bias_corrected(cell):
    found, said = (data["learned_bias"].isel(step=-1) for data in (cell.simulation, cell.theory))
    return order(cell, np.abs(found / said - 1).values)


@sentence(
    "In the adiabatic limit the map may be frozen: deviations differ from exp(-A'A t) by the ratio to first order.",
    **ORDER,
)
def frozen(cell):
    return order(cell, deviation_error(cell))


@sentence(
    "With a standard start A'A is the identity, so that deviations fall as exp(-eta_x t), up to 1/sqrt(k).",
    source=SOURCE,
    predicted=-0.5,
    allowed=(-0.65, -0.35),
    why="Eigenvalues of A'A scatter about 1 as k^-1/2; draws of the map alone give -.50, with .15 from seed to seed.",
    over="output_dim",
    note="Slope in logarithms of the largest error over time against k, at ratios of at most .01.",
)
def isotropic(cell):
    p, widths = cell.parameters, np.array(cell.values("output_dim"))
    if len(widths) < 3 or p.rate_ratio > 0.01 or p.weight_decay:
        return None
    return power(widths, deviation_error(cell, isotropic=True))
