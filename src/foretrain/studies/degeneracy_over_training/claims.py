"""Claims on effective parameters over training, and on ranking models by them."""

import numpy as np

from foretrain.quantities.allowed import MOST, NEGATIVE, POSITIVE, around
from foretrain.quantities.rank_correlation import jackknifed, rank_correlation
from foretrain.study import Exact, PerSeed, claim
from foretrain.training.routing import items_task

from .study import SOURCE, VARIANCE, domains
from .theory import winner_count

REACH = 2  # moments to either side, a twentieth of the run
FITTED, RIGHT = 0.1, 0.5  # errors, over that of zero, below which data are fitted or generalised
OURS = {"source": "docs/studies/degeneracy-over-training.md"}
PAPER = {"source": "Bushnaq et al. (2024), section 1: more degenerate, more general"}


def among(*systems):
    return lambda c: c.p.system in systems


ROUTING, GROKKING, LINEAR = among("routing"), among("grokking"), among("routing", "s-curve")


def effective(runs):
    return runs.effective_parameters.isel(noise_scale=1)


def last(values):
    return values.isel(moment=-1)


def first(error, level):
    """Return the first moment at which an error is below a level, -1 for never."""
    reached = error < level
    return reached.argmax("moment").where(reached.any("moment"), -1)


def generalised(c):
    """Return the moment at which the network generalises, -1 for none with room on both sides."""
    at = first(c.unseen_error, RIGHT)
    return at.where((at >= REACH) & (at < c.unseen_error.sizes["moment"] - REACH), -1)


def then(c, values):
    """Return the change of a curve from REACH moments before the study's own network generalises to as many after."""
    at = generalised(c)
    change = values.shift(moment=-REACH) - values.shift(moment=REACH)
    return change.isel(moment=at.clip(min=0)).where(at >= 0)


def against_rival(c, read, times=1):
    """Return the change of a curve at that moment, less so many times that of the network with nothing to find."""
    return then(c, read(c.simulation)) - times * then(c, read(c["rival"]))


def over(c, values, *networks):
    """Return the values of the seeds whose races are over in these networks, by default the study's own."""
    for name in networks or ("",):
        values = values.where(last(c[name].fit_error) < FITTED / 10)
    return values


def decoupled_gap(c):
    gap = c["decoupled"].effective_parameters.isel(seed=0) - c.theory.effective_parameters
    return Exact(abs(gap).max(skipna=False), seeds=1)


def rise(runs):
    return last(effective(runs)) - effective(runs).isel(moment=0)


def around_reduction(c):
    """Return the interval around that rise: a hundredth, and what directions outside the reduction add.

    Each that is not learned adds sigma B2 at most, squared.
    """
    (m, _), items = domains(c.p), items_task("unit")
    hidden = np.sqrt(m) * (items.optimum.max() / np.sqrt(m)) ** (1 / 3)
    left = m**2 * items.targets.shape[1] * items.inputs.shape[1] - winner_count(c.p)
    middle = float(rise(c.theory))
    reach = left * 2 * VARIANCE / m**2 * (c.p.init_scale * hidden) ** 2 / c.p.scale
    return around(middle, 0.01 * middle + reach)


def shared_leads(c):
    """Return True where the shared pathway's pole comes first: sigma_shared/M against sigma/(K M)."""
    return LINEAR(c) and (not ROUTING(c) or c.p.shared_scale * c.p.trained_outputs > 1)


def not_counted(c):
    """Return the largest deviation of the counts in the end from those of the pathways that win."""
    own = over(c, abs(last(c.simulation["count"]) - winner_count(c.p)))
    if not ROUTING(c):
        return own
    expected = winner_count(c.p, shared=False)
    return np.maximum(own, over(c, abs(last(c["rival"]["count"]) - expected), "rival"))


def fewer_generalises(c):
    """Return 1 where one of both races generalises and has fewer effective parameters, else 0."""
    own, rival = (last(c[name].unseen_error) for name in ("", "rival"))
    fewer = last(effective(c["rival"])) < last(effective(c.simulation))
    parted = (np.minimum(own, rival) < RIGHT / 10) & (np.maximum(own, rival) > RIGHT)
    return over(c, (parted & (fewer == (rival < own))).astype(float), "", "rival")


def correlated(x, y):
    return PerSeed(jackknifed(lambda a, b: float(rank_correlation(a, b)), x.values, y.values))


def of_the_fitted(c):
    """Return the correlation of the effective parameters once all seeds have fitted with the moment of generalisation."""
    fitted, at = int(first(c.fit_error, FITTED).max()), generalised(c)
    return correlated(effective(c.simulation).isel(moment=fitted), at.where(at >= 0, np.inf))


def gain(family, criterion):
    """Return the quantity "how much better a criterion ranks widths than the number of parameters"."""
    of = {"family": family, "criterion": [criterion, "parameters"]}
    return lambda c: -c.rank_agreement.sel(of).diff("criterion").squeeze("criterion", drop=True)


FALLS = {"inside": NEGATIVE, "why": "A sign that the seeds establish.", **PAPER}
ACROSS = {**FALLS, "inside": POSITIVE, "where": GROKKING}
RANKS = {**ACROSS, "where": among("selection"), "source": f"{SOURCE}.1, after Watanabe (2013)"}
CLAIMS = [
    *claim(
        "falls",
        "The effective parameter count falls at the moment of generalisation.",
        lambda c: then(c, effective(c.simulation)),
        rank="headline",
        where=among("routing", "s-curve", "grokking"),
        **FALLS,
    ).and_corrected(
        "In linear networks from small starts the effective parameter count rises at generalisation: what is learned was free "
        "before.",
        inside=POSITIVE,
        where=LINEAR,
        **OURS,
    ),
    claim(
        "not-by-decay",
        "The count falls because there is something to find: in networks that learn drawn answers by heart, with as much "
        "decay, it falls by less than half as much at the same moment.",
        lambda c: np.maximum(then(c, effective(c.simulation)), against_rival(c, effective, 2)),
        inside=(-np.inf, -1),
        rank="headline",
        why="By decay alone both lose as much. Beyond twice the rival's loss goes a direction, the least a structure frees.",
        where=GROKKING,
        **PAPER,
    ),
    claim(
        "rank-falls",
        "The rank of hidden activations and the number of blocks of neurons with equal gates fall at the moment of "
        "generalisation, more than with drawn answers.",
        lambda c: np.maximum(
            against_rival(c, lambda runs: runs.activation_rank),
            against_rival(c, lambda runs: runs.blocks),
        ),
        where=GROKKING,
        **FALLS,
    ),
    claim(
        "closed-form",
        "In decoupled weights the effective parameters are those of the reduction, at every moment and scale.",
        decoupled_gap,
        near=0,
        inside=(0, 1e-8),
        rank="control",
        why="Equal but for rounding, over thousands of steps.",
        where=LINEAR,
        **OURS,
    ),
    claim(
        "rise",
        "From random weights the effective parameters of linear networks rise as those of the reduction do.",
        lambda c: over(c, rise(c.simulation)),
        near=lambda c: float(rise(c.theory)),
        inside=around_reduction,
        why="A hundredth, and directions outside the reduction, which keep curvatures of at most 2 D (sigma B2)²/M² each.",
        where=shared_leads,
        **OURS,
    ),
    claim(
        "winner",
        "Where the shared pathway wins the race, r (H_0 + H_L) - r² directions count in the end: Aoyagi's coefficient at rank "
        "r, doubled, less that of what is left; where separate ones win, as many for each trained route.",
        not_counted,
        near=0,
        inside=(0, 0),
        rank="headline",
        why="A whole number: what is learned and what is left of the start lie far apart on either side of eps.",
        where=shared_leads,
        **OURS,
    ),
    claim(
        "fewer-generalise",
        "Of both races, which fit equally well, the one with fewer effective parameters generalises to untrained routes.",
        fewer_generalises,
        near=1,
        inside=MOST,
        statistic="fraction",
        rank="headline",
        why="A majority; half, if counts told nothing.",
        where=lambda c: ROUTING(c) and shared_leads(c) and np.greater(*domains(c.p)),
        **OURS,
    ),
    claim(
        "lower-together",
        "Across seeds lower learning coefficients go with lower test loss at the end of the run.",
        lambda c: correlated(last(effective(c.simulation)), last(c.unseen_error)),
        **ACROSS,
    ),
    claim(
        "foretell",
        "Lower learning coefficients where data have just been fitted go with earlier generalisation.",
        of_the_fitted,
        **ACROSS,
    ),
    claim(
        "linear-closed-form",
        "Twice the learning coefficient in closed form ranks widths of linear models better than the number of parameters.",
        gain("linear", "closed form"),
        **RANKS,
    ),
    claim(
        "rectified-measured",
        "Effective parameters at the scale of the noise rank widths of rectified models better than the number of parameters.",
        gain("rectified", "measured"),
        rank="headline",
        **RANKS,
    ),
    *claim(
        "between-seeds",
        "The variance between seeds serves for the cutoff that noise sets: where the noise is larger it is larger by as much.",
        lambda c: c.spread_power,
        near=1,
        inside=(0.5, 1.5),
        why="Half of the power is missed by a variance that hardly knows of the noise.",
        where=among("selection"),
        source=f"{SOURCE}.2.2",
    ).and_corrected(
        "The variance between seeds grows with less than half of the power of the noise's variance.",
        inside=(0, 0.5),
        **OURS,
    ),
]
