"""Claims on paths at the edge of stability; for the derivations see ``docs/studies/large-steps.md``."""

import numpy as np

from foretrain.quantities.allowed import ALWAYS, tolerance
from foretrain.study import claim, skip_if
from foretrain.theory.pathways import large_steps as theory

from .study import PAPER, SOURCE, edge_step

BORDER = 0.05  # relative distance from an end of the window within which nothing is claimed
MARGIN = 0.05  # by which a run may end below the edge: it stops once its oscillation outlives the slide no longer
SETTLED = 1e-6  # loss; one that oscillates is above .01


def over_window(p):
    """Return the step over the largest with which equal paths are stable."""
    return p.relative_step / theory.window(p.paths, p.depth)


def inside_window(c):
    return c.p.depth > 2 and c.p.relative_step >= 1 + BORDER and over_window(c.p) <= 1 - BORDER


def sharp(runs):
    """Return a run's values where it is above the edge when the step is raised; nan elsewhere."""
    return lambda values: np.where(runs.early_edge > 1 + BORDER / 2, values, np.nan)


def network(c, name):
    skip_if(name and c.p.depth > 4, "no matrices were trained")
    return c[name] if name else c.simulation


def edge(name=""):
    def of(c):
        runs = network(c, name)
        return sharp(runs)(runs.edge)

    return of


def over_slide(name=""):
    """Return how many paths carry the mode at the end, over what a slide from a run's early shares to its own sharpness leaves."""

    def of(c):
        runs = network(c, name)
        most = 2 * runs.edge.values / (c.p.relative_step * edge_step(c.p))
        early = np.maximum(runs.early_share.transpose("seed", "path").values, 1e-12)
        left = [
            theory.participation(theory.slide(shares, c.p.depth, sharpness))
            if np.isfinite(sharpness)
            else np.nan
            for shares, sharpness in zip(early, most, strict=True)
        ]
        return sharp(runs)(runs.participation / np.array(left))

    return of


def over_told(c):
    return (c.participation / c.theory.participation).values


def told_room(c):
    """Return the ratio allowed: that of a slide to `MARGIN` below the edge, and the delay of the small step on either side."""
    below = [
        theory.participation(
            theory.slide(shares, c.p.depth, (1 - MARGIN) * 2 / (c.p.relative_step * edge_step(c.p)))
        )
        for shares in c.theory.early_share.transpose("seed", "path").values
    ]
    room = float(np.max(below / c.theory.participation.values))
    return 1 - c.p.warm_step / 2, room * (1 + c.p.warm_step / 2)


def early_participation(runs):
    return theory.participation(runs.early_share.transpose("seed", "path").values)


def kept(c):
    return (c.participation / early_participation(c.simulation)).values - 1


def kept_if_flat(c):
    return np.where(c.early_edge < 1 - BORDER, kept(c), np.nan)


def settles_as_told(name=""):
    def of(c):
        loss = network(c, name).late_loss.values
        return (np.nan_to_num(loss, nan=np.inf) < SETTLED) == (over_window(c.p) < 1)

    return of


def leader_stays(c):
    early = c.early_share.transpose("seed", "path").values
    flow = c.theory.early_share.transpose("seed", "path").values
    last = c.end.share.transpose("seed", "path").values
    return (early.argmax(1) == flow.argmax(1)) & (last.argmax(1) == early.argmax(1))


def share_of_paths(name=""):
    return lambda c: network(c, name).participation / c.p.paths


def outside_border(c):
    return abs(over_window(c.p) - 1) > BORDER and (
        c.p.depth > 2 or abs(c.p.relative_step - 1) > BORDER
    )


def beyond_window(c):
    return c.p.depth > 2 and over_window(c.p) >= 1 + BORDER


AMONG = "runs above the edge when the step is raised"
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
        edge(),
        source=SOURCE,
        near=1,
        inside=(1 - MARGIN, 1),
        why="Above it no minimum is stable; a slide ends when its oscillation dies, within a few percent below.",
        where=inside_window,
        among=AMONG,
        rank="headline",
        note="Step x largest curvature of the network / 2.",
    ),
    claim(
        "participation",
        "Where a run stops, its paths share the mode as a slide from its early shares to its measured curvature leaves them.",
        over_slide(),
        source=SOURCE,
        **tolerance(1, 0.03),
        why="Layers of a path stay equal, and the slide is that of a small oscillation; three percent for its size.",
        where=lambda c: inside_window(c) and c.p.hidden_width == 1,
        among=AMONG,
        rank="headline",
        note="Paths that carry the mode, over those of the slide.",
    ),
    claim(
        "told",
        "How many paths carry the mode at the end is told before training, from the initial weights and the step.",
        over_told,
        source=SOURCE,
        near=1,
        inside=told_room,
        why="A run may stop five percent below the edge, and half of the small relative step is what it delays the race by.",
        where=lambda c: (
            c.p.hidden_width == 1 and outside_border(c) and (c.p.depth == 2 or over_window(c.p) < 1)
        ),
        rank="headline",
        note="Participation, over what is told.",
    ),
    claim(
        "settles",
        "The loss settles if and only if the step is below M^(1-2/L) of the largest that one path can bear.",
        settles_as_told(),
        source=SOURCE,
        near=1,
        inside=ALWAYS,
        why="Below it equal shares are stable, above no minimum is; one run in ten may differ. Within 5% of the border nothing is claimed.",
        where=outside_border,
        rank="headline",
    ),
    claim(
        "equal-beyond",
        "Beyond the window paths become equal, though the loss never settles.",
        share_of_paths(),
        source=SOURCE,
        near=1,
        inside=(0.98, 1),
        why="All paths see one error, and the weaker ones grow by more of it; two percent for what is still on its way.",
        where=beyond_window,
        rank="headline",
        note="Paths that carry the mode, over all.",
    ),
    claim(
        "flat",
        "A run that flow left below the edge keeps its shares.",
        kept_if_flat,
        source=SOURCE,
        at_most=lambda c: c.p.warm_step,
        why="Only the rest of the loss is still learned; a small part of the shares.",
        where=lambda c: c.p.depth > 2 and c.p.hidden_width == 1,
        among="runs below the edge",
        rank="control",
    ),
    claim(
        "leader",
        "The path that flow names leads when the step is raised, and still leads at the edge.",
        leader_stays,
        source=PAPER,
        near=1,
        inside=ALWAYS,
        why="Paths of equal layers keep their order; one run in ten may differ.",
        where=lambda c: (
            c.p.hidden_width == 1
            and (c.p.depth == 2 or over_window(c.p) <= 1 - BORDER)
            and c.p.relative_step < 2
        ),
        rank="detail",
    ),
    claim(
        "matrices-edge",
        "Paths of matrices from random weights stop at step x curvature = 2, too.",
        edge("matrices"),
        source=SOURCE,
        near=1,
        inside=(1 - MARGIN, 1),
        why="As for paths of single weights: the largest curvature is that of the largest mode.",
        where=inside_window,
        among=AMONG,
    ),
    claim(
        "matrices-participation",
        "Paths of matrices share the largest mode as a slide of balanced paths leaves them, or by up to 15 percent more evenly.",
        over_slide("matrices"),
        source=SOURCE,
        near=1,
        inside=(0.97, 1.15),
        why="Random layers are unequal, which makes a path sharper than its share says, so that it gives more of it away.",
        where=inside_window,
        among=AMONG,
        note="Paths that carry the mode, over those of the slide.",
    ),
    claim(
        "matrices-settle",
        "The loss of matrices settles if and only if the step is below M^(1-2/L) of the largest that one path can bear.",
        settles_as_told("matrices"),
        source=SOURCE,
        near=1,
        inside=ALWAYS,
        why="As for paths of single weights.",
        where=outside_border,
    ),
]
