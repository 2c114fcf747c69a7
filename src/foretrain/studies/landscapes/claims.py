"""What is claimed of landscapes with known volume; for the derivations see ``docs/theory/landscapes.md``."""

import numpy as np

from foretrain.claims.deviation import largest
from foretrain.claims.sentence import Exact, PerSeed, sentence
from foretrain.theory.landscapes import temperature_from_volume

from .study import SCALES, SOURCE, of

OURS = "docs/theory/landscapes.md"
WALK = "Sixty-four walkers of 1200 steps, worth a thousand draws of what scatters by half: twenty runs are off by .005."
FEW = 200  # points thrown below a scale, of all seeds, under which a slope is not judged


def one(*names):
    """The sentence speaks of these landscapes."""
    return lambda cell: cell.parameters.landscape in names


def sampled(cell):
    """lambda_Z of every run."""
    return cell.simulation["learning_coefficient"].values


def exact(cell):
    """lambda_Z by its formula."""
    p = cell.parameters
    return float(of(p.landscape, p.c).by_temperature(p.beta))


def slopes(cell):
    """Slope of ln(share below) from each scale to the next over all seeds, its standard error, and where it is judged."""
    shares = cell.simulation["share_below"].transpose("seed", "scale").values
    thrown = cell.parameters.points * np.isfinite(shares[:, 0]).sum()
    below = np.nanmean(shares, 0) * thrown
    with np.errstate(divide="ignore", invalid="ignore"):
        share = below[:-1] / below[1:]
        width = np.log(SCALES[1:] / SCALES[:-1])
        error = np.sqrt((1 - share) / (share * below[1:])) / width
        return -np.log(share) / width, error, below[:-1] >= FEW


@sentence(
    "Sampled at an inverse temperature, beta E[L] is the closed form of that temperature, not its limit.",
    source=OURS,
    predicted=exact,
    allowed=lambda cell: (exact(cell) - 0.02, exact(cell) + 0.02),
    why=WALK,
)
def by_temperature(cell):
    return sampled(cell)


@sentence(
    "The volume of low loss grows at every scale as the closed form says.",
    source=OURS,
    predicted=0,
    allowed=(0, 4.5),
    why="Standard errors; of the 600 slopes at 25 scales in 24 cells none is off by more than 4.5 once in 200 such studies.",
)
def by_volume(cell):
    found, error, told = slopes(cell)
    gap = (
        np.abs(found - cell.theory["volume_coefficient"].values.reshape(-1)[-found.size :]) / error
    )
    return largest(gap[told], f"Largest of {told.sum()} scales, in standard errors.")


def middle(cell):
    """Logarithm over ln c of the scale where the slope of the volume is halfway between 1/2 and 1/4."""
    found, _, told = slopes(cell)
    between = np.log(np.sqrt(SCALES[1:] * SCALES[:-1]))[told]
    # A straight line through the three slopes beside the middle.
    order = np.argsort(np.abs(found[told] - 0.375))[:4]
    slope, shift = np.polyfit(between[order], found[told][order], 1)
    return Exact(float((0.375 - shift) / slope / np.log(cell.parameters.c)))


@sentence(
    "The landscape c^2 w^2 + w^4 is quadratic below a loss of about c^(1/4), and quartic above it.",
    source=SOURCE,
    predicted=0.25,
    allowed=(-0.75, 1.25),
    why="Within a factor c or 1/c. What is measured is the power of c at which the slope is 3/8.",
    where=one("crossover"),
)
def crossover(cell):
    return middle(cell)


crossover_corrected = crossover.corrected(
    "The landscape c^2 w^2 + w^4 is quadratic below a loss of about c^4, and quartic above it.",
    source=OURS,
    predicted=4,
    allowed=(3, 5),
    why="Within a factor c or 1/c. What is measured is the power of c at which the slope is 3/8; by the formula at c^4 3/4.",
)


@sentence(
    "Free directions that do not interact are free at every scale: two of w1^2 in three parameters.",
    source=SOURCE,
    predicted=2,
    allowed=(1.95, 2.05),
    why=WALK + " Walls of the box add exp(-beta), at beta = 10 nothing.",
    where=one("plane"),
)
def plane(cell):
    return 3 - 2 * sampled(cell)


@sentence(
    "Of the two free directions of w1^2 w2^2, which interact fully, one is free.",
    source=SOURCE,
    predicted=1,
    allowed=(0.9, 1.1),
    why="A tenth, for a statement about a limit.",
    where=one("cross"),
)
def cross(cell):
    return 2 - 2 * sampled(cell)


cross_corrected = cross.corrected(
    "Of the two free directions of w1^2 w2^2 one is free in the limit; at every temperature that can be reached there is "
    "more, by about 2/ln(beta).",
    source=OURS,
    predicted=lambda cell: 2 - 2 * exact(cell),
    allowed=lambda cell: (2 - 2 * exact(cell) - 0.04, 2 - 2 * exact(cell) + 0.04),
    why=WALK + " Freedom is off by twice that.",
)


@sentence(
    "Free directions may interact in part: of those of w1^2 w2^4 a number between one and two is free, tending to 1.5.",
    source=SOURCE,
    predicted=1.5,
    allowed=(1.4, 1.6),
    why="At beta of at least 1000 the closed form is within .05 of the limit, and "
    + WALK[0].lower()
    + WALK[1:],
    where=lambda cell: cell.parameters.landscape == "partial" and cell.parameters.beta >= 1000,
)
def partial(cell):
    return 2 - 2 * sampled(cell)


@sentence(
    "What samplers give at beta is lambda(eps) at the scale eps = lambda/beta of the loss.",
    source="Bushnaq et al. (2024), eqs (8), (9), with the estimator of Lau et al. (2023)",
    predicted=0,
    allowed=(-0.005, 0.005),
    why="One standard error of the mean over twenty seeds: a difference that they can see.",
    where=one("cross", "crossover", "partial"),
)
def same_curve(cell):
    p, found = cell.parameters, sampled(cell)
    return found - of(p.landscape, p.c).by_volume(found / p.beta)


@sentence(
    "What samplers give at beta is the mean of lambda(eps) over scales, with weight V(eps) exp(-beta eps).",
    source=OURS,
    corrects="same-curve",
    predicted=0,
    allowed=(-0.03, 0.03),
    why="Volumes as measured, whose slopes have errors of up to .05 at each of the scales that count, and the walkers' .01.",
    where=one("cross", "crossover", "partial"),
)
def same_curve_corrected(cell):
    value, _, told = slopes(cell)
    between = np.log(np.sqrt(SCALES[1:] * SCALES[:-1]))[told]
    fine = np.linspace(np.log(1e-9), 0, 4000)
    curve = np.interp(fine, between, value[told])
    said = temperature_from_volume(lambda eps: curve, cell.parameters.beta, np.exp(fine))
    return PerSeed(sampled(cell) - said, f"Mean by measured volumes {said:.3f}.")
