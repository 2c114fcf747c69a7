"""What is claimed of sampled coefficients of deep linear networks."""

from typing import Any

import numpy as np

from foretrain.claims.allowed import POSITIVE
from foretrain.claims.sentence import Exact, PerSeed, sentence
from foretrain.theory.aoyagi import deep_linear, largest
from foretrain.theory.reduced_rank import coefficient_at
from foretrain.vocabulary import DIVERGED

from .study import SOURCE, parsed

OURS = "docs/studies/deep-linear-coefficients.md"
ALL: dict[str, Any] = {"over": "network"}
CLOSE = 0.1  # relative


def sampled(cell, variant=""):
    """Sampled coefficients, shape (network, seed)."""
    data = cell.variants[variant] if variant else cell.simulation
    return data["learning_coefficient"].transpose("network", "seed").values


def exact(cell):
    """Closed forms: coefficient and multiplicity, shape (network, 1)."""
    found = [deep_linear(*parsed(name)) for name in cell.values("network")]
    return np.array(found, float).T[..., None]


def at_zero(names):
    """Those of two layers that realise nothing, of which a value at finite beta is known; name and widths."""
    shapes = ((name, *parsed(name)) for name in names)
    return [(name, widths) for name, widths, rank in shapes if len(widths) == 3 and rank == 0]


def known(cell):
    """Which networks have a value at finite beta; and that value, shape (network, 1)."""
    p, names = cell.parameters, cell.values("network")
    shapes = at_zero(names)
    values = [coefficient_at(widths, p.beta, p.localisation) for _, widths in shapes]
    return [list(names).index(name) for name, _ in shapes], np.array(values)[:, None]


@sentence(
    "Sampled coefficients are the closed form within a tenth.",
    source="Lau et al. (2023), section 6, with " + SOURCE,
    predicted=1,
    allowed=(0.9, 1),
    why="The share of the networks for which the mean of all chains is; one in ten may have chains that mix badly.",
    **ALL,
)
def closed_form(cell):
    limit = exact(cell)[0]
    near = np.abs(sampled(cell).mean(1, keepdims=True) / limit - 1) <= CLOSE
    short = [name for name, ok in zip(cell.values("network"), near[:, 0], strict=True) if not ok]
    note = f"{len(short)} of {near.size} are not" + (
        f", such as {', '.join(short[:4])}." if short else "."
    )
    return Exact(float(near.mean()), note)


@sentence(
    "No sampled coefficient is above the closed form by more than a tenth: at finite beta it is approached from below.",
    source=OURS,
    predicted=0,
    allowed=(0, 0.05),
    why="A share of the networks; chains that mix badly may stray to either side.",
    **ALL,
)
def from_below(cell):
    limit = exact(cell)[0]
    return Exact(float((sampled(cell).mean(1, keepdims=True) > (1 + CLOSE) * limit).mean()))


@sentence(
    "What is missing is larger for networks of larger multiplicity: the coefficient at beta falls short by (m - 1)/ln(beta).",
    source=OURS,
    allowed=POSITIVE,
    why="A difference that the seeds establish, of which (m - 1)/ln(beta) would make about a seventh or more.",
    note="Mean of what is missing over networks with m > 1, minus that over networks with m = 1.",
    **ALL,
)
def multiplicity(cell):
    limit, m = exact(cell)
    missing = limit - sampled(cell)
    several = m[:, 0] > 1
    if several.all() or not several.any():
        return None
    return missing[several].mean(0) - missing[~several].mean(0)


def least(cell):
    """The least that (missing at the largest beta)/(at the smallest) can be, times the ratio of logarithms.

    At the largest beta two layers at zero miss what one determinant says, and no network less than nothing; at the smallest
    all miss a tenth at most.
    """
    betas, names = cell.values("beta"), cell.values("network")
    limits = {name: deep_linear(*parsed(name)).coefficient for name in names}
    gaps = [
        limits[name] - coefficient_at(shape, betas[-1], cell.parameters.localisation)
        for name, shape in at_zero(names)
    ]
    return sum(gaps) / (CLOSE * sum(limits.values())) * np.log(betas[-1]) / np.log(betas[0])


@sentence(
    "More of the coefficient is there at larger beta: what is missing falls in proportion to 1/ln(beta) or faster.",
    source=OURS,
    allowed=lambda cell: (least(cell), 1.1),
    why="What is missing at the largest beta over that at the smallest, times the ratio of logarithms; a tenth for chains. At "
    "least what two layers at zero miss by one determinant at the largest beta, over a tenth of all closed forms.",
    over=("network", "beta"),
)
def at_larger_beta(cell):
    betas = np.array(cell.values("beta"))
    if len(betas) < 2:
        return None
    names = cell.values("network")
    limit = np.array([deep_linear(*parsed(name)).coefficient for name in names])[:, None, None]
    found = cell.simulation["learning_coefficient"].transpose("network", "beta", "seed").values
    missing = (limit - found).mean(0)
    return missing[-1] / missing[0] * np.log(betas[-1]) / np.log(betas[0])


@sentence(
    "Two layers that realise nothing have at every beta the coefficient that one determinant gives.",
    source=OURS,
    predicted=0,
    allowed=(-0.05, 0.05),
    why="Mean over these networks of the relative difference; chains of 750 paths are worth hundreds of draws, of a loss "
    "whose deviation is below its mean.",
    **ALL,
)
def finite_beta(cell):
    chosen, exact_ = known(cell)
    if not chosen:
        return None
    return PerSeed((sampled(cell)[chosen] / exact_ - 1).mean(0))


@sentence(
    "Deep linear networks have fewer effective parameters than parameters, at every shape.",
    source="Bushnaq et al. (2024), section 2.1",
    predicted=1,
    allowed=(1, 1),
    why="A count of networks of which the closed form and the samples are both below half the number of parameters.",
    **ALL,
)
def fewer(cell):
    half = np.array([[largest(parsed(name)[0])] for name in cell.values("network")])
    below = (exact(cell)[0] < half) & (sampled(cell).mean(1, keepdims=True) < half)
    return Exact(float(below.mean()))


@sentence(
    "Langevin steps without correction, of which Metropolis would take four in five, give the same within a twentieth.",
    source=OURS,
    of=("", "langevin"),
    among="chains that did not diverge",
    predicted=0,
    allowed=(-0.05, 0.05),
    why="Mean over networks of the relative difference; each step's bias is of the order of one in five refused.",
    **ALL,
)
def langevin(cell):
    if "langevin" not in cell.variants:
        return None
    other, own = sampled(cell, "langevin"), sampled(cell)
    gone = cell.variants["langevin"]["outcome"].transpose("network", "seed").values == DIVERGED
    gap = np.where(gone, np.nan, other / own.mean(1, keepdims=True) - 1)
    return PerSeed(np.nanmean(gap, 0), f"{gone.sum()} of {gap.size} chains diverged.")


langevin_corrected = langevin.corrected(
    "Langevin steps without correction, of which Metropolis would take four in five, give too much, by more than a tenth.",
    allowed=(0.1, np.inf),
    why="Mean over networks of the relative difference. One in five refused is a mean energy error of about .13 for each "
    "step, which without the refusal heats every stiff direction by something of this order.",
)
