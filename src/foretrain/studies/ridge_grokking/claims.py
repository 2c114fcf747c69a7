"""What is claimed of grokking in ridge regression; for the derivations see ``docs/theory/ridge-grokking.md``."""

import numpy as np

from foretrain.study import Exact, sentence
from foretrain.theory.ridge import typical_generalisation

from .study import SOURCE

MOST = "In most runs: of twenty that all agree the share is at least .83, of sixteen .56."


def typical(cell, samples=None, decay=None):
    """Step at which the typical run generalises."""
    p = cell.parameters
    share, decay = (samples or p.samples) / p.dimension, p.weight_decay if decay is None else decay
    return typical_generalisation(share, p.init_scale, p.threshold, decay) / p.learning_rate


def slope(x, y):
    """Slope of y, shape (x, seed), along x; nan for a seed that lacks a value."""
    x = x - np.mean(x)
    return x @ y / (x @ x)


@sentence(
    "Every run fits, and generalises, at the very step that the closed form of descent says, or never.",
    source=SOURCE,
    predicted=0,
    allowed=(0, 1),
    why="Both are one recursion; rounding may move a crossing by a step.",
    unit="step",
)
def predicted_steps(cell):
    names = ["fit_step", "generalisation_step"]
    found, said = (data[names].fillna(np.inf).to_array() for data in (cell.simulation, cell.theory))
    return Exact(float(np.abs(found - said).where(found != said, 0).max()))


def bounded(cell):
    """Of the runs with bounds above zero and within all steps: which, and lower bound, law, upper bound, shape (3, run)."""
    found = np.array([cell.theory[name].values for name in ("law_low", "law", "law_high")])
    told = (found[2] + 2 < cell.parameters.steps) & (found[0] > 0)
    return told, found[:, told]


def between_bounds(cell):
    """How far apart bounds and law are at most, relative to the law."""
    low, law, high = bounded(cell)[1]
    return 0, max(((high + 1) / law - 1).max(), (1 - low / law).max())


@sentence(
    "A run generalises when the null space of its data alone has forgotten the start.",
    source=SOURCE,
    predicted=0,
    allowed=between_bounds,
    why="The law lies between rigorous bounds, of which this is the wider side, and a step is whole.",
)
def law(cell):
    told, (_, law, _) = bounded(cell)
    if not told.any():
        return None
    gap = np.abs(cell.simulation["generalisation_step"].values[told] / law - 1)
    note = f"Largest |measured over predicted step - 1| of the {told.sum()} runs that have bounds."
    return Exact(float(np.where(np.isnan(gap), np.inf, gap).max()), note, int(told.sum()))


@sentence(
    "The step of generalisation is inversely proportional to the decay.",
    source=SOURCE,
    predicted=-1,
    allowed=(-1.01, -0.99),
    why="Decay raises the floor by the order of (decay over smallest curvature)²: to -.993 at most, in 40 draws of the law.",
    over="weight_decay",
    among="runs that generalise at every decay",
)
def decay_slope(cell):
    decays = np.array(cell.values("weight_decay"))
    kept = decays > 0
    if kept.sum() < 3 or not 0 < typical(cell, decay=decays.max()) < np.inf:
        return None
    steps = cell.simulation["generalisation_step"].values[kept]
    return slope(np.log(decays[kept]), np.log(steps))


@sentence(
    "In samples the step goes as ln[g sigma^2 / (threshold - g)], g = 1 - n/d, from early to never at g = threshold.",
    source=SOURCE,
    predicted=1,
    allowed=(0.6, 1.4),
    why="Single runs scatter by .46 at d = 100, as random null spaces do: four standard errors of twenty. Were steps to go as "
    "g it would be 1.7.",
    over="samples",
    among="runs that generalise at every number of samples where the typical one does",
)
def samples_slope(cell):
    steps = np.array([typical(cell, n) for n in cell.values("samples")])
    kept = np.isfinite(steps) & (steps > 0)
    if kept.sum() < 3:
        return None
    return slope(steps[kept], cell.simulation["generalisation_step"].values[kept])


@sentence(
    "Without decay, or with a share of unseen directions above the threshold, no run generalises.",
    source=SOURCE,
    predicted=1,
    allowed=(0.5, 1),
    why=MOST,
    statistic="fraction",
)
def never(cell):
    return (
        np.isnan(cell.simulation["generalisation_step"].values) if np.isinf(typical(cell)) else None
    )


@sentence(
    "From a small start there is no delay: a run generalises before it has fitted, with decay or without.",
    source=SOURCE,
    predicted=1,
    allowed=(0.5, 1),
    why=MOST,
    of="small",
)
def small_start(cell):
    p = cell.parameters
    if "small" not in cell.variants or 1 - p.samples / p.dimension >= p.threshold:
        return None
    small = cell.variants["small"]
    return small["generalisation_step"].values <= small["fit_step"].values
