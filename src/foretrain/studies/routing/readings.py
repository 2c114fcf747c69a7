"""Readings of runs and theory that claims and figures of ``routing`` share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretrain.lazy import xr
from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.learning_curves.curve_deviation import deviation_while_learning
from foretrain.study import crossing, half_time, relative_gap
from foretrain.tasks.masks import components
from foretrain.training.routing import LAYERS
from foretrain.training.routing_claims import closed_form_within, same_item

from . import theory
from .study import SMALLER, task

PAIR = ["input_domain", "output_domain"]


def has_items(c) -> bool:
    """Return True where all domains have the same hierarchical items."""
    return c.p.data == "hierarchy"


def has_closed_form(c) -> bool:
    """Return True where the race has a closed form for the network's initial weights."""
    return c.p.init_law == "orthogonal" and bool(np.isfinite(c.theory.loss).all())


def is_comparable(c) -> bool:
    """Return True where there are several domains of the same items and maps."""
    return has_items(c) and not c.p.disagreement and c.p.domains > 1


def is_predicted(c) -> bool:
    """Return True where theory predicts the similarity of domains and the growth of layers."""
    return is_comparable(c) and has_closed_form(c)


QUARTER = closed_form_within(lambda c: 0.25)
IN_TIME = closed_form_within(lambda c: 1 / np.sqrt(c.p.hidden_width))  # a time is off by half of it
ON_CURVE = closed_form_within(lambda c: 0.1)  # a curve is off by half of it, in time


def decoupled_gap(c) -> xr.DataArray:
    """Return the deviations of the decoupled network from the reduction, relative to the largest value."""
    run, reduction = c["decoupled"], c.theory.isel(seed=0, drop=True)
    names = ("loss", "singular_values")
    gaps = [relative_gap(run[name], reduction[f"reduction_{name}"]) for name in names]
    return xr.concat(xr.broadcast(*gaps), "variable")


def race_deviation(c) -> xr.DataArray:
    """Return the mean deviation of the loss from the race, while learning, over the drop of the loss."""
    # Theory goes on after the longest run, where all have diverged.
    step = {"input_core_dims": [["step"]] * 2, "vectorize": True, "join": "left"}
    return xr.apply_ufunc(deviation_while_learning, c.loss, c.theory.loss, **step)


def half_time_ratios(c) -> xr.DataArray:
    """Return measured over predicted half-learning time, dims (seed, mode); nan where a mode is not learned in either."""
    ends = (
        c.mode_singular_value / c.mode_variance
    )  # of the reduction; those of raw digits are others than of the network
    expected = half_time(c.theory.mode_strength, ends)
    return half_time(c.mode_strength, c.mode_optimum) / expected.where(expected > 0)


def own_start_explains(c) -> xr.DataArray:
    """Return the fraction of the deviation from wide weights that the race from a run's own start explains."""
    run, wide, own = c.singular_values, c.theory.singular_values, c.theory.start_singular_values
    left, parted = (((run - race) ** 2).sum(("step", "mode"), skipna=False) for race in (own, wide))
    mean = parted.mean("seed")
    return (1 - left / mean.where(mean > 0)).min("layer", skipna=False)


def coupling_left(c) -> xr.DataArray:
    """Return the off-diagonal fraction of the whole map when half of the loss is learned."""
    halved, time = crossing(-c.loss, -(c.start.loss + c.end.loss) / 2), c.loss.time.values
    step = {"input_core_dims": [[], ["step"]], "vectorize": True}
    return xr.apply_ufunc(lambda t, y: np.interp(t, time, y), halved, c.off_diagonal_mass, **step)


def zero_error(c) -> float:
    return task(c.p, c.seed(0)).output_power / 2


def unlearnable(c) -> xr.DataArray:
    """Return the error that no linear map of the data goes below, dims (seed,)."""
    seeds = range(c["islands"].sizes["seed"])
    least = [float(task(c.p, c.seed(number)).residual.mean()) for number in seeds]
    return xr.DataArray(least, dims="seed")


def island_agreement(c) -> xr.DataArray:
    """Return the agreement of the untrained routes that are right with those within an island."""
    least = unlearnable(c)

    def agreement(pairs, error, least):
        within = np.equal.outer(*components(np.nan_to_num(pairs)))
        level = least + 0.1 * (zero_error(c) - least)
        right = np.where(np.isfinite(error), error < level, np.nan)
        return balanced_agreement(right[pairs == 0], within[pairs == 0])

    run, dims = c["islands"], {"input_core_dims": [PAIR, PAIR, []], "vectorize": True}
    return xr.apply_ufunc(agreement, run.trained_pairs, run.pair_error, least, **dims)


def layer_ratio(end):
    """Return hidden over encoder singular values at the end, dims (seed, mode)."""
    layers = end.singular_values
    return layers.sel(layer="hidden", drop=True) / layers.sel(layer="encoders", drop=True)


def below_root(c) -> float:
    """Return how far the predicted ratio is from sqrt(M), relative, mean over modes."""
    return float(abs(1 - layer_ratio(c.theory.end) / np.sqrt(c.p.domains)).mean())


def power(missing, ends) -> xr.DataArray:
    """Return the power of init_scale with which a missing part vanishes, from the ends of training at two scales."""
    large, small = (missing(end) for end in ends)
    return np.log((large / small).where((large > 0) & (small > 0))) / np.log(SMALLER)


def limit_gap(c) -> xr.DataArray:
    """Return the largest distance of the powers from those of the race, and of that from a Xavier start from two."""
    cosine = lambda end: 1 - same_item(end)  # noqa: E731
    ratio = lambda end: 1 - layer_ratio(end).mean("mode", skipna=False) / np.sqrt(c.p.domains)  # noqa: E731
    runs, ends = (c.end, c["small-init"].end), []
    for by in (1, SMALLER):
        p = replace(c.p, init_scale=c.p.init_scale / by, steps=by * c.p.steps)
        race = theory.predict(p, np.array([0, p.steps]), c.seed(0))
        variables = {
            "similarity": (("sample", "sample_other"), race["similarity"]),
            "singular_values": (("layer", "mode"), race["singular_values"][-1]),
        }
        ends.append(xr.Dataset(variables, {"layer": list(LAYERS)}))
    gaps = [power(missing, runs) - power(missing, ends) for missing in (cosine, ratio)]
    gaps.append(power(cosine, (c["xavier"], c["xavier-small"])) - 2)
    return abs(xr.concat(gaps, "gap", join="inner")).max("gap", skipna=False)


def predicted_between(c) -> xr.DataArray:
    """Return the predicted cosine between the halves where routes disagree, dims (step,)."""
    curve = c.theory.split_between.isel(seed=0, missing_dims="ignore").rename(split_step="step")
    return curve.assign_coords(step=np.arange(curve.size) * c.p.observe_every)


def split_step(c, between) -> xr.DataArray:
    """Return the step at which a cosine between the halves falls, after its peak, to the middle of the predicted fall."""
    expected = predicted_between(c)
    level = float(expected.max() + expected[-1]) / 2
    fall = between.where(between.step >= between.idxmax("step"), between.max("step"))
    return crossing(-fall, -level, "step")
