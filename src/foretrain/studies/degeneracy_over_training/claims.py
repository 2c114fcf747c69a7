"""Claims on effective parameters over training, and on ranking models by them."""

import numpy as np

from foretrain.quantities.allowed import MOST, NEGATIVE, POSITIVE
from foretrain.quantities.rank_correlation import jackknifed, rank_correlation
from foretrain.study import Exact, PerSeed, claim
from foretrain.training.routing import items_task

from .study import SOURCE, VARIANCE, domains
from .theory import winner_count

REACH = 2  # moments to either side, a twentieth of the run
FITTED, RIGHT = (
    0.1,
    0.5,
)  # errors over that of zero below which data are fitted, and a network generalises
SIGN = "A sign that the seeds establish."
WHOLE = "A whole number: what is learned and what is left of the start lie far apart on either side of eps."
OURS = {"source": "docs/studies/degeneracy-over-training.md"}
SAID = {"source": "Bushnaq et al. (2024), section 1: more degenerate, more general"}


def among(*systems):
    """Condition that the system is one of these."""
    return lambda c: c.p.system in systems


ROUTING, GROKKING, LINEAR = among("routing"), among("grokking"), among("routing", "s-curve")


def effective(runs):
    """Effective parameters at the scale that is judged."""
    return runs.effective_parameters.isel(noise_scale=1)


def last(values):
    """Values at the last moment."""
    return values.isel(moment=-1)


def first(error, level):
    """First moment at which an error is below a level, -1 for never."""
    reached = error < level
    return reached.argmax("moment").where(reached.any("moment"), -1)


def generalised(c):
    """Moment at which the network generalises, -1 for none with room on both sides."""
    at = first(c.unseen_error, RIGHT)
    return at.where((at >= REACH) & (at < c.unseen_error.sizes["moment"] - REACH), -1)


def change(values):
    """Change from REACH moments before every moment to as many after; nan near the ends."""
    return values.shift(moment=-REACH) - values.shift(moment=REACH)


def then(c, values):
    """Change of a curve at the moment at which the study's own network generalises."""
    at = generalised(c)
    return change(values).isel(moment=at.clip(min=0)).where(at >= 0)


def falls(c):
    """Change of the effective parameters at the moment of generalisation."""
    return then(c, effective(c.simulation))


def against_drawn(name):
    """Quantity: change of a curve at that moment, less that of the network with nothing to find."""
    return lambda c: then(c, c.simulation[name]) - then(c, c["rival"][name])


def not_by_decay(c):
    """Change of the effective parameters at that moment, less that of the network with nothing to find."""
    return falls(c) - then(c, effective(c["rival"]))


def faster(c):
    """Change of the effective parameters at that moment, less its mean over all others once data are fitted."""
    moved, at = change(effective(c.simulation)), generalised(c)
    fitted = first(c.fit_error, FITTED)
    place = moved["moment"].copy(data=np.arange(moved.sizes["moment"]))
    others = (place >= fitted + REACH) & (abs(place - at) > REACH) & (fitted >= 0)
    return falls(c) - moved.where(others).mean("moment")


def later(c):
    """Moment of the steepest fall of the effective parameters less that of generalisation."""
    at = generalised(c)
    return (change(effective(c.simulation)).argmin("moment") - at).where(at >= 0)


def over(c, values, *networks):
    """Values of the seeds whose races are over in these networks, by default the study's own."""
    for name in networks or ("",):
        values = values.where(last(c[name].fit_error) < FITTED / 10)
    return values


def decoupled(c):
    """Largest difference from the reduction over moments and scales, of the one run from decoupled weights."""
    gap = c["decoupled"].effective_parameters.isel(seed=0) - c.theory.effective_parameters
    return Exact(abs(gap).max(skipna=False), seeds=1)


def rise_of_reduction(c):
    """Rise of the effective parameters that the reduction predicts."""
    return float(effective(c.theory).isel(moment=[0, -1]).diff("moment")[0])


def around_reduction(c):
    """A hundredth, and what directions outside the reduction add: sigma B2 at most, squared, on each that is not learned."""
    (m, _), items = domains(c.p), items_task("unit")
    hidden = np.sqrt(m) * (items.optimum.max() / np.sqrt(m)) ** (1 / 3)
    left = m**2 * items.targets.shape[1] * items.inputs.shape[1] - winner_count(c.p)
    rise = rise_of_reduction(c)
    reach = 0.01 * rise + left * 2 * VARIANCE / m**2 * (c.p.init_scale * hidden) ** 2 / c.p.scale
    return rise - reach, rise + reach


def shared_leads(c):
    """The shared pathway's pole comes first: sigma_shared/M against sigma/(K M)."""
    return LINEAR(c) and (not ROUTING(c) or c.p.shared_scale * c.p.trained_outputs > 1)


def both_races(c):
    """The study's own network is won by the shared pathway, as its variant is by separate ones."""
    return ROUTING(c) and shared_leads(c)


def fewer_generalises(c):
    """Of both races one generalises, and it has the smaller number of effective parameters; 1 or 0."""
    own, rival = (last(c[name].unseen_error) for name in ("", "rival"))
    fewer = last(effective(c["rival"])) < last(effective(c.simulation))
    one = (np.minimum(own, rival) < RIGHT / 10) & (np.maximum(own, rival) > RIGHT)
    return over(c, (one & (fewer == (rival < own))).astype(float), "", "rival")


def correlated(x, y):
    """Rank correlation over seeds, by the jackknife."""
    return PerSeed(jackknifed(lambda a, b: float(rank_correlation(a, b)), x.values, y.values))


def foretold(c):
    """Correlation of the effective parameters when all seeds have fitted their data with the moment of generalisation."""
    fitted, at = int(first(c.fit_error, FITTED).max()), generalised(c)
    return correlated(effective(c.simulation).isel(moment=fitted), at.where(at >= 0, np.inf))


def gain(family, criterion, other="parameters"):
    """Quantity: how much better a criterion ranks widths than another."""

    def difference(c):
        tau = c.rank_agreement.sel(family=family)
        return tau.sel(criterion=criterion) - tau.sel(criterion=other)

    return difference


GROKS = {"inside": NEGATIVE, "why": SIGN, "where": GROKKING, **SAID}
RANKS = {
    "inside": POSITIVE,
    "where": among("selection"),
    "source": SOURCE + ".1, after Watanabe (2013)",
    "why": "A difference of Kendall's tau that the seeds establish.",
}
ACROSS = {
    "inside": POSITIVE,
    "where": GROKKING,
    "why": "A correlation over seeds whose interval, by the jackknife, leaves out zero.",
    **SAID,
}
_falls = claim(
    "falls",
    "The effective parameter count falls at the moment of generalisation.",
    falls,
    inside=NEGATIVE,
    rank="headline",
    why=SIGN,
    where=among("routing", "s-curve", "grokking"),
    **SAID,
)
_fastest = claim(
    "fastest",
    "The effective parameter count falls faster at the moment of generalisation than at other times once data are fitted.",
    faster,
    **GROKS,
)
CLAIMS = [
    _falls,
    _falls.corrected(
        "In linear networks from small starts the effective parameter count rises at generalisation: what is learned was free "
        "before.",
        inside=POSITIVE,
        where=LINEAR,
        **OURS,
    ),
    _fastest,
    _fastest.corrected(
        "The effective parameter count falls fastest after the moment of generalisation.",
        quantity=later,
        inside=POSITIVE,
        why=SIGN + " Put down after a first look at two seeds.",
        note="Moment of the steepest fall less that of generalisation, in moments.",
        **OURS,
    ),
    claim(
        "not-by-decay",
        "The count falls because there is something to find: in networks that learn drawn answers by heart, with as much "
        "decay, it falls less at the same moment.",
        not_by_decay,
        rank="headline",
        **GROKS,
    ),
    claim(
        "rank-falls",
        "The rank of hidden activations falls at the moment of generalisation, more than with drawn answers.",
        against_drawn("activation_rank"),
        **GROKS,
    ),
    claim(
        "synchronise",
        "At the moment of generalisation blocks of neurons with equal gates become fewer, more than with drawn answers.",
        against_drawn("blocks"),
        **GROKS,
    ),
    claim(
        "similar-then",
        "Hidden activity comes to depend on the relevant bits at the moment of generalisation, more than with drawn answers.",
        against_drawn("shared_similarity"),
        **(GROKS | {"inside": POSITIVE} | OURS),
    ),
    claim(
        "closed-form",
        "In decoupled weights the effective parameters are those of the reduction, at every moment and scale.",
        decoupled,
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
        lambda c: over(c, last(effective(c.simulation)) - effective(c.simulation).isel(moment=0)),
        near=rise_of_reduction,
        inside=around_reduction,
        why="A hundredth, and directions outside the reduction, which keep curvatures of at most 2 D (sigma B2)²/M² each.",
        where=shared_leads,
        **OURS,
    ),
    claim(
        "winner",
        "Where the shared pathway wins the race, r (H_0 + H_L) - r² directions count in the end: Aoyagi's coefficient at rank "
        "r, doubled, less that of what is left.",
        lambda c: over(c, last(c.simulation["count"])),
        near=lambda c: winner_count(c.p),
        inside=lambda c: (winner_count(c.p),) * 2,
        rank="headline",
        why=WHOLE,
        where=shared_leads,
        **OURS,
    ),
    claim(
        "separate-winner",
        "Where separate pathways win the race, as many directions count for each trained route, whose sum is more.",
        lambda c: over(c, last(c["rival"]["count"]), "rival"),
        near=lambda c: winner_count(c.p, shared=False),
        inside=lambda c: (winner_count(c.p, shared=False),) * 2,
        why=WHOLE,
        where=ROUTING,
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
        where=lambda c: both_races(c) and np.greater(*domains(c.p)),
        **OURS,
    ),
    claim(
        "one-representation",
        "Where the shared pathway wins, an item has one representation in all domains; where separate ones win, one in each.",
        lambda c: last(c.shared_similarity) - last(c["rival"].shared_similarity),
        near=1,
        inside=(0.9, 1.05),
        why="Mean cosine with the one less that with the other: 1 and 0 but for the start.",
        where=both_races,
        **OURS,
    ),
    claim(
        "lower-together",
        "Across seeds lower learning coefficients go with lower test loss at the end of the run.",
        lambda c: correlated(last(effective(c.simulation)), last(c.unseen_error)),
        rank="detail",
        **ACROSS,
    ),
    claim(
        "foretell",
        "Lower learning coefficients where data have just been fitted go with earlier generalisation.",
        foretold,
        **ACROSS,
    ),
    claim(
        "linear-closed-form",
        "Twice the learning coefficient in closed form ranks widths of linear models better than the number of parameters.",
        gain("linear", "closed form"),
        **RANKS,
    ),
    claim(
        "linear-measured",
        "Effective parameters at the scale of the noise rank widths of linear models better than the number of parameters.",
        gain("linear", "measured"),
        **RANKS,
    ),
    claim(
        "rectified-measured",
        "Effective parameters at the scale of the noise rank widths of rectified models better than the number of parameters.",
        gain("rectified", "measured"),
        rank="headline",
        **RANKS,
    ),
    claim(
        "rectified-not-loss",
        "Effective parameters at the scale of the noise rank widths of rectified models better than the training loss alone.",
        gain("rectified", "measured", "training loss"),
        **RANKS,
    ),
]
