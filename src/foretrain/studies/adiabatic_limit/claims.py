"""Claims on the adiabatic limit; the corrected forms are derived in ``docs/studies/adiabatic-limit.md``."""

import numpy as np

from foretrain.study import claim, slope

from .study import SOURCE

ORDER = {
    "source": "docs/studies/adiabatic-limit.md",
    "rank": "headline",
    "near": 1,
    "inside": (0.85, 1.15),
    "along": "rate_ratio",
    "where": lambda c: not c.p.weight_decay,
    "why": "Errors of second order at ratios up to .03; were the first order missing, or not caught, it would be 0 or 2.",
    "note": "Slope in logarithms, over ratios of at most .03.",
}


def order(error):
    """Return the power of the ratio of rates with which an error grows, at ratios of at most .03."""
    return slope(error.where(error.rate_ratio <= 0.03, drop=True), "rate_ratio")


def error(c, expected=None):
    """Return the largest distance over time of the deviations from those expected, over that at the start."""

    def size(x):
        return (x**2).sum(("sample", "coordinate"), skipna=False) ** 0.5

    gap = size(c.deviations - (c.theory.deviations if expected is None else expected))
    return gap.max("step", skipna=False) / size(c.start.deviations)


CLAIMS = [
    claim(
        "pairs",
        "Two inputs of one label attract each other by (x1 - x2)' = -eta_x A'A (x1 - x2), at any ratio of the learning rates.",
        lambda c: c.pair_gap,
        at_most=1e-10,
        rank="headline",
        source=f"{SOURCE}, eq. (40)",
        why="Bias and label cancel in the difference; one solver steps both sides, which leaves rounding.",
        note="Largest deviation from the propagator of the run's own A'A.",
    ),
    *claim(
        "bias",
        "The bias of the map is (1 - exp(-eta_A t)) times the label.",
        lambda c: abs(c.end.learned_bias / -np.expm1(-c.p.rate_ratio * float(c.time[-1])) - 1),
        near=0,
        inside=(0, 0.05),
        where=lambda c: c.p.rate_ratio > 0,
        source=f"{SOURCE}, eq. (38)",
        why="What is dropped, A x, should be small beside the label.",
        note="Relative error of b . y at the end.",
    ).and_corrected(
        "The bias of the map integrates the part of the label that the frozen map leaves, with an error of first order in the "
        "ratio of the learning rates.",
        quantity=lambda c: order(abs(c.end.learned_bias / c.theory.end.learned_bias - 1)),
        **ORDER,
    ),
    claim(
        "frozen",
        "While the map learns slowly it may be taken as frozen: deviations of inputs differ from exp(-A'A t) in proportion to "
        "the ratio of the learning rates.",
        lambda c: order(error(c)),
        **ORDER,
    ),
    claim(
        "isotropic",
        "From a standard start A'A is the identity up to 1/sqrt(k), so that deviations of inputs fall as exp(-eta_x t).",
        lambda c: slope(error(c, c.start.deviations * np.exp(-c.time)), "output_dim"),
        near=-0.5,
        inside=(-0.65, -0.35),
        along="output_dim",
        where=lambda c: c.p.rate_ratio <= 0.01 and not c.p.weight_decay,
        source=SOURCE,
        why="Eigenvalues of A'A scatter about 1 as k^-1/2; draws of the map alone give -.50, with .15 from seed to seed.",
        note="Slope in logarithms of the largest error over time against k, at ratios of at most .01.",
    ),
]
