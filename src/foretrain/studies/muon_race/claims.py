"""Claims on spectral descent and Muon; for the derivations see ``docs/studies/muon-race.md``."""

import numpy as np

from foretrain.quantities.allowed import around
from foretrain.study import PerSeed, claim, larger_first, skip_if
from foretrain.theory.pathways import spectral as theory

from .study import EARLY, PAPER, SOURCE, strengths, variants

ROOM = 0.03  # relative error of times that a start may bring
STEPS = 4  # of a start, in steps, from which on no layer changes sign with all others
AGREE = (0.8, 1.0)  # twenty runs that all agree show a share of at least .83
RANGE = (
    0.68,
    1.14,
)  # singular values of Muon's steps of modes that are not hundred times weaker than the strongest


def grown(p):
    """Return the singular value of a layer at which the smallest mode is learned."""
    return theory.learning_time(strengths(p)[-1:], p.share, p.paths, p.depth).item()


def small(p):
    """Return in words why a start is too large for the law of times, or too small for even depth; "" where it is neither."""
    if p.init_scale > ROOM * grown(p):
        return f"the start is {p.init_scale / grown(p):.2g} of what layers grow to, above {ROOM:g}"
    if p.depth % 2 == 0 and p.init_scale < STEPS * p.learning_rate:
        return "the start is smaller than four steps, and at even depth paths may lose a direction"
    return ""


def domain(c):
    return small(c.p)


def ascending(arrival):
    """Return whether each mode is learned before all larger ones; a mode that never is comes last."""
    times = arrival.fillna(np.inf).transpose("seed", "mode").values
    return (times[:, 1:] < times[:, :-1]).all(1)


def over_law(runs, c):
    """Return measured times over those of the law, shape (seed, mode); infinite where a mode is not learned."""
    ratio = runs.arrival / c.theory.arrival.mean("seed")
    return ratio.fillna(np.inf).transpose("seed", "mode").values


def over_law_range(c):
    ratio = over_law(c["muon"], c)
    return PerSeed(ratio.min(1), upto=ratio.max(1))


def participation(runs):
    parts = runs.path_part.transpose("seed", "mode", "path").values
    return parts.sum(-1) ** 2 / (parts**2).sum(-1)


def least_share(runs, c):
    """Return of each seed's modes the smallest number of paths that carry one, over all paths."""
    skip_if(c.p.paths < 2, "one path has no race")
    return participation(runs).min(1) / c.p.paths


def start_effect(c):
    """Return the change of times from the largest start kept to the smallest, over what the larger start is worth at most."""
    kept = [
        place
        for place, scale in enumerate(c.values("init_scale"))
        if c.p.depth % 2 or scale >= STEPS * c.p.learning_rate
    ]
    skip_if(len(kept) < 2, "fewer than two starts of at least four steps")
    times = c.arrival.isel(init_scale=kept)
    worth = 2 * max(c.values("init_scale")) * (1 + c.p.lead) ** ((c.p.paths - 1) / 2)
    return (times.max("init_scale", skipna=False) - times.min("init_scale", skipna=False)) / worth


def signs(c):
    return ((c.smallest_direction > 0.5) != c.theory.negative).mean("path")


def drift(name):
    """Return the change of the layers' difference from when the smallest mode is due to the end, over what it is then."""

    def of(c):
        early, last = (
            c["unbalanced"][f"{when}_{name}"].diff("layer").isel(layer=0, drop=True)
            for when in ("early", "last")
        )
        return last / early - 1

    return of


def overshoot(c):
    step = theory.last_step(strengths(c.p), c.p.paths, c.p.depth, c.p.learning_rate)
    return c.overshoot / step


def descending(c):
    return larger_first(c["descent"].arrival, c.theory.arrival.mean("seed"))


def muon_order(c):
    return larger_first(c["muon"].arrival, 1 / c.theory.arrival.mean("seed"))


def winner(c):
    skip_if("descent" not in variants(c.p), "descent takes too long from this start")
    return participation(c["descent"])[:, 0] < 1.5


def is_small(c):
    return small(c.p) == ""


OURS = {"source": SOURCE, "rank": "headline"}
CLAIMS = [
    claim(
        "order",
        "Under spectral descent every mode is learned before all larger ones.",
        lambda c: ascending(c.arrival),
        inside=AGREE,
        near=1,
        domain=domain,
        why="A layer grows alike in all modes, and smaller ones have less far to go; twenty runs that agree show .83.",
        source=PAPER + "; " + SOURCE,
        rank="headline",
    ),
    claim(
        "times",
        "Under spectral descent a mode of strength s is learned to a share q in (q s / M)^(1/L) over the rate steps.",
        lambda c: abs(over_law(c.simulation, c) - 1).max(1),
        near=0,
        inside=(0, ROOM),
        statistic="median",
        domain=domain,
        why="A start of typical value sigma is worth sigma of (q s / M)^(1/L), three percent where it is claimed.",
        note="Largest |measured over told time - 1| of all modes.",
        **OURS,
    ),
    claim(
        "start",
        "Under spectral descent the start brings learning forward or back by no more time than its weights take to grow.",
        start_effect,
        along="init_scale",
        at_most=1,
        why="Singular values of a start reach twice its scale, and all weights grow by the rate a step.",
        note="Largest change of a time between starts, over twice the largest scale.",
        **OURS,
    ),
    claim(
        "equal-paths",
        "Under spectral descent all paths carry every mode alike, whichever started ahead.",
        lambda c: least_share(c.simulation, c),
        near=1,
        inside=(0.97, 1),
        statistic="median",
        domain=domain,
        where=lambda c: c.p.paths > 1,
        why="All paths grow by the same; a start of three percent of it leaves a difference of its square.",
        note="Paths that carry a mode, over all; the least of all modes.",
        **OURS,
    ),
    claim(
        "lost-direction",
        "Far below a step a path of two layers loses a direction under spectral descent if and only if the "
        "determinant of its start is negative.",
        signs,
        near=1,
        inside=AGREE,
        within=(0, 1),
        where=lambda c: c.p.depth == 2 and c.p.init_scale <= 0.1 * c.p.learning_rate,
        why="In a lost direction the start decides what grows: one path in five may find it again.",
        note=f"Share of paths of which it is so when {EARLY:g} of the smallest mode is due.",
        **OURS,
    ),
    claim(
        "muon",
        "Muon with momentum and five Newton-Schulz steps also learns smaller modes before larger ones.",
        muon_order,
        near=1,
        inside=AGREE,
        within=(0, 1),
        where=is_small,
        why="Its steps differ by up to 1.7, times of neighbours by 1.2 to 1.4: one pair in five may change places.",
        note="Share of pairs of modes of which the smaller one is learned first.",
        **OURS,
    ),
    claim(
        "muon-times",
        "Muon learns every mode at the time of spectral descent over .68 to 1.14.",
        over_law_range,
        inside=(1 / RANGE[1] - ROOM, 1 / RANGE[0] + ROOM),
        where=is_small,
        source=SOURCE,
        why="Between these lie what five Newton-Schulz steps make of singular values that are at least .01; 3% for the start.",
        note="Measured over told time, from the least to the largest of all modes.",
    ),
    claim(
        "muon-equal",
        "Under Muon nearly all paths carry every mode.",
        lambda c: least_share(c["muon"], c),
        near=1,
        inside=(0.9, 1),
        statistic="median",
        where=lambda c: is_small(c) and c.p.paths > 1,
        source=SOURCE,
        why="Paths grow apart only by what five Newton-Schulz steps leave; a tenth for that.",
        note="Paths that carry a mode, over all; the least of all modes.",
    ),
    claim(
        "never-settles",
        "At a constant rate a learned mode is never further from its strength than one step of spectral descent.",
        overshoot,
        at_most=1 + ROOM,
        domain=domain,
        source=SOURCE,
        why="A step turns as soon as the mode has passed its strength; 3% for modes that are not quite aligned.",
        note="Largest distance over the last tenth of steps, over one step.",
    ),
    claim(
        "sums-kept",
        "Under spectral descent the difference of two layers' sums of singular values is kept.",
        drift("sum"),
        near=0,
        inside=around(0, 0.05),
        where=lambda c: c.p.depth == 2 and c.p.paths == 1 and is_small(c),
        source=SOURCE,
        why="Aligned layers grow alike; by the smallest mode's time a start of .2 is aligned up to a few percent.",
        note="Change from the time of the smallest mode to the end, relative.",
    ),
    claim(
        "squares-grow",
        "Under spectral descent the difference of two layers' sums of squares, which descent keeps, grows.",
        drift("square"),
        inside=(0.2, np.inf),
        where=lambda c: c.p.depth == 2 and c.p.paths == 1 and is_small(c),
        source=SOURCE,
        why="A difference of values is kept while values grow, so that one of squares grows as they do: by a fifth at least.",
        note="Change from the time of the smallest mode to the end, relative.",
        rank="control",
    ),
    claim(
        "descent-order",
        "Descent from the same starts learns larger modes before smaller ones.",
        descending,
        near=1,
        inside=AGREE,
        within=(0, 1),
        source=SOURCE,
        where=lambda c: c.p.depth == 2,
        why="Random starts overlap with modes by chance: one pair in five may change places.",
        rank="control",
        note="Share of pairs of modes of which the larger one is learned first.",
    ),
    claim(
        "descent-race",
        "Descent from the same starts lets one of three paths take the largest mode from depth three on.",
        winner,
        near=1,
        inside=AGREE,
        where=lambda c: c.p.depth > 2 and c.p.paths > 1,
        source=SOURCE,
        why="The path that overlaps most takes all in the limit of small starts; fewer than 1.5 paths carry it.",
        rank="control",
    ),
]
