"""What is claimed of grokking in ridge regression; for the derivations see ``docs/theory/ridge-grokking.md``."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.allowed import MOST
from foretrain.quantities.power_law import power
from foretrain.quantities.slopes import slopes
from foretrain.study import Exact, claim
from foretrain.theory.ridge import typical_generalisation

from .study import SOURCE

FOUND = "generalisation_step"
MAJORITY = "In most runs: of twenty that all agree the share is at least .83, of sixteen .56."
BOUNDS = "The law lies between rigorous bounds, of which this is the wider side; a step is whole."
FLOOR = "Decay raises the floor by the order of (decay over smallest curvature)²: to -.993 at most, in 40 draws of the law."
SCATTER = "Runs scatter by .46 at d = 100, as null spaces do: four standard errors of twenty. Were steps to go as g: 1.7."


def typical(cell, **other):
    """Step at which the typical run generalises, with other parameters than those of the cell."""
    p = replace(cell.parameters, **other)
    time = typical_generalisation(
        p.samples / p.dimension, p.init_scale, p.threshold, p.weight_decay
    )
    return time / p.learning_rate


def predicted_steps(cell):
    steps = [data[["fit_step", FOUND]].to_array() for data in (cell.simulation, cell.theory)]
    found, told = (one.fillna(np.inf) for one in steps)
    return Exact(float(np.abs(found - told).where(found != told, 0).max()))


def law(cell):
    told = np.isfinite(cell.theory["law_room"].values)
    gap = np.abs(cell.simulation[FOUND].values[told] / cell.theory["law"].values[told] - 1)
    note = f"Largest |measured over predicted step - 1| of the {told.sum()} runs that have bounds."
    worst = np.where(np.isnan(gap), np.inf, gap).max(initial=0)
    return Exact(float(worst), note, int(told.sum())) if told.any() else None


def decay_slope(cell):
    decays = np.array(cell.values("weight_decay"))
    kept = decays > 0
    late = kept.sum() >= 3 and 0 < typical(cell, weight_decay=decays.max()) < np.inf
    return power(decays[kept], cell.simulation[FOUND].values[kept]) if late else None


def samples_slope(cell):
    steps = np.array([typical(cell, samples=n) for n in cell.values("samples")])
    kept = np.isfinite(steps) & (steps > 0)
    found = cell.simulation[FOUND].values[kept]
    found = np.where(np.isfinite(found).all(0), found, np.nan)
    return slopes(steps[kept], found) if kept.sum() >= 3 else None


def small_start(cell):
    small = cell.network("small")
    return small[FOUND].values <= small["fit_step"].values if small.data_vars else None


CLAIMS = [
    claim(
        "predicted-steps",
        "Every run fits and generalises at the very step that the closed form of descent predicts, or never.",
        predicted_steps,
        source=SOURCE,
        near=0,
        inside=(0, 1),
        why="Both are one recursion; rounding may move a crossing.",
        unit="step",
        rank="control",
    ),
    claim(
        "law",
        "A run generalises when the null space of its data alone has forgotten the start.",
        law,
        source=SOURCE,
        near=0,
        inside=lambda cell: (0, np.nanmax(cell.theory["law_room"])),
        why=BOUNDS,
        rank="headline",
    ),
    claim(
        "decay-slope",
        "The step of generalisation is inversely proportional to the decay.",
        decay_slope,
        source=SOURCE,
        near=-1,
        inside=(-1.01, -0.99),
        why=FLOOR,
        along="weight_decay",
        among="runs that generalise at every decay",
        rank="headline",
    ),
    claim(
        "samples-slope",
        "The step of generalisation goes with samples as ln[g sigma^2 / (threshold - g)], g = 1 - n/d, from early to "
        "never at g = threshold.",
        samples_slope,
        source=SOURCE,
        near=1,
        inside=(0.6, 1.4),
        why=SCATTER,
        along="samples",
        among="runs that generalise at every number of samples where the typical one does",
        rank="headline",
    ),
    claim(
        "never",
        "Without decay, or with a fraction of unseen directions above the threshold, no run generalises.",
        lambda c: np.isnan(c.simulation[FOUND].values),
        source=SOURCE,
        near=1,
        inside=MOST,
        why=MAJORITY,
        where=lambda cell: np.isinf(typical(cell)),
        rank="control",
    ),
    claim(
        "small-start",
        "From a small start there is no delay: a run generalises before it has fitted, with decay or without.",
        small_start,
        source=SOURCE,
        near=1,
        inside=MOST,
        why=MAJORITY,
        of="small",
        where=lambda cell: typical(cell, weight_decay=1.0) < np.inf,
        rank="headline",
    ),
]
