"""What is claimed of effective parameters over training, and of ranking models by them."""

from functools import partial

import numpy as np

from foretrain.quantities.allowed import MOST, NEGATIVE, POSITIVE
from foretrain.quantities.rank_correlation import jackknifed, rank_correlation
from foretrain.study import Exact, PerSeed, sentence
from foretrain.training.routing import items_task

from .measurement import VARIANCE
from .study import CRITERIA, FAMILIES, SOURCE, domains
from .theory import winner_count

REACH = 2  # moments to either side, a twentieth of the run
FITTED, RIGHT = (
    0.1,
    0.5,
)  # errors over that of zero below which data are fitted, and a network generalises
SIGN = "A sign that the seeds establish."
AFTER = SIGN + " Put down after a first look at two seeds."
WHOLE = "A whole number: what is learned and what is left of the start lie far apart on either side of eps."
BOTH = ("", "rival")


def among(*systems):
    """The cells of these systems."""
    return lambda cell: cell.parameters.system in systems


LINEAR, ROUTING, GROKKING = among("routing", "s-curve"), among("routing"), among("grokking")
ONE = among("s-curve")
ours = partial(sentence, source="docs/studies/degeneracy-over-training.md")
said = partial(sentence, source="Bushnaq et al. (2024), section 1: more degenerate, more general")
grokked = partial(said, why=SIGN, where=GROKKING)


def curve(data, name):
    """Of every seed over moments, (seed, moment), at the scale that is judged."""
    found = data[name]
    if "noise_scale" in found.dims:
        found = found.isel(noise_scale=1)
    return found.transpose("seed", "moment").values


def ends(cell, name, other):
    """Last values of a curve of the study's own network and of a variant, (2, seed)."""
    return np.stack([curve(cell.network(network), name)[:, -1] for network in ("", other)])


def over(cell, values, *networks):
    """Values of the seeds whose races are over in these networks, nan for others, (seed,)."""
    fit = [curve(cell.network(name), "fit_error")[:, -1] for name in networks or ("",)]
    return np.where(np.max(fit, 0) < FITTED / 10, values, np.nan)


def first(error, below):
    """First moment at which an error is below a level, -1 for never, (seed,)."""
    reached = error < below
    return np.where(reached.any(1), reached.argmax(1), -1)


def generalised(cell):
    """The moment of every seed, -1 for none with room on both sides."""
    error = curve(cell.simulation, "unseen_error")
    found = first(error, RIGHT)
    return np.where((found >= REACH) & (found < error.shape[1] - REACH), found, -1)


def change(values, at):
    """From REACH moments before to as many after, (seed,); nan where there is no such moment."""
    rows, there = np.arange(len(values)), np.clip(at, REACH, values.shape[1] - 1 - REACH)
    return np.where(at < 0, np.nan, values[rows, there + REACH] - values[rows, there - REACH])


def then(cell, name, network=""):
    """Change of a network's curve at the moment at which the study's own generalises, (seed,)."""
    return change(curve(cell.network(network), name), generalised(cell))


def against_drawn(cell, name):
    """The same, less that of the network with nothing to find."""
    return then(cell, name) - then(cell, name, "rival")


@said("The effective parameter count falls at the moment of generalisation.",
      allowed=NEGATIVE, why=SIGN, where=among("routing", "s-curve", "grokking"))  # fmt: skip
def falls(cell):
    return then(cell, "effective_parameters")


@ours("In linear networks from small starts it rises then: what is learned was free before.",
      corrects="falls", allowed=POSITIVE, why=SIGN, where=LINEAR)  # fmt: skip
def falls_corrected(cell):
    return then(cell, "effective_parameters")


@grokked("It falls faster then than at other times once data are fitted.", allowed=NEGATIVE)
def fastest(cell):
    values, at = curve(cell.simulation, "effective_parameters"), generalised(cell)
    fitted, found = first(curve(cell.simulation, "fit_error"), FITTED), change(values, at)
    for seed, (own, begin) in enumerate(zip(at, fitted, strict=True)):
        times = np.arange(max(begin, 0) + REACH, values.shape[1] - REACH)
        shifted = change(np.broadcast_to(values[seed], (len(times), values.shape[1])), times)
        found[seed] -= shifted[np.abs(times - own) > REACH].mean() if begin >= 0 else np.nan
    return found


@ours("It falls fastest after that moment.", corrects="fastest", allowed=POSITIVE, why=AFTER, where=GROKKING,
      note="Moment of the steepest fall less that of generalisation, in moments.")  # fmt: skip
def fastest_corrected(cell):
    values, at = curve(cell.simulation, "effective_parameters"), generalised(cell)
    steepest = (values[:, 2 * REACH :] - values[:, : -2 * REACH]).argmin(1) + REACH
    return np.where(at < 0, np.nan, steepest - at)


@grokked("It falls because there is something to find: in networks that learn drawn answers by heart, with as much decay, it "
         "falls less at the same moment.", allowed=NEGATIVE, of=BOTH)  # fmt: skip
def not_by_decay(cell):
    return against_drawn(cell, "effective_parameters")


@grokked(
    "The rank of hidden activations falls at that moment, more than with drawn answers.",
    allowed=NEGATIVE,
    of=BOTH,
)
def rank_falls(cell):
    return against_drawn(cell, "activation_rank")


@grokked("Neurons synchronise at that moment: blocks of equal gates become fewer, more than with drawn answers.",
         allowed=NEGATIVE, of=BOTH)  # fmt: skip
def synchronise(cell):
    return against_drawn(cell, "blocks")


@ours("By the end of the run they have synchronised: blocks are fewer than with drawn answers.",
      allowed=NEGATIVE, why=AFTER, of=BOTH, where=GROKKING)  # fmt: skip
def synchronised(cell):
    return np.subtract(*ends(cell, "blocks", "rival"))


@ours("Hidden activity comes to depend on the relevant bits at that moment, more than with drawn answers.",
      allowed=POSITIVE, why=SIGN, of=BOTH, where=GROKKING)  # fmt: skip
def similar_then(cell):
    return against_drawn(cell, "shared_similarity")


@ours("In decoupled weights effective parameters are those of the reduction, at every moment and scale.", predicted=0,
      allowed=(0, 1e-8), why="Equal but for rounding, over thousands of steps.", of="decoupled", where=LINEAR)  # fmt: skip
def closed_form(cell):
    both = cell.variants["decoupled"].isel(seed=0), cell.theory
    found, told = (
        data["effective_parameters"].transpose("moment", "noise_scale").values for data in both
    )
    return Exact(
        float(np.abs(found - told).max()), "Largest difference over moments and scales.", 1
    )


def rise_told(cell):
    told = cell.theory["effective_parameters"].isel(noise_scale=1, moment=[0, -1])
    return float(np.diff(told)[0])


def around_told(cell):
    """A hundredth, and what directions outside the reduction add: sigma B2 at most, squared, on each that is not learned."""
    p, (m, _), items = cell.parameters, domains(cell.parameters), items_task("unit")
    hidden = np.sqrt(m) * (items.optimum.max() / np.sqrt(m)) ** (1 / 3)
    left = m**2 * items.targets.shape[1] * items.inputs.shape[1] - winner_count(p)
    reach = (
        0.01 * rise_told(cell) + left * 2 * VARIANCE / m**2 * (p.init_scale * hidden) ** 2 / p.scale
    )
    return rise_told(cell) - reach, rise_told(cell) + reach


def shared_leads(cell):
    """Whether the shared pathway's pole comes first, sigma_shared/M against sigma/(K M)."""
    p = cell.parameters
    return ONE(cell) or (ROUTING(cell) and p.shared_scale * p.trained_outputs > 1)


def both_races(cell):
    """Whether the study's own network is won by the shared pathway, as its variant is by separate ones."""
    return ROUTING(cell) and shared_leads(cell)


@ours("From random weights their rise is that of the reduction, as well.", predicted=rise_told, allowed=around_told,
      why="A hundredth, and directions outside the reduction, which keep curvatures of at most 2 D (sigma B2)²/M² each.",
      where=shared_leads)  # fmt: skip
def rise(cell):
    values = curve(cell.simulation, "effective_parameters")
    return over(cell, values[:, -1] - values[:, 0])


@ours("Where the race foretells the shared pathway, r (H_0 + H_L) - r² directions count in the end: Aoyagi's coefficient at "
      "rank r, doubled, less that of what is left.", predicted=lambda cell: winner_count(cell.parameters),
      allowed=lambda cell: (winner_count(cell.parameters),) * 2, why=WHOLE, where=shared_leads)  # fmt: skip
def winner(cell):
    return over(cell, curve(cell.simulation, "count")[:, -1])


@ours("Where it foretells separate ones they are as many for each trained route, whose sum is more.",
      predicted=lambda cell: winner_count(cell.parameters, shared=False), why=WHOLE, of="rival", where=ROUTING,
      allowed=lambda cell: (winner_count(cell.parameters, shared=False),) * 2)  # fmt: skip
def separate_winner(cell):
    return over(cell, curve(cell.variants["rival"], "count")[:, -1], "rival")


@ours("Of both races, which fit equally well, the one with fewer effective parameters generalises to untrained routes.",
      predicted=1, allowed=MOST, statistic="fraction", why="A majority; half, if counts told nothing.",
      of=BOTH, where=lambda cell: both_races(cell) and np.greater(*domains(cell.parameters)))  # fmt: skip
def fewer_generalise(cell):
    count, error = (ends(cell, name, "rival") for name in ("effective_parameters", "unseen_error"))
    told = (
        (error.min(0) < RIGHT / 10) & (error.max(0) > RIGHT) & (count.argmin(0) == error.argmin(0))
    )
    return over(cell, told, *BOTH)


@ours("Where the shared pathway wins, an item has one representation in all domains; where separate ones win, one in each.",
      predicted=1, allowed=(0.9, 1.05), why="Mean cosine with the one less that with the other: 1 and 0 but for the start.",
      of=BOTH, where=both_races)  # fmt: skip
def one_representation(cell):
    return np.subtract(*ends(cell, "shared_similarity", "rival"))


across = partial(said, allowed=POSITIVE, where=GROKKING,
                 why="A correlation over seeds whose interval, by the jackknife, leaves out zero.")  # fmt: skip


def together(cell, at, other=None):
    """Rank correlation over seeds of effective parameters at a moment and test error then, or what is given; jackknifed."""
    other = curve(cell.simulation, "unseen_error")[:, at] if other is None else other
    values = curve(cell.simulation, "effective_parameters")[:, at]
    return PerSeed(jackknifed(lambda x, y: float(rank_correlation(x, y)), values, other))


@across("Across seeds lower coefficients go with lower test loss at the end of the run.")
def lower_together(cell):
    return together(cell, -1)


@across("So they do half way: at the median moment of generalisation.")
def lower_then(cell):
    at = generalised(cell)
    return together(cell, int(np.median(at[at >= 0]))) if (at >= 0).any() else None


@across("Lower coefficients where data have just been fitted go with earlier generalisation.")
def foretell(cell):
    fitted, at = first(curve(cell.simulation, "fit_error"), FITTED).max(), generalised(cell)
    return together(cell, fitted, np.where(at < 0, np.inf, at))


ranks = partial(sentence, source=SOURCE + ".1, after Watanabe (2013)", allowed=POSITIVE, where=among("selection"),
                why="A difference of Kendall's tau that the seeds establish.")  # fmt: skip


def gain(cell, family, criterion, other="parameters"):
    """How much better a criterion ranks widths than another, (seed,)."""
    taus = cell.simulation["rank_agreement"].transpose("seed", "family", "criterion").values
    taus = taus[:, FAMILIES.index(family)]
    return taus[:, CRITERIA.index(criterion)] - taus[:, CRITERIA.index(other)]


@ranks(
    "Of linear models 2 lambda in closed form ranks widths better than the number of parameters."
)
def linear_closed_form(cell):
    return gain(cell, "linear", "closed form")


@ranks("Of linear models effective parameters at the scale of the noise do.")
def linear_measured(cell):
    return gain(cell, "linear", "measured")


@ranks("Of rectified models effective parameters rank widths better than the number of parameters.")
def rectified_measured(cell):
    return gain(cell, "rectified", "measured")


@ranks("So they do at WBIC's temperature.")
def rectified_warm(cell):
    return gain(cell, "rectified", "measured, warm")


@ranks("They rank linear models better than training loss alone.")
def linear_not_loss(cell):
    return gain(cell, "linear", "measured", "training loss")


@ranks("They rank rectified models better than training loss alone.")
def rectified_not_loss(cell):
    return gain(cell, "rectified", "measured", "training loss")
