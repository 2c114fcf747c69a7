"""What Fig. 6 says of the scale of the initial weights, and whether it is so."""

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import around
from foretrain.quantities.learning_time import fall_times
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.studies.initialization.wide_claims import (
    ALONG,
    OURS,
    PERSISTS,
    moved,
    some_untrained,
)
from foretrain.studies.initialization.wide_claims import CLAIMS as WIDE_CLAIMS
from foretrain.training.routing import ITEMS
from foretrain.training.routing_claims import trained_routes_alone
from foretrain.training.routing_to_loss import zero_error

PAPER = "Saxe, Sodhani & Lewallen (2022), section 4.3, "
RACE = "docs/studies/pathway-race.md"
CLOSE = 0.05  # of a loss curve: "a good approximation" in a figure is within 5% of its height
LIMIT = (0.8, 1.25)
INVISIBLE = "One percent of the error of answering zero cannot be seen in the figure."


def _at(cell, place, values, words):
    """Values at the smallest (0) or largest (-1) scale, the first dim; None for the largest of a single one."""
    scales = cell.values("init_scale")
    if place == -1 and len(scales) == 1:
        return None
    return PerSeed(values[place], f"{words}, init_scale {scales[place]:g}.")


def _untrained(cell, place):
    values = (cell.simulation["converged_untrained_error"] / zero_error(cell.parameters)).values
    words = "Untrained error in units of that of answering zero"
    return _at(cell, place, values, words) if some_untrained(cell) else None


def _within(cell, place):
    if cell.parameters.domains == 1:
        return None
    alike = cross_domain_similarity(cell.simulation["similarity"].values, ITEMS)[0]
    words = "Mean cosine of first-layer activity for one item in two domains"
    return _at(cell, place, alike, words)


def _deviation(cell, place, name):
    words = "Mean |difference of loss| over its start, nothing fitted"
    return _at(cell, place, cell.fits[name].values, words)


def trained(cell):
    worst = cell.simulation["converged_loss"].max("init_scale", skipna=False)
    return (worst / zero_error(cell.parameters)).values


def _two_smallest(cell) -> bool:
    """Whether there are two small scales, between which one sees where measured values tend, and how fast."""
    return len(cell.values("init_scale")) > 1


def _slope(cell, values) -> np.ndarray:
    """Slope of log values against log init_scale between the two smallest scales, the first dim."""
    low, high = cell.values("init_scale")[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log(values[1]) - np.log(values[0])) / np.log(high / low)


def _scales(cell) -> str:
    low, high = cell.values("init_scale")[:2]
    return f"Slope in logarithms between init_scale {low:g} and {high:g}."


def _missing_slope(cell) -> float:
    return float(_slope(cell, 1 - cell.theory["race_cosine"].values).mean())


def shared_limit(cell):
    if not _two_smallest(cell):
        return None
    alike = cross_domain_similarity(cell.simulation["similarity"].values, ITEMS)[0]
    return PerSeed(_slope(cell, 1 - alike), _scales(cell))


def zero_shot_limit(cell):
    if not (_two_smallest(cell) and some_untrained(cell)):
        return None
    untrained = cell.simulation["converged_untrained_error"].values
    return PerSeed(_slope(cell, untrained), _scales(cell))


def _raced(cell) -> bool:
    """Whether the closed form of the race speaks of the masks: every output has as many inputs as the others."""
    return cell.parameters.mask != "random_rows"


def stage_times(cell):
    if not _raced(cell):
        return None
    ratio = _falls(cell.simulation, "loss", 0) / _falls(cell.theory, "race_loss", 0)
    scale = cell.values("init_scale")[0]
    note = f"Measured over predicted time to 1/2 .. 1/16 of the first loss, mean, init_scale {scale:g}."
    return PerSeed(ratio.mean(1), note)


def _falls(data, name, place) -> np.ndarray:
    """Times to 1/2 .. 1/16 of the first loss at one scale, shape (seed, 4)."""
    one = data.isel(init_scale=place)
    return fall_times(one["time"].values, one[name].transpose("seed", "step").values)


def _time_slope(cell) -> float:
    falls = np.array([_falls(cell.theory, "race_loss", place)[0] for place in (0, 1)])
    return float(_slope(cell, falls).mean())


def _time_slope_within(cell) -> tuple[float, float]:
    return around(_time_slope(cell), 0.5 / np.sqrt(cell.parameters.hidden_width))


def times_limit(cell):
    if not (_raced(cell) and _two_smallest(cell)):
        return None
    falls = np.array([_falls(cell.simulation, "loss", place) for place in (0, 1)])
    return PerSeed(_slope(cell, falls).mean(1), "Mean over times to 1/2 .. 1/16. " + _scales(cell))


def connectivity_persists(cell):
    change = moved(cell.simulation)
    return _at(cell, -1, change, "Change of the encoders over their initial size")


def lazy_untrained(cell):
    ratio = cell.simulation["converged_untrained_error"].values / cell.theory["lazy_limit"].values
    return _at(cell, -1, ratio, "Measured over predicted") if some_untrained(cell) else None


def smooth(cell):
    scales = np.array(cell.values("init_scale"))
    if scales.size == 1 or not some_untrained(cell):
        return None
    error = cell.simulation["converged_untrained_error"].values
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.diff(np.log(error), axis=0) / np.diff(np.log(scales))[:, None]
    return PerSeed(
        slope.max(0),
        "Largest slope of log untrained error against log init_scale between neighbouring scales; smallest "
        f"{slope.min(0).mean():.1f}.",
    )


def between(cell):
    p, fits = cell.parameters, cell.fits
    if len(cell.values("init_scale")) == 1 or not some_untrained(cell):
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


CLAIMS = [
    *WIDE_CLAIMS,
    trained_routes_alone,
    claim(
        "trained",
        "Networks converge to zero training error for a range of initialisation scales.",
        trained,
        source=PAPER + "Fig. 6a-b",
        near=0,
        inside=(-np.inf, 0.01),
        why=INVISIBLE,
        note="Largest final training loss over all scales, in units of the error of answering zero.",
        **ALONG,
        rank="control",
    ),
    claim(
        "zero-shot",
        "Small initialisations generalise to untrained routes.",
        lambda c: _untrained(c, 0),
        source=PAPER + "Fig. 6b",
        near=0,
        inside=(-np.inf, 0.01),
        why=INVISIBLE,
        **ALONG,
        rank="headline",
    ),
    claim(
        "shared",
        "Small initialisations lead to one common representation of an item in all domains.",
        lambda c: _within(c, 0),
        source=PAPER + "Fig. 6c",
        inside=(0.95, np.inf),
        why="Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "shared-limit",
        "As init_scale goes to 0, 1 - cosine between domains falls as init_scale squared.",
        shared_limit,
        source=OURS,
        near=lambda cell: _missing_slope(cell) if _two_smallest(cell) else 2,
        inside=lambda cell: around(
            _missing_slope(cell) if _two_smallest(cell) else 2,
            0.5 / np.sqrt(cell.parameters.hidden_width),
        ),
        why="The start leaves a share (sigma/B1)^2 of the encoders in each domain alone. The closed form has the terms "
        "that follow it; overlaps of two vectors of 1/sqrt(N_h) move what is left by half of that, and differently at"
        " two scales.",
        where=lambda cell: _raced(cell) and cell.parameters.domains > 1,
        **ALONG,
    ),
    claim(
        "zero-shot-limit",
        "As init_scale goes to 0, the untrained error falls as the sixth power of init_scale.",
        zero_shot_limit,
        source=OURS,
        near=6,
        inside=(5, 7),
        why="An error is the square of what the start leaves in the map, a product of small matrices: powers of the scale"
        " are even. Nearer to six than to four or eight.",
        **ALONG,
    ),
    claim(
        "stage-like",
        "Small initialisations follow the race of the reduction, with its stage-like drops.",
        lambda c: _deviation(c, 0, "race_deviation") if _raced(c) else None,
        source=PAPER + "Fig. 6a; " + RACE,
        near=0,
        inside=(-np.inf, CLOSE),
        why='"A good approximation" in a figure: on average within 5% of its height.',
        **ALONG,
        rank="headline",
    ),
    claim(
        "stage-times",
        "The stage-like drops of the loss come when the closed form for wide random weights predicts, with nothing "
        "fitted.",
        stage_times,
        source=RACE,
        near=1,
        inside=lambda cell: around(1, 0.5 / np.sqrt(cell.parameters.hidden_width)),
        why="The vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of a drop by about half "
        "of that.",
        **ALONG,
    ),
    claim(
        "times-limit",
        "With three matrices on a route learning times go as the inverse of init_scale.",
        times_limit,
        source=RACE,
        near=lambda cell: _time_slope(cell) if _two_smallest(cell) else -1,
        inside=lambda cell: _time_slope_within(cell) if _two_smallest(cell) else (-1.1, -0.9),
        why="The closed form has the terms that follow 1/sigma. Two layers would take log(1/sigma), a slope near zero, "
        "four its square. Overlaps of 1/sqrt(N_h) move a time by half of that, at both scales nearly alike.",
        **ALONG,
    ),
    claim(
        "no-zero-shot",
        "Large initialisations do not generalise to untrained routes.",
        lambda c: _untrained(c, -1),
        source=PAPER + "Fig. 6b, d",
        inside=(0.5, np.inf),
        why="Half of the error of answering zero is far from generalising on any reading of the figure.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "distinct",
        "Large initialisations leave a distinct random representation in every domain.",
        lambda c: _within(c, -1),
        source=PAPER + "Fig. 6c",
        inside=(-0.2, 0.2),
        why="Independent directions have a mean cosine near 0; a fifth is what the colour scale can show. Where it tends "
        "with scale and width is judged by `distinct-limit`.",
        **ALONG,
    ),
    claim(
        "connectivity-persists",
        "At large initialisations the random initial connectivity persists throughout learning.",
        connectivity_persists,
        source=PAPER + "Fig. 6c",
        **PERSISTS,
    ),
    claim(
        "exponential",
        "At large initialisations the loss falls as that of the network linearised at its start.",
        lambda c: _deviation(c, -1, "lazy_deviation"),
        source=PAPER + "Fig. 6a",
        near=0,
        inside=(-np.inf, CLOSE),
        why="The same as is asked of the race at the other end.",
        **ALONG,
        rank="headline",
    ),
    claim(
        "lazy-untrained",
        "At large initialisations the untrained error is that of the network linearised at its start.",
        lazy_untrained,
        source=OURS,
        near=1,
        inside=LIMIT,
        why="The linearisation leaves out terms of the order of the change of the weights, squared in the error.",
        **ALONG,
    ),
    claim(
        "smooth",
        "The untrained error grows smoothly with the scale, near its sixth power at small scales, without a sharp "
        "transition.",
        smooth,
        source=OURS,
        near=6,
        inside=(3, 9),
        why="What the start leaves in the untrained routes is a product of three layers, sigma^3 in the map and sigma^6 "
        "in the error. A transition would need a far larger exponent somewhere; the tails of single seeds add some.",
        **ALONG,
    ),
]
