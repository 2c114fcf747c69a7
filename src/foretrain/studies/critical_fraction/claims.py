"""What is claimed of the critical fraction and of grokking times; see ``docs/theory/grokking.md``."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import MOST, NEGATIVE, POSITIVE
from foretrain.quantities.measured import Exact
from foretrain.quantities.rank_correlation import concordance, jackknifed
from foretrain.theory.parallelograms import normalised
from foretrain.training.embedding import operation
from foretrain.training.embedding_claims import by_size, growth, swept_sizes

from .theory import critical_sizes

PAPER = "Liu et al. (2022), section 3.2, "
OURS = "docs/studies/critical-fraction.md"
ALONG: dict[str, Any] = {"along": "training_size"}
FRACTION = 0.4
SEEN = 6  # seeds 0 to 5 of root seed 0 were looked at when predictors were chosen


def held_out(cell) -> slice:
    """Seeds at which nobody had looked when predictors were chosen."""
    return slice(0 if cell.root_seed else SEEN, None)


def measured(cell):
    """First step with the RQI wanted, (size, seed), infinity = never."""
    return by_size(cell.simulation["rqi_step"].fillna(np.inf))


def unique(cell):
    """Whether each training set determines the representation, (size, seed)."""
    return by_size(cell.simulation["lambda_3"]) > 0


def said(cell, name):
    """A predicted step, (size, seed), infinity = never; None where nothing is predicted."""
    return by_size(cell.theory[name].fillna(np.inf)) if name in cell.theory else None


def half_unique(cell):
    p, task = cell.parameters, operation(cell.parameters)
    if "unique_probability" not in cell.theory:
        return None
    sizes = critical_sizes(p.operation, p.symbols)
    count = np.arange(len(task.samples) + 1)
    probability = (sizes[:, None] <= count).mean(0)
    above = int((probability >= 0.5).argmax())
    step = (0.5 - probability[above - 1]) / (probability[above] - probability[above - 1])
    fraction = (above - 1 + step) / len(task.samples)
    return Exact(abs(fraction - FRACTION), f"It is {fraction:.3f}; no network is trained.")


def learned_from(cell):
    if (sizes := swept_sizes(cell)) is None:
        return None
    sizes = sizes / len(operation(cell.parameters).samples)
    reached = np.isfinite(measured(cell))
    first = reached.argmax(0)
    middle = (sizes[first] + np.where(first, sizes[first - 1], sizes[first])) / 2
    return np.where(reached.any(0), middle, 1.0)


def never_below(cell):
    free = by_size(cell.simulation["ideal_rqi"]) <= cell.parameters.rqi_threshold
    lucky = int((np.isfinite(measured(cell)) & free).sum())
    return Exact(lucky, f"Runs that do, of {int(free.sum())}.") if free.any() else None


def always_above(cell):
    enough = cell.simulation["lambda_3"].values > 0
    return np.isfinite(cell.simulation["rqi_step"].values)[enough] if enough.any() else None


def rate_grows(cell):
    rate = by_size(cell.simulation["lambda_3"])
    if np.isnan(rate).all():
        return None
    wrong = (rate > 0) != (by_size(cell.simulation["ideal_rqi"]) > 1 - 1e-6)
    falls = np.diff(rate, axis=0) < -1e-6 * rate[1:]
    return Exact(int(wrong.sum() + falls.sum()), f"Exceptions, of {rate.size} runs.")


def trend(cell):
    sizes, found = swept_sizes(cell), measured(cell)
    if sizes is None:
        return None
    return np.where(np.isfinite(found).any(0), growth(found, sizes), np.nan)


def scale(cell, name, seeds=slice(None)):
    """log10 of measured over predicted steps, mean over the sizes at which both are finite, per seed."""
    found, predicted = measured(cell), said(cell, name)
    if predicted is None:
        return None
    both = np.isfinite(found) & np.isfinite(predicted)
    ratio = np.log10(np.where(both, found, 1) / np.where(both, predicted, 1))
    with np.errstate(invalid="ignore"):
        means = ratio.sum(0) / both.sum(0)
    return means[seeds]


DECADE: dict[str, Any] = {
    "near": 0,
    "inside": (-np.log10(2), np.log10(2)),
    "why": "Within a factor of two: 1 / lambda is when a part has fallen to 1/e, and to RQI .95 it may take two such times.",
    "note": "log10 of measured over predicted steps, mean over training sizes.",
    **ALONG,
}


def ranked(cell, name):
    """Jackknifed concordance of held-out seeds at the sizes at which all their training sets are enough; None without."""
    predicted = said(cell, name)
    if predicted is None or cell.seeds < SEEN + 4:
        return None
    judged = held_out(cell)
    enough = unique(cell)[:, judged].all(1)
    pair = [each[enough, judged].T for each in (predicted, measured(cell))]
    value = jackknifed(lambda x, y: concordance(x.T, y.T), *pair)
    return value if np.isfinite(value).all() else None


RANKS: dict[str, Any] = {
    "near": 1,
    "inside": (0.5, np.inf),
    "why": "Three pairs of four in the right order. Targets and the start of the decoder are not known to theory.",
    "note": "Share of pairs of held-out seeds at one training size in the right order, minus the share in the wrong one.",
    "among": "held-out seeds",
    **ALONG,
}


def better(cell):
    adam, theory = ranked(cell, "adam_step"), ranked(cell, "theory_step")
    return None if adam is None or theory is None else adam - theory


def before_fit(cell):
    found, fit = measured(cell), by_size(cell.simulation["train_step"].fillna(np.inf))
    reached = np.isfinite(found)
    with np.errstate(invalid="ignore"):
        return (reached & (found <= 1.1 * fit)).sum(0) / np.where(
            reached.any(0), reached.sum(0), np.nan
        )


def direction(cell):
    if "flow_embedding" not in cell.theory or cell.parameters.embedding_dim > 1:
        return None
    flow = cell.theory["flow_embedding"].where(cell.simulation["embedding"].notnull())
    same = slopes(cell.simulation["embedding"]) * slopes(flow) > 0
    reached = np.isfinite(measured(cell))
    some = reached.any(0)
    return (same | ~reached).all(0)[some] if some.any() else None


def slopes(embedding):
    """Slope over the symbols at the last step of each run, (size, seed)."""
    data = embedding.transpose("training_size", "seed", "step", "symbol", "coordinate").values
    last = np.isfinite(data).all((-2, -1)).cumsum(-1).argmax(-1)
    place = np.take_along_axis(data, last[..., None, None, None], 2)[:, :, 0]
    number = np.arange(place.shape[-2])
    return (normalised(place)[..., 0] * (number - number.mean())).sum(-1)


CLAIMS = [
    claim(
        "half-unique",
        "A random training set determines the representation with probability one half at a fraction of 0.4.",
        half_unique,
        source=PAPER + "Fig. 4a",
        near=0,
        inside=lambda cell: (0, 1 / len(operation(cell.parameters).samples)),
        why="A number of samples is whole: the fraction is known to one sample.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "learned-from",
        "Networks learn the representation from a fraction of 0.4 on.",
        learned_from,
        source=PAPER + "Fig. 4b",
        near=FRACTION,
        inside=(0.35, 0.45),
        why="It is said with one digit.",
        statistic="median",
        note="Per seed the middle between the smallest fraction that is learned and the next smaller one; 1 if none is.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "never-below",
        "No network learns a representation that its training set does not imply.",
        never_below,
        source=PAPER + "Fig. 4; appendix E, eq. (16)",
        near=0,
        inside=(0, 0),
        why="A count.",
        **ALONG,
        rank="control",
    ),
    claim(
        "always-above",
        "A training set that determines the representation is enough for a network to learn it.",
        always_above,
        source=PAPER + "Fig. 4",
        near=1,
        inside=MOST,
        why="In most runs.",
        among="runs whose training set determines the representation",
        along=(),
        rank="headline",
    ),
    claim(
        "rate-grows",
        "The grokking rate lambda_3 is zero exactly where the training set leaves freedom, and grows with every "
        "sample.",
        rate_grows,
        source=PAPER + "Fig. 5a; docs/theory/grokking.md",
        near=0,
        inside=(0, 0),
        why="A count. Implied parallelograms and eigenvalues are computed apart; the sets of a seed are nested.",
        **ALONG,
    ),
    claim(
        "trend",
        "Grokking takes fewer steps with more samples.",
        trend,
        source=PAPER + "Fig. 5b",
        near=-1,
        inside=NEGATIVE,
        why="A trend that the seeds establish.",
        note="Rank correlation over training sizes, never being last.",
        among="seeds that learn at one size at least",
        **ALONG,
    ),
    claim(
        "theory-steps",
        "Grokking takes 1 / (lambda_3 eta) steps.",
        lambda c: scale(c, "theory_step"),
        source=PAPER + "Fig. 5b",
        among="seeds that learn at one size at least",
        **DECADE,
        rank="headline",
    ),
    claim(
        "theory-steps.corrected",
        "Adam on the effective loss takes as many steps from the same start as grokking does.",
        lambda c: scale(c, "adam_step", held_out(c)) if c.seeds > SEEN else None,
        source=OURS,
        corrects="theory-steps",
        among="held-out seeds that learn at one size at least",
        **DECADE,
        rank="headline",
    ),
    claim(
        "ranking",
        "The grokking rate lambda_3 tells which of two training sets of one size is learned first.",
        lambda c: ranked(c, "theory_step"),
        source=PAPER + "Fig. 5b",
        **RANKS,
    ),
    claim(
        "ranking.corrected",
        "Adam on the effective loss tells, from the same start, which of two training sets of one size is learned "
        "first.",
        lambda c: ranked(c, "adam_step"),
        source=OURS,
        corrects="ranking",
        **RANKS,
        rank="headline",
    ),
    claim(
        "better",
        "Adam on the effective loss orders training sets of one size better than 1 / lambda_3.",
        better,
        source=OURS,
        inside=POSITIVE,
        why="A difference that the seeds establish.",
        note="The share of pairs that `ranking.corrected` speaks of minus that of `ranking`.",
        among="held-out seeds",
        **ALONG,
    ),
    claim(
        "before-fit",
        "A representation is learned before the training accuracy is reached, or never.",
        before_fit,
        source=OURS,
        near=1,
        inside=(0.9, 1),
        why='"Never" up to one run in ten.',
        note="Of the runs that learn it, the share that does so no later than ten steps per hundred after training "
        "accuracy.",
        among="seeds that learn at one size at least",
        **ALONG,
    ),
    claim(
        "direction",
        "The network ends as the line with the direction that the flow of the effective loss has.",
        direction,
        source=PAPER + "Fig. 4c-d",
        near=1,
        inside=MOST,
        why="Drawn by lot, one half agree.",
        note="Seeds of which all runs that learn the representation agree.",
        among="seeds that learn at one size at least",
        **ALONG,
    ),
]
