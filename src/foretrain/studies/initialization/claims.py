"""Claims on the scale of the initial weights (Fig. 6): the race at small scales, the linearised network at large ones."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around, tolerance
from foretrain.quantities.learning_curves.curve_deviation import deviation_while_falling
from foretrain.quantities.learning_curves.learning_time import fall_times, mean_fall_time
from foretrain.study import claim, slope
from foretrain.theory.pathways.race_parts import errors_left
from foretrain.training.routing import items_task, mask
from foretrain.training.routing_claims import closed_form_within, same_item, trained_routes_alone
from foretrain.training.routing_to_loss import zero_error

from .study import Parameters, kernel_of_seed, lazy_limit, variants

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.3, "
OURS = "docs/studies/initialization.md"
RACE = "docs/studies/pathway-race.md"
LAZY = "at init_scale 5 and four times the width."


def untrained_error(c):
    """Return the untrained error over that of answering zero."""
    return c.converged_untrained_error / zero_error(c.p)


def encoder_change(runs):
    """Return the change of the encoders over their initial size."""
    return runs.weight_change.sel(layer="encoders", drop=True)


def deviation(c, name):
    """Return how far the loss is from one of the theory's, over its start, while it falls to 1%."""
    # Theory goes on after the longest run, where all have diverged.
    step = {"input_core_dims": [["step"]] * 2, "vectorize": True, "join": "left"}
    return xr.apply_ufunc(deviation_while_falling, c.loss, c.theory[name], **step)


def linearised_start(c):
    """Return the loss and the untrained error of the linearised network over those of the network at the start, less one."""
    names = ("loss", "untrained_error")
    gaps = [c.theory.start[f"lazy_{name}"] / c.start[name].astype(float) - 1 for name in names]
    return xr.concat(gaps, "error").fillna(0) if c.p.trained_outputs < c.p.domains else gaps[0]


def map_at_start(c) -> float:
    """Return the largest length of the start's answers over that of targets, at the smallest scale: layers are isometries."""
    data = items_task(c.p.level_weights)
    power_ratio = (data.inputs[0] ** 2).sum() / (data.targets[0] ** 2).sum()
    return float(c.values("init_scale")[0] ** 3 * power_ratio**0.5)


def left_of_linearised(c) -> float:
    """Return the root of the share of its loss that the linearised network ends with, at the largest scale."""
    loss = c.theory.lazy_loss.isel(init_scale=-1).dropna("step")
    return float((loss.isel(step=-1) / loss.isel(step=0)).max() ** 0.5)


def linearised_end(c):
    """Return the untrained error of the linearised network when its prediction ends over its limit, less one."""
    error, limit = c.theory.lazy_untrained_error, c.theory.lazy_limit
    return (error / limit - 1).isel(init_scale=-1).dropna("step").isel(step=-1)


def cosine_room(c) -> float:
    """Return the part of the predicted missing cosine by which vectors of a finite width may be off."""
    missing = 1 - float(c.theory.race_cosine.isel(init_scale=0).mean())
    return 2 * missing / np.sqrt(c.p.hidden_width)


def stage_times(c):
    both = [loss.isel(init_scale=0) for loss in (c.loss, c.theory.race_loss)]
    measured, predicted = (
        fall_times(loss.step.values, loss.transpose("seed", "step").values) for loss in both
    )
    return (measured / predicted).mean(1)


def lazy_gap(c):
    p, gaps = _lazy(c.p), []
    runs = c["lazy"].isel(init_scale=0)
    for number in range(runs.sizes["seed"]):
        run, kernel = runs.isel(seed=number), kernel_of_seed(p, c.seed(number))
        step = run["step"].values
        linear, _ = kernel.errors(step, p.rate, p.init_scale)
        late = mean_fall_time(step, run["loss"].values) / mean_fall_time(step, linear) - 1
        error = float(run["converged_untrained_error"]) / lazy_limit(p, c.seed(number)) - 1
        gaps.append(max(abs(late), abs(error), key=lambda gap: np.inf if np.isnan(gap) else gap))
    return np.array(gaps)


def _lazy(p: Parameters) -> Parameters:
    """Return the parameters of the wide network with large weights, the same at every scale of the grid."""
    return replace(p, **{k: v for k, v in variants(p)["lazy"].items() if k != "seeds"})


def lazy_reach(c) -> float:
    """Return the relative change of weights that the target asks for, S/D of the first mode over sigma^3."""
    data = items_task(c.p.level_weights)
    return float((data.singular_values / data.variances).max() / _lazy(c.p).init_scale ** 3)


def untrained_left(c) -> np.ndarray:
    """Return what small weights leave on untrained routes at the two smallest scales, by the closed form."""
    data, scales = items_task(c.p.level_weights), c.values("init_scale")[:2]
    law = mask(c.p, c.seed(0)), data.singular_values, data.variances
    return np.array([errors_left(scale, *law)[1] for scale in scales])


def power_of_scale(c) -> float:
    errors, scales = untrained_left(c) + c.p.loss_tolerance, c.values("init_scale")
    return float(np.log(errors[1] / errors[0]) / np.log(scales[1] / scales[0]))


def beside_tolerance(c) -> str:
    """Return why the law is not seen: the closed form is rough, or training ends above a quarter of what it leaves."""
    ends = f"training ends at a loss of {c.p.loss_tolerance:.1g}, above a quarter of what the law leaves"
    rough = closed_form_within(lambda c: 0.25)(c)
    return rough or ("" if untrained_left(c)[0] > 4 * c.p.loss_tolerance else ends)


def several_untrained(c) -> bool:
    return len(c.values("init_scale")) > 1 and c.p.trained_outputs < c.p.domains


ALONG = {"along": "init_scale", "at_end": True}
SMALLEST = {"where": lambda c: c.p.trained_outputs < c.p.domains, **ALONG}
LARGEST = {"where": lambda c: len(c.values("init_scale")) > 1, **ALONG}
EVEN = {"where": lambda c: c.p.mask != "random_rows", **ALONG}
INVISIBLE = {
    "near": 0,
    "inside": (-np.inf, 0.01),
    "why": "One percent of the error of answering zero cannot be seen in the figure.",
}
SAME_ITEM = "Mean cosine of first-layer activity for one item in two domains, at the "
UNTRAINED = "Untrained error over that of answering zero, at the "
DEVIATION = {
    "near": 0,
    "inside": (-np.inf, 0.05),
    "rank": "headline",
    "why": '"A good approximation" in a figure: on average within 5% of its height.',
}

CLAIMS = [
    claim(
        "lazy",
        "With growing scale and width the untrained error and the times at which the loss falls become those of the network "
        "linearised at its start.",
        lazy_gap,
        source=OURS,
        of="lazy",
        near=0,
        inside=lambda c: (0, lazy_reach(c)),
        rank="headline",
        why="The linearisation leaves out terms of the order of the relative change of weights, at least S/D over sigma^3.",
        note="Larger of |measured / predicted - 1| of both, " + LAZY,
        **SMALLEST,
    ),
    trained_routes_alone,
    claim(
        "linearised-start",
        "The network linearised at its start begins with the errors of the network, on trained and untrained routes.",
        linearised_start,
        source=OURS,
        at_most=lambda c: 1e-10 if c.p.precision == "float64" else 1e-4,
        rank="control",
        why="Two ways to the mean of some thousand squares differ by rounding.",
        note="Largest |predicted / measured - 1| at step 0, over all scales and seeds.",
        along="init_scale",
    ),
    claim(
        "linearised-end",
        "The untrained error of the linearised network has come to its limit when its training loss has come to zero.",
        linearised_end,
        source=OURS,
        at_most=lambda c: 4 * left_of_linearised(c) + 1e-12,
        rank="control",
        why="Answers are linear in what is left of the training errors, of which they take over twice the size at most where "
        "the kernel of untrained routes is no larger than that of trained ones; errors are squares; and rounding.",
        note="Largest |error / limit - 1| where the prediction ends, at the largest scale, where less than 1% is left.",
        where=lambda c: c.p.trained_outputs < c.p.domains and left_of_linearised(c) < 0.01,
        along="init_scale",
    ),
    claim(
        "race-start",
        "The race begins with the loss of small random weights.",
        lambda c: (c.start.loss.astype(float) / c.theory.start.race_loss - 1).isel(init_scale=0),
        source=RACE,
        at_most=lambda c: map_at_start(c) * (2 + map_at_start(c)) + 1e-6,
        rank="control",
        why="All singular values of the start's three layers are init_scale: answers are at most its third power of inputs, "
        "and the loss is off by twice that and its square over targets, and rounding.",
        note="Largest |loss / predicted - 1| at step 0, smallest scale.",
        **ALONG | {"at_end": False} | EVEN,
    ),
    claim(
        "trained",
        "Networks converge to zero training error for a range of initialisation scales.",
        lambda c: c.converged_loss.max("init_scale", skipna=False) / zero_error(c.p),
        source=PAPER + "Fig. 6a-b",
        rank="control",
        **INVISIBLE,
        note="Largest final training loss over all scales, over the error of answering zero.",
        **ALONG,
    ),
    claim(
        "zero-shot",
        "Small initialisations generalise to untrained routes.",
        lambda c: untrained_error(c).isel(init_scale=0),
        source=PAPER + "Fig. 6b",
        rank="headline",
        **INVISIBLE,
        note=UNTRAINED + "smallest scale.",
        **SMALLEST,
    ),
    claim(
        "shared",
        "Small initialisations lead to one common representation of an item in all domains.",
        lambda c: same_item(c).isel(init_scale=0),
        source=PAPER + "Fig. 6c",
        inside=(0.95, np.inf),
        rank="headline",
        why="Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
        note=SAME_ITEM + "smallest scale.",
        **ALONG | {"where": lambda c: c.p.domains > 1},
    ),
    claim(
        "shared-as-predicted",
        "How alike small initialisations leave an item in two domains is what the closed form of the race ends with.",
        lambda c: (same_item(c) - c.theory.race_cosine).isel(init_scale=0),
        source="docs/theory/routing.md",
        near=0,
        inside=lambda c: (-cosine_room(c), cosine_room(c)),
        why="What is missing to a cosine of 1 is a square of amplitudes, of which each is off by the overlap of random "
        "vectors of the hidden layer, 1/sqrt(N_h) of itself: twice that.",
        note="Measured less predicted mean cosine, at the smallest scale.",
        domain=closed_form_within(lambda c: 2 / np.sqrt(c.p.hidden_width)),
        **ALONG | {"where": lambda c: c.p.domains > 1 and c.p.mask != "random_rows"},
    ),
    claim(
        "zero-shot-limit",
        "As init_scale goes to 0, the untrained error falls as the sixth power of init_scale.",
        lambda c: slope(
            untrained_error(c).isel(init_scale=slice(2)).astype(float), "init_scale", least=2
        ),
        source="docs/theory/routing.md",
        **tolerance(power_of_scale, 0.5),
        why="What a product of three small layers leaves has this power by the closed form, six in the limit, with the loss "
        "where training ends beside it. Powers of the scale are even, two apart.",
        note="Slope in logarithms between the two smallest scales.",
        domain=beside_tolerance,
        **ALONG | {"where": lambda c: several_untrained(c) and c.p.mask != "random_rows"},
    ),
    claim(
        "stage-like",
        "Small initialisations follow the race of the reduction, with its stage-like drops.",
        lambda c: deviation(c, "race_loss").isel(init_scale=0),
        source=PAPER + "Fig. 6a; " + RACE,
        note="Mean |difference of loss| over its start, nothing fitted, at the smallest scale.",
        **DEVIATION,
        **EVEN,
    ),
    claim(
        "stage-times",
        "The stage-like drops of the loss come when the closed form for wide random weights predicts, with nothing fitted.",
        stage_times,
        source=RACE,
        near=1,
        inside=lambda c: around(1, 0.5 / np.sqrt(c.p.hidden_width)),
        why="The vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of a drop by about half of "
        "that. Two or four matrices on a route would change times by whole factors.",
        note="Measured over predicted time to 1/2 .. 1/16 of the first loss, mean, at the smallest scale.",
        domain=closed_form_within(lambda c: 1 / np.sqrt(c.p.hidden_width)),
        **EVEN,
    ),
    claim(
        "no-zero-shot",
        "Large initialisations do not generalise to untrained routes.",
        lambda c: untrained_error(c).isel(init_scale=-1),
        source=PAPER + "Fig. 6b, d",
        inside=(0.5, np.inf),
        rank="headline",
        why="Half of the error of answering zero is far from generalising on any reading of the figure.",
        note=UNTRAINED + "largest scale.",
        **ALONG | {"where": several_untrained},
    ),
    claim(
        "distinct",
        "Large initialisations leave a distinct random representation in every domain.",
        lambda c: same_item(c).isel(init_scale=-1),
        source=PAPER + "Fig. 6c",
        inside=(-0.2, 0.2),
        why="Independent directions have a mean cosine near 0; a fifth is what the colour scale can show.",
        note=SAME_ITEM + "largest scale.",
        **ALONG | {"where": lambda c: len(c.values("init_scale")) > 1 and c.p.domains > 1},
    ),
    *claim(
        "connectivity-persists",
        "At large initialisations the random initial connectivity persists throughout learning.",
        lambda c: encoder_change(c.simulation).isel(init_scale=-1),
        source=PAPER + "Fig. 6c",
        near=0,
        inside=(-np.inf, 0.25),
        why="Weights that have moved by a quarter of their size still are the initial ones in the main.",
        note="Change of the encoders over their initial size, at the largest scale.",
        **LARGEST,
    ).and_corrected(
        "With growing scale and width the random initial connectivity persists throughout learning.",
        quantity=lambda c: encoder_change(c["lazy"]).isel(init_scale=0),
        source=OURS,
        of="lazy",
        near=0,
        where=None,
        note="Change of the encoders over their initial size, " + LAZY,
    ),
    claim(
        "exponential",
        "At large initialisations the loss falls as that of the network linearised at its start.",
        lambda c: deviation(c, "lazy_loss").isel(init_scale=-1),
        source=PAPER + "Fig. 6a",
        note="Mean |difference of loss| over its start, nothing fitted, at the largest scale.",
        **DEVIATION,
        **LARGEST,
    ),
]
