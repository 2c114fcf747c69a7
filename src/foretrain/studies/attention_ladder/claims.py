"""Claims on the ladder of linear attention; for the derivations see ``docs/studies/attention-ladder.md``."""

import numpy as np

from foretrain.quantities.allowed import tolerance
from foretrain.study import claim, slope
from foretrain.theory import attention_ladder as theory

from .study import SOURCE, eigenvalues

NEAR = 0.02  # relative distance within which a loss is on a level
MOST = (0.8, 1.0)  # of twenty that agree the share is at least .83


def share(c, right):
    """Return per seed the share of the falls that are told of which it is right; nan for a seed of which none is told."""
    return right.where(c.theory.drop_time.notnull()).mean("mode")


def off_levels(c):
    """Return the largest relative distance of a run from levels that are told, infinite where one of them never came."""
    off, seen = abs(c.level / c.theory.level - 1).fillna(np.inf), c.theory.level.notnull()
    return off.where(seen)[seen.any("mode").values].max("mode")


def room(c):
    """Return how far falls may be from what is told, relatively (mode,); twice that share of modes may have another head."""
    rates = eigenvalues(c.p) ** 2
    return 2 * c.p.init_scale * (rates + theory.coupling(eigenvalues(c.p), c.p.context))


def crowded(c):
    """Return in words why heads cannot be told one by one; "" where they can."""
    return "" if room(c)[-1] < 1 else "from so large a start heads feel each other like the data"


def least_share(c):
    """Return the share of modes of which the head is told right at least, no less than that of a guess."""
    return max(1 / c.p.heads, min(MOST[0], 1 - 2 * room(c)[-1]))


def at_the_end(c):
    rungs = min(c.p.heads, c.p.dimension)
    right = abs(c.end.loss / theory.levels(eigenvalues(c.p), c.p.context)[rungs] - 1) <= NEAR / 2
    return right.where(c.theory.drop_time.notnull().sum("mode") == rungs)


ROW = {"source": SOURCE, "rank": "headline"}
SHARE = {"near": 1, "inside": MOST, "within": (0, 1)}
SEEN = {"where": lambda c: c.theory.level.notnull().any("mode").mean() >= 0.5}
CLAIMS = [
    claim(
        "levels",
        "The loss of separate heads waits on every level that the spectrum of the inputs tells, in descending order.",
        off_levels,
        at_most=NEAR,
        why="Two percent for what is still on its way where the loss falls most slowly; a level that is skipped is off by 40.",
        note="Largest relative distance over the levels that are told to last ten settling times.",
        among="runs of which a level is told to last",
        **SEEN,
        **ROW,
    ),
    claim(
        "times",
        "The loss falls when the initial weights say that a head leaves, the first time nearly to the step.",
        lambda c: share(c, abs(c.drop_time / c.theory.drop_time - 1) <= room(c)),
        domain=crowded,
        why="A fall may be off by two steps, later ones by what heads feel of those before; one in five by a head that turns.",
        **SHARE,
        **ROW,
    ),
    claim(
        "heads",
        "Which head learns which mode is told before training from the initial weights.",
        lambda c: share(c, c.learner == c.theory.learner),
        domain=lambda c: "" if least_share(c) > 1 / c.p.heads else "a guess would be allowed",
        why="Two heads that leave within each other's error may change places, a share of twice that, or one mode in five.",
        **SHARE | {"inside": lambda c: (least_share(c), 1.0)},
        **ROW,
    ),
    claim(
        "ends",
        "Separate heads end on the level of as many modes as there are heads, or dimensions if these are fewer.",
        at_the_end,
        domain=crowded,
        why="A head keeps its mode; one percent for the loss, and one run in five may put two heads on one mode.",
        among="runs of which that many falls are told before the horizon",
        near=1,
        inside=MOST,
        statistic="fraction",
        **ROW,
    ),
    claim(
        "merged-once",
        "Merged heads fall once: from any start they take one and the same time from the first level to the last.",
        lambda c: slope(c["merged"].drop_time.diff("mode").sum("mode", skipna=False), "init_scale"),
        why="All modes grow in one direction, up to the scale of the start; separate heads take a time inverse in it.",
        **tolerance(0, 0.05),
        along="init_scale",
        note="Slope of its logarithm on that of the scale.",
        **ROW,
    ),
    claim(
        "sampled",
        "Separate heads that see 5,000 sequences wait on the same levels.",
        lambda c: (c["sampled"].level / c.theory.level).mean("mode"),
        among="runs of which a level is told to last",
        **SEEN,
        **tolerance(1, 0.05),
        why="The mean of y^2 over 5,000 sequences has a standard deviation of 3 percent; those of higher levels are larger.",
        note="Loss on a level over that of the distribution, mean over levels.",
        **ROW,
    ),
]
