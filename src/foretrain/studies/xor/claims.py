"""What the paper says of exclusive-or, and whether it is so."""

from functools import partial

import numpy as np

from foretrain.claims.sentence import sentence
from foretrain.quantities.curve_deviation import mean_deviation
from foretrain.quantities.gates import angle_clusters
from foretrain.quantities.learning_time import crossing_time
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.studies.xor.gatings import SINGLE
from foretrain.studies.xor.study import decoupled_strength, natural_strength
from foretrain.studies.xor.training import start_weights
from foretrain.tasks.logic import xor
from foretrain.theory.exclusive_or import LEARNED, SINGULAR_VALUE, descent
from foretrain.theory.rectified_start import (
    mean_rectified_start,
    rectified_variance,
    sort_rectified_units,
)
from foretrain.training.pathways import FASTEST, by_gating, describe, lead

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/xor.md"
ours = partial(sentence, source=OURS)
GATED = "docs/theory/gated-networks.md"
DEVIATION = "Mean |difference of loss| over the run, over its start."


def curves(data, name="loss") -> np.ndarray:
    """Curves of shape (seed, step)."""
    return data[name].transpose("seed", "step").values


def rectified(cell) -> bool:
    """Whether the study's own network is of ReLU units."""
    return cell.parameters.network == "relu"


def mean_start(cell, mean: float, variance: float) -> tuple[float, float]:
    """What is allowed of the mean over seeds of a_0 fitted to four pathways whose own a_0 have this relative variance.

    One number for four pathways scatters by half of their SD, and lies below their mean by about half of their variance.
    """
    reach = 4 * np.sqrt(variance / 4 / cell.seeds)
    return mean * (1 - variance - reach), mean * (1 + reach)


MEAN_START = (
    "Four standard errors of the mean over the seeds: an interval over seeds reaches 2.3 to either side of a mean that is "
    "itself off by one. One number for four unequal ones lies below their mean by half of their relative variance; twice "
    "that. Each pathway's a_0 is a sum of squares over "
)


@sentence(
    "A ReLU network from small weights follows the closed form of four gated pathways, with one fitted a_0.",
    source=PAPER + "eqs. (21)-(23), Fig. 3c",
    predicted=0,
    allowed=lambda cell: (0, 0.01 * while_learning(cell)),
    why="The curves of the paper's figure lie on each other within a line's width, a hundredth of their height, while the "
    "loss falls from 99% to 1% of its start; what is flat does not count.",
)
def relu_tracks_closed_form(cell):
    if not rectified(cell):
        return None
    fitted = cell.fits["fitted_strength"].values / natural_strength(cell.parameters)
    fitted = fitted[np.isfinite(fitted)]
    words = f"{fitted.mean():.3f} ± {fitted.std():.3f}" if fitted.size else "none"
    deviation = mean_deviation(
        curves(cell.simulation), curves(cell.fits, "fitted_closed_form_loss")
    )
    return PerSeed(deviation, f"{DEVIATION} Fitted a_0 / (N_h sigma_0^2): {words} (mean ± SD).")


def while_learning(cell) -> float:
    """Share of the run in which the predicted loss falls from 99% to 1% of its start."""
    share = curves(cell.theory) / curves(cell.theory)[:, :1]
    return float(((share < 0.99) & (share > 0.01)).mean())


@ours(
    "The fitted a_0 of the ReLU network is what small rectified units bring to each pathway, about 0.165 N_h sigma_0^2.",
    predicted=lambda cell: mean_rectified_start(),
    allowed=lambda cell: mean_start(
        cell, mean_rectified_start(), rectified_variance() / (cell.parameters.hidden_width / 4)
    ),
    why=MEAN_START + "N_h/4 units, of relative SD 1.19 each.",
    note="a_0 / (N_h sigma_0^2), fitted by descent of the reduction at the run's own step.",
)
def relu_start(cell):
    fitted = cell.fits["fitted_descent_strength"].values / natural_strength(cell.parameters)
    return fitted if rectified(cell) else None


@ours(
    "The start derived from a network's own initial weights is the one its loss curve shows.",
    predicted=1,
    allowed=lambda cell: tuple(1 + 2 * cell.parameters.learning_rate * np.array([-1, 1])),
    why="Units turn for a time of order one at a rate of order one: steps of a finite size move what comes of that, and the "
    "border along which they slide, by a share of about the step. Twice that.",
    note="a_0 fitted to the measured loss over a_0 fitted to the loss predicted from the initial weights.",
)
def relu_start_derived(cell):
    if not rectified(cell):
        return None
    return (cell.fits["fitted_descent_strength"] / cell.fits["derived_descent_strength"]).values


@ours(
    "The loss of a ReLU network is predicted from its initial weights, with nothing fitted.",
    predicted=0,
    allowed=lambda cell: (0, 1 / (SINGULAR_VALUE * cell.parameters.steps)),
    why="A start that is off by a share of 2 x learning rate, as above, makes the curve early or late by "
    "learning rate / s; over the length of the run, 1 / (s x steps).",
    note=DEVIATION + " Four pathways of their own a_0.",
)
def relu_unfitted(cell):
    run = cell.simulation
    return mean_deviation(curves(run), curves(cell.theory)) if rectified(cell) else None


def of_units(cell, measure) -> np.ndarray | None:
    """``measure(weights, number)`` of the input weights of every seed's ReLU units at the end; nan for one that diverged."""
    if not rectified(cell):
        return None
    weights = cell.simulation["input_weights"].transpose("seed", "unit", "input").values
    whole = np.isfinite(weights).all((1, 2))
    return np.array([measure(one, n) if whole[n] else np.nan for n, one in enumerate(weights)])


@sentence(
    "The hidden units of the ReLU network fall into four functional cell types.",
    source=PAPER + "Fig. 3a",
    predicted=4,
    allowed=(4, 4),
    why="A count: nothing but four in every seed is four.",
    at_end=True,
    note="Groups of input weights by direction, parted by more than 45 degrees.",
)
def cell_types(cell):
    return of_units(cell, lambda weights, _: len(angle_clusters(weights)[1]))


@sentence(
    "The input weights of each type point to one of the four examples.",
    source=PAPER + "Fig. 3a",
    predicted=0,
    allowed=(0, 4.5),
    why="A tenth of the 45 degrees that no direction can exceed.",
    unit="degree",
    at_end=True,
    note="Largest angle between a type's mean direction and the nearest example.",
)
def cell_directions(cell):
    return of_units(cell, lambda weights, _: np.abs(angle_clusters(weights)[1] % 90 - 45).max())


@ours(
    "Which example a unit comes to answer is decided by its initial weights.",
    predicted=1,
    allowed=(0.99, 1),
    why="Units on the edge between two fates may be turned by the finite step: one in a hundred.",
    at_end=True,
    note="Fraction of units whose type is the one derived from the initial weights.",
)
def cell_types_foreseen(cell):
    x = xor(1).inputs["x"]

    def as_foreseen(weights, number):
        start = start_weights(cell.parameters, cell.seed(number))
        foreseen, _ = sort_rectified_units(start["in1"], start["out1"][0])
        return (x[(weights @ x.T).argmax(1)] == foreseen).all(1).mean()

    return of_units(cell, as_foreseen)


@sentence(
    "From decoupled weights, descent of the gated network is Euler of the reduction, step by step.",
    source=PAPER + "eq. (10)",
    predicted=0,
    allowed=(0, 1e-12),
    why="The same arithmetic in float64 in another order; growth by e^14 amplifies rounding in proportion only.",
    of="decoupled",
)
def decoupled(cell):
    p, run = cell.parameters, cell.variants["decoupled"].isel(seed=0)
    start = np.full(4, decoupled_strength(p) ** 2)
    predicted = descent(start, p.learning_rate, p.steps, every=p.observe_every)
    measured = run["example_strength"].transpose("step", "example").values
    with np.errstate(invalid="ignore"):
        deviation = np.abs(measured - predicted[: len(measured)]).max() / LEARNED
    note = "Largest deviation of a(t) over all steps and examples, over its end."
    return Exact(deviation, note, seeds=1)


@sentence(
    "The loss of four decoupled pathways under gradient flow is eqs. (21)-(23).",
    source=PAPER + "eqs. (21)-(23), Fig. 3c",
    predicted=0,
    allowed=lambda cell: (0, 1e-12 + cell.parameters.learning_rate**5),
    why="A solver of fifth order at a rate of order one errs by the fifth power of its step, beside rounding of float64.",
    of="decoupled-flow",
)
def closed_form(cell):
    measured = cell.variants["decoupled-flow"].isel(seed=0)["loss"].values
    theory = curves(cell.theory, "closed_form_loss")[0]
    gap = np.abs(measured - theory[: len(measured)]).max() / theory[0]
    return Exact(gap, "Largest difference of loss over its start.", seeds=1)


@sentence(
    "Four decoupled pathways have half of their loss at the time predicted for the gating of one pathway per example.",
    source="docs/predict.md",
    predicted=0,
    allowed=lambda cell: (0, cell.parameters.observe_every * cell.parameters.learning_rate),
    why="The stride in time of what is stored.",
    unit="step × learning rate",
    of="decoupled-flow",
    at_end=True,
)
def gating_time(cell):
    run = cell.variants["decoupled-flow"].isel(seed=0)
    loss = run["loss"].values
    half = float(crossing_time(run["time"].values, -loss, -loss[0] / 2))
    predicted = float(cell.theory["gating_time"].sel(gating=SINGLE).values.flat[0])
    return Exact(abs(half - predicted), f"|Measured less predicted {predicted:.2f}|.", seeds=1)


@sentence(
    "The a_0 of the gated network is N_h sigma_0^2 / 2 in the mean.",
    source=GATED,
    predicted=0.5,
    allowed=lambda cell: mean_start(cell, 0.5, 2 / cell.parameters.hidden_width),
    why=MEAN_START + "N_h units, of relative SD root two each.",
    of="gated",
    note="a_0 / (N_h sigma_0^2), one number fitted per seed by descent of the reduction.",
)
def gated_start(cell):
    return cell.fits["fitted_gated_strength"].values / natural_strength(cell.parameters)


@sentence(
    "The loss of the gated network is predicted from its initial weights, with nothing fitted.",
    source=GATED,
    predicted=0,
    allowed=lambda cell: (
        0,
        natural_strength(cell.parameters) / 4 + float(np.finfo(cell.parameters.precision).eps),
    ),
    why="What decays of the initial weights and is left out is a loss of order N_h sigma_0^2, for a part of the run.",
    of="gated",
    note=DEVIATION,
)
def gated_unfitted(cell):
    return mean_deviation(curves(cell.variants["gated"]), curves(cell.theory, "gated_loss"))


@sentence(
    "The gates of the trained ReLU units are those of one pathway per example.",
    source=PAPER + "section 3, Fig. 3",
    predicted=1,
    allowed=(0.99, 1),
    why="Every unit answers four examples: the smallest disagreement of one unit is a quarter. One unit in 25.",
    at_end=True,
    note="Agreement of unit gates with the gating, weighted by each unit's part in the answer.",
)
def gates_one_per_example(cell):
    return cell.fits["gating_agreement"].sel(gating=SINGLE).values if rectified(cell) else None


@sentence(
    "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
    **FASTEST,
)
def gates_fastest(cell):
    return PerSeed(lead(cell), describe(cell)) if rectified(cell) else None


@sentence(
    "It finds the fastest of those that are self-consistent: rectified units along the weights that each pathway learns open "
    "just where the pathway does.",
    **{**FASTEST, "source": OURS},
    corrects="gates-fastest",
)
def gates_fastest_corrected(cell):
    consistent = by_gating(cell, "gating_consistent").astype(bool)
    return lead(cell, consistent) if rectified(cell) else None
