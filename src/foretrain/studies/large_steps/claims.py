"""Claims on paths at the edge of stability; for the derivations see ``docs/studies/large-steps.md``."""

import numpy as np

from foretrain.quantities.allowed import tolerance
from foretrain.study import DIVERGED, claim
from foretrain.theory.pathways import large_steps as theory

from .study import SOURCE, WIDE_DEPTH

BORDER = 0.05  # relative distance from an end of the window within which nothing is claimed
UNSTABLE = 1 + BORDER / 2  # step times curvature, over 2, from which on no run stays
# Largest step of depth two of which no factor is below .1, as rounding must be bounded.
ROUNDED = 1.54
SETTLED = 1e-7  # loss; one that oscillates is above .001
FEWEST = 1 / 3  # of the runs: where a sentence speaks of fewer it is not claimed


def over_window(c):
    """Return the step over the largest with which equal paths are stable."""
    return c.p.relative_step / theory.window(c.p.paths, c.p.depth)


def wait(c):
    """Return, per run, when the paths that it needs are told to be back, over its steps."""
    return c.theory.return_steps / c.p.steps


def slides(c):
    """Return, per run, whether it is told to end above the edge and to reach it in half of its steps."""
    return (wait(c) < 0.5) & (c.theory.early_edge > UNSTABLE)


def clear(c):
    """Return, per run, whether its paths are told to be back within half of its steps, or not within twice as many."""
    return (wait(c) < 0.5) | (wait(c) > 2)


def inside_window(c):
    return c.p.relative_step >= 1 + BORDER and over_window(c) <= 1 - BORDER


def outside_border(c):
    return c.p.hidden_width == 1 and abs(over_window(c) - 1) > BORDER


def over_slide(c, runs):
    """Return participation over what a slide from a run's early shares to its own largest curvature leaves."""
    most = runs.edge.values * c.p.depth / c.p.relative_step
    each = zip(np.maximum(runs.early_share.values, 1e-12), most, strict=True)
    left = np.array([theory.slide(shares, c.p.depth, sharpness) for shares, sharpness in each])
    return runs.participation / theory.participation(left)


def gained(c):
    return c.participation.values / theory.participation(c.early_share.values) - 1


def below_least(c):
    """Return by how much matrices that had to move, and settled, fall short of the least participation."""
    runs, least = c["matrices"], theory.least_participation(c.p.relative_step, c.p.paths, c.p.depth)
    moved = (runs.early_edge > UNSTABLE) & (runs.last_loss < SETTLED)
    return np.maximum(1 - runs.participation.values[moved.values] / least, 0)


OURS = {"source": SOURCE, "rank": "headline"}
SLIDES = {
    "where": lambda c: inside_window(c) and slides(c).mean() >= FEWEST,
    "among": "runs that are told to end above the edge, and to get back in half of their steps what paths they need",
}
WIDE = {"source": SOURCE, "where": lambda c: c.p.depth <= WIDE_DEPTH and inside_window(c)}
CLAIMS = [
    claim(
        "depth-two",
        "At depth two no step, small or large, changes how paths share a mode.",
        gained,
        at_most=lambda c: 10 * c.p.depth * c.p.steps * float(np.finfo(c.p.precision).eps),
        why="A step multiplies both layers of all paths by one factor, at least .1, of which rounding is ten units at most.",
        where=lambda c: c.p.depth == 2 and c.p.hidden_width == 1 and c.p.relative_step <= ROUNDED,
        **OURS,
    ),
    claim(
        "edge",
        "From depth three on a run that ends above the edge slides along its minima and stops at step x curvature = 2.",
        lambda c: c.edge.where(slides(c)),
        why="Above it no minimum is stable; a slide ends when its oscillation dies, within a few percent below.",
        near=1,
        inside=(0.95, 1),
        **SLIDES | OURS,
    ),
    claim(
        "told",
        "How many paths carry the mode at the end is told before training, from the initial weights and the step.",
        lambda c: abs(c.participation / c.theory.participation - 1).where(slides(c)),
        **tolerance(0, 0.05),
        why="A run may stop a few percent below the edge, and the small step delays the race a little.",
        **SLIDES | OURS,
    ),
    claim(
        "settles",
        "The loss settles if and only if equal paths are stable at the step, and those needed are told to return in time.",
        lambda c: ((c.last_loss < SETTLED) == (wait(c) < 1)).where(
            clear(c) & ((c.last_loss >= 0) | (c.outcome == DIVERGED))
        ),
        statistic="fraction",
        near=1,
        inside=lambda c: (0.02 ** (1 / max(1, clear(c).sum().item())), 1),
        why="Every run does: .82 of twenty that all agree, .68 of ten. Within 5% of the border nothing is claimed.",
        where=outside_border,
        among="runs whose paths are told to be back within half of the steps, or not within twice as many",
        **OURS,
    ),
    claim(
        "equal-beyond",
        "Beyond the window paths become equal, though the loss never settles.",
        lambda c: c.participation.values / c.p.paths,
        why="All paths see one error, and the weaker ones grow by more of it; two percent for what is still on its way.",
        where=lambda c: c.p.depth > 2 and outside_border(c) and over_window(c) > 1,
        **tolerance(1, 0.02),
        **OURS,
    ),
    claim(
        "matrices-least",
        "Paths of matrices that settle share the largest mode among at least as many paths as balanced ones at the edge.",
        below_least,
        at_most=0.005,
        why="An inequality of means; what is left of the loss changes shares by less than half a percent.",
        among="runs of matrices above the edge when the step is raised whose loss settles",
        **WIDE | OURS,
    ),
    claim(
        "participation",
        "Where a run stops, its paths share the mode as a slide from its early shares to its measured curvature leaves them.",
        lambda c: over_slide(c, c.simulation).where(slides(c)),
        **tolerance(1, 0.03),
        why="Layers of a path stay equal, and the slide is that of a small oscillation; three percent for its size.",
        **SLIDES | {"source": SOURCE},
    ),
    claim(
        "flat",
        "A run that flow left below the edge keeps its shares.",
        lambda c: gained(c)[c.theory.early_edge.values < 1 - BORDER],
        at_most=lambda c: c.p.warm_step,
        why="Only the rest of the loss is still learned; a small part of the shares.",
        where=lambda c: c.p.depth > 2 and c.theory.early_edge.values.min() < 1 - BORDER,
        **OURS | {"rank": "control"},
    ),
    claim(
        "matrices-slide",
        "Paths of matrices share the largest mode as a slide of balanced paths leaves them, or up to 15 percent more evenly.",
        lambda c: over_slide(c, c["matrices"]).where(c["matrices"].early_edge > UNSTABLE),
        inside=(1, 1.15),
        why="Open: unequal layers are sharper than balanced ones of the same shares; by how much is not derived.",
        among="runs of matrices above the edge when the step is raised",
        **WIDE,
    ),
]
