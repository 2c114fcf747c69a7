"""Claims on paths at the edge of stability; for the derivations see ``docs/studies/large-steps.md``."""

import numpy as np

from foretrain.quantities.allowed import MOST, tolerance
from foretrain.study import claim
from foretrain.theory.pathways import large_steps as theory

from .study import PAPER, SOURCE, WIDE_DEPTH, edge_step

BORDER = 0.05  # relative distance from an end of the window within which nothing is claimed
MARGIN = (
    0.05  # by which a run may end below the edge, where its oscillation dies faster than it slides
)
SETTLED = 1e-6  # loss; one that oscillates is above .01
FEWEST = 1 / 3  # of the runs: where a sentence speaks of fewer it is not claimed


def over_window(p):
    """Return the step over the largest with which equal paths are stable."""
    return p.relative_step / theory.window(p.paths, p.depth)


def in_time(c):
    """Return, per run, whether the paths that it needs are back in half of its steps, as its initial weights tell."""
    return c.theory.return_steps.values < c.p.steps / 2


def slides(c):
    """Return, per run, whether it ends above the edge and reaches it in time, as its initial weights tell."""
    return in_time(c) & (c.theory.early_edge.values > 1 + BORDER / 2)


def inside_window(c):
    return c.p.depth > 2 and c.p.relative_step >= 1 + BORDER and over_window(c.p) <= 1 - BORDER


def matrices_inside(c):
    return c.p.depth <= WIDE_DEPTH and inside_window(c)


def slides_inside(c):
    return c.p.hidden_width == 1 and inside_window(c) and slides(c).mean() >= FEWEST


def beyond_window(c):
    return c.p.hidden_width == 1 and c.p.depth > 2 and over_window(c.p) >= 1 + BORDER


def outside_border(c):
    ends = (over_window(c.p), c.p.relative_step if c.p.depth == 2 else np.inf)
    return c.p.hidden_width == 1 and min(abs(end - 1) for end in ends) > BORDER


def in_time_outside_border(c):
    finite = c.p.relative_step < 2 if c.p.depth == 2 else over_window(c.p) < 1
    return outside_border(c) and finite and (c.p.depth == 2 or in_time(c).mean() >= FEWEST)


def over_slide(c, runs):
    """Return participation over that which a slide from a run's early shares to its own largest curvature leaves."""
    most = 2 * runs.edge.values / (c.p.relative_step * edge_step(c.p))
    early = np.maximum(runs.early_share.transpose("seed", "path").values, 1e-12)
    left = [
        theory.participation(theory.slide(shares, c.p.depth, sharpness))
        if np.isfinite(sharpness)
        else np.nan
        for shares, sharpness in zip(early, most, strict=True)
    ]
    return runs.participation.values / np.array(left)


def sharp(runs):
    return runs.early_edge.values > 1 + BORDER / 2


def settled(runs):
    """Return, per run, whether its loss is small at all of its last steps; a run that diverged has none."""
    return runs.last_loss.values < SETTLED


def kept(c):
    early = theory.participation(c.early_share.transpose("seed", "path").values)
    return c.participation.values / early - 1


def told_flat(c):
    """Return, per run, whether its initial weights tell that it ends below the edge."""
    return c.theory.early_edge.values < 1 - BORDER


def settles_as_told(c):
    wait, steps = c.theory.return_steps.values, c.p.steps
    clear = ((wait < steps / 2) | (wait > 2 * steps)) & np.isfinite(c.last_loss.values)
    return np.where(clear, settled(c.simulation) == (wait < steps), np.nan)


def over_told(c):
    values = (c.participation / c.theory.participation).values
    return values if c.p.depth == 2 else np.where(in_time(c), values, np.nan)


def leader_stays(c):
    shares = c.theory.early_share, c.early_share, c.end.share
    flow, early, last = (share.transpose("seed", "path").values.argmax(1) for share in shares)
    same = ((flow == early) & (early == last)).astype(float)
    return same if c.p.depth == 2 else np.where(in_time(c), same, np.nan)


def below_least(c):
    """Return by how much matrices that settled fall short of the least participation."""
    runs = c["matrices"]
    least = theory.least_participation(c.p.relative_step, c.p.paths, c.p.depth)
    return np.maximum(1 - runs.participation.values[settled(runs)] / least, 0)


TOLD = "runs that are told to end above the edge, and to get back in half of their steps what paths they need"
AMONG = "runs of matrices above the edge when the step is raised"
CLAIMS = [
    claim(
        "depth-two",
        "At depth two no step, small or large, changes how paths share a mode.",
        kept,
        source=SOURCE,
        at_most=lambda c: 10 * c.p.depth * c.p.steps * float(np.finfo(c.p.precision).eps),
        why="A step multiplies both layers of all paths by one factor, which rounding alone can change.",
        where=lambda c: c.p.depth == 2 and c.p.hidden_width == 1,
        rank="headline",
    ),
    claim(
        "edge",
        "From depth three on a run that ends above the edge slides along its minima and stops at step x curvature = 2.",
        lambda c: np.where(slides(c), c.edge.values, np.nan),
        source=SOURCE,
        near=1,
        inside=(1 - MARGIN, 1),
        why="Above it no minimum is stable; a slide ends when its oscillation dies, within a few percent below.",
        where=slides_inside,
        among=TOLD,
        rank="headline",
        note="Step x largest curvature of the network / 2.",
    ),
    claim(
        "told",
        "How many paths carry the mode at the end is told before training, from the initial weights and the step.",
        over_told,
        source=SOURCE,
        **tolerance(1, 0.05),
        why="A run may stop a few percent below the edge, and the small step delays the race a little.",
        where=in_time_outside_border,
        among="runs that are told to get back in half of their steps what paths they need",
        rank="headline",
        note="Participation, over what is told.",
    ),
    claim(
        "settles",
        "The loss settles if and only if equal paths are stable at the step, and those needed are told to return in time.",
        settles_as_told,
        source=SOURCE,
        near=1,
        inside=MOST,
        statistic="fraction",
        why="In most runs: of twenty that all agree the share is at least .83. Within 5% of the border nothing is claimed.",
        where=outside_border,
        among="runs whose paths are told to be back within half of the steps, or not within twice as many",
        rank="headline",
    ),
    claim(
        "equal-beyond",
        "Beyond the window paths become equal, though the loss never settles.",
        lambda c: c.participation.values / c.p.paths,
        source=SOURCE,
        **tolerance(1, 0.02),
        why="All paths see one error, and the weaker ones grow by more of it; two percent for what is still on its way.",
        where=beyond_window,
        rank="headline",
        note="Paths that carry the mode, over all.",
    ),
    claim(
        "matrices-least",
        "Paths of matrices that settle share the largest mode among at least as many paths as balanced ones at the edge.",
        below_least,
        source=SOURCE,
        at_most=0.005,
        why="An inequality of means; what is left of the loss changes shares by less than half a percent.",
        where=matrices_inside,
        among="runs of matrices whose loss settles",
        rank="headline",
        note="What is missing, over the least.",
    ),
    claim(
        "participation",
        "Where a run stops, its paths share the mode as a slide from its early shares to its measured curvature leaves them.",
        lambda c: np.where(slides(c), over_slide(c, c.simulation), np.nan),
        source=SOURCE,
        **tolerance(1, 0.03),
        why="Layers of a path stay equal, and the slide is that of a small oscillation; three percent for its size.",
        where=slides_inside,
        among=TOLD,
        note="Paths that carry the mode, over those of the slide.",
    ),
    claim(
        "flat",
        "A run that flow left below the edge keeps its shares.",
        lambda c: kept(c)[told_flat(c)],
        source=SOURCE,
        at_most=lambda c: c.p.warm_step,
        why="Only the rest of the loss is still learned; a small part of the shares.",
        where=lambda c: c.p.depth > 2 and c.p.hidden_width == 1 and told_flat(c).any(),
        among="runs that are told to be below the edge",
        rank="control",
    ),
    claim(
        "leader",
        "The path that flow names leads when the step is raised, and still leads at the edge.",
        leader_stays,
        source=PAPER,
        near=1,
        inside=MOST,
        statistic="fraction",
        why="Paths of equal layers keep their order; in most runs.",
        where=in_time_outside_border,
        among="runs that are told to get back in half of their steps what paths they need",
    ),
    claim(
        "matrices-edge",
        "Paths of matrices from random weights stop at step x curvature = 2, too.",
        lambda c: np.where(sharp(c["matrices"]), c["matrices"].edge.values, np.nan),
        source=SOURCE,
        near=1,
        inside=(1 - MARGIN, 1),
        why="As for paths of single weights: the largest curvature is that of the largest mode.",
        where=matrices_inside,
        among=AMONG,
    ),
    claim(
        "matrices-slide",
        "Paths of matrices share the largest mode as a slide of balanced paths leaves them, or up to 15 percent more evenly.",
        lambda c: np.where(sharp(c["matrices"]), over_slide(c, c["matrices"]), np.nan),
        source=SOURCE,
        near=1,
        inside=(1, 1.15),
        why="Open: unequal layers are sharper than balanced ones of the same shares; by how much is not derived.",
        where=matrices_inside,
        among=AMONG,
        note="Paths that carry the mode, over those of the slide.",
    ),
    claim(
        "matrices-settle",
        "From depth three on the loss of matrices settles if and only if equal balanced paths are stable at the step.",
        lambda c: settled(c["matrices"]) == (over_window(c.p) < 1),
        source=SOURCE,
        near=1,
        inside=MOST,
        why="As for paths of single weights, in most runs.",
        where=lambda c: 2 < c.p.depth <= WIDE_DEPTH and outside_border(c),
    ),
]
