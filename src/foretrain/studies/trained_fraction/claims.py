"""What Fig. 5c says of trained and untrained routes, and what their graph predicts."""

import numpy as np

from foretrain.claims.sentence import sentence
from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.allowed import around
from foretrain.quantities.measured import PerSeed
from foretrain.quantities.representation import domain_cosine
from foretrain.quantities.threshold import lasting_threshold
from foretrain.studies.trained_fraction.study import SMALLER
from foretrain.tasks.masks import circulant, without_common_output
from foretrain.theory.race_parts import parts_of_mask, parts_similarity
from foretrain.training.routing import ITEMS, items_task
from foretrain.training.routing_claims import drawn_masks, same_mask, trained_routes_alone  # noqa: F401
from foretrain.training.routing_to_loss import zero_error
from foretrain.vocabulary import CONVERGED

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/trained-fraction.md"
SMALL = "small-init"
# A tenth of the error of answering zero is where the paper's figure leaves the axis to the eye; the errors measured lie
# far from it on both sides, so that the level hardly matters.
GENERALISES = 0.1
ALONG = {"over": ("trained_outputs",), "at_end": True}


@sentence(
    "Trained routes are learned whatever the fraction of routes that is trained.",
    source=PAPER + "Fig. 5c",
    predicted=0,
    allowed=(-np.inf, 0.01),
    why="One percent of the error of answering zero cannot be seen in the figure.",
    **ALONG,
)
def trained(cell):
    data = cell.simulation
    worst = data["converged_loss"].max("trained_outputs", skipna=False)
    stuck = int((data["outcome"] != CONVERGED).sum())
    return PerSeed(
        (worst / zero_error(cell.parameters)).values,
        f"Largest final training loss over K, in units of the error of answering zero; {stuck} of {data['outcome'].size} runs "
        f"ended above loss {cell.parameters.loss_tolerance:g}.",
    )


def _fractions(cell) -> np.ndarray:
    return np.array(cell.values("trained_outputs")) / cell.parameters.domains


def _untrained(cell, data) -> np.ndarray:
    """Untrained error in units of that of answering zero, shape (seed, K); zero where all routes are trained."""
    error = data["converged_untrained_error"].transpose("seed", "trained_outputs").values
    return np.where(_fractions(cell) == 1, 0.0, error / zero_error(cell.parameters))


def threshold_of(cell, data) -> np.ndarray:
    """Smallest fraction from which on all untrained errors are low, by seed; nan if there is none or a run diverged."""
    error = _untrained(cell, data)
    found = lasting_threshold(_fractions(cell), error, GENERALISES)
    return np.where(np.isnan(error).any(1), np.nan, found)


@sentence(
    "Untrained routes come for free from about 40% of trained outputs on.",
    source=PAPER + "section 4.2, Fig. 5c",
    predicted=0.4,
    allowed=(0.3 - 1e-9, 0.5 + 1e-9),
    why='"Roughly 40%": one step of the paper\'s grid of tenths to either side.',
    **ALONG,
)
def threshold(cell):
    fractions = _fractions(cell)
    if fractions.size == 1:
        return None
    return PerSeed(
        threshold_of(cell, cell.simulation),
        "Smallest K/M from which on every untrained error stays below a tenth of that of answering zero; grid of "
        f"{np.diff(fractions).min():g} or coarser.",
    )


@sentence(
    "The threshold is that of the initial scale; for small weights it falls to where the graph of trained pairs becomes "
    "connected.",
    source=OURS,
    predicted=0,
    allowed=(-0.05, 0.1 + 1e-9),
    why="The limit is approached from above: at most one step of tenths away, and never below but by chance.",
    of=SMALL,
    corrects="threshold",
    **ALONG,
)
def threshold_corrected(cell):
    if _fractions(cell).size == 1:
        return None
    low = threshold_of(cell, cell.variants[SMALL])
    limit = threshold_of(cell, cell.theory)[: low.size]
    at = f"Threshold at init_scale {cell.parameters.init_scale / SMALLER:g} less that of connectivity, same masks."
    return PerSeed(low - limit, at)


@sentence(
    "With 40% of outputs trained the untrained routes are right.",
    source=PAPER + "section 4.2, Fig. 5c",
    predicted=0,
    allowed=(-np.inf, 0.05),
    why="What can be told from zero on the figure's axis.",
    note="Untrained error at K/M = .4 in units of the error of answering zero.",
    id="generalises-at-40%",
    **ALONG,
)
def generalises(cell):
    far = np.abs(_fractions(cell) - 0.4)
    return _untrained(cell, cell.simulation)[:, far.argmin()] if far.min() < 0.05 else None


def agreement(cell, data) -> np.ndarray | None:
    """How well the graph tells right untrained pairs from wrong ones over all K, by seed; None if no pair is untrained."""
    level = GENERALISES * zero_error(cell.parameters)
    order = ("seed", "trained_outputs", "input_domain", "output_domain")
    routes, errors = (
        data[name].transpose(*order).values for name in ("trained_pairs", "pair_error")
    )
    predicted = cell.theory["pair_error"].transpose(*order).values[: len(errors)] < level
    low = np.where(np.isfinite(errors).all((1, 2, 3), keepdims=True), errors < level, np.nan)
    each = zip(routes == 0, low, predicted, strict=True)
    found = [balanced_agreement(found[some], told[some]) for some, found, told in each]
    return np.array(found) if (routes == 0).any() else None


IFF = {
    "source": OURS,
    "predicted": 1,
    "allowed": (0.95, np.inf),
    "why": 'An "if and only if" with one pair in twenty left to the random start.',
    "note": "Mean of two fractions of untrained pairs over all K: of those with an error below a tenth of that of answering "
    "zero the part within components, of the others the part across components. Without a prediction it is 1/2.",
    **ALONG,
}


@sentence(
    "An untrained pair is right if and only if a chain of trained pairs joins its domains, at the study's own scale.",
    **IFF,
)
def connectivity(cell):
    return agreement(cell, cell.simulation)


@sentence(
    "An untrained pair is right if and only if a chain of trained pairs joins its domains, at an eighth of the scale.",
    of=SMALL,
    **IFF,
)
def connectivity_small_init(cell):
    return agreement(cell, cell.variants[SMALL])


def _one_output(cell, data):
    p = cell.parameters
    if p.mask != "circulant" or p.trained_outputs != 1 or p.domains == 1:
        return None
    return (data["converged_untrained_error"] / zero_error(p)).values


@sentence(
    "When few outputs are trained per input, the error on untrained routes is large.",
    source=PAPER + "Fig. 5c",
    allowed=(1, np.inf),
    why='"Large" is at least the error of a network that answers nothing.',
    note="Untrained error at K = 1 in units of the error of answering zero.",
    at_end=True,
)
def few_outputs(cell):
    return _one_output(cell, cell.simulation)


def of_unrelated_signs(cell) -> float:
    """Error that the graph predicts for the untrained routes, in units of that of answering zero: 2 at K = 1."""
    return float(cell.theory["converged_untrained_error"].mean()) / zero_error(cell.parameters)


@sentence(
    "With one output per input and small weights the error on untrained routes is that of unrelated signs of every mode.",
    source="docs/theory/connectivity.md",
    predicted=of_unrelated_signs,
    allowed=lambda cell: around(of_unrelated_signs(cell), 0.1),
    why="A tenth of the error of answering zero: answers whose power is within a tenth of that of the map. The signs, few as "
    "they are, add no scatter: both of each are counted.",
    note="Untrained error at K = 1 in units of the error of answering zero, mean over both signs of every answer, which are "
    "equally likely; median over seeds, since a few starts fall into stretches.",
    statistic="median",
    of=SMALL,
    corrects="few-outputs",
    at_end=True,
)
def few_outputs_corrected(cell):
    answers = _unseen_answers(cell)
    return (
        None
        if answers is None
        else 1 + _means(answers**2, cell) / (2 * zero_error(cell.parameters))
    )


def _unseen_answers(cell):
    """Answers at K = 1 and the smaller scale, nan on trained routes, shape (seed, i, j, feature, item); None elsewhere."""
    data = cell.variants[SMALL]
    if _one_output(cell, data) is None:
        return None
    order = ("seed", "input_domain", "output_domain", "feature", "item")
    answers = data["outputs"].transpose(*order).values.astype(float)
    trained = data["trained_pairs"].transpose(*order[:3]).values != 0
    return np.where(trained[..., None, None], np.nan, answers)


def _means(values, cell) -> np.ndarray:
    """Mean over untrained routes and items of a sum over features, shape (seed,); nan where a route has none."""
    routes = values.sum(-2).mean(-1)
    return routes.sum((1, 2), where=~np.eye(cell.parameters.domains, dtype=bool)) / (
        cell.parameters.domains * (cell.parameters.domains - 1)
    )


@sentence(
    "With one output per input and small weights the answers on untrained routes are unrelated to what is asked.",
    source="docs/theory/connectivity.md",
    predicted=0,
    allowed=(-0.5, 0.5),
    why="Half way to a network that has learned all routes, which has 1. Ten domains draw few signs: a seed is off by .1.",
    note="Mean over untrained routes of answer times target, over the mean square of the target.",
    of=SMALL,
    at_end=True,
)
def unrelated(cell):
    answers = _unseen_answers(cell)
    if answers is None:
        return None
    data = items_task(cell.parameters.level_weights)
    asked = data.output_modes * (data.singular_values / data.variances) @ data.input_modes[0].T
    return _means(answers * asked, cell) / (2 * zero_error(cell.parameters))


def _never(cell) -> np.ndarray:
    """Routes to outputs that are trained with no input, shape (K, seed, input_domain, output_domain)."""
    masks = drawn_masks(cell)[:, 0]
    return np.broadcast_to((masks.sum(-2) == 0)[..., None, :], masks.shape)


def _never_foretold(cell) -> float:
    order = ("trained_outputs", "seed", "input_domain", "output_domain")
    found = cell.theory["pair_error"].transpose(*order).values[_never(cell)]
    return float(found.mean()) / zero_error(cell.parameters)


@sentence(
    "Outputs that are never trained stay as they were drawn, and answer nothing.",
    source="docs/theory/connectivity.md",
    predicted=_never_foretold,
    allowed=lambda cell: around(
        _never_foretold(cell),
        5 * cell.parameters.init_scale / SMALLER / np.sqrt(cell.parameters.hidden_width),
    ),
    why="A decoder as drawn has a scale sigma_0 and overlaps by 1/sqrt(N_h) with what the hidden layers have learned, whose "
    "vectors are of length one or so: five standard deviations.",
    note="Mean error of routes to such outputs, over all K, in units of the error of answering zero.",
    of=SMALL,
    among="seeds in which an output is never trained",
    where=lambda cell: cell.parameters.mask == "random_rows" and bool(_never(cell).any()),
    **ALONG,
)
def never_trained(cell):
    never, order = _never(cell), ("trained_outputs", "seed", "input_domain", "output_domain")
    error = cell.variants[SMALL]["pair_error"].transpose(*order).values / zero_error(
        cell.parameters
    )
    pairs = [(error[:, seed], never[:, seed]) for seed in range(error.shape[1])]
    return np.array([found[some].mean() for found, some in pairs if some.any()])


def _apart(cell, data, scale):
    """Cosine of inputs that have no trained output in common; None where there are none, or nothing makes inputs alike."""
    p = cell.parameters
    apart = without_common_output(circulant(p.domains, p.trained_outputs))
    if p.mask != "circulant" or p.trained_outputs < 2 or not apart.any():
        return None
    cosine = domain_cosine(data["similarity"].transpose("seed", ...).values, ITEMS)
    return PerSeed(
        cosine[:, apart].mean(1),
        f"Mean cosine of first-layer activity for the same item over the {apart.sum()} such pairs of inputs at init_scale "
        f"{scale:g}; {cosine[:, np.triu(~apart, 1)].mean():.3f} over the others.",
    )


APART = {
    "predicted": 1,
    "allowed": (0.95, np.inf),
    "why": "Cosine .95 is an angle of 18 degrees, near what the paper's colour scale can show.",
    "at_end": True,
}


@sentence(
    "Inputs share a representation even if they were never trained with a common output.",
    source=PAPER + "section 4.1, Fig. 4g",
    **APART,
)
def shared_apart(cell):
    return _apart(cell, cell.simulation, cell.parameters.init_scale)


def _missing(cell, data) -> np.ndarray:
    """1 - cosine over the same pairs, shape (seed,)."""
    found = _apart(cell, data, 1)
    return np.array([]) if found is None else 1 - np.asarray(found.values)


def _missing_in_race(cell, scale) -> float:
    """The same from wide random weights, in closed form."""
    p, data = cell.parameters, items_task(cell.parameters.level_weights)
    pairs = circulant(p.domains, p.trained_outputs)
    parts = parts_of_mask((data.singular_values / data.variances)[None], scale, pairs)
    cosine = domain_cosine(parts_similarity(parts, data.input_modes[0]), ITEMS)
    return float(1 - cosine[without_common_output(pairs)].mean())


def power_of_scale(cell) -> float:
    """The power of the initial scale with which the closed form lets representations differ; 2 in the limit."""
    scale = cell.parameters.init_scale
    ends = [_missing_in_race(cell, scale / by) for by in (1, SMALLER)]
    return float(np.log(ends[0] / ends[1]) / np.log(SMALLER))


@sentence(
    "In the limit of small weights inputs share a representation even if they were never trained with a common output: what "
    "is missing vanishes with the power of the scale that wide layers have.",
    source="docs/theory/routing.md",
    predicted=power_of_scale,
    allowed=lambda cell: around(power_of_scale(cell), power_of_scale(cell) / 4),
    why="What does not vanish has the power 0: a quarter of the way there.",
    note=f"Power of the scale with which 1 - cosine, mean over such pairs, vanishes down to a {SMALLER}th of init_scale.",
    of=("", SMALL),
    corrects="shared-apart",
    at_end=True,
)
def shared_apart_corrected(cell):
    large, small = (_missing(cell, data) for data in (cell.simulation, cell.variants[SMALL]))
    if not large.size:
        return None
    both = min(large.size, small.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.log(np.maximum(large[:both], 0) / small[:both]) / np.log(SMALLER)
