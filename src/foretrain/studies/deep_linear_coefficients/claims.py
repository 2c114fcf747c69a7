"""Claims about sampled learning coefficients of deep linear networks."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import POSITIVE
from foretrain.study import Exact, PerSeed, claim, skip_if
from foretrain.theory.aoyagi import deep_linear
from foretrain.theory.reduced_rank import coefficient_at

from .study import SOURCE, parsed

OURS = "docs/studies/deep-linear-coefficients.md"
CLOSE = 0.1  # relative
ALL = {"along": "network", "source": OURS}


def mean(c):
    return c.learning_coefficient.mean("seed", skipna=False)


def at_zero(c):
    """Return the networks of two layers around zero, whose coefficient is known at every beta: name to widths."""
    shapes = ((name, *parsed(name)) for name in c.values("network"))
    return {name: widths for name, widths, rank in shapes if len(widths) == 3 and not rank}


def near_closed_form(c):
    """Return the fraction of the networks whose mean of all chains is within a tenth of the closed form."""
    near = abs(mean(c) / c.theory.learning_coefficient - 1) <= CLOSE
    far = [str(name) for name in c.axis("network").values[~near.values]]
    note = f", such as {', '.join(far[:4])}" if far else ""
    return Exact(float(near.mean()), f"{len(far)} of {near.size} are not{note}.")


def by_multiplicity(c):
    """Return the mean missing part over networks with m > 1, less that over networks with m = 1, per seed."""
    several = c.theory.multiplicity > 1
    skip_if(several.all() == several.any(), "all networks have a multiplicity above one, or none")
    gap = c.theory.limit - c.learning_coefficient
    return gap[several].mean("network", skipna=False) - gap[~several].mean("network", skipna=False)


def logarithms(c):
    """Return the smallest and largest beta, and the ratio of their logarithms."""
    betas = c.values("beta")
    return betas[0], betas[-1], np.log(betas[-1]) / np.log(betas[0])


def least(c):
    """Return the least that (missing at the largest beta)/(at the smallest) can be, times the ratio of logarithms.

    At the largest beta two layers at zero miss what one determinant says, others 0 or more; at the smallest all miss <= .1.
    """
    _, last, ratio = logarithms(c)
    limits = {name: deep_linear(*parsed(name)).coefficient for name in c.values("network")}
    zero, at = at_zero(c), (last, c.p.localisation)
    gaps = [limits[name] - coefficient_at(widths, *at) for name, widths in zero.items()]
    return sum(gaps) / (CLOSE * sum(limits.values())) * ratio


def at_larger_beta(c):
    first, last, ratio = logarithms(c)
    skip_if(first == last, "beta has one value")
    gap = (c.theory.limit - c.learning_coefficient).mean("network", skipna=False)
    return gap.sel(beta=last) / gap.sel(beta=first) * ratio


def finite_beta(c):
    """Return the mean over two layers around zero of the relative distance from the determinant's value, per seed."""
    shapes = at_zero(c)
    skip_if(not shapes, "no network has two layers around zero")
    values = [coefficient_at(widths, c.p.beta, c.p.localisation) for widths in shapes.values()]
    exact = xr.DataArray(values, dims="network", coords={"network": list(shapes)})
    gap = c.learning_coefficient.sel(network=list(shapes)) / exact - 1
    return gap.mean("network", skipna=False)


def langevin(c):
    gap = c.langevin_coefficient / mean(c) - 1
    gone = gap.isnull()
    return PerSeed(gap.mean("network"), f"{int(gone.sum())} of {gone.size} runs diverged.")


CLAIMS = [
    claim(
        "closed-form",
        "Sampled learning coefficients are the closed form within a tenth.",
        near_closed_form,
        near=1,
        inside=(0.9, 1),
        rank="headline",
        source="Lau et al. (2023), section 6, with " + SOURCE,
        along="network",
        why="A fraction of the networks; one in ten may have chains that mix badly.",
    ),
    claim(
        "from-below",
        "No sampled coefficient is above the closed form by more than a tenth: with beta it approaches the limit from below.",
        lambda c: Exact(float((mean(c) > (1 + CLOSE) * c.theory.limit).mean())),
        near=0,
        inside=(0, 0.05),
        why="A fraction of the networks; chains that mix badly may stray to either side.",
        **ALL,
    ),
    claim(
        "multiplicity",
        "The coefficient at beta falls short of its limit by (m - 1)/ln(beta): more where the multiplicity m is larger.",
        by_multiplicity,
        inside=POSITIVE,
        rank="headline",
        why="A difference that the seeds establish, of which (m - 1)/ln(beta) would make about a seventh or more.",
        **ALL,
    ),
    claim(
        "at-larger-beta",
        "The part of the coefficient that is missing falls with beta in proportion to 1/ln(beta) or faster.",
        at_larger_beta,
        inside=lambda c: (least(c), 1.1),
        along=("network", "beta"),
        source=OURS,
        why="At most a tenth above 1 for chains; at least what one determinant says of two layers at zero, over a tenth of "
        "all closed forms.",
        note="Missing part at the largest over that at the smallest beta, times the ratio of logarithms.",
    ),
    claim(
        "finite-beta",
        "Two layers around zero have at every beta the learning coefficient that one determinant gives.",
        finite_beta,
        near=0,
        inside=(-0.05, 0.05),
        rank="headline",
        why="Mean over these networks of the relative difference; eight chains are worth hundreds of draws, of a loss whose "
        "deviation is below its mean.",
        **ALL,
    ),
    *claim(
        "langevin",
        "Langevin steps without correction, of a tenth of the largest stable step, give the same coefficient within a "
        "twentieth.",
        langevin,
        among="chains that did not diverge",
        near=0,
        inside=(-0.05, 0.05),
        why="Mean over networks of the relative difference; to first order a step e heats a direction of curvature P by eP/4.",
        **ALL,
    ).and_corrected(
        "Langevin steps without correction, a tenth of the largest stable step long, give more than a tenth too much.",
        inside=(0.1, np.inf),
        why="Mean over networks of the relative difference. The stiffest direction is too hot by eP/4, a tenth; the bound is "
        "that at the ends of a short first run, and chains meet steeper places later.",
    ),
]
