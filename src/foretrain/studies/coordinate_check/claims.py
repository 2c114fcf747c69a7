"""Claims about powers of the width, which are slopes of log sizes on the log width."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around
from foretrain.study import PerSeed, claim, skip_if, slope

from .study import EXPONENTS, FIRST, HIDDEN, SOURCE

# Exponents of layers are halves, those of the best learning rate whole numbers: a slope nearer is nearest to the declared.
NEAR, NEAR_RATE = 0.25, 0.5
FEWEST = 5  # learning rates: a lowest loss among them has two neighbours on both sides


def smallest(values):
    if "learning_rate" not in values.dims:
        return values
    return values.isel(learning_rate=int(np.argmin(values.learning_rate.values)), drop=True)


def exponent(name):
    return lambda c: EXPONENTS[c.p.parametrisation][name]


def layers_of_kind(c, kind):
    """Return the numbers of the layers of a kind."""
    kinds = np.asarray(c.layer_kind).reshape(-1, c.layer_kind.sizes["layer"])[0]
    return np.flatnonzero(kinds == kind)


def layers_of(kind, name):
    """Return the power of that layer of a kind which deviates most from what is derived, as a function of the cell."""

    def power(c):
        slopes = slope(smallest(c.layer_change), "width")
        chosen = layers_of_kind(c, kind)
        skip_if(not chosen.size, "the network has no such layer")
        off = np.abs(slopes.mean("seed").values - exponent(name)(c))
        worst = int(chosen[off[chosen].argmax()])
        others = f", of {chosen.size} that which deviates most" if chosen.size > 1 else ""
        return PerSeed(slopes.isel(layer=worst).values, f"It is layer {worst + 1}{others}.")

    return power


def best_rate_power(c):
    """Return the power of the best learning rate: that of the lowest loss, by a parabola through it and its neighbours."""
    few = c.late_loss.sizes["learning_rate"] < FEWEST
    skip_if(few, f"there are fewer than {FEWEST} learning rates")
    late, first = xr.broadcast(c.late_loss, c.first_loss)
    losses = late.where(np.isfinite(late), np.inf).clip(max=first)
    losses = losses.sortby("learning_rate").transpose("width", "seed", "learning_rate")
    logs = np.log(losses.learning_rate.values)
    best = np.apply_along_axis(lambda row: vertex(logs, np.log(row)), -1, losses.values)
    powers = slope(losses.isel(learning_rate=0, drop=True).copy(data=np.exp(best)), "width")
    ends = int(np.isnan(best).any(0).sum())
    note = f"From {ends} starts the best is an end of the grid." if ends else ""
    return PerSeed(powers.values, note)


def vertex(at, losses):
    """Return where a parabola through the lowest loss and its neighbours is lowest; nan at an end of the grid."""
    lowest = int(np.argmin(losses))
    if lowest in (0, len(at) - 1):
        return np.nan
    near = slice(lowest - 1, lowest + 2)
    square, linear, _ = np.polyfit(at[near] - at[lowest], losses[near], 2)
    return at[lowest] - (linear / (2 * square) if square > 0 else 0.0)


def rounding(c):
    """Return half the 95% interval that the grid's rounding of every width's best rate leaves for the power of the width.

    Rounding to steps of h has the variance h² / 12, the slope through points x that of a point over Σ (x - mean x)².
    """
    gap = np.diff(np.log(np.sort(c.axis("learning_rate")))).max(initial=0.0)
    at = np.log(c.axis("width"))
    spread = ((at - at.mean()) ** 2).sum()
    return float(1.96 * gap / np.sqrt(12 * spread)) if spread > 0 else np.inf


def power_claim(id, statement, quantity, name, half=lambda c: NEAR, **options):
    """Return the claim that a quantity has the power that is derived for `name`, within `half` of a cell to either side."""
    options = {
        "source": SOURCE,
        "rank": "headline",
        "along": ("width", "learning_rate"),
        "near": exponent(name),
        "inside": lambda c: around(exponent(name)(c), half(c)),
        "why": "Powers of parametrisations are halves: a slope nearer than a quarter is nearest to the one that is derived.",
    } | options
    return claim(id, statement, quantity, **options)


CLAIMS = [
    power_claim(
        "first-layer",
        "The first layer's outputs change by the power of the width that is derived for the parametrisation.",
        layers_of(FIRST, "first"),
        "first",
    ),
    power_claim(
        "hidden-layers",
        "The outputs of hidden layers change by the power of the width that is derived for the parametrisation.",
        layers_of(HIDDEN, "hidden"),
        "hidden",
    ),
    power_claim(
        "output",
        "The network's output changes by the power of the width that is derived for the parametrisation.",
        lambda c: slope(smallest(c.output_change), "width"),
        "output",
    ),
    power_claim(
        "best-rate",
        "The best learning rate goes with the power of the width that is derived for the parametrisation.",
        best_rate_power,
        "rate",
        rank="detail",
        half=lambda c: max(NEAR_RATE - rounding(c), 0.0),
        domain=lambda c: "the learning rates are too far apart" * (rounding(c) >= NEAR_RATE / 2),
        why="Its powers are -1 and 0; the half that divides them is narrower by what the grid's rounding may leave.",
    ),
]
