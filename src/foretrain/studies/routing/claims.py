"""What the paper says of the routing network, and whether it is so."""

from functools import partial

import numpy as np

from foretrain.claims.sentence import sentence
from foretrain.quantities import learning_time
from foretrain.quantities.agreement import balanced_agreement
from foretrain.quantities.allowed import around
from foretrain.quantities.curve_deviation import deviation_while_learning
from foretrain.quantities.learning_time import crossing_time, half_learning_times
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.trajectory import at_end
from foretrain.studies.routing.sharing import (  # noqa: F401
    OURS,
    PAPER,
    compared,
    end_point,
    items,
    raced,
    ratio,
    ratio_always,
    ratio_corrected,
    ratio_limit,
    same_maps,
    shared,
    shared_corrected,
    shared_limit,
    shared_structure,
    shared_xavier,
    shared_xavier_corrected,
    split_alike,
    split_first,
    split_time,
)
from foretrain.studies.routing.study import task
from foretrain.tasks.masks import components
from foretrain.theory.connectivity import error_across_components
from foretrain.training.routing_claims import same_mask, trained_routes_alone  # noqa: F401

ours = partial(sentence, source=OURS)


def _worst(measured, predicted) -> float:
    """Largest deviation, over the largest value predicted; nan if a run diverged."""
    predicted = predicted.transpose(*measured.dims).values
    return float(np.abs(measured.values - predicted).max() / np.abs(predicted).max())


@sentence(
    "From decoupled weights, descent of the full network is Euler of the reduction, step by step.",
    source=PAPER + "eqs. (13)-(14), Fig. 4e",
    predicted=0,
    allowed=lambda cell: (0, 1e-12 if items(cell) else 1e-8),
    of="decoupled",
    why="Both do the same arithmetic in float64 in another order; after thousands of steps rounding stays below 1e-12. "
    "Whitening digits loses more, since it divides by variances down to 1e-10 of the largest.",
    note="Largest deviation of loss and singular values over all steps, relative to their largest value.",
)
def decoupled(cell):
    p = cell.parameters
    if not same_maps(cell):
        return None
    if not items(cell) and (p.scaling, p.transform) != ("whitened", "permutation"):
        return None
    run, theory = (data.isel(seed=0) for data in (cell.variants["decoupled"], cell.theory))
    names = ("loss", "singular_values")
    return Exact(max(_worst(run[name], theory[f"reduction_{name}"]) for name in names), seeds=1)


@ours(
    "Gradient flow conserves Q at both hidden layers: incoming minus outgoing weight covariance.",
    predicted=0,
    allowed=lambda cell: (0, 1e-6 * max(1, (cell.parameters.learning_rate / 0.05) ** 5)),
    of="flow",
    why="A solver of fifth order with the step of descent, whose error grows as the fifth power of the step: one in a million "
    "up to .05. Euler's method is off by the step itself.",
    note="Largest |Q(t) - Q(0)| over the squared norm of the hidden matrix, random starts, float64.",
)
def conserved(cell):
    drift = cell.variants["flow"]["conserved_drift"]
    return Exact(float(drift.max(skipna=False)), seeds=drift.sizes["seed"])


@sentence(
    "Training starts from weights whose singular values all are sigma_0.",
    source=PAPER + "Fig. 4",
    predicted=0,
    allowed=(0, 1e-5),
    why="Rounding in single precision; normal entries of the same size spread the singular values by half of their mean.",
    note="Largest |singular value / sigma_0 - 1| of a layer at the start.",
)
def orthogonal_start(cell):
    if cell.parameters.init_law in ("xavier", "gaussian"):
        return None
    first = cell.simulation["singular_values"].isel(step=0)
    return Exact(float(np.abs(first / cell.parameters.init_scale - 1).max(skipna=False)))


@sentence(
    "Small random starts follow the reduction, with the overlaps that wide random weights have and nothing fitted.",
    source=PAPER + "section 4, Fig. 4e; " + OURS,
    predicted=0,
    allowed=(-np.inf, 0.05),
    why='"A good approximation" in a figure: on average within 5% of its height.',
    note="Mean |difference of loss| over the drop of the loss, until 99% of what can be learned is learned.",
    at_end=True,
)
def random_start(cell):
    if not raced(cell):
        return None
    both = (
        data["loss"].transpose("seed", "step").values for data in (cell.simulation, cell.theory)
    )
    return np.array([deviation_while_learning(*curves) for curves in zip(*both, strict=True)])


def _half_time_ratios(cell) -> np.ndarray:
    """Measured over predicted half-learning time, shape (seed, mode); nan where a mode is learned in neither."""
    data, theory = cell.simulation, cell.theory
    drawn = [task(cell.parameters, cell.seed(number)) for number in range(cell.seeds)]
    optimum = [one.singular_values / one.variances for one in drawn]
    strength, goal = _strength(data), data["mode_optimum"].transpose("seed", "mode").values
    measured = half_learning_times(data["time"].values, strength, goal)
    predicted = half_learning_times(theory["time"].values, _strength(theory), np.array(optimum))
    return measured / np.where(predicted > 0, predicted, np.nan)


def _strength(data) -> np.ndarray:
    return data["mode_strength"].transpose("seed", "step", "mode").values


@ours(
    "Modes are half learned when the closed form for wide random weights says.",
    predicted=1,
    allowed=lambda cell: around(1, 0.5 / np.sqrt(cell.parameters.hidden_width)),
    why="The vectors of two layers overlap by 1/sqrt(N_h) more or less, which moves the time of a mode by about half of that; "
    "over modes and seeds it averages out.",
    note="Mean over modes of measured over predicted half-learning time.",
    at_end=True,
)
def half_times(cell):
    if not items(cell) or not same_maps(cell) or not raced(cell):
        return None
    return _half_time_ratios(cell).mean(1)


DIGITS = {
    "source": PAPER + "section 3.1; " + OURS,
    "predicted": 0,
    "allowed": lambda cell: (-np.inf, 2 / np.sqrt(cell.parameters.hidden_width)),
    "why": "The overlap of a mode with the initial weights is its own draw and varies by 1/sqrt(N_h), and with its inverse "
    "the learning time of three layers. Twice that for a pair of layers.",
    "note": "Mean over learned modes of |measured / predicted - 1|, nothing fitted.",
}


def _digit_times(cell, scaling):
    p = cell.parameters
    if items(cell) or p.scaling != scaling or not raced(cell):
        return None
    error = np.abs(_half_time_ratios(cell) - 1)
    known = np.isfinite(error)
    mean = np.where(known, error, 0).sum(1) / np.where(known.any(1), known.sum(1), np.nan)
    return PerSeed(mean, f"Of {error.shape[1]} modes {known.sum(1).mean():.1f} were learned.")


@sentence("On whitened digits the reduction predicts when each mode is half learned.", **DIGITS)
def half_times_whitened(cell):
    return _digit_times(cell, "whitened")


@sentence("On raw digits the reduction predicts when each mode is half learned.", **DIGITS)
def half_times_raw(cell):
    return _digit_times(cell, "raw")


@sentence(
    "Modes with larger singular values are learned first.",
    source=PAPER + "section 3.1",
    predicted=1,
    allowed=(0.95, np.inf),
    why="A clear tendency, allowing one pair in twenty to be swapped by the random start. Singular values within 10% of each "
    "other are not told apart by it.",
    note="Fraction of pairs of modes, at least 10% apart, half learned in that order.",
    at_end=True,
)
def larger_first(cell):
    data = cell.simulation.transpose("seed", "step", "mode", ...)
    arrays = (data[name].values for name in ("mode_strength", "mode_optimum"))
    times = half_learning_times(data["time"].values, *arrays)
    return learning_time.larger_first(times, data["mode_singular_value"].values)


@ours(
    "How the layers of a run grow is told by what its own start overlaps with the modes.",
    predicted=1,
    allowed=(0.5, np.inf),
    why="More than is left. Overlaps of 1/sqrt(N_h) part runs from wide ones at first order; those that are left out, with "
    "the planes of other parts, act at second order, and by parts that grow at less than the pace.",
    note="One less the squared deviation of singular values from the race of a run's own start, over steps and modes, over "
    "that from wide weights, mean over runs, in the layer where it is least; 0 for wide weights, negative for other starts.",
    at_end=True,
)
def own_start(cell):
    if not items(cell) or not raced(cell):
        return None
    theory = (cell.theory[name] for name in ("singular_values", "start_singular_values"))
    dims = ("seed", "layer", "step", "mode")
    run, wide, own = (
        one.transpose(*dims).values for one in (cell.simulation["singular_values"], *theory)
    )
    if np.isnan(own).any():
        return None
    left, parted = (((run - one) ** 2).sum((2, 3)) for one in (own, wide))
    mean = np.nanmean(parted, 0) if np.isfinite(parted).any() else np.full(3, np.nan)
    return (1 - left / np.where(mean > 0, mean, np.nan)).min(1)


def _growth(data):
    """Growth of the first singular value of the hidden matrix over that of an encoder."""
    first = data["singular_values"].isel(mode=0)
    grown = at_end(first) - first.isel(step=0, drop=True)
    return (grown.sel(layer="hidden") / grown.sel(layer="encoders")).values


@sentence(
    "An edge on more trained paths grows faster: the hidden matrix more than an encoder.",
    source=PAPER + "section 4",
    predicted=lambda cell: float(_growth(cell.theory).mean()),
    allowed=(1, np.inf),
    why='The sentence is "faster": any factor above one. How much faster, `ratio.corrected` and `end-point` say.',
    note="Growth of the first singular value of the hidden matrix over that of an encoder.",
    at_end=True,
)
def more_paths_faster(cell):
    several = cell.parameters.domains > 1 and same_maps(cell)
    return _growth(cell.simulation) if several else None


def _zero_error(cell) -> float:
    """Error of answering zero."""
    return task(cell.parameters, cell.seed(0)).output_power / 2


def _excess(data, zero) -> np.ndarray:
    end = at_end(data[["loss", "untrained_error"]])
    return ((end["untrained_error"] - end["loss"]) / zero).values


@sentence(
    "Routes that were never trained are as good as those that were.",
    source=PAPER + "section 4.1, Fig. 4h",
    predicted=0,
    allowed=(-0.01, 0.01),
    why='"Perfectly": one percent of the error of answering zero cannot be seen in the paper\'s figure.',
    note="Error on untrained minus error on trained routes, over the error of answering zero.",
    at_end=True,
)
def zero_shot(cell):
    p = cell.parameters
    if p.trained_outputs == p.domains or not same_maps(cell):
        return None
    return _excess(cell.simulation, _zero_error(cell))


@sentence(
    "With one trained output per input nothing joins the domains, and untrained routes are worse than no answer.",
    source="docs/theory/connectivity.md",
    predicted=lambda cell: _across(cell, "modes"),
    allowed=lambda cell: (1 - 2 / cell.parameters.domains, _across(cell, "modes") + 0.25),
    of="one-output",
    why="Without a chain of trained routes the answer of a route is unrelated to its target and adds its own power to the "
    "error: 1 where the answer is small, 2 for the signs of small weights. Lucky signs are worth some routes of M.",
    note="The network for which `zero-shot` must be false. Untrained error less trained one over that of answering zero.",
    at_end=True,
)
def zero_shot_needs_chains(cell):
    if cell.parameters.domains == 1 or not same_maps(cell):
        return None
    return _excess(cell.variants["one-output"], _zero_error(cell))


@sentence(
    "Zero-shot ends where chains end: in two islands of domains the untrained routes within are right, those between wrong.",
    source="docs/theory/connectivity.md",
    predicted=1,
    allowed=(0.9, 1.0),
    of="islands",
    why="One route in ten may be slow or lucky; a network that is right, or wrong, on all of them has 1/2.",
    note="Mean of two fractions: of the untrained routes with an error below a tenth of that of answering zero those within "
    "an island, of the others those between islands.",
    at_end=True,
)
def zero_shot_stops_at_islands(cell):
    if cell.parameters.domains == 1 or not same_maps(cell):
        return None
    order = ("seed", "input_domain", "output_domain")
    routes, errors = (
        cell.variants["islands"][name].transpose(*order).values
        for name in ("trained_pairs", "pair_error")
    )
    ends = [np.equal.outer(*components(pairs)) for pairs in np.nan_to_num(routes)]
    right = np.where(np.isfinite(errors), errors < 0.1 * _zero_error(cell), np.nan)
    each = zip(right, ends, routes == 0, strict=True)
    return np.array([balanced_agreement(found[some], told[some]) for found, told, some in each])


def _across(cell, mixing) -> float:
    data = task(cell.parameters, cell.seed(0))
    modes = data.singular_values, data.variances
    found = error_across_components(*modes, output_power=data.output_power, mixing=mixing)
    return (found - data.unexplained_power / 2) / (data.output_power / 2)


@sentence(
    "From small random weights the network comes rapidly to the submanifold of decoupled weights.",
    source=PAPER + "section 4.2",
    predicted=0,
    allowed=(-np.inf, 0.05),
    why='Off-diagonal mass starts above 0.8; five percent left when half of the loss is learned is "rapidly".',
    at_end=True,
)
def submanifold(cell):
    data = cell.simulation.transpose("seed", "step", ...)
    if not items(cell) or cell.parameters.init_law == "decoupled":
        return None
    time, mass, loss = (data[name].values for name in ("time", "off_diagonal_mass", "loss"))
    halved = crossing_time(time, -loss, -(loss[:, 0] + at_end(data["loss"]).values) / 2)
    left = [np.interp(t, time, m) for t, m in zip(halved, mass, strict=True)]
    start = f"Off-diagonal share of the whole map when the loss has halved; {mass[:, 0].mean():.2f} at the start."
    return PerSeed(np.array(left), start)
