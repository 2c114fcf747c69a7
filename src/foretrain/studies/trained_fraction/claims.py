"""What Fig. 5c says of trained and untrained routes, and what their graph predicts."""

import numpy as np

from foretrain.claims.allowed import around
from foretrain.claims.sentence import PerSeed, sentence
from foretrain.measures.agreement import balanced_agreement
from foretrain.measures.representation import domain_cosine
from foretrain.measures.threshold import lasting_threshold
from foretrain.studies.trained_fraction.study import SMALLER
from foretrain.tasks.masks import circulant, without_common_output
from foretrain.training.routing import ITEMS
from foretrain.training.routing_claims import same_mask, trained_routes_alone  # noqa: F401
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
    allowed=lambda cell: around(of_unrelated_signs(cell), (of_unrelated_signs(cell) - 1) / 2),
    why="Half way to the error of answering zero. Few signs are drawn: two of four modes carry nine tenths of the power.",
    note="Untrained error at K = 1 in units of the error of answering zero.",
    of=SMALL,
    corrects="few-outputs",
    at_end=True,
)
def few_outputs_corrected(cell):
    return _one_output(cell, cell.variants[SMALL])


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


@sentence(
    "Inputs share a representation even if they were never trained with a common output, if the initial weights are small "
    "enough.",
    source=OURS,
    of=SMALL,
    corrects="shared-apart",
    **APART,
)
def shared_apart_corrected(cell):
    return _apart(cell, cell.variants[SMALL], cell.parameters.init_scale / SMALLER)
