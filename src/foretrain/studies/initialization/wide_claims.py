"""What is said of wide networks with large weights: that they come to be the network linearised at its start."""

from dataclasses import replace

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import around
from foretrain.quantities.learning_time import mean_fall_time
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.studies.initialization.study import variants
from foretrain.studies.initialization.theory import kernel_of_seed, lazy_limit
from foretrain.training.routing import ITEMS, items_task

OURS = "docs/studies/initialization.md"
ALONG = {"along": ("init_scale",), "at_end": True}
PERSISTS = {
    "near": 0,
    "inside": (-np.inf, 0.25),
    "why": "Weights that have moved by a quarter of their size still are the initial ones in the main.",
    **ALONG,
}


def moved(data) -> np.ndarray:
    return data["weight_change"].sel(layer="encoders").values


def some_untrained(cell) -> bool:
    return cell.parameters.trained_outputs < cell.parameters.domains


def _lazy(cell, name="lazy"):
    """Runs of a wide network with large weights, and their parameters; the same at every scale of the grid."""
    overrides = {k: v for k, v in variants(cell.parameters)[name].items() if k != "seeds"}
    return cell.variants[name].isel(init_scale=0), replace(cell.parameters, **overrides)


def _lazy_reach(cell) -> float:
    """Relative change of the weights that the target asks for, S/D of the first mode over sigma^3."""
    data = items_task(cell.parameters.level_weights)
    scale = variants(cell.parameters)["lazy"]["init_scale"]
    return float((data.singular_values / data.variances).max() / scale**3)


def _crowding(cell, name) -> float:
    """Trained routes over width: the square of what initial outputs of 1/sqrt(N_h) ask of the matrix that routes share."""
    p = cell.parameters
    return p.domains * p.trained_outputs / variants(p)[name]["hidden_width"]


LAZY = {
    "of": "lazy",
    "near": 1,
    "inside": lambda cell: around(1, _lazy_reach(cell)),
    "why": "The linearisation leaves out terms of the order of the relative change of the weights, at least S/D over sigma^3.",
    **ALONG,
}


def _untrained_ratio(cell, name) -> np.ndarray:
    data, p = _lazy(cell, name)
    limits = [lazy_limit(p, cell.seed(number)) for number in range(data.sizes["seed"])]
    return data["converged_untrained_error"].values / np.array(limits)


def _time_ratio(cell, name) -> np.ndarray:
    data, p = _lazy(cell, name)
    step = data["step"].values
    loss, ratios = data["loss"].transpose("seed", "step").values, []
    for number, curve in enumerate(loss):
        linear, _ = kernel_of_seed(p, cell.seed(number)).errors(step, p.rate, p.init_scale)
        ratios.append(mean_fall_time(step, curve) / mean_fall_time(step, linear))
    return np.array(ratios)


WIDTHS = ("lazy", "lazy-narrower")
LIMIT_OF_WIDTH = {
    "of": WIDTHS,
    "near": 1,
    "inside": lambda cell: around(
        1, _crowding(cell, "lazy") * _crowding(cell, "lazy-narrower") + _lazy_reach(cell) ** 2
    ),
    "why": "What the linearisation leaves out goes as MK/N_h, which two widths extrapolate to zero. Of second order are "
    "left the product of both, and the square of what the target asks of the weights.",
    "note": "Measured over predicted at init_scale 5, four times and twice the width, extrapolated along 1/N_h.",
    **ALONG,
}


def _extrapolated(wide, narrower) -> PerSeed:
    return PerSeed(
        2 * wide - narrower, f"At the widths {wide.mean():.3f} and {narrower.mean():.3f}."
    )


def lazy_untrained_limit(cell):
    if not some_untrained(cell):
        return None
    return _extrapolated(*(_untrained_ratio(cell, name) for name in WIDTHS))


def connectivity_limit(cell):
    wide, narrower = (moved(_lazy(cell, name)[0]) for name in WIDTHS)
    return PerSeed(wide / narrower, f"Changes {wide.mean():.3f} and {narrower.mean():.3f}.")


def _independent(cell) -> tuple[float, float]:
    p = cell.parameters
    width, compared = 4 * p.hidden_width, ITEMS * p.domains * (p.domains - 1) / 2
    return around(0, _lazy_reach(cell) ** 2 + 2 / np.sqrt(width * compared))


CLAIMS = [
    claim(
        "lazy-untrained.corrected",
        "With growing scale and width the untrained error becomes that of the network linearised at its start.",
        lambda c: _untrained_ratio(c, "lazy") if some_untrained(c) else None,
        source=OURS,
        corrects="lazy-untrained",
        note="Measured over predicted, at init_scale 5 and four times the width.",
        **LAZY,
        rank="headline",
    ),
    claim(
        "lazy-times",
        "With growing scale and width the loss falls when the network linearised at its start predicts.",
        lambda c: _time_ratio(c, "lazy"),
        source=OURS,
        note="Measured over predicted time to 1/2, 1/4, 1/8 and 1/16 of the first loss, mean, at init_scale 5 and four "
        "times the width.",
        **LAZY,
    ),
    claim(
        "lazy-times-limit",
        "With growing width the times at which the loss falls tend to those of the linearised network.",
        lambda c: _extrapolated(*(_time_ratio(c, name) for name in WIDTHS)),
        source=OURS,
        **LIMIT_OF_WIDTH,
    ),
    claim(
        "lazy-untrained-limit",
        "With growing width the untrained error tends to that of the linearised network.",
        lazy_untrained_limit,
        source=OURS,
        **LIMIT_OF_WIDTH,
    ),
    claim(
        "connectivity-persists.corrected",
        "With growing scale and width the random initial connectivity persists throughout learning.",
        lambda c: moved(_lazy(c)[0]),
        source=OURS,
        of="lazy",
        corrects="connectivity-persists",
        note="Change of the encoders over their initial size, at init_scale 5 and four times the width.",
        **PERSISTS,
    ),
    claim(
        "connectivity-limit",
        "The relative change of the encoders vanishes as the inverse root of the width.",
        connectivity_limit,
        source=OURS,
        of=WIDTHS,
        near=2**-0.5,
        inside=lambda cell: around(
            2**-0.5, 2**-0.5 * (_crowding(cell, "lazy-narrower") - _crowding(cell, "lazy"))
        ),
        why="Initial outputs, of order 1/sqrt(N_h), must be unlearned. Terms of relative order MK/N_h differ between the "
        "widths.",
        note="Change at four times the width over that at twice the width, init_scale 5.",
        **ALONG,
    ),
    claim(
        "distinct-limit",
        "With scale and width representations in different domains become independent.",
        lambda c: cross_domain_similarity(_lazy(c)[0]["similarity"].values, ITEMS)[0],
        source=OURS,
        of="lazy",
        near=0,
        inside=_independent,
        why="Cosines of random directions are 1/sqrt(N_h) either way, here a mean over items and pairs, two of its "
        "standard deviations; what the target makes common is the square of what it asks of the weights.",
        note="Mean cosine of first-layer activity for one item in two domains, at init_scale 5 and four times the width.",
        where=lambda cell: cell.parameters.domains > 1,
        **ALONG,
    ),
]
