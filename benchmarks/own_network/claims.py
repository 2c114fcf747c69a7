"""Claims about what is said of networks before training, and about the causes that a gap is taken apart into."""

import numpy as np

from foretrain.explain.kernel.kernel_prediction import NEAR
from foretrain.explain.shares import FLOOR
from foretrain.study import Exact, NotApplicable, claim

from .study import PAIRS, SINGLE, SOURCE

MOST = 80  # percent of the parts: what a planted cause is to have


def plants(c, names):
    """Return the runs with these plants, as a grid with their axis."""
    kept = [name for name in names if name in c.axis("plant")]
    if not kept:
        raise NotApplicable("none of these causes was planted")
    return kept


def pooled(hits, words):
    """Return the fraction of networks, of all that have a value."""
    hits = np.concatenate([np.ravel(item) for item in hits])
    hits = hits[np.isfinite(hits)]
    if not hits.size:
        raise NotApplicable("there is no such network")
    return Exact(float(hits.mean()), f"Of {hits.size} {words}.")


def fraction(values, hit):
    """Return 1 where a value is a hit and 0 where not, nan where there is none."""
    values = np.asarray(values, float)
    return np.where(np.isfinite(values), hit(values), np.nan)


def single(c):
    """Return the fraction of networks with one planted cause of which that has most of the parts."""
    shares = [c.share.sel(plant=item, cause=item) for item in plants(c, SINGLE)]
    return pooled([fraction(item, lambda v: v > MOST) for item in shares], "networks")


def larger(c):
    """Return the fraction of networks with two causes of which the one has more parts that also changes the run more."""
    hits = []
    for pair in plants(c, PAIRS):
        item, other = pair.split(", ")
        share, worth = (variable.sel(plant=pair) for variable in (c.share, c.worth))
        difference = share.sel(cause=item) - share.sel(cause=other)
        more = worth.sel(cause=item) - worth.sel(cause=other)
        hits.append(fraction(difference * np.sign(more), lambda v: v > 0))
    return pooled(hits, "networks")


def covered(c):
    """Return the mean fraction of groups of starts whose interval contains the share of the others, of planted causes."""
    hits = [
        c.covered.sel(plant=plant, cause=cause)
        for plant in plants(c, SINGLE + PAIRS)
        for cause in plant.split(", ")
    ]
    return pooled(hits, "shares of planted causes")


def missed(c, text):
    """Return the misses of drawn networks of which this was said."""
    drawn = c["drawn"]
    return np.where(np.asarray(drawn.said) == text, np.asarray(drawn.miss, float), np.nan)


def nothing(c):
    return c.p.plant == "nothing"


HEAD = {"rank": "headline", "source": SOURCE}
CLAIMS = [
    claim(
        "single",
        "A single planted cause has more than four fifths of the parts of the gap, in 95% of networks.",
        single,
        near=1,
        inside=(0.95, 1),
        along="plant",
        why="The rest may be due to what the plant brings with it: where layers or gates move, sharpness does.",
        **HEAD,
    ),
    claim(
        "larger-of-two",
        "Of two planted causes the one without which the run changes more has more of the gap, in four fifths of networks.",
        larger,
        near=1,
        inside=(0.8, 1),
        along="plant",
        why="A cause is taken out of the network, not of the theory. Where both are about equal, either may come first.",
        **HEAD,
    ),
    claim(
        "nothing-blamed",
        "Where nothing is planted nothing is blamed: the gap is below the size that is taken apart.",
        lambda c: c.gap,
        exact=True,
        near=0,
        inside=(0, FLOOR),
        where=nothing,
        why="Steps of .004 of the edge leave a gap of that order, a quarter of it at the fastest mode; no interval is needed.",
        **HEAD,
    ),
    claim(
        "intervals",
        "Intervals of shares contain the share that fresh starts have, 95 times in 100.",
        covered,
        near=0.93,
        inside=(0.88, 1),
        along="plant",
        why="The mean of the other starts varies, too: with a third of the variance of a group's, 95 becomes 91 to 93. Some "
        "hundred groups scatter by .025.",
        **HEAD,
    ),
    claim(
        "will-do",
        "Where the kernel is said to do, its curve misses by less than a tenth of the loss at the start, in 95% of networks.",
        lambda c: pooled(
            [fraction(missed(c, 0), lambda v: v < NEAR)], "networks of which it was said"
        ),
        near=1,
        inside=(0.95, 1),
        where=nothing,
        of="drawn",
        why="The threshold was read off fifty other networks, of which 12 of 13 did.",
        **HEAD,
    ),
    claim(
        "not-to-be-trusted",
        "Where the kernel is said not to be trusted, its curve misses by more than a tenth, in nine of ten networks.",
        lambda c: pooled(
            [fraction(missed(c, 2), lambda v: v > NEAR)], "networks of which it was said"
        ),
        near=1,
        inside=(0.9, 1),
        where=nothing,
        of="drawn",
        why="The threshold was read off fifty other networks, of which 30 of 30 did.",
        **HEAD,
    ),
]
