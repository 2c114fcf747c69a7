"""Claims on the routing network: learning times, layers, sharing between domains, untrained routes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from foretrain.lazy import xr
from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.allowed import tolerance
from foretrain.quantities.learning_curves.curve_deviation import deviation_while_learning
from foretrain.study import claim, crossing, half_time, larger_first, relative_gap
from foretrain.tasks.masks import components
from foretrain.theory.pathways.race_parts import errors_left
from foretrain.training import routing_claims as common
from foretrain.training.routing import LAYERS, mask
from foretrain.training.routing_claims import PAIR, closed_form_error, closed_form_within, same_item

from . import theory
from .study import SMALLER, task

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/theory/routing.md"


def has_items(c) -> bool:
    return c.p.data == "hierarchy"


def has_closed_form(c, name="loss") -> bool:
    """Return True where the race has a closed form for the network's initial weights."""
    return c.p.init_law == "orthogonal" and bool(np.isfinite(c.theory[name]).all())


def is_comparable(c) -> bool:
    """Return True where there are several domains of the same items and maps."""
    return has_items(c) and not c.p.disagreement and c.p.domains > 1


QUARTER = closed_form_within(lambda c: 0.25)


def decoupled_gap(c) -> xr.DataArray:
    run, reduction = c["decoupled"], c.theory.isel(seed=0, drop=True)
    names = ("loss", "singular_values")
    gaps = [relative_gap(run[name], reduction[f"reduction_{name}"]) for name in names]
    return xr.concat(xr.broadcast(*gaps), "variable")


def race_deviation(c) -> xr.DataArray:
    # Theory goes on after the longest run, where all have diverged.
    step = {"input_core_dims": [["step"]] * 2, "vectorize": True, "join": "left"}
    return xr.apply_ufunc(deviation_while_learning, c.loss, c.theory.loss, **step)


def half_time_ratios(c) -> xr.DataArray:
    """Return measured over predicted half-learning time, dims (seed, mode); nan where a mode is not learned in either."""
    # Ends of the reduction; those of the network differ from them on raw digits.
    expected = half_time(c.theory.mode_strength, c.mode_singular_value / c.mode_variance)
    return half_time(c.mode_strength, c.mode_optimum) / expected.where(expected > 0)


def own_start_explains(c) -> xr.DataArray:
    run, wide, own = c.singular_values, c.theory.singular_values, c.theory.start_singular_values
    left, parted = (((run - race) ** 2).sum(("step", "mode"), skipna=False) for race in (own, wide))
    mean = parted.mean("seed")
    return (1 - left / mean.where(mean > 0)).min("layer", skipna=False)


def coupling_left(c) -> xr.DataArray:
    halved, time = crossing(-c.loss, -(c.start.loss + c.end.loss) / 2), c.loss.time.values
    step = {"input_core_dims": [[], ["step"]], "vectorize": True}
    return xr.apply_ufunc(lambda t, y: np.interp(t, time, y), halved, c.off_diagonal_mass, **step)


def zero_error(c) -> float:
    return task(c.p, c.seed(0)).output_power / 2


def left_by_law(c) -> np.ndarray:
    """Return what small weights leave on untrained routes, over the error of answering zero: in wide layers, here, at most."""
    data, pairs = task(c.p, c.seed(0)), mask(c.p, c.seed(0))
    left = errors_left(c.p.init_scale, pairs, data.singular_values, data.variances)
    x = 14 * closed_form_error(c)[0]  # 21/(2 N_h (1 - lambda_1)^2), see docs/theory/routing.md
    return np.diff(left) / zero_error(c) * (1 + x) ** np.arange(3)


def island_agreement(c) -> xr.DataArray:
    run = c["islands"]
    seeds = range(run.sizes["seed"])
    residuals = [float(task(c.p, c.seed(number)).residual.mean()) for number in seeds]
    least = xr.DataArray(residuals, dims="seed")  # no linear map of the data goes below

    def agreement(pairs, error, least):
        within = np.equal.outer(*components(np.nan_to_num(pairs)))
        level = least + 0.1 * (zero_error(c) - least)
        right = np.where(np.isfinite(error), error < level, np.nan)
        return balanced_agreement(right[pairs == 0], within[pairs == 0])

    dims = {"input_core_dims": [PAIR, PAIR, []], "vectorize": True}
    return xr.apply_ufunc(agreement, run.trained_pairs, run.pair_error, least, **dims)


def predicted_cosine(c) -> float:
    return float(same_item(c.theory).mean())


def layer_ratio(end):
    """Return hidden over encoder singular values at the end, dims (seed, mode)."""
    layers = end.singular_values
    return layers.sel(layer="hidden", drop=True) / layers.sel(layer="encoders", drop=True)


def power(missing, ends) -> xr.DataArray:
    """Return the power of init_scale with which a missing part vanishes, from the ends of training at two scales."""
    large, small = (missing(end) for end in ends)
    return np.log((large / small).where((large > 0) & (small > 0))) / np.log(SMALLER)


def limit_gap(c) -> xr.DataArray:
    cosine = lambda end: 1 - same_item(end)  # noqa: E731
    ratio = lambda end: 1 - layer_ratio(end).mean("mode", skipna=False) / np.sqrt(c.p.domains)  # noqa: E731
    runs, ends = (c.end, c["small-init"].end), []
    for by in (1, SMALLER):
        p = replace(c.p, init_scale=c.p.init_scale / by, steps=c.p.observe_every)
        race = theory.of_run(p, c.seed(0), (0, by * c.p.steps))
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
    fall = between.where(between.step >= between.idxmax("step"), between.max("step"))
    return crossing(-fall, -(float(expected.max() + expected[-1]) / 2), "step")


SHARED = {
    "near": 1,
    "inside": (0.95, np.inf),
    "where": is_comparable,
    "at_end": True,
    "why": "Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
    "note": "Mean cosine between first-hidden-layer activity for one item in different domains.",
}
PREDICTED = {
    "source": OURS,
    "where": lambda c: is_comparable(c) and has_closed_form(c),
    "domain": QUARTER,
}
SPLIT = {"source": OURS, "at_end": True, "where": lambda c: has_items(c) and c.p.domains > 1}
DISAGREE = "Routes between two halves of the domains ask for 1/2, those within for 3/2 of the map; every route is trained. "
CLAIMS = [
    claim(
        "zero-shot",
        "Untrained routes are as good as trained ones.",
        lambda c: (c.end.untrained_error - c.end.loss) / zero_error(c),
        near=lambda c: left_by_law(c)[1],
        inside=lambda c: left_by_law(c)[::2],
        domain=closed_form_within(lambda c: 0.1),  # x up to 1.4
        where=lambda c: PREDICTED["where"](c) and c.p.trained_outputs < c.p.domains,
        rank="headline",
        source=PAPER + "section 4.1, Fig. 4h; " + OURS,
        why="What the start leaves on them is a product of three small layers, and its square the sixth power of their scale. "
        "Wide layers leave what the closed form says, and overlaps 1 + x times that, x = 21/(2 N_h (1 - lambda_1)^2); what is "
        "left out is another factor 1 + x, to either side.",
        note="Error on untrained minus error on trained routes, over the error of answering zero.",
        at_end=True,
    ),
    *claim(
        "shared",
        "Each item has one representation in all domains.",
        same_item,
        rank="headline",
        source=PAPER + "section 4.1, Fig. 4g",
        **SHARED,
    ).and_corrected(
        "Representations of one item differ across domains by the part of the initial weights that each domain keeps for "
        "itself.",
        **tolerance(predicted_cosine, lambda c: (1 - predicted_cosine(c)) / 4),
        **PREDICTED,
        why="A quarter of what is predicted to be missing to a cosine of 1.",
    ),
    claim(
        "random-start",
        "The loss from small random weights follows the reduction with the overlaps of wide random weights, nothing fitted.",
        race_deviation,
        near=0,
        inside=(-np.inf, 0.05),
        domain=closed_form_within(lambda c: 0.1),  # a curve is off by half of it, in time
        where=has_closed_form,
        rank="headline",
        source=PAPER + "section 4, Fig. 4e; " + OURS,
        why='"A good approximation" in a figure: on average within 5% of its height.',
        note="Mean |difference of loss| over the drop of the loss, until 99% of what can be learned is learned.",
        at_end=True,
    ),
    claim(
        "half-times",
        "Each mode is half learned at the predicted time.",
        lambda c: half_time_ratios(c).mean("mode", skipna=False),
        **tolerance(1, lambda c: 0.5 / np.sqrt(c.p.hidden_width)),
        domain=closed_form_within(lambda c: 1 / np.sqrt(c.p.hidden_width)),  # half of it
        where=lambda c: has_items(c) and not c.p.disagreement and has_closed_form(c),
        rank="headline",
        source=OURS,
        why="Vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of a mode by about half of "
        "that; over modes and seeds it averages out.",
        note="Mean over modes of measured half-learning time over that of the closed form for wide random weights.",
        at_end=True,
    ),
    claim(
        "half-times-digits",
        "On real digits, whitened or raw, the reduction predicts when each mode is half learned.",
        lambda c: abs(half_time_ratios(c) - 1).mean("mode"),
        near=0,
        inside=lambda c: (-np.inf, 2 / np.sqrt(c.p.hidden_width)),
        domain=closed_form_within(lambda c: 4 / np.sqrt(c.p.hidden_width)),
        where=lambda c: not has_items(c) and has_closed_form(c),
        source=PAPER + "section 3.1; " + OURS,
        why="The overlap of a mode with the initial weights varies by 1/sqrt(N_h) from draw to draw, and its learning time "
        "with it. Twice that for a pair of layers.",
        note="Mean over learned modes of |measured / predicted - 1|, nothing fitted.",
    ),
    *claim(
        "ratio",
        "The hidden matrix lies on more trained paths and grows more: its singular values are sqrt(M) times those of encoders "
        "and decoders.",
        lambda c: (layer_ratio(c.end) / np.sqrt(c.p.domains)).mean("mode", skipna=False),
        **tolerance(1, 0.05),
        where=lambda c: has_items(c) and not c.p.disagreement,
        source=PAPER + "section 4, eqs. (49)-(51), Fig. 4f",
        why="The paper calls it a factor for long training; 5% is what its figure can show.",
        note="Mean over modes of the measured ratio over sqrt(M).",
        at_end=True,
    ).and_corrected(
        "Hidden over encoder singular values are below sqrt(M) by the initial weights that training does not remove.",
        quantity=lambda c: (layer_ratio(c.end) / layer_ratio(c.theory.end)).mean(
            "mode", skipna=False
        ),
        **tolerance(
            1, lambda c: float(abs(1 - layer_ratio(c.theory.end) / np.sqrt(c.p.domains)).mean()) / 4
        ),
        rank="headline",
        **PREDICTED,
        why="A quarter of what separates the prediction from sqrt(M): less than the parts that single domains keep where not "
        "all routes are trained.",
        note="Mean over modes of the measured ratio over the predicted one.",
    ),
    claim(
        "shared-xavier",
        "Each item has one representation in all domains, from the Xavier start that the text names.",
        lambda c: same_item(c["xavier"]),
        source=PAPER + "section 4.1, appendix",
        **SHARED,
    ),
    claim(
        "limits",
        "Only as init_scale goes to 0 do all domains share one representation, from either start, and is the ratio of layers "
        "sqrt(M): what is missing falls as init_scale squared.",
        limit_gap,
        near=0,
        inside=(0, 0.25),
        corrects="shared-xavier",
        **PREDICTED,
        why="The random start is one draw at both scales. Powers a quarter apart are told apart; what does not vanish has the "
        "power 0.",
        note="Largest distance of three powers of init_scale, from its value and a quarter of it, from those of the "
        "race; from a Xavier start, from 2.",
        at_end=True,
    ),
    claim(
        "larger-first",
        "Modes with larger singular values are learned first.",
        lambda c: larger_first(half_time(c.mode_strength, c.mode_optimum), c.mode_singular_value),
        near=1,
        inside=(0.95, np.inf),
        within=(0, 1),
        source=PAPER + "section 3.1",
        why="The random start may swap one pair in twenty. Singular values within 10% of each other are not told apart.",
        note="Fraction of pairs of modes, at least 10% apart, half learned in that order.",
        at_end=True,
    ),
    claim(
        "own-start",
        "The overlaps of a run's own initial weights with the modes predict how its layers grow.",
        own_start_explains,
        near=1,
        inside=(0.5, np.inf),
        domain=QUARTER,
        where=lambda c: has_items(c) and has_closed_form(c, "start_singular_values"),
        source=OURS,
        why="Finite width: random overlaps of order 1/sqrt(N_h) change the growth to first order, and the theory leaves out "
        "the second order.",
        note="1 - squared deviation of singular values from the race of a run's own start, over steps and modes, over that "
        "from wide weights, mean over runs, in the layer where it is least; 0 for wide weights.",
        at_end=True,
    ),
    claim(
        "submanifold",
        "Small random weights come rapidly to the submanifold of decoupled weights.",
        coupling_left,
        near=0,
        inside=(-np.inf, 0.05),
        where=lambda c: has_items(c) and c.p.init_law != "decoupled",
        source=PAPER + "section 4.2",
        why='Off-diagonal mass starts above 0.8; five percent left when half of the loss is learned is "rapidly".',
        note="Off-diagonal fraction of the whole map when the loss has halved.",
        at_end=True,
    ),
    claim(
        "split-first",
        "Routes that disagree share at first: until the second part of their map is learned, all domains are alike.",
        lambda c: c["disagreeing"].alike_between.max("step", skipna=False),
        **tolerance(lambda c: float(predicted_between(c).max()), 0.05),
        why="A cosine within .05 of its prediction, as for routes that agree.",
        note=DISAGREE + "Largest mean cosine of one item between the halves.",
        **SPLIT,
    ),
    claim(
        "split",
        "Sharing splits when the second part of the map over domains is learned as if it were alone: later by the ratio of "
        "the map's singular values.",
        lambda c: (
            split_step(c, c["disagreeing"].alike_between) / split_step(c, predicted_between(c))
        ),
        **tolerance(1, lambda c: 1 / np.sqrt(c.p.hidden_width)),
        why="Vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of one part by about half of "
        "that; the split is that of one part in one mode, hence twice that.",
        note=DISAGREE
        + "Measured over predicted time at which the cosine between the halves falls to the middle of its predicted fall.",
        **SPLIT,
    ),
    common.trained_routes_alone,
    claim(
        "decoupled",
        "From decoupled weights, descent of the full network is Euler's method on the reduction, step by step.",
        decoupled_gap,
        at_most=lambda c: 1e-12 if has_items(c) else 1e-8,
        where=lambda c: (
            not c.p.disagreement
            and (has_items(c) or (c.p.scaling, c.p.transform) == ("whitened", "permutation"))
        ),
        source=PAPER + "eqs. (13)-(14), Fig. 4e",
        why="Both do the same arithmetic in float64 in another order; after thousands of steps rounding stays below 1e-12. "
        "Whitening digits loses more, since it divides by variances down to 1e-10 of the largest.",
        note="Largest deviation of loss and singular values over all steps, relative to their largest value.",
    ),
    claim(
        "conserved",
        "Gradient flow conserves Q, incoming minus outgoing weight covariance, at each hidden layer.",
        lambda c: c["flow"].conserved_drift,
        at_most=lambda c: 1e-6 * max(1, (c.p.learning_rate / 0.05) ** 5),
        rank="control",
        source=OURS,
        why="A solver of fifth order with the step of descent, whose error grows as the fifth power of the step: one in a "
        "million up to .05. Euler's method is off by the step itself.",
        note="Largest |Q(t) - Q(0)| over the squared norm of the hidden matrix, random starts, float64.",
    ),
    claim(
        "zero-shot-stops-at-islands",
        "Zero-shot ends where chains end: in two islands of domains, untrained routes within an island are right and those "
        "between islands wrong.",
        island_agreement,
        near=1,
        inside=(0.9, 1.0),
        within=(0, 1),
        where=lambda c: c.p.domains > 1 and not c.p.disagreement,
        rank="control",
        source="docs/theory/connectivity.md",
        why="One route in ten may be slow or lucky; a network that is right, or wrong, on all of them has 1/2.",
        note="Mean of two fractions: of untrained routes that leave less than a tenth of what can be learned, those within "
        "an island; of the others, those between islands.",
        at_end=True,
    ),
]
