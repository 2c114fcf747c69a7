"""What is claimed of sampled coefficients of deep linear networks."""

from typing import Any

import numpy as np

from foretrain.claims.allowed import POSITIVE
from foretrain.claims.sentence import Exact, PerSeed, sentence
from foretrain.measures.trajectory import at_end
from foretrain.theory.aoyagi import deep_linear, largest
from foretrain.vocabulary import DIVERGED

from .study import SOURCE, parsed

OURS = "docs/studies/deep-linear-coefficients.md"
ALL: dict[str, Any] = {"over": "network"}
CLOSE = 0.1  # relative


def sampled(cell, variant=""):
    """Sampled coefficients, shape (network, seed)."""
    data = cell.variants[variant] if variant else cell.simulation
    return at_end(data)["sampled_coefficient"].transpose("network", "seed").values


def exact(cell):
    """Closed forms: coefficient and multiplicity, shape (network, 1)."""
    found = [deep_linear(*parsed(name)) for name in cell.values("network")]
    return np.array(found, float).T[..., None]


def narrow(cell):
    """Which networks have one hidden unit and two layers and realise nothing: their coefficient is one integral."""
    shapes = [parsed(name) for name in cell.values("network")]
    return [number for number, (w, r) in enumerate(shapes) if len(w) == 3 and w[1] == 1 and r == 0]


def integral(widths, beta: float, pull: float) -> float:
    """Beta E|u|^2|v|^2 for u in R^a, v in R^b with a Gaussian prior: v integrated out, the length of u by trapezia."""
    a, _, b = widths
    r = np.geomspace(1e-6, 12, 20_000) / np.sqrt(pull)
    steep = pull + 2 * beta * r**2
    log = a * np.log(r) - pull * r**2 / 2 - b / 2 * np.log(steep)
    weight = np.exp(log - log.max())
    share = np.trapezoid(weight * b / steep * r**2, np.log(r))
    return float(beta * share / np.trapezoid(weight, np.log(r)))


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


@sentence(
    "More of the coefficient is there at larger beta: what is missing falls in proportion to 1/ln(beta) or faster.",
    source=OURS,
    allowed=(-np.inf, 1.1),
    why="What is missing at the largest beta over that at the smallest, times the ratio of logarithms; a tenth for chains.",
    over=("network", "beta"),
)
def at_larger_beta(cell):
    betas = np.array(cell.values("beta"))
    if len(betas) < 2:
        return None
    names = cell.values("network")
    limit = np.array([deep_linear(*parsed(name)).coefficient for name in names])[:, None, None]
    found = (
        at_end(cell.simulation)["sampled_coefficient"].transpose("network", "beta", "seed").values
    )
    missing = (limit - found).mean(0)
    return missing[-1] / missing[0] * np.log(betas[-1]) / np.log(betas[0])


@sentence(
    "Networks with one hidden unit have at every beta the coefficient that one integral gives.",
    source=OURS,
    predicted=0,
    allowed=(-0.05, 0.05),
    why="Relative; chains of 750 paths are worth hundreds of draws, of a loss whose deviation is about its mean.",
    **ALL,
)
def one_unit(cell):
    chosen = narrow(cell)
    if not chosen:
        return None
    p, names = cell.parameters, cell.values("network")
    said = [integral(parsed(names[k])[0], p.beta, p.pull) for k in chosen]
    return PerSeed((sampled(cell)[chosen] / np.array(said)[:, None] - 1).mean(0))


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
