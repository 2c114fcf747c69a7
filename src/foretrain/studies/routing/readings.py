"""What claims and figures of ``routing`` read off runs and theory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.curve_deviation import deviation_while_learning
from foretrain.quantities.representation import cross_domain_similarity
from foretrain.study import crossing, crossing_time, half_time, relative_gap
from foretrain.tasks.masks import components
from foretrain.theory.connectivity import error_across_components
from foretrain.theory.race import hidden_weight_at, routing_factors
from foretrain.training.routing import ITEMS, LAYERS

from . import theory
from .study import SMALLER, task

if TYPE_CHECKING:
    pass


def items(c) -> bool:
    """Return whether all domains have the same hierarchical items."""
    return c.p.data == "hierarchy"


def same_maps(c) -> bool:
    """Return whether all routes ask for one map, as in the paper."""
    return c.p.disagreement == 0


def raced(c) -> bool:
    """Return whether the race has a closed form for the network's initial weights."""
    return c.p.init_law == "orthogonal" and bool(np.isfinite(c.theory.loss).all())


def compared(c) -> bool:
    """Return whether there are several domains of the same items and maps."""
    return items(c) and same_maps(c) and c.p.domains > 1


def predicted(c) -> bool:
    """Return whether theory predicts the similarity of domains and the growth of layers."""
    return compared(c) and raced(c)


# Losses and learning times


def decoupled_gap(c):
    """Return the largest deviation of the decoupled network from the reduction, relative to the largest value."""
    run, reduction = c["decoupled"], c.theory.isel(seed=0)
    names = ("loss", "singular_values")
    gaps = [abs(relative_gap(run[name], reduction[f"reduction_{name}"])) for name in names]
    return np.maximum(
        *(gap.max([d for d in gap.dims if d != "seed"], skipna=False) for gap in gaps)
    )


def race_deviation(c):
    """Return the mean deviation of the loss from the race, while learning, over the drop of the loss."""
    import xarray as xr

    dims = [["step"], ["step"]]
    return xr.apply_ufunc(
        deviation_while_learning, c.loss, c.theory.loss, input_core_dims=dims, vectorize=True
    )


def half_time_ratios(c):
    """Return measured over predicted half-learning time, dims (seed, mode); nan where a mode is not learned in either."""
    import xarray as xr

    drawn = [task(c.p, c.seed(number)) for number in range(c.seeds)]
    optimum = xr.DataArray(
        [one.singular_values / one.variances for one in drawn], dims=("seed", "mode")
    )
    expected = half_time(c.theory.mode_strength, optimum)
    return half_time(c.mode_strength, c.mode_optimum) / expected.where(expected > 0)


def own_start_explains(c):
    """Return the fraction of the deviation from wide weights that the race from a run's own start explains."""
    run, wide, own = c.singular_values, c.theory.singular_values, c.theory.start_singular_values
    left, parted = (((run - race) ** 2).sum(("step", "mode"), skipna=False) for race in (own, wide))
    mean = parted.mean("seed")
    return (1 - left / mean.where(mean > 0)).min("layer", skipna=False)


def coupling_left(c):
    """Return the off-diagonal fraction of the whole map when half of the loss is learned."""
    import xarray as xr

    halved = crossing(-c.loss, -(c.start.loss + c.end.loss) / 2)
    mass, time = c.off_diagonal_mass, c.loss.time.values
    return xr.apply_ufunc(
        lambda t, curve: np.interp(t, time, curve),
        halved,
        mass,
        input_core_dims=[[], ["step"]],
        vectorize=True,
    )


# Untrained routes


def zero_error(c) -> float:
    """Return the error of answering zero."""
    return task(c.p, c.seed(0)).output_power / 2


def excess(c, network=""):
    """Return the error on untrained routes minus that on trained ones, over that of answering zero."""
    end = c[network].end
    return (end.untrained_error - end.loss) / zero_error(c)


def excess_without_chains(c, mixing) -> float:
    """Return the excess that is predicted of routes that no chain of trained ones joins."""
    data = task(c.p, c.seed(0))
    modes = data.singular_values, data.variances
    error = error_across_components(*modes, output_power=data.output_power, mixing=mixing)
    return (error - data.unexplained_power / 2) / (data.output_power / 2)


def island_agreement(c):
    """Return the agreement of the untrained routes that are right with those within an island."""
    import xarray as xr

    level = 0.1 * zero_error(c)

    def agreement(pairs, error):
        within = np.equal.outer(*components(np.nan_to_num(pairs)))
        right = np.where(np.isfinite(error), error < level, np.nan)
        return balanced_agreement(right[pairs == 0], within[pairs == 0])

    run, dims = c["islands"], ["input_domain", "output_domain"]
    return xr.apply_ufunc(
        agreement, run.trained_pairs, run.pair_error, input_core_dims=[dims, dims], vectorize=True
    )


# Layers


def layer_ratio(end):
    """Return hidden over encoder singular values at the end, dims (seed, mode)."""
    layers = end.singular_values
    return layers.sel(layer="hidden", drop=True) / layers.sel(layer="encoders", drop=True)


def below_root(c) -> float:
    """Return how far the predicted ratio is from sqrt(M), relative, mean over modes."""
    return float(abs(1 - layer_ratio(c.theory.end) / np.sqrt(c.p.domains)).mean())


def ratio_gap(c):
    """Return the largest relative deviation of an encoder from the race's at equal hidden singular value, largest mode."""
    first = c.singular_values.isel(mode=0)
    hidden, encoder = first.sel(layer="hidden"), first.sel(layer="encoders")
    expected = hidden.copy(data=np.interp(hidden, *theory.growth(c.p, c.seed(0))))
    gaps = abs(expected / encoder - 1)
    gaps = gaps.where(np.isfinite(gaps), 0).max("step")
    return gaps.where(np.isfinite(hidden.isel(step=slice(2))).all("step"))


def hidden_gap(end, expected):
    """Return the largest relative deviation of hidden singular values over modes."""
    hidden = end.singular_values.sel(layer="hidden")
    return abs(hidden / expected - 1).max("mode", skipna=False)


def decoupled_end(c) -> np.ndarray:
    """Return the end of B2 from a decoupled start, shape (mode,): the root of B2 (B2^2 + C) = M S/D."""
    data = task(c.p, c.seed(0))
    conserved = (c.p.domains - 1) * c.p.init_scale**2
    return hidden_weight_at(
        data.singular_values / data.variances, conserved, routing_factors(c.p.domains)
    )


# Representations, and limits of small weights


def same_item(runs):
    """Return the mean cosine between the representations of one item in different domains."""
    return cross_domain_similarity(runs.similarity, ITEMS)[0]


def predicted_cosine(c) -> float:
    """Return `same_item` of the theory, mean over seeds."""
    return float(same_item(c.theory).mean())


def missing_cosine(end, domains):
    """Return what is missing to a cosine of 1."""
    return 1 - same_item(end)


def missing_ratio(end, domains):
    """Return what is missing to a ratio of layers of sqrt(M), relative, mean over modes."""
    return 1 - layer_ratio(end).mean("mode", skipna=False) / np.sqrt(domains)


def power(missing, c, large, small):
    """Return the power of init_scale with which something vanishes, from two scales; nan where it is not positive."""
    values = [missing(end, c.p.domains) for end in (large, small)]
    return np.log((values[0] / values[1]).where((values[0] > 0) & (values[1] > 0))) / np.log(
        SMALLER
    )


def power_of_race(c, missing) -> float:
    """Return the power that the race predicts."""
    import xarray as xr

    ends = []
    for by in (1, SMALLER):
        p = replace(c.p, init_scale=c.p.init_scale / by, steps=by * c.p.steps)
        race = theory.predict(p, np.array([0, p.steps]), c.seed(0))
        variables = {
            "similarity": (("sample", "sample_other"), race["similarity"]),
            "singular_values": (("layer", "mode"), race["singular_values"][-1]),
        }
        ends.append(xr.Dataset(variables, {"layer": list(LAYERS)}))
    return float(power(missing, c, *ends))


# Routes that disagree


def split(step, between) -> tuple[float, float, float]:
    """Return largest and last cosine between the halves, and the step at which half of the difference is lost."""
    peak = int(np.argmax(between))
    top, end = between[peak], between[-1]
    lost = crossing_time(step[peak:], -between[peak:], -(top + end) / 2)
    return float(top), float(end), float(lost)


def predicted_split(c) -> tuple[float, float, float]:
    """Return `split` of the theory."""
    between = c.theory.split_between.isel(seed=0, missing_dims="ignore").values
    return split(np.arange(between.size) * c.p.observe_every, between)


def splits(c, which):
    """Return one entry of `split` for every run whose routes disagree."""
    import xarray as xr

    between = c["disagreeing"].alike_between
    step, unknown = between.step.values, (np.nan,) * 3
    return xr.apply_ufunc(
        lambda row: split(step, row)[which] if np.isfinite(row).all() else unknown[which],
        between,
        input_core_dims=[["step"]],
        vectorize=True,
        output_dtypes=[float],
    )
