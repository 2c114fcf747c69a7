"""Claims on grokking in ridge regression; for the derivations see ``docs/theory/ridge-grokking.md``."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.allowed import MOST, tolerance
from foretrain.quantities.learning_curves.slopes import slopes
from foretrain.study import claim, float_type, skip_if, slope
from foretrain.theory.grokking.ridge import typical_generalisation

from .study import CURVES, SOURCE, STEPS


def typical_step(c, **other):
    """Return the step at which the typical run generalises, with other parameters than those of the cell."""
    p = replace(c.p, **other)
    rest = p.init_scale, p.threshold, p.weight_decay
    return typical_generalisation(p.samples / p.dimension, *rest) / p.learning_rate


def step_gaps(c):
    """Return measured less predicted steps; infinity, for never, equals itself."""
    measured, predicted = (x[[*STEPS]].to_array().fillna(np.inf) for x in (c.simulation, c.theory))
    return (measured - predicted).where(measured != predicted, 0)


def curve_gaps(c):
    measured, predicted = (x[[*CURVES]].to_array() for x in (c.simulation, c.theory))
    return ((measured - predicted) / predicted.isel(step=0)).dropna("step")


def law_gap(c):
    known = np.isfinite(c.theory.law_room)
    skip_if(not known.any(), "no run has bounds")
    return abs(c.generalisation_step / c.theory.law - 1)[known].fillna(np.inf)


def bend(c):
    """Return in words how far the floor raised by decay bends the law from an inverse; "" where by at most half of `SLOPE`."""
    off = float(abs(slope(c.theory.law, "weight_decay").mean() + 1))
    return f"decay raises the floor, which bends the law by {off:.2g}" if off > SLOPE / 2 else ""


def samples_slope(c):
    steps = np.array([typical_step(c, samples=n) for n in c.values("samples")])
    kept = np.isfinite(steps) & (steps > 0)
    skip_if(kept.sum() < 3, "the typical run generalises at fewer than three numbers of samples")
    measured = c.generalisation_step[kept]
    return slopes(steps[kept], measured.where(measured.notnull().all("samples")).values)


SLOPE = 0.01  # that slopes of the inverse of decay may be off
FROM_SOURCE = {"source": SOURCE, "rank": "headline"}
CLAIMS = [
    claim(
        "predicted-steps",
        "Every run fits and generalises at the very step that the closed form of descent predicts, or never.",
        step_gaps,
        source=SOURCE,
        at_most=1,
        why="Both are one recursion; rounding may move a crossing.",
        unit="step",
        rank="control",
    ),
    claim(
        "predicted-curves",
        "Training and validation error of every run are at every step those of the closed form of descent.",
        curve_gaps,
        source=SOURCE,
        at_most=lambda c: c.p.steps * float(np.finfo(float_type(c.p.precision)).eps),
        why="Both are one recursion, which contracts: every step adds one rounding at most.",
        note="Largest difference, over the start.",
        rank="control",
    ),
    claim(
        "law",
        "A run generalises when the null space of its data alone has forgotten the start.",
        law_gap,
        at_most=lambda c: np.nanmax(c.theory.law_room),
        why="The law lies between rigorous bounds, of which this is the wider side; a step is whole.",
        note="Largest |measured over predicted step - 1| of the runs that have bounds.",
        **FROM_SOURCE,
    ),
    claim(
        "decay-slope",
        "The step of generalisation is inversely proportional to the decay.",
        lambda c: slope(c.generalisation_step, "weight_decay"),
        **tolerance(-1, SLOPE),
        why="Claimed where the law, whose floor decay raises, has a slope within .005 of -1; as much again for the data.",
        along="weight_decay",
        among="runs that generalise at every decay",
        where=lambda c: 0 < typical_step(c, weight_decay=max(c.values("weight_decay"))) < np.inf,
        domain=bend,
        **FROM_SOURCE,
    ),
    claim(
        "samples-slope",
        "The step of generalisation goes with samples as ln[g sigma^2 / (threshold - g)], g = 1 - n/d, from early to "
        "never at g = threshold.",
        samples_slope,
        **tolerance(1, 0.4),
        why="Runs scatter by .46 at d = 100, as null spaces do: four standard errors of twenty. Were steps to go as g: 1.7.",
        along="samples",
        among="runs that generalise at every number of samples where the typical one does",
        **FROM_SOURCE,
    ),
    claim(
        "small-start",
        "From a small start there is no delay: a run generalises before it has fitted, with decay or without.",
        lambda c: c["small"].generalisation_step <= c["small"].fit_step,
        near=1,
        inside=MOST,
        why="In most runs: of twenty that all agree the share is at least .83, of sixteen .56.",
        where=lambda c: typical_step(c, weight_decay=1.0) < np.inf,
        **FROM_SOURCE,
    ),
]
