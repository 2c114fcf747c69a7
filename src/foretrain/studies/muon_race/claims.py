"""Claims on spectral descent and Muon; for the derivations see ``docs/studies/muon-race.md``."""

import numpy as np

from foretrain.study import claim, crossing, larger_first
from foretrain.theory.pathways import spectral as theory

from .study import SOURCE, carrying, strengths, variants

ROOM = 0.03  # relative error of times that a start may bring
LATE = 0.6  # of the largest mode, from which on it is alone
AGREE = (0.8, 1.0)  # twenty runs that all agree show a share of at least .83


def due(p, part=None):
    return theory.learning_time(strengths(p), part or p.share, p.paths, p.depth)


def domain(c):
    """Return in words why a start is too large for the law, or too small for even depth; "" where it is neither."""
    start = c.p.init_scale / due(c.p)[-1]
    if start > ROOM:
        return f"the start is {start:.2g} of what layers grow to, above {ROOM:g}"
    if c.p.depth % 2 == 0 and c.p.init_scale < 4 * c.p.learning_rate:
        return "the start is smaller than four steps, and at even depth paths may lose a direction"
    return ""


def muon_domain(c):
    """Return the same of Muon, which may also lose the weakest mode, or end before it has the largest."""
    margin = theory.muon_margin(strengths(c.p), c.p.share, c.p.depth)
    weak = f"Muon may lose the weakest mode, {margin:.2g} of what it reaches" if margin < 1 else ""
    late = c.p.steps * c.p.learning_rate < band(c)[1] * due(c.p)[0]
    return domain(c) or weak or ("the run may end before all modes are learned" if late else "")


def growth(c):
    """Return the least and the most that layers grow by in the largest mode alone, in steps a step."""
    return theory.muon_alone(c.p.learning_rate, strengths(c.p) / c.p.paths, c.p.share, c.p.depth)


def alone_domain(c):
    """Return the same of the largest mode, which others may leave no time, or no norm, of its own."""
    long = growth(c)[1] < 1 and c.p.decay < LATE < c.p.share
    return muon_domain(c) or ("" if long else "the largest mode may not be alone for long enough")


def times(runs, p):
    """Return the step at which modes first reach their share, with the dims seed and mode; infinite for never."""
    return crossing(runs.carried / strengths(p), p.share, "step").fillna(np.inf)


def over_law(c, network=""):
    return times(c[network], c.p) / times(c.theory, c.p)


def smaller_first(c, network="", ratio=1.1):
    return larger_first(times(c[network], c.p), 1 / times(c.theory, c.p), ratio)


def band(c):
    return theory.muon_band(c.p.learning_rate, c.p.init_scale, due(c.p)[-1])


def alone(c):
    """Return the growth of layers in the largest mode from LATE on, in steps a step; nan where others are not over."""
    runs, way = c["muon"], (due(c.p) - due(c.p, LATE))[0] / c.p.learning_rate
    shares = (runs.carried / strengths(c.p)).where(runs.path_part.notnull().all("path"))
    begin, end = (crossing(shares.isel(mode=0), part, "step") for part in (LATE, c.p.share))
    others = crossing(shares.isel(mode=slice(1, None)), 1, "step").max("mode", skipna=False)
    return (way / (end - begin)).where(others < begin)


OURS = {"source": SOURCE, "rank": "headline", "near": 1, "domain": domain}
MUON = {"source": SOURCE, "domain": muon_domain}
ORDER = {"inside": AGREE, "within": (0, 1)}
ORDER["note"] = "Share of pairs of modes of which the smaller one is learned first."
PATHS = {"where": lambda c: c.p.paths > 1 and c.p.rule == "spectral", "statistic": "median"}
PATHS["note"] = "Paths that carry a mode, over all; the least of all modes."
CLAIMS = [
    claim(
        "order",
        "Under spectral descent smaller modes are learned before larger ones.",
        smaller_first,
        why="A layer grows alike in all modes, and smaller ones have less far to go; a lost direction may change a pair.",
        **OURS | ORDER | {"source": f"Rhee, Simon & Karkada (2026), abstract; {SOURCE}"},
    ),
    claim(
        "times",
        "Under spectral descent a share q of a mode s is learned in (q s / M)^(1/L) over the rate steps, from any start.",
        lambda c: np.minimum(abs(over_law(c) - 1).max("mode"), 1),  # never learned: off by 1
        inside=(0, ROOM),
        statistic="median",
        why="A start of typical value sigma is worth sigma of (q s / M)^(1/L), three percent where it is claimed.",
        **OURS | {"near": 0},
    ),
    claim(
        "equal-paths",
        "Under spectral descent all paths carry every mode alike, whichever started ahead.",
        lambda c: carrying(c.simulation).min("mode") / c.p.paths,
        inside=(0.97, 1),
        why="All paths grow by the same; a start of three percent of it leaves a difference of its square.",
        **OURS | PATHS,
    ),
    claim(
        "muon",
        "Muon with momentum and five Newton-Schulz steps learns smaller modes before those whose bands of time are later.",
        lambda c: smaller_first(c, "muon", band(c)[1] / band(c)[0]),
        where=lambda c: due(c.p)[0] / due(c.p)[-1] > band(c)[1] / band(c)[0],
        why="Times of other pairs are not told apart; a start that has lost its weakest direction changes pairs of one mode.",
        **OURS | ORDER | MUON,
    ),
    claim(
        "muon-times",
        "Muon learns every mode at the time of spectral descent over .68 to 1.2, but for its start and its memory.",
        lambda c: abs(2 * over_law(c, "muon") - sum(band(c))).max("mode") / np.ptp(band(c)),
        inside=(0, 1),
        statistic="median",
        why="Singular values of its steps lie between the critical values of its iteration; start and memory are added.",
        note="Largest distance of a mode's time from the middle of the band, over half its width.",
        **MUON,
    ),
    claim(
        "muon-alone",
        "Once all other modes are learned, Muon's layers grow in the largest by .7 of a step, and not by a whole one.",
        alone,
        inside=growth,
        near=0.696,
        statistic="median",
        among="runs whose other modes are learned before .6 of the largest is",
        why="Five iterations make .696 of a gradient of rank one; learned modes and unequal paths change that within bounds.",
        **MUON | {"rank": "headline", "domain": alone_domain},
    ),
    claim(
        "muon-equal",
        "Under Muon paths share every mode: at least 4 k / (1 + k)^2 of them carry it, k = (1.2 / .68)^L.",
        lambda c: carrying(c["muon"]).min("mode") / c.p.paths,
        inside=lambda c: (theory.muon_paths(c.p.depth), 1),
        why="Of paths that differ by up to k so few are the least participation, at k : 1 in number.",
        **MUON | PATHS | {"near": 1},
    ),
    claim(
        "descent-race",
        "Descent from the same starts lets one of all paths take the largest mode from depth three on.",
        lambda c: carrying(c["descent"]).isel(mode=0) < 1.5,
        inside=AGREE,
        where=lambda c: c.p.depth > 2 and c.p.paths > 1 and "descent" in variants(c.p),
        why="The path that overlaps most takes all in the limit of small starts; fewer than 1.5 paths carry it.",
        **OURS | {"rank": "control"},
    ),
]
