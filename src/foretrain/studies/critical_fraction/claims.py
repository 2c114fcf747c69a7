"""Claims on the critical fraction and on grokking times; see ``docs/theory/grokking.md``."""

import numpy as np

from foretrain.quantities.allowed import MOST
from foretrain.quantities.rank_correlation import concordance, jackknifed
from foretrain.study import at_end, claim, skip_if
from foretrain.training.embedding import fractions, operation

from .study import critical_sizes

PAPER = "Liu et al. (2022), section 3.2, "
OURS = "docs/studies/critical-fraction.md"
FRACTION = 0.4
SEEN = 6  # seeds 0 to 5 of root seed 0 were looked at when predictors were chosen


def unseen_seeds(c):
    """Return the seeds at which nobody had looked when predictors were chosen, as a slice."""
    return slice(0 if c.root_seed else SEEN, None)


def steps(c):
    """Return the first step with the RQI wanted, infinity for never."""
    return c.rqi_step.fillna(np.inf)


def half_unique(c):
    """Return the distance from 0.4 of the fraction at which half of random training sets are enough; trains nothing."""
    skip_if("unique_probability" not in c.theory, "nothing is predicted")
    count = np.arange(len(operation(c.p).samples) + 1)
    probability = (critical_sizes(c.p.operation, c.p.symbols)[:, None] <= count).mean(0)
    return np.interp(0.5, probability, count) / count[-1] - FRACTION


def learning_fraction(c):
    fraction = fractions(c)
    middle = (fraction + fraction.shift(training_size=1).fillna(fraction)) / 2
    return middle.where(c.rqi_step.notnull()).min("training_size").fillna(1.0)


def learning_where_unique(c):
    unique = c.lambda_3.values > 0
    skip_if(not unique.any(), "no training set determines the representation")
    return c.rqi_step.notnull().values[unique]


def rate_exceptions(c):
    """Return the number of training sets whose rate contradicts their freedom, or is below the rate of a smaller set."""
    rate = c.lambda_3
    skip_if(rate.isnull().all(), "matrices have no rate")
    falls = rate.diff("training_size") < -1e-6 * rate
    return ((rate > 0) != (c.ideal_rqi > 1 - 1e-6)).sum() + falls.sum()


def decades(c, name):
    """Return log10 of measured over predicted steps, mean over the sizes at which both are finite, per seed."""
    measured, predicted = steps(c), c.theory[name].fillna(np.inf)
    both = np.isfinite(measured) & np.isfinite(predicted)
    return np.log10((measured / predicted).where(both)).mean("training_size")


def rank_agreement(c, name):
    """Return the jackknifed concordance of held-out seeds at the sizes at which all their training sets are enough."""
    runs = unseen_seeds(c)
    enough = (c.lambda_3.values > 0)[:, runs].all(1)
    predicted, measured = c.theory[name].fillna(np.inf), steps(c)
    return concordances(*(x.values[enough, runs] for x in (predicted, measured)))


def learners_apart(c):
    """Return the jackknifed concordance of Adam's step with which runs never learn, of training sets that are enough."""
    never = c.rqi_step.isnull().where(c.lambda_3 > 0)
    return concordances(c.theory.adam_step.fillna(np.inf).values, never.values)


def concordances(predicted, measured):
    """Return the jackknifed concordance of values (size, seed) within each size, shape (seed,)."""
    values = jackknifed(lambda x, y: concordance(x.T, y.T), predicted.T, measured.T)
    skip_if(not np.isfinite(values).all(), "no pair of runs differs")
    return values


def same_direction(c):
    """Return True for each seed whose runs all end as the line of the flow, among seeds that learn the representation."""

    def slope(embedding):
        from_middle = embedding["symbol"] - embedding["symbol"].mean()
        return (at_end(embedding).isel(coordinate=0) * from_middle).sum("symbol")

    reached = c.rqi_step.notnull()
    same = slope(c.embedding) * slope(c.theory.flow_embedding.where(c.embedding.notnull())) > 0
    learners = reached.any("training_size").values
    skip_if(not learners.any(), "no run learns the representation")
    return (same | ~reached).all("training_size").values[learners]


ALONG = {"along": "training_size"}
HEADLINE = {"rank": "headline", **ALONG}
LEARNERS = {"among": "seeds that learn at one size at least", **ALONG}
RANKS = {
    "near": 1,
    "inside": (0.5, np.inf),
    "why": "Three pairs of four in the right order. Targets and the start of the decoder are not known to theory.",
    "note": "Share of pairs of runs at one training size in the right order, minus the share in the wrong one.",
    "among": "held-out seeds",
    "where": lambda c: c.seeds >= SEEN + 4,
    **ALONG,
}
CLAIMS = [
    claim(
        "half-unique",
        "A random training set determines the representation with probability one half at a fraction of 0.4.",
        half_unique,
        source=PAPER + "Fig. 4a",
        at_most=lambda c: 1 / len(operation(c.p).samples),
        why="A number of samples is whole: the fraction is known to one sample.",
        **HEADLINE,
    ),
    claim(
        "learned-from",
        "Networks learn the representation from a fraction of 0.4 on.",
        learning_fraction,
        source=PAPER + "Fig. 4b",
        near=FRACTION,
        inside=(0.35, 0.45),
        why="It is said with one digit.",
        statistic="median",
        note="Per seed the middle between the smallest fraction that is learned and the next smaller one; 1 if none is.",
        where=lambda c: len(c.values("training_size")) > 2,
        **HEADLINE,
    ),
    claim(
        "always-above",
        "A training set that determines the representation is enough for a network to learn it.",
        learning_where_unique,
        source=PAPER + "Fig. 4",
        near=1,
        inside=MOST,
        why="In most runs.",
        among="runs whose training set determines the representation",
        rank="headline",
    ),
    claim(
        "rate-grows",
        "The grokking rate lambda_3 is zero exactly where the training set leaves freedom, and grows with every sample.",
        rate_exceptions,
        source=PAPER + "Fig. 5a; docs/theory/grokking.md",
        at_most=0,
        why="A count. Implied parallelograms and eigenvalues are computed apart; the sets of a seed are nested.",
        rank="control",
        **ALONG,
    ),
    *claim(
        "theory-steps",
        "Grokking takes 1 / (lambda_3 eta) steps.",
        lambda c: decades(c, "theory_step"),
        source=PAPER + "Fig. 5b",
        **LEARNERS,
        near=0,
        inside=(-np.log10(2), np.log10(2)),
        rank="headline",
        why="Within a factor of two: 1 / lambda is when a part has fallen to 1/e, and to RQI .95 it may take two such times.",
        note="log10 of measured over predicted steps, mean over training sizes.",
    ).and_corrected(
        "Adam on the effective loss takes as many steps from the same start as grokking does.",
        quantity=lambda c: decades(c, "adam_step")[unseen_seeds(c)],
        source=OURS,
        near=0,
        among="held-out seeds that learn at one size at least",
        where=lambda c: c.seeds > SEEN,
    ),
    *claim(
        "ranking",
        "The grokking rate lambda_3 tells which of two training sets of one size is learned first.",
        lambda c: rank_agreement(c, "theory_step"),
        source=PAPER + "Fig. 5b",
        **RANKS,
    ).and_corrected(
        "Adam on the effective loss tells, from the same start, which of two training sets of one size is learned first.",
        quantity=lambda c: rank_agreement(c, "adam_step"),
        source=OURS,
        near=1,
        rank="headline",
    ),
    claim(
        "who-learns",
        "Adam on the effective loss tells, from the same start, which of two training sets of one size is learned at all.",
        learners_apart,
        source=OURS,
        **{**RANKS, "among": "runs whose training set is enough"},
    ),
    claim(
        "direction",
        "The network ends as the line with the direction that the flow of the effective loss has.",
        same_direction,
        source=PAPER + "Fig. 4c-d",
        near=1,
        inside=MOST,
        why="Drawn by lot, one half agree.",
        where=lambda c: c.p.embedding_dim == 1,
        **LEARNERS,
    ),
]
