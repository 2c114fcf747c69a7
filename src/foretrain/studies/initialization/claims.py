"""What Fig. 6 says of the scale of the initial weights, and whether it is so."""

from dataclasses import replace
from functools import partial

import numpy as np

from foretrain.claims.allowed import around
from foretrain.claims.sentence import PerSeed, sentence
from foretrain.measures.learning_time import fall_times, mean_fall_time
from foretrain.measures.representation import cross_domain_similarity
from foretrain.studies.initialization.study import variants
from foretrain.studies.initialization.theory import kernel_of_seed, lazy_limit
from foretrain.training.routing import ITEMS, items_task
from foretrain.training.routing_claims import same_mask, trained_routes_alone  # noqa: F401
from foretrain.training.routing_to_loss import zero_error

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.3, "
OURS = "docs/studies/initialization.md"
ours = partial(sentence, source=OURS)
RACE = "docs/studies/pathway-race.md"
CLOSE = 0.05  # of a loss curve: "a good approximation" in a figure is within 5% of its height
LIMIT = (0.8, 1.25)
ALONG = {"over": ("init_scale",), "at_end": True}
INVISIBLE = "One percent of the error of answering zero cannot be seen in the figure."


def _at(cell, place, values, words):
    """Values at the smallest (0) or largest (-1) scale, the first dim; None for the largest of a single one."""
    scales = cell.values("init_scale")
    if place == -1 and len(scales) == 1:
        return None
    return PerSeed(values[place], f"{words}, init_scale {scales[place]:g}.")


def _some_untrained(cell) -> bool:
    return cell.parameters.trained_outputs < cell.parameters.domains


def _untrained(cell, place):
    values = (cell.simulation["converged_untrained_error"] / zero_error(cell.parameters)).values
    words = "Untrained error in units of that of answering zero"
    return _at(cell, place, values, words) if _some_untrained(cell) else None


def _within(cell, place):
    if cell.parameters.domains == 1:
        return None
    alike = cross_domain_similarity(cell.simulation["similarity"].values, ITEMS)[0]
    words = "Mean cosine of first-layer activity for one item in two domains"
    return _at(cell, place, alike, words)


def _deviation(cell, place, name):
    words = "Mean |difference of loss| over its start, nothing fitted"
    return _at(cell, place, cell.fits[name].values, words)


@sentence(
    "Networks converge to zero training error for a range of initialisation scales.",
    source=PAPER + "Fig. 6a-b",
    predicted=0,
    allowed=(-np.inf, 0.01),
    why=INVISIBLE,
    note="Largest final training loss over all scales, in units of the error of answering zero.",
    **ALONG,
)
def trained(cell):
    worst = cell.simulation["converged_loss"].max("init_scale", skipna=False)
    return (worst / zero_error(cell.parameters)).values


@sentence(
    "Small initialisations generalise to untrained routes.",
    source=PAPER + "Fig. 6b",
    predicted=0,
    allowed=(-np.inf, 0.01),
    why=INVISIBLE,
    **ALONG,
)
def zero_shot(cell):
    return _untrained(cell, 0)


@sentence(
    "Small initialisations lead to one common representation of an item in all domains.",
    source=PAPER + "Fig. 6c",
    predicted=1,
    allowed=(0.95, np.inf),
    why="Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
    **ALONG,
)
def shared(cell):
    return _within(cell, 0)


@sentence(
    "Small initialisations follow the race of the reduction, with its stage-like drops.",
    source=PAPER + "Fig. 6a; " + RACE,
    predicted=0,
    allowed=(-np.inf, CLOSE),
    why='"A good approximation" in a figure: on average within 5% of its height.',
    **ALONG,
)
def stage_like(cell):
    return _deviation(cell, 0, "race_deviation") if _raced(cell) else None


def _raced(cell) -> bool:
    """Whether the closed form of the race speaks of the masks: every output has as many inputs as the others."""
    return cell.parameters.mask != "random_rows"


@sentence(
    "The drops come when the closed form for wide random weights says, nothing fitted.",
    source=RACE,
    predicted=1,
    allowed=lambda cell: around(1, 0.5 / np.sqrt(cell.parameters.hidden_width)),
    why="The vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of a drop by about half of that.",
    **ALONG,
)
def stage_times(cell):
    if not _raced(cell):
        return None
    data, theory = (one.isel(init_scale=0) for one in (cell.simulation, cell.theory))
    times = [
        fall_times(one["time"].values, one[name].transpose("seed", "step").values)
        for one, name in ((data, "loss"), (theory, "race_loss"))
    ]
    scale = cell.values("init_scale")[0]
    note = f"Measured over predicted time to 1/2 .. 1/16 of the first loss, mean, init_scale {scale:g}."
    return PerSeed((times[0] / times[1]).mean(1), note)


@sentence(
    "Large initialisations do not generalise to untrained routes.",
    source=PAPER + "Fig. 6b, d",
    allowed=(0.5, np.inf),
    why="Half of the error of answering zero is far from generalising on any reading of the figure.",
    **ALONG,
)
def no_zero_shot(cell):
    return _untrained(cell, -1)


@sentence(
    "Large initialisations leave a distinct random representation in every domain.",
    source=PAPER + "Fig. 6c",
    predicted=0,
    allowed=(-0.2, 0.2),
    why="Independent directions have a mean cosine near 0; a fifth is what the colour scale can show.",
    **ALONG,
)
def distinct(cell):
    return _within(cell, -1)


PERSISTS = {
    "predicted": 0,
    "allowed": (-np.inf, 0.25),
    "why": "Weights that have moved by a quarter of their size still are the initial ones in the main.",
    **ALONG,
}


def _moved(data) -> np.ndarray:
    return data["weight_change"].sel(layer="encoders").values


@sentence(
    "At large initialisations the random initial connectivity persists throughout learning.",
    source=PAPER + "Fig. 6c",
    **PERSISTS,
)
def connectivity_persists(cell):
    moved = _moved(cell.simulation)
    return _at(cell, -1, moved, "Change of the encoders over their initial size")


@sentence(
    "At large initialisations the loss falls as that of the network linearised at its start.",
    source=PAPER + "Fig. 6a",
    predicted=0,
    allowed=(-np.inf, CLOSE),
    why="The same as is asked of the race at the other end.",
    **ALONG,
)
def exponential(cell):
    return _deviation(cell, -1, "lazy_deviation")


@ours(
    "At large initialisations the untrained error is that of the network linearised at its start.",
    predicted=1,
    allowed=LIMIT,
    why="The linearisation leaves out terms of the order of the change of the weights, squared in the error.",
    **ALONG,
)
def lazy_untrained(cell):
    ratio = cell.simulation["converged_untrained_error"].values / cell.theory["lazy_limit"].values
    return _at(cell, -1, ratio, "Measured over predicted") if _some_untrained(cell) else None


@ours(
    "The untrained error grows smoothly with the scale, near its sixth power for small ones: no sharp transition.",
    predicted=6,
    allowed=(3, 9),
    why="What the start leaves in the untrained routes is a product of three layers, sigma^3 in the map and sigma^6 in the "
    "error. A transition would need a far larger exponent somewhere; the tails of single seeds add some.",
    **ALONG,
)
def smooth(cell):
    scales = np.array(cell.values("init_scale"))
    if scales.size == 1 or not _some_untrained(cell):
        return None
    error = cell.simulation["converged_untrained_error"].values
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.diff(np.log(error), axis=0) / np.diff(np.log(scales))[:, None]
    return PerSeed(
        slope.max(0),
        "Largest slope of log untrained error against log init_scale between neighbouring scales; smallest "
        f"{slope.min(0).mean():.1f}.",
    )


@ours(
    "Between the two ends lies a range of scales that neither theory describes.",
    allowed=(1, np.inf),
    why="At least one scale of the grid, of which neither the race nor the linearised network says what is learned.",
    note="Number of scales at which both fail. A theory holds where its loss curve is within 5% and its untrained error, zero "
    "or that of the linearised network, within what `zero-shot` or `lazy-untrained` asks.",
    **ALONG,
)
def between(cell):
    p, fits = cell.parameters, cell.fits
    if len(cell.values("init_scale")) == 1 or not _some_untrained(cell):
        return None
    untrained = cell.simulation["converged_untrained_error"].values
    rich, lazy = (fits[f"{name}_deviation"].values for name in ("race", "lazy"))
    limit = untrained / cell.theory["lazy_limit"].values
    raced = (rich <= CLOSE) & (untrained <= 0.01 * zero_error(p))
    linear = (lazy <= CLOSE) & (limit > LIMIT[0]) & (limit < LIMIT[1])
    known = np.isfinite(untrained).all(0)
    by_scale = ", ".join(
        f"{a:.3f} and {b:.3f} ({scale:g})"
        for a, b, scale in zip(rich.mean(1), lazy.mean(1), cell.values("init_scale"), strict=True)
    )
    count = np.where(known, (~raced & ~linear).sum(0), np.nan)
    return PerSeed(
        count, f"Deviation of the loss from race and linearised network by scale: {by_scale}."
    )


def _lazy(cell):
    """Runs of the wide network with large weights, and their parameters; the same at every scale of the grid."""
    overrides = {k: v for k, v in variants(cell.parameters)["lazy"].items() if k != "seeds"}
    return cell.variants["lazy"].isel(init_scale=0), replace(cell.parameters, **overrides)


def _lazy_reach(cell) -> float:
    """Relative change of the weights that the target asks for, S/D of the first mode over sigma^3."""
    data = items_task(cell.parameters.level_weights)
    scale = variants(cell.parameters)["lazy"]["init_scale"]
    return float((data.singular_values / data.variances).max() / scale**3)


LAZY = {
    "of": "lazy",
    "predicted": 1,
    "allowed": lambda cell: around(1, _lazy_reach(cell)),
    "why": "The linearisation leaves out terms of the order of the relative change of the weights, at least S/D over sigma^3.",
    **ALONG,
}


@ours(
    "With scale and width the untrained error becomes that of the network linearised at its start.",
    corrects="lazy-untrained",
    note="Measured over predicted, at init_scale 5 and four times the width.",
    **LAZY,
)
def lazy_untrained_corrected(cell):
    data, p = _lazy(cell)
    if not _some_untrained(cell):
        return None
    limits = [lazy_limit(p, cell.seed(number)) for number in range(data.sizes["seed"])]
    return data["converged_untrained_error"].values / np.array(limits)


@ours(
    "With scale and width the loss falls when the network linearised at its start says.",
    note="Measured over predicted time to 1/2, 1/4, 1/8 and 1/16 of the first loss, mean, at init_scale 5 and four times the "
    "width.",
    **LAZY,
)
def lazy_times(cell):
    data, p = _lazy(cell)
    step = data["step"].values
    loss, ratios = data["loss"].transpose("seed", "step").values, []
    for number, curve in enumerate(loss):
        linear, _ = kernel_of_seed(p, cell.seed(number)).errors(step, p.rate, p.init_scale)
        ratios.append(mean_fall_time(step, curve) / mean_fall_time(step, linear))
    return np.array(ratios)


@ours(
    "With scale and width the random initial connectivity persists throughout learning.",
    of="lazy",
    corrects="connectivity-persists",
    note="Change of the encoders over their initial size, at init_scale 5 and four times the width.",
    **PERSISTS,
)
def connectivity_persists_corrected(cell):
    return _moved(_lazy(cell)[0])
