"""Claims on spectral descent and Muon; for the derivations see ``docs/studies/muon-race.md``."""

import numpy as np

from foretrain.study import PerSeed, claim, larger_first
from foretrain.theory.pathways import spectral as theory

from .study import EARLY, PAPER, SOURCE, carrying, strengths, variants

ROOM = 0.03  # relative error of times that a start may bring
STEPS = 4  # of a start, in steps, from which on no layer changes sign with all others
AGREE = (0.8, 1.0)  # twenty runs that all agree show a share of at least .83
# Singular values of Muon's steps, of modes up to a hundred times weaker than the strongest.
SHORTEST, LONGEST = 0.68, 1.14


def domain(c):
    """Return in words why a start is too large for the law, or too small for even depth; "" where it is neither."""
    p = c.p
    grown = theory.learning_time(strengths(p)[-1], p.share, p.paths, p.depth)
    if p.init_scale > ROOM * grown:
        return f"the start is {p.init_scale / grown:.2g} of what layers grow to, above {ROOM:g}"
    if p.depth % 2 == 0 and p.init_scale < STEPS * p.learning_rate:
        return "the start is smaller than four steps, and at even depth paths may lose a direction"
    return ""


def over_law(c, network=""):
    """Return measured times over those of the law, shape (seed, mode); infinite where a mode is not learned."""
    ratio = c[network].arrival / c.theory.arrival.mean("seed")
    return ratio.fillna(np.inf).transpose("seed", "mode").values


def smaller_first(runs, c):
    return larger_first(runs.arrival, 1 / c.theory.arrival.mean("seed"))


def race(c):
    return c.p.paths > 1 and c.p.rule == "spectral"


OURS = {"source": SOURCE, "rank": "headline", "near": 1}
ORDER = OURS | {"inside": AGREE, "within": (0, 1), "domain": domain}
ORDER["note"] = "Share of pairs of modes of which the smaller one is learned first."
PATHS = OURS | {"statistic": "median", "domain": domain, "where": race}
PATHS["note"] = "Paths that carry a mode, over all; the least of all modes."
CLAIMS = [
    claim(
        "order",
        "Under spectral descent smaller modes are learned before larger ones.",
        lambda c: smaller_first(c.simulation, c),
        why="A layer grows alike in all modes, and smaller ones have less far to go; a lost direction may change a pair.",
        **ORDER | {"source": f"{PAPER}; {SOURCE}"},
    ),
    claim(
        "times",
        "Under spectral descent a share q of a mode s is learned in (q s / M)^(1/L) over the rate steps, from any start.",
        lambda c: abs(over_law(c) - 1).max(1),
        inside=(0, ROOM),
        statistic="median",
        domain=domain,
        why="A start of typical value sigma is worth sigma of (q s / M)^(1/L), three percent where it is claimed.",
        note="Largest |measured over told time - 1| of all modes.",
        **OURS | {"near": 0},
    ),
    claim(
        "equal-paths",
        "Under spectral descent all paths carry every mode alike, whichever started ahead.",
        lambda c: carrying(c.simulation).min("mode") / c.p.paths,
        inside=(0.97, 1),
        why="All paths grow by the same; a start of three percent of it leaves a difference of its square.",
        **PATHS,
    ),
    claim(
        "lost-direction",
        "Far below a step a path of two layers loses a direction under spectral descent if and only if the "
        "determinant of its start is negative.",
        lambda c: ((c.smallest_direction > 0.5) != c.theory.negative).mean("path"),
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
        lambda c: smaller_first(c["muon"], c),
        why="Its steps differ by up to 1.7, times of neighbours by 1.2 to 1.4: one pair in five may change places.",
        **ORDER,
    ),
    claim(
        "muon-times",
        "Muon learns every mode at the time of spectral descent over .68 to 1.14.",
        lambda c: PerSeed(over_law(c, "muon").min(1), upto=over_law(c, "muon").max(1)),
        inside=(1 / LONGEST - ROOM, 1 / SHORTEST + ROOM),
        domain=domain,
        source=SOURCE,
        why="Between these lie what five Newton-Schulz steps make of singular values that are at least .01; 3% for the start.",
        note="Measured over told time, from the least to the largest of all modes.",
    ),
    claim(
        "muon-equal",
        "Under Muon nearly all paths carry every mode.",
        lambda c: carrying(c["muon"]).min("mode") / c.p.paths,
        inside=(0.9, 1),
        why="Paths grow apart only by what five Newton-Schulz steps leave; a tenth for that.",
        **PATHS | {"rank": "detail"},
    ),
    claim(
        "descent-race",
        "Descent from the same starts lets one of all paths take the largest mode from depth three on.",
        lambda c: carrying(c["descent"]).isel(mode=0) < 1.5,
        inside=AGREE,
        where=lambda c: c.p.depth > 2 and race(c) and "descent" in variants(c.p),
        why="The path that overlaps most takes all in the limit of small starts; fewer than 1.5 paths carry it.",
        **OURS | {"rank": "control"},
    ),
]
