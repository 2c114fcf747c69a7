"""What is claimed of grokking on images; "never" is a step of its own, infinity."""

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import MOST
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.power_law import power
from foretrain.theory.lazy_perceptron import shrinking
from foretrain.training.image_perceptron import first_steps, phase
from foretrain.training.phases import PHASES

from .study import SIZES, STARTS, compared

PAPER = "Liu et al. (2022), appendix J, "
OMNIGROK = "Liu, Michaud & Tegmark (2023), section 3"
PAGE = "docs/studies/image-grokking.md"
MAP = ("weight_decay", "last_learning_rate")
MAJORITY = "In most runs: six that all agree show a share of at least .54."
TWICE = "A factor of two to either side."


def phases(cell):
    """Phase of every run, (axes..., seed)."""
    data = cell.simulation
    return phase(*first_steps(data, cell.parameters), cell.parameters.delay)


def generalised(cell, names):
    """First steps of generalisation of the study's network ("") and of variants, (name, seed)."""
    return np.array([first_steps(cell.network(name), cell.parameters)[1] for name in names])


def late(steps, p):
    """Steps with ten budgets for never: an order statistic needs a number that is larger than all others."""
    return np.where(np.isinf(steps), 10.0 * p.steps, steps)


def four_phases(cell):
    if any(len(cell.values(name)) < 2 for name in MAP):
        return None
    found = phases(cell)
    shares = [(found == number).mean(-1) for number in range(len(PHASES))]
    told = ", ".join(
        f"{name} {share.mean():.2f} ({share.max():.2f})"
        for name, share in zip(PHASES, shares, strict=True)
    )
    seen = [
        np.any(found == number, axis=tuple(range(found.ndim - 1))) for number in range(len(PHASES))
    ]
    return PerSeed(np.all(seen, axis=0), f"Mean probability (largest of a cell): {told}.")


def beside(cell):
    """Whether other networks were trained beside those of this cell, with any decay."""
    return compared(cell.parameters) and cell.parameters.weight_decay > 0


def typical(cell, name):
    """Median over seeds of a predicted step."""
    return float(np.median(cell.theory[name].values))


def larger_start(cell):
    steps = generalised(cell, ("usual", "smaller", "", "larger"))
    return (steps[1:] > steps[:-1]).all(0)


def usual_start(cell):
    p = cell.parameters
    steps = first_steps(cell.variants["usual"], p)
    return phase(*steps, p.delay) == PHASES.index("comprehension")


def logarithm(cell):
    p, steps = cell.parameters, generalised(cell, ("", "larger"))
    per_step = shrinking(p.learning_rate, p.last_learning_rate, p.weight_decay)
    grown = late(steps[1], p) - late(steps[0], p)
    return grown * per_step / np.log(STARTS["larger"])


def more_images(cell):
    if not all(name in cell.variants for name in SIZES):
        return None
    steps = generalised(cell, ("fewer", "", "more"))
    return (steps[1:] < steps[:-1]).all(0)


def told(cell):
    """Whether decay is what a typical run of a cell waits for, and within the budget."""
    p = cell.parameters
    return 2 * p.delay <= typical(cell, "lazy_step") <= 0.8 * p.steps


def over(cell, name):
    """Measured over predicted step, (seed,)."""
    return late(generalised(cell, ("",))[0], cell.parameters) / cell.theory[name].values


def decay_slope(cell, delayed):
    """Slope in logarithms of the step, or of the delay after the fit, along those decays that are waited for, (seed,)."""
    p, decays = cell.parameters, np.array(cell.values("weight_decay"))
    waits = np.median(cell.theory["lazy_step"].transpose("weight_decay", "seed").values, axis=1)
    kept = (2 * p.delay <= waits) & (waits <= 0.8 * p.steps)
    if kept.sum() < 3:
        return None
    fitted, steps = (found[kept] for found in first_steps(cell.simulation, p))
    with np.errstate(invalid="ignore"):
        return power(decays[kept], steps - fitted if delayed else steps)


CLAIMS = [
    claim(
        "four-phases",
        "All four phases appear: comprehension, grokking, memorization and confusion.",
        four_phases,
        near=1,
        inside=MOST,
        why=MAJORITY,
        source=PAPER + "Fig. 8",
        along=MAP,
        statistic="fraction",
        among="all runs; those that diverge are in confusion unless they had fitted before",
        note="Seeds with each phase in some cell of the map.",
        rank="headline",
    ),
    claim(
        "memorises",
        "Runs memorise where weight decay would need more than twice the budget to forget the start.",
        lambda c: phases(c) == PHASES.index("memorization"),
        near=1,
        inside=MOST,
        why=MAJORITY,
        source=PAGE,
        where=lambda cell: typical(cell, "lazy_step") > 2 * cell.parameters.steps,
        note="Predicted by the tangent kernel of the shrunk start.",
    ),
    claim(
        "larger-start",
        "A larger initial scale delays generalisation.",
        larger_start,
        near=1,
        inside=MOST,
        why=MAJORITY,
        source=PAPER + "Fig. 8",
        of=("", *STARTS),
        where=beside,
        note="Seeds whose step rises with alpha at every size of the start.",
        rank="headline",
    ),
    claim(
        "usual-start",
        "From the usual initial scale generalisation is not delayed.",
        usual_start,
        near=1,
        inside=MOST,
        why=MAJORITY,
        source=OMNIGROK,
        of="usual",
        where=beside,
        note="Seeds that comprehend at alpha = 1.",
        rank="control",
    ),
    claim(
        "logarithm",
        "Between two large initial scales the delay grows by the logarithm of their ratio over rate times decay.",
        logarithm,
        source=PAGE,
        near=1,
        inside=(0.5, 2),
        why="Where the kernel generalises does not depend on alpha, so that it drops out. " + TWICE,
        of=("", "larger"),
        where=beside,
        statistic="median",
        note="Measured over predicted difference.",
    ),
    claim(
        "more-images",
        "Time to generalise falls with the number of training images.",
        more_images,
        near=1,
        inside=MOST,
        why=MAJORITY,
        source=PAPER + "Fig. 20",
        of=("", *SIZES),
        where=beside,
        note="Seeds whose step falls whenever the training set is doubled.",
        rank="headline",
    ),
    claim(
        "forgotten",
        "A run generalises when decay has taken the start back to the usual one: after ln(alpha) / (rate x decay) "
        "steps.",
        lambda c: over(c, "forgetting_step"),
        source=OMNIGROK,
        near=1,
        inside=(0.5, 2),
        why=TWICE,
        statistic="median",
        where=told,
        note="Measured over predicted step; of two rates the mean over layers.",
        rank="headline",
    ),
    claim(
        "forgotten.corrected",
        "A run generalises when decay has taken the start to where its tangent kernel generalises.",
        lambda c: over(c, "lazy_step"),
        source=PAGE,
        near=1,
        inside=(0.5, 2),
        why=TWICE
        + " Left out are the time to fit, of which cells are chosen to be free, and features.",
        statistic="median",
        where=told,
        corrects="forgotten",
        note="Measured over predicted step.",
        rank="headline",
    ),
    claim(
        "inverse-decay",
        "The step of generalisation is inversely proportional to the decay.",
        lambda c: decay_slope(c, delayed=False),
        near=-1,
        inside=(-1.2, -0.8),
        along="weight_decay",
        note="Slope of logarithms.",
        source=OMNIGROK,
        why="A run that adds a fifth of its time for other reasons at the largest decay looked at is as far off.",
        among="runs that generalise at every decay for which the kernel's law is between two delays and four fifths of the "
        "budget",
    ),
    claim(
        "inverse-decay.corrected",
        "The delay after the fit is inversely proportional to the decay.",
        lambda c: decay_slope(c, delayed=True),
        near=-1,
        inside=(-1.2, -0.8),
        along="weight_decay",
        note="Slope of logarithms.",
        source=PAGE,
        why="As of the step.",
        among="runs that generalise, after the fit, at every decay for which the kernel's law is between two delays and "
        "four fifths of the budget",
        corrects="inverse-decay",
        rank="headline",
    ),
]
