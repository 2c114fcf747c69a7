"""Claims on grokking on images; "never" is a step of its own, infinity."""

from typing import Any

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import MOST
from foretrain.study import PerSeed, claim, skip_if, slope
from foretrain.theory.grokking.lazy_perceptron import shrinking
from foretrain.training import image_perceptron
from foretrain.training.phases import PHASES

from .study import SIZES, STARTS, has_comparisons

PAPER = "Liu et al. (2022), appendix J, "
OMNIGROK = "Liu, Michaud & Tegmark (2023), section 3"
PAGE = "docs/studies/image-grokking.md"
MAP = ("weight_decay", "last_learning_rate")


def phase(c, network=""):
    return image_perceptron.phase(*first_steps(c, network), c.p.delay)


def first_steps(c, network=""):
    """Return the first steps at which runs have fitted and generalised, infinity for never."""
    return image_perceptron.first_steps(c[network], c.p)


def generalisation_steps(c, *networks):
    """Return the first steps of generalisation of networks, with the dim training_images: the size of each training set."""
    steps = [first_steps(c, network)[1] for network in networks]
    sizes = [c.p.training_size * SIZES.get(network, 1) for network in networks]
    return xr.concat(steps, "training_images", join="override").assign_coords(training_images=sizes)


def bounded_step(c, network=""):
    """Return the step of generalisation, ten budgets for never: order statistics need a number larger than all others."""
    return np.minimum(first_steps(c, network)[1], 10.0 * c.p.steps)


def four_phases(c):
    skip_if(any(len(c.values(name)) < 2 for name in MAP), "a map has two values of each axis")
    runs = [phase(c) == code for code in range(len(PHASES))]
    shares = [f"{name} {float(run.mean()):.2f}" for name, run in zip(PHASES, runs, strict=True)]
    all_occur = np.all([run.any(MAP) for run in runs], axis=0)
    return PerSeed(all_occur, f"Mean probability: {', '.join(shares)}.")


def larger_is_later(c):
    later = generalisation_steps(c, "usual", "smaller", "", "larger").diff("training_images") > 0
    return later.all("training_images") & (phase(c, "usual") == PHASES.index("comprehension"))


def logarithm(c):
    per_step = shrinking(c.p.learning_rate, c.p.last_learning_rate, c.p.weight_decay)
    return (bounded_step(c, "larger") - bounded_step(c)) * per_step / np.log(STARTS["larger"])


def waits_for_decay(p, step):
    """Return True where a typical run waits for decay, within the budget."""
    return (2 * p.delay <= step) & (step <= 0.8 * p.steps)


def decay_slope(c, delayed):
    """Return the slope in logarithms of the step, or of the delay after the fit, along those decays that are waited for."""
    fitted, steps = first_steps(c)
    kept = waits_for_decay(c.p, c.theory.lazy_step.median("seed"))
    return slope((steps - fitted if delayed else steps).where(kept, drop=True), "weight_decay")


RUNS = {
    "near": 1,
    "inside": MOST,
    "why": "In most runs: six that all agree show a share of at least .54.",
    "rank": "headline",
}
BESIDE: dict[str, Any] = {"where": lambda c: has_comparisons(c.p) and c.p.weight_decay > 0}
WITHIN_TWO = {"near": 1, "inside": (0.5, 2), "statistic": "median"}
LAWFUL = "at decays for which the kernel's law is between two delays and four fifths of the budget"
SHORTER = "the fit alone, which shortens a start by up to a third, may end the wait"
CLAIMS = [
    claim(
        "four-phases",
        "All four phases appear: comprehension, grokking, memorization and confusion.",
        four_phases,
        source=PAPER + "Fig. 8",
        along=MAP,
        statistic="fraction",
        among="all runs; those that diverge are in confusion unless they had fitted before",
        **RUNS,
    ),
    claim(
        "memorises",
        "Runs memorise where weight decay would need more than twice the budget to forget the start.",
        lambda c: phase(c) == PHASES.index("memorization"),
        source=PAGE,
        where=lambda c: bool(c.theory.lazy_step.median("seed") > 2 * c.p.steps),
        note="Predicted by the tangent kernel of the shrunk start.",
        domain=lambda c: SHORTER * bool(c.theory.shorter_lazy_step.median("seed") <= 2 * c.p.steps),
        **{**RUNS, "rank": "detail"},
    ),
    claim(
        "larger-start",
        "A larger initial scale delays generalisation, and from the usual scale there is no delay.",
        larger_is_later,
        source=f"{PAPER}Fig. 8; {OMNIGROK}",
        note="Seeds whose step rises with alpha at every size of the start, and that comprehend at alpha = 1.",
        **RUNS,
        **BESIDE,
    ),
    claim(
        "logarithm",
        "Between two large initial scales the delay grows by the logarithm of their ratio over rate times decay.",
        logarithm,
        source=PAGE,
        **WITHIN_TWO,
        why="Where the kernel generalises does not depend on alpha, so that it drops out. A factor of two to either side.",
        note="Measured over predicted difference.",
        **BESIDE,
    ),
    claim(
        "more-images",
        "Time to generalise falls with the number of training images.",
        lambda c: (generalisation_steps(c, "fewer", "", "more").diff("training_images") < 0).all(
            "training_images"
        ),
        source=PAPER + "Fig. 20",
        note="Seeds whose step falls whenever the training set is doubled.",
        **RUNS,
        **BESIDE,
    ),
    *claim(
        "forgotten",
        "A run generalises when decay has taken the start back to the usual one: after ln(alpha) / (rate x decay) steps.",
        lambda c: bounded_step(c) / c.theory.forgetting_step,
        source=OMNIGROK,
        **WITHIN_TWO,
        why="A factor of two to either side.",
        note="Measured over predicted step.",
        where=lambda c: bool(waits_for_decay(c.p, c.theory.lazy_step.median("seed"))),
        rank="headline",
    ).and_corrected(
        "A run generalises when decay has taken the start to where its tangent kernel generalises.",
        quantity=lambda c: bounded_step(c) / c.theory.lazy_step,
        near=1,
        source=PAGE,
    ),
    *claim(
        "inverse-decay",
        "The step of generalisation is inversely proportional to the decay.",
        lambda c: decay_slope(c, delayed=False),
        source=OMNIGROK,
        near=-1,
        inside=(-1.2, -0.8),
        why="A run that adds a fifth of its time for other reasons at the largest decay looked at is as far off.",
        note="Slope of logarithms.",
        along="weight_decay",
        among=f"runs that generalise {LAWFUL}",
    ).and_corrected(
        "The delay after the fit is inversely proportional to the decay.",
        quantity=lambda c: decay_slope(c, delayed=True),
        near=-1,
        source=PAGE,
        among=f"runs that generalise, after the fit, {LAWFUL}",
        rank="headline",
    ),
]
