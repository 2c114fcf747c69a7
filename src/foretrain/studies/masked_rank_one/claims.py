"""Claims of the note on the simple case, and the connectivity law of masks of any kind."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around, tolerance
from foretrain.study import CONVERGED, claim, skip_if, slope
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, FAINT
from foretrain.training.masked_rank_one_claims import OURS, invariants, recorded

from .study import LIMIT, pair_ends

NOTE = "Note on shared representations, "
ALONG = ("init_scale",)
PAIR = ("input_domain", "output_domain")
SMALL = 1e-2  # up to it the linearised flow is held against the whole one
ALIGNED = 1e-3  # up to it the square of the misalignment is a few percent at most
RIGHT = 0.05  # a pair is right if s u_i v_j is within this of 1


def small(values, largest=SMALL, least=2):
    """Return the values at the initial scales up to a largest; raise `NotApplicable` where they are fewer than `least`."""
    kept = values.isel(init_scale=np.flatnonzero(values.init_scale <= largest))
    skip_if(kept.sizes["init_scale"] < least, f"fewer than {least} scales up to {largest:g}")
    return kept


def smallest(values):
    return values.isel(init_scale=0, drop=True)


def closed_forms(c):
    weights, times, neglected = (
        small(c.fits[name], least=1).isel(stage=[FAINT, DEPARTURE])
        for name in ("stage_deviation", "stage_time_deviation", "stage_neglected")
    )
    ratio = xr.concat([weights / neglected, times / neglected], "kind")
    return ratio.max(("kind", "init_scale", "stage")).dropna("seed")


def escape_progress(c):
    return smallest(small(c.stage_progress, least=1).isel(stage=ESCAPE))


def as_number(condition, values):
    """Return 1 or 0 where a condition holds or not, nan where values are not finite."""
    return condition.astype(float).where(np.isfinite(values))


def other_sign(c):
    progress = escape_progress(c)
    up = (smallest(c.start_scale) > 0) ^ (smallest(c.theory.turns) == 1)
    return as_number((progress > 0) != up, progress).mean(skipna=False)


def best_rank_one(c):
    left = small(c.stage_misalignment).isel(stage=DEPARTURE)
    scales = left.init_scale.values
    falls = (scales[0] / scales[1]) ** smallest(c.theory.alignment_exponent)
    return (smallest(left) - falls * left.isel(init_scale=1, drop=True)) / (1 - falls)


def escape_time(c):
    times = small(c.stage_time).isel(stage=ESCAPE)
    logs = np.log(1 / times.init_scale)
    return smallest(times) / times[-1] / float(logs[0] / logs[-1])


def alignment_exponent(c):
    second = small(c.fits.stage_second_mode, ALIGNED).isel(stage=FAINT)
    return slope(second, "init_scale", least=2) - smallest(c.theory.alignment_exponent)


def reached_zero_loss(c):
    """Return 1 for runs on connected masks that reached zero loss, 0 for others that ran there; nan elsewhere."""
    return as_number(c.outcome == CONVERGED, c.final_loss).where(c.connected == 1)


def right_or_stuck(c):
    bound = (2 * c.sizes["input_domain"] - 1) ** 2 * c.p.loss_tolerance
    ratio = xr.where(reached_zero_loss(c) == 1, c.final_untrained_error / bound, 0.5 / c.final_loss)
    return ratio.where(reached_zero_loss(c).notnull()).max()


def pairs(c, network):
    """Return s u_i v_j of the runs of a network that converged, `product`, with their predictions, see `pair_ends`."""
    scales = [LIMIT] if network == "limit" else c.values("init_scale")
    ends = c[network][["final_left", "final_right", "final_scale", "outcome"]]
    ends = ends.isel(init_scale=slice(len(scales)))
    seeds = [c.seed(seed) for seed in range(ends.sizes["seed"])]
    by_scale = [[pair_ends(c.p.domains, float(sigma), seed) for seed in seeds] for sigma in scales]
    dims = ("init_scale", "seed", *PAIR)
    stacked = {
        name: (dims, [[pair[name] for pair in row] for row in by_scale]) for name in by_scale[0][0]
    }
    product = ends.final_scale * ends.final_left * ends.final_right
    product = product.where(ends.outcome == CONVERGED)
    return xr.Dataset(stacked).assign(product=product.drop_vars(("init_scale", "seed")))


def across_components(ends):
    return ~ends.within & ~ends.idle


def pair_gap(c):
    worst = []
    for network in ("sparse", "limit"):
        data = pairs(c, network)
        allowed = (sum(data.sizes[dim] for dim in PAIR) - 1) * np.sqrt(2 * c.p.loss_tolerance)
        allowed += 2 * c.p.solver_tolerance * c.p.steps
        gap = xr.where(data.within, abs(data.product - 1), abs(abs(data.product) - data["size"]))
        worst.append(float((gap / np.maximum(data["size"], 1) / allowed).max()))
    return np.fmax(*worst)


def other_signs(c):
    ends = pairs(c, "limit")
    crossing = across_components(ends) & ends.product.notnull()
    other = (crossing & (np.sign(ends.product) != ends.sign)).any(PAIR)
    return other.where(crossing.any(PAIR)).sum(min_count=1)


def pairs_as_predicted(c):
    ends, final_loss = smallest(pairs(c, "limit")), smallest(c["limit"].final_loss)
    by_chance = across_components(ends) & (abs(ends.limit - 1) < RIGHT) & (ends.sign > 0)
    agree = (abs(ends.product - 1) < RIGHT) == (ends.within | by_chance)
    return as_number(agree & ends.product.notnull(), final_loss).where(~ends.trained).mean(PAIR)


def slope_within(c):
    """Return a tenth over the range of log(sigma) up to `ALIGNED`, on either side of zero."""
    scales = [scale for scale in c.values("init_scale") if scale <= ALIGNED]
    return around(0, 0.1 / float(np.log(scales[-1] / scales[0])))


CONVERGE = "runs that converge"
ROW = {"along": ALONG, "source": OURS}
LIMITING = {**ROW, "near": 1, "inside": (0.95, 1), "at_end": True, "rank": "headline"}

CLAIMS = [
    replace(invariants, along=ALONG),
    replace(recorded, along=ALONG),
    claim(
        "zero-loss-generalises",
        "A run on connected T has zero training loss and generalises, at any sigma, or is stuck at a loss above 1/2.",
        right_or_stuck,
        **ROW,
        at_most=1,
        why="Each pair on a path of at most 2n - 1 trained pairs may be off by sqrt(2 loss); their sum squared, over 2. A "
        "trained pair of the wrong sign costs 1/2.",
        note="Largest mean error of untrained pairs over (2n - 1)^2 times the tolerance of the loss, and of stuck runs 1/2 "
        "over the loss.",
        at_end=True,
        among="runs on connected masks",
        rank="control",
    ),
    claim(
        "closed-forms",
        "Before escape u and v are cosh and sinh of Sigma S on their start, s follows from the conserved quantity, "
        "and t from dS/s.",
        closed_forms,
        along=ALONG,
        source=NOTE + "section 3 (u, v); s and t: " + OURS,
        at_most=1,
        why="The neglected term grows three times as fast as the weights, so that they deviate by a third of it; s and t, "
        "integrals of them, by no more than the whole.",
        note="Largest relative deviation at equal S, in units of the relative size of the neglected term; init_scale <= "
        f"{SMALL:g}, when 0.01% and 1% of the loss are gone.",
        rank="headline",
    ),
    *claim(
        "S-to-infinity",
        "The variable S(t) tends to infinity.",
        lambda c: as_number(escape_progress(c) > 0, escape_progress(c)),
        along=ALONG,
        source=NOTE + "section 3",
        near=1,
        inside=(0.95, 1),
        why="'Must' leaves room for an odd run only.",
        statistic="fraction",
        note="Fraction of seeds with S > 0 at escape, smallest init_scale.",
    ).and_corrected(
        "The variable S(t) tends to infinity with the sign of s at the start, or with the other sign if the "
        "linearised flow turns.",
        quantity=other_sign,
        exact=True,
        source=OURS,
        **tolerance(0, 0),
        statistic="mean",
        why="The neglected term is of order init_scale^3 where s turns: no start is so near to the border.",
        note="Fraction of seeds that do otherwise, smallest init_scale.",
    ),
    claim(
        "best-rank-one",
        "For small sigma u v^T emerges as the best rank-one approximation of T, up to a factor.",
        best_rank_one,
        along=ALONG,
        source=NOTE + "section 3",
        **tolerance(0, 0.1),
        why="'Approximately': a relative distance of a tenth is an angle of 6 degrees.",
        note="Relative distance when 1% of the loss is gone, where it tends from the two smallest init_scale by the law "
        "sigma^(1 - s_2/s_1).",
    ),
    *claim(
        "escape-time",
        "The vectors u and v align around time t ~ -log(sigma).",
        escape_time,
        along=ALONG,
        source=NOTE + "footnote 3",
        near=1,
        inside=(0.5, 2),
        why="A law in the limit: a factor of two over the whole range would still be logarithmic growth.",
        statistic="median",
        note=f"Growth of the escape time over that of log(1/sigma), init_scale <= {SMALL:g}.",
        rank="headline",
    ).and_corrected(
        "The escape time grows as 1/sigma.",
        quantity=lambda c: -slope(small(c.stage_time).isel(stage=ESCAPE), "init_scale", least=2),
        source=OURS,
        **tolerance(1, 0.02),
        statistic="mean",
        why="A remainder O(1) as large as a quarter of the shortest escape time would tilt the fit by about this much.",
        note=f"Slope of log t against log(1/sigma), init_scale <= {SMALL:g}.",
    ),
    claim(
        "alignment-exponent",
        "The misalignment at escape falls as sigma^(1 - s_2/s_1).",
        alignment_exponent,
        **ROW,
        near=0,
        inside=slope_within,
        why="Other modes shift the second mode's share by the square of the misalignment, a tenth at the largest of these "
        "scales, which tilts the slope by so much over their range of log(sigma).",
        note="Slope of the logarithm of the second singular mode over the first against log sigma, minus 1 - s_2/s_1 of each "
        f"seed's own mask, init_scale <= {ALIGNED:g}, when 0.01% of the loss is gone.",
        rank="headline",
    ),
    claim(
        "every-connected-mask",
        "On every connected mask, circulant or not, training succeeds and generalises as sigma tends to 0.",
        lambda c: smallest(reached_zero_loss(c)),
        **LIMITING,
        why="One seed in twenty may not be there yet.",
        note="Fraction of seeds at the smallest init_scale.",
        statistic="fraction",
        among="runs on connected masks",
    ),
    claim(
        "ends",
        "On any mask zero training loss leaves only the sign of each component open: all pairs within a component are"
        " right, the rest follows from what the flow conserves.",
        pair_gap,
        **ROW,
        among=CONVERGE,
        at_most=1,
        why="Each pair on a path of at most n + m - 1 trained pairs may be off by sqrt(2 loss), and each step by the "
        "solver's tolerance.",
        note="Largest | |s u_i v_j| - told | in units of what the tolerances allow; within components signs are told as well.",
        rank="control",
    ),
    claim(
        "sign-by-chance",
        "In the limit of small weights a pair across components has the sign of the starts of their leading modes: "
        "each sign once in two runs.",
        other_signs,
        **ROW,
        among=CONVERGE,
        at_most=0,
        why="A count.",
        note=f"Number of runs with a pair that has another sign, at sigma = {LIMIT:g}.",
        at_end=True,
    ),
    claim(
        "connectivity-law",
        "In the limit of small weights an untrained pair is right if one component holds both domains, and otherwise "
        "only by chance: if both components have like proportions and take one sign.",
        pairs_as_predicted,
        within=(0, 1),
        **LIMITING,
        among="runs on masks with untrained pairs",
        why="One pair in twenty may be told wrong.",
        note=f"Fraction of untrained pairs told right or wrong correctly, sigma = {LIMIT:g}; none of a run that is stuck.",
    ),
]
