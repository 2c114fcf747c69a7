"""Claims about landscapes with known volume; ``docs/theory/landscapes.md`` derives them."""

import numpy as np

from foretrain.study import Exact, PerSeed, claim
from foretrain.theory.landscapes import temperature_from_volume

from .study import SCALES, SOURCE, of

OURS = "docs/theory/landscapes.md"
DRAWS = "Sixty-four chains of 200 draws scatter by a hundredth, the mean over ten seeds by .003."
FEW = 200  # points thrown below a scale, of all seeds, under which a slope is not judged
BETWEEN = np.log(np.sqrt(SCALES[1:] * SCALES[:-1]))


def only(*names):
    """Condition that a cell is of one of these landscapes."""
    return lambda c: c.p.landscape in names


def exact(c):
    """The learning coefficient at the cell's temperature, by its formula."""
    return float(of(c.p.landscape, c.p.c).by_temperature(c.p.beta))


def free(dimension):
    """Quantity: number of free directions, the dimension less twice the learning coefficient."""
    return lambda c: dimension - 2 * c.learning_coefficient


def slopes(c):
    """Slope of ln(fraction below) from each scale to the next over all seeds, its standard error, and where it is judged."""
    shares = c.share_below.transpose("seed", "scale").values
    below = np.nanmean(shares, 0) * c.p.points * np.isfinite(shares[:, 0]).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = below[:-1] / below[1:]
        width = np.log(SCALES[1:] / SCALES[:-1])
        error = np.sqrt((1 - share) / (share * below[1:])) / width
        return -np.log(share) / width, error, below[:-1] >= FEW


def volume_gap(c):
    """Distance of the counted slopes from the closed form, in standard errors, at every scale that is judged."""
    value, error, judged = slopes(c)
    return ((value - c.theory.volume_coefficient.values.ravel()) / error)[judged]


def middle(c):
    """Logarithm over ln c of the scale where the slope of the volume is halfway between 1/2 and 1/4."""
    value, _, judged = slopes(c)
    order = np.argsort(np.abs(value[judged] - 0.375))[:4]  # a straight line through the nearest
    slope, shift = np.polyfit(BETWEEN[judged][order], value[judged][order], 1)
    return Exact(float((0.375 - shift) / slope / np.log(c.p.c)))


def beyond_scale(c):
    """The sampled coefficient less lambda(eps) at the scale eps = lambda/beta."""
    value = c.learning_coefficient
    return value - of(c.p.landscape, c.p.c).by_volume(value.values / c.p.beta)


def beyond_mean(c):
    """The sampled coefficient less the mean of the counted lambda(eps) with weight V(eps) exp(-beta eps)."""
    value, _, judged = slopes(c)
    fine = np.linspace(np.log(1e-9), 0, 4000)
    curve = np.interp(fine, BETWEEN[judged], value[judged])
    mean = temperature_from_volume(lambda eps: curve, c.p.beta, np.exp(fine))
    return PerSeed(c.learning_coefficient - mean, f"Mean by measured volumes {mean:.3f}.")


_crossover = claim(
    "crossover",
    "The landscape c^2 w^2 + w^4 is quadratic below a loss of about c^(1/4), and quartic above it.",
    middle,
    near=0.25,
    inside=(-0.75, 1.25),
    rank="headline",
    source=SOURCE,
    where=only("crossover"),
    why="Within a factor c or 1/c. The measured number is the power of c at which the slope is 3/8.",
)
_cross = claim(
    "cross",
    "Of the two free directions of w1^2 w2^2, which interact fully, one is free.",
    free(2),
    near=1,
    inside=(0.9, 1.1),
    rank="headline",
    source=SOURCE,
    where=only("cross"),
    why="A tenth, for a statement about a limit.",
)
CLAIMS = [
    claim(
        "by-temperature",
        "The sampled learning coefficient is the closed form at its temperature, not the limit of that form.",
        lambda c: c.learning_coefficient,
        near=exact,
        inside=lambda c: (exact(c) - 0.02, exact(c) + 0.02),
        source=OURS,
        why=DRAWS,
    ),
    claim(
        "by-volume",
        "The volume of low loss grows at every scale as its closed form says.",
        volume_gap,
        exact=True,
        near=0,
        inside=(0, 4.5),
        source=OURS,
        why="Standard errors; of the 600 slopes at 25 scales in 24 cells one is above 4.5 once in 200 studies.",
    ),
    _crossover,
    _crossover.corrected(
        "The landscape c^2 w^2 + w^4 is quadratic below a loss of about c^4, and quartic above it.",
        near=4,
        inside=(3, 5),
        source=OURS,
        why="Within a factor c or 1/c. The measured number is the power of c at which the slope is 3/8; at c^4 it is 3/4.",
    ),
    claim(
        "plane",
        "Free directions that do not interact are free at every scale: two of w1^2 in three parameters.",
        free(3),
        near=2,
        inside=(1.95, 2.05),
        rank="control",
        source=SOURCE,
        where=only("plane"),
        why=DRAWS + " Walls of the box add exp(-beta), at beta = 10 nothing.",
    ),
    _cross,
    _cross.corrected(
        "Of the two free directions of w1^2 w2^2 one is free in the limit; at every finite temperature more is free, by "
        "about 2/ln(beta).",
        near=lambda c: 2 - 2 * exact(c),
        inside=lambda c: (2 - 2 * exact(c) - 0.04, 2 - 2 * exact(c) + 0.04),
        source=OURS,
        why=DRAWS + " The number of free directions is off by twice that.",
    ),
    claim(
        "partial",
        "Free directions may interact in part: of those of w1^2 w2^4 a number between one and two is free, tending to 1.5.",
        free(2),
        near=1.5,
        inside=(1.4, 1.6),
        source=SOURCE,
        where=lambda c: c.p.landscape == "partial" and c.p.beta >= 1000,
        why="At beta of at least 1000 the closed form is within .05 of the limit; sampling adds less than .02.",
    ),
    claim(
        "same-curve",
        "Samplers at the inverse temperature beta measure lambda(eps) at the scale eps = lambda/beta of the loss.",
        beyond_scale,
        near=0,
        inside=(-0.005, 0.005),
        rank="headline",
        source="Bushnaq et al. (2024), eqs (8), (9), with the estimator of Lau et al. (2023)",
        where=only("cross", "crossover", "partial"),
        why="About one and a half standard errors of the mean over ten seeds: a difference that they can see.",
    ),
    claim(
        "same-curve.corrected",
        "Samplers at the inverse temperature beta measure the mean of lambda(eps) with the weight V(eps) exp(-beta eps).",
        beyond_mean,
        corrects="same-curve",
        near=0,
        inside=(-0.03, 0.03),
        rank="headline",
        source=OURS,
        where=only("cross", "crossover", "partial"),
        why="Counted volumes have slopes with errors of up to .05 at each scale that counts; the chains add .01.",
    ),
]
