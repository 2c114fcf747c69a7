"""Error against K/M: how many routes must be trained before all the others come for free?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.allowed import tolerance
from foretrain.quantities.learning_curves.threshold import lasting_threshold
from foretrain.quantities.representation import domain_cosine
from foretrain.quantities.zero_modes import zero_modes
from foretrain.study import Seed, claim, default
from foretrain.tasks.masks import circulant, without_common_output
from foretrain.theory.connectivity import error_across_components, predict_masks
from foretrain.theory.pathways.race_parts import parts_of_mask, parts_similarity
from foretrain.training.routing import ITEMS, items_task, labels, mask  # noqa: F401
from foretrain.training.routing import check_routes as check  # noqa: F401
from foretrain.training.routing_claims import PAIR, trained_routes_alone
from foretrain.training.routing_to_loss import ToLoss, inputs, program, zero_error  # noqa: F401

SOURCE = "Saxe, Sodhani & Lewallen (2022), Fig. 5c"
COST = "90 s"
REFERENCES = ("saxe2022",)
SEEDS = 5
EXPLORE = ("trained_outputs",)
AXES = {
    "mask": ("circulant", "random_rows", "biregular"),
    "trained_outputs": (1, 2, 3, 4, 5, 7, 10),
}
_LONGER = {"seeds": 10, "steps": 40000, "loss_tolerance": 1e-5}
PRESETS = {"paper": {"trained_outputs": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), **_LONGER}}
SMALLER = 8  # how much smaller the weights of `small-init` are


@dataclass(frozen=True)
class Parameters(ToLoss):
    """Parameters of the study, each with its rule."""

    domains: int = default(10)
    learning_rate: float = default(
        0.14, "step of descent; the paper's .05/K on the sum over routes is .143 on their mean"
    )
    steps: int = default(16000)
    observe_every: int = default(40)


def variants(p: Parameters) -> dict[str, dict]:
    """Return the same draws at an eighth of the study's own scale, nearer to the limit of small weights."""
    return {"small-init": {"init_scale": p.init_scale / SMALLER, "seeds": 5}}


def predict(p: Any, step: np.ndarray, seed: Seed) -> dict[str, Any]:
    """Predict the error of every pair in the limit of small initial weights, by the components of the trained pairs.

    Zero within one, that of unrelated bases across, and of answering zero, <|y|^2>/2, where a domain is never trained.
    """
    data = items_task(p.level_weights)
    modes, power = (data.singular_values, data.variances), data.output_power
    across = error_across_components(*modes, output_power=power)
    graph = predict_masks([mask(p, seed)], across, power / 2)
    return {
        "pair_error": graph.pair_error[0],
        "converged_untrained_error": graph.untrained_error[0],
        "component_count": graph.component_count[0],
    }


PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/trained-fraction.md"
GRAPH = "docs/theory/connectivity.md"
SMALL = "small-init"
# Of the error of answering zero; the measured errors lie far from it on both sides.
GENERALISES = 0.1
ALONG = {"along": "trained_outputs", "at_end": True}


def fraction(c):
    return c.axis("trained_outputs") / c.p.domains


def threshold(c, runs):
    """Return the smallest fraction from which on all untrained errors are low; nan if there is none or a run diverged."""
    error = runs.converged_untrained_error / zero_error(c.p)
    error = error.where(fraction(c) < 1, 0).transpose("seed", "trained_outputs")
    lasting = lasting_threshold(fraction(c).values, error.values, GENERALISES)
    known = error.notnull().all("trained_outputs")
    return known.copy(data=lasting).where(known)


def agreement(c):
    level = GENERALISES * zero_error(c.p)

    def of_seed(pairs, errors, predicted):
        low = np.where(np.isfinite(errors).all(), errors < level, np.nan)
        return balanced_agreement(low[pairs == 0], predicted[pairs == 0] < level)

    dims, runs = ["trained_outputs", *PAIR], c[SMALL]
    variables = runs.trained_pairs, runs.pair_error, c.theory.pair_error
    options = {"input_core_dims": [dims] * 3, "vectorize": True, "join": "inner"}
    return xr.apply_ufunc(of_seed, *variables, **options)


def graph_gap(c):
    # Errors over that of answering zero: 0 within a component, 2 across, 1 with a domain that is never trained.
    pairs, power = c.trained_pairs, zero_error(c.p)
    counted, joined = xr.apply_ufunc(
        zero_modes, pairs.fillna(0), input_core_dims=[PAIR], output_core_dims=[[], PAIR]
    )
    idle = (pairs.sum(PAIR[0]) == 0) | (pairs.sum(PAIR[1]) == 0)
    errors = xr.where(joined, 0, xr.where(idle, 1, 2))
    untrained = errors.where(pairs == 0).mean(PAIR)
    gaps = (
        c.theory.component_count - counted,
        abs(c.theory.pair_error / power - errors).max(PAIR),
        (c.theory.converged_untrained_error / power - untrained).where(untrained.notnull(), 0),
    )
    return xr.concat(gaps, "of").where(pairs.notnull().all(PAIR))


def mean_answer(c, function):
    """Return the mean over untrained routes of a function of the answers, over the mean square of the target, at K = 1."""
    answers = function(c[SMALL].outputs.astype(float)).sum("feature", skipna=False)
    untrained = xr.DataArray(~np.eye(c.p.domains, dtype=bool), dims=PAIR)
    routes = answers.mean("item", skipna=False).where(untrained, 0).sum(PAIR, skipna=False)
    return routes / untrained.sum() / (2 * zero_error(c.p))


def targets(c):
    data = items_task(c.p.level_weights)
    values = data.output_modes * (data.singular_values / data.variances) @ data.input_modes[0].T
    return xr.DataArray(values, dims=("feature", "item"))


def unjoined_inputs(c):
    """Return the pairs of inputs that have no trained output in common, shape (M, M)."""
    return without_common_output(circulant(c.p.domains, c.p.trained_outputs))


def cosine_apart(c, runs):
    mean = lambda values: domain_cosine(values, ITEMS)[..., unjoined_inputs(c)].mean(-1)  # noqa: E731
    return xr.apply_ufunc(mean, runs.similarity, input_core_dims=[["sample", "sample_other"]])


def power_of_scale(c) -> float:
    """Return the power of init_scale with which the closed form lets representations differ; 2 in the limit."""
    data, pairs = items_task(c.p.level_weights), circulant(c.p.domains, c.p.trained_outputs)
    missing = []
    for by in (1, SMALLER):
        gain = (data.singular_values / data.variances)[None]
        parts = parts_of_mask(gain, c.p.init_scale / by, pairs)
        cosine = domain_cosine(parts_similarity(parts, data.input_modes[0]), ITEMS)
        missing.append(float(1 - cosine[without_common_output(pairs)].mean()))
    return float(np.log(missing[0] / missing[1]) / np.log(SMALLER))


def power_measured(c):
    large, small = (1 - cosine_apart(c, runs) for runs in (c[""], c[SMALL]))
    fallen = large / small
    return np.log(fallen.where(fallen > 0)) / np.log(SMALLER)


ONE_OUTPUT = {
    "where": lambda c: c.p.mask == "circulant" and c.p.trained_outputs == 1 and c.p.domains > 1,
    "at_end": True,
}
CLAIMS = [
    *claim(
        "threshold",
        "Untrained routes come for free from about 40% of trained outputs on.",
        lambda c: threshold(c, c[""]),
        near=0.4,
        inside=(0.3 - 1e-9, 0.5 + 1e-9),
        source=PAPER + "section 4.2, Fig. 5c",
        why='"Roughly 40%": one step of the paper\'s grid of tenths to either side.',
        note="Smallest K/M from which on every untrained error stays below a tenth of that of answering zero.",
        where=lambda c: len(c.values("trained_outputs")) > 1,
        rank="headline",
        **ALONG,
    ).and_corrected(
        "As init_scale goes to 0, the threshold falls to the fraction at which the graph of trained pairs is connected.",
        quantity=lambda c: threshold(c, c[SMALL]) - threshold(c, c.theory),
        near=0,
        inside=(-0.05, 0.1 + 1e-9),
        source=OURS,
        why="The limit is approached from above: at most one step of tenths away, and never below but by chance.",
        note="Threshold at an eighth of init_scale less that of connectivity, same masks.",
    ),
    claim(
        "components",
        "The components of the graph of trained pairs, and the errors that follow from them, are those of the modes of zero "
        "of its Laplacian.",
        graph_gap,
        at_most=1e-9,
        rank="control",
        source=GRAPH,
        why="Kirchhoff's theorem: two ways to count the same. Unrelated signs add the power of the answer to that of the "
        "target: twice the error of answering zero.",
        note="Largest gap in numbers of components, errors of pairs and their mean over untrained pairs.",
    ),
    claim(
        "connectivity-small-init",
        "At an eighth of init_scale, an untrained pair is right if and only if a chain of trained pairs joins its domains.",
        agreement,
        near=1,
        inside=(0.95, np.inf),
        within=(0, 1),
        rank="headline",
        where=lambda c: min(c.values("trained_outputs")) < c.p.domains,
        source=OURS,
        why='An "if and only if" with one pair in twenty left to the random start.',
        note="Mean of two fractions of untrained pairs over all K: of those with an error below a tenth of that of answering "
        "zero the part within components, of the others the part across components. Without a prediction it is 1/2.",
        **ALONG,
    ),
    *claim(
        "shared-apart",
        "Inputs share a representation even if they were never trained with a common output.",
        lambda c: cosine_apart(c, c[""]),
        near=1,
        inside=(0.95, np.inf),
        source=PAPER + "section 4.1, Fig. 4g",
        why="Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
        note="Mean cosine of first-layer activity for one item over such pairs of inputs.",
        where=lambda c: (
            c.p.mask == "circulant" and c.p.trained_outputs > 1 and unjoined_inputs(c).any()
        ),
        rank="headline",
        at_end=True,
    ).and_corrected(
        "Inputs without a common trained output share a representation only as init_scale goes to 0: 1 - cosine falls with "
        "the power of the scale that wide layers have.",
        quantity=power_measured,
        **tolerance(power_of_scale, lambda c: power_of_scale(c) / 4),
        source="docs/theory/routing.md",
        why="What does not vanish has the power 0: a quarter of the way there.",
        note="Power of init_scale, from its value and an eighth of it.",
    ),
    claim(
        "trained",
        "Trained routes are learned at every trained fraction.",
        lambda c: c.converged_loss.max("trained_outputs", skipna=False) / zero_error(c.p),
        near=0,
        inside=(-np.inf, 0.01),
        source=PAPER + "Fig. 5c",
        why="One percent of the error of answering zero cannot be seen in the figure.",
        note="Largest final training loss over K, over the error of answering zero.",
        **ALONG,
    ),
    *claim(
        "few-outputs",
        "When few outputs are trained per input, the error on untrained routes is large.",
        lambda c: c.converged_untrained_error / zero_error(c.p),
        inside=(1, np.inf),
        source=PAPER + "Fig. 5c",
        why='"Large" is at least the error of a network that answers nothing.',
        note="Untrained error at K = 1 over the error of answering zero.",
        **ONE_OUTPUT,
    ).and_corrected(
        "With one output per input and small weights, the error on untrained routes is that of unrelated signs of every mode.",
        quantity=lambda c: 1 + mean_answer(c, np.square),
        **tolerance(
            lambda c: float(c.theory.converged_untrained_error.mean()) / zero_error(c.p), 0.1
        ),
        source=GRAPH,
        why="A tenth of the error of answering zero: answers whose power is within a tenth of that of the map. The few signs "
        "add no scatter: both of each are counted.",
        note="Untrained error at K = 1 over that of answering zero, mean over both signs of every answer, which are equally "
        "likely; median over seeds, since a few starts fall into stretches.",
        statistic="median",
    ),
    claim(
        "unrelated",
        "With one output per input and small weights, answers on untrained routes are unrelated to their targets.",
        lambda c: mean_answer(c, lambda answers: answers * targets(c)),
        **tolerance(0, 0.5),
        source=GRAPH,
        why="Half way to a network that has learned all routes, which has 1. Ten domains draw few signs: a seed is off by .1.",
        note="Mean over untrained routes of answer times target, over the mean square of the target.",
        **ONE_OUTPUT,
    ),
    trained_routes_alone,
]
