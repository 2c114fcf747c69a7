"""Claims on exclusive-or: the closed form of four gated pathways, starts of ReLU units, cell types and gates."""

import numpy as np

from foretrain.quantities.curve_deviation import mean_deviation
from foretrain.quantities.gates import angle_clusters
from foretrain.study import claim, crossing
from foretrain.tasks.logic import xor
from foretrain.theory.exclusive_or import LEARNED, SINGULAR_VALUE, descent
from foretrain.theory.rectified_start import (
    mean_rectified_start,
    rectified_variance,
    sort_rectified_units,
)
from foretrain.training.pathways import FASTEST, by_gating, lead

from .gatings import SINGLE
from .study import decoupled_strength, natural_strength
from .training import start_weights

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/xor.md"
GATED = "docs/theory/gated-networks.md"
DEVIATION = "Mean |difference of loss| over the run, over its start."
MEAN_START = (
    "Four standard errors of the mean over the seeds: an interval over seeds reaches 2.3 to either side of a mean that is "
    "itself off by one. One number for four unequal ones lies below their mean by half of their relative variance; twice "
    "that. Each pathway's a_0 is a sum of squares over "
)


def rectified(c) -> bool:
    """Return whether the study's own network is of ReLU units."""
    return c.p.network == "relu"


def curves(runs, name="loss") -> np.ndarray:
    """Return curves of shape (seed, step)."""
    return runs[name].transpose("seed", "step").values


def mean_start(c, mean, variance) -> tuple[float, float]:
    """Return the allowed mean over seeds of a_0 fitted to four pathways whose own a_0 have this relative variance.

    One number for four pathways scatters by half of their SD, and lies below their mean by about half of their variance.
    """
    reach = 4 * np.sqrt(variance / 4 / c.seeds)
    return mean * (1 - variance - reach), mean * (1 + reach)


def while_learning(c) -> float:
    """Return the fraction of the run in which the predicted loss falls from 99% to 1% of its start."""
    left = curves(c.theory) / curves(c.theory)[:, :1]
    return float(((left < 0.99) & (left > 0.01)).mean())


def of_units(c, measure) -> np.ndarray:
    """Return ``measure(weights, number)`` of the input weights of every seed's ReLU units; nan for one that diverged."""
    weights = c.input_weights.transpose("seed", "unit", "input").values
    whole = np.isfinite(weights).all((1, 2))
    return np.array([measure(own, n) if whole[n] else np.nan for n, own in enumerate(weights)])


def type_angle(weights, number) -> float:
    """Return the largest angle between a type's mean direction and the nearest example, in degrees."""
    return np.abs(angle_clusters(weights)[1] % 90 - 45).max()


def types_as_predicted(c) -> np.ndarray:
    """Return the fraction of units whose type is the one derived from their initial weights."""
    x = xor(1).inputs["x"]

    def fraction(weights, number):
        start = start_weights(c.p, c.seed(number))
        predicted, _ = sort_rectified_units(start["in1"], start["out1"][0])
        return (x[(weights @ x.T).argmax(1)] == predicted).all(1).mean()

    return of_units(c, fraction)


def decoupled_gap(c):
    """Return the deviation of a(t) from Euler's method on the reduction, over its end."""
    strength = c["decoupled"].example_strength.transpose("seed", "step", "example")
    start = np.full(4, decoupled_strength(c.p) ** 2)
    expected = descent(start, c.p.learning_rate, c.p.steps, every=c.p.observe_every)
    return (strength - expected[: strength.sizes["step"]]) / LEARNED


def flow_gap(c):
    """Return the deviation of the decoupled network's loss under gradient flow from the closed form, over its start."""
    expected = c.theory.closed_form_loss.isel(seed=0, drop=True)
    return (c["decoupled-flow"].loss - expected) / expected.isel(step=0, drop=True)


def half_time_gap(c):
    """Return measured less predicted time to half of the loss of four decoupled pathways."""
    run = c["decoupled-flow"]
    predicted = float(c.theory.gating_time.sel(gating=SINGLE).values.flat[0])
    return crossing(-run.loss, -run.start.loss / 2) - predicted


_fastest = claim(
    "gates-fastest",
    "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
    lead,
    where=rectified,
    rank="headline",
    **FASTEST,
)

CLAIMS = [
    claim(
        "relu-tracks-closed-form",
        "A ReLU network from small weights follows the closed form of four gated pathways, with one fitted a_0.",
        lambda c: mean_deviation(curves(c[""]), curves(c.fits, "fitted_closed_form_loss")),
        near=0,
        inside=lambda c: (0, 0.01 * while_learning(c)),
        where=rectified,
        rank="headline",
        source=PAPER + "eqs. (21)-(23), Fig. 3c",
        why="The curves of the paper's figure lie on each other within a line's width, a hundredth of their height, while the "
        "loss falls from 99% to 1% of its start; flat parts do not count.",
        note=DEVIATION,
    ),
    claim(
        "relu-unfitted",
        "The initial weights of a ReLU network predict its loss, with nothing fitted.",
        lambda c: mean_deviation(curves(c[""]), curves(c.theory)),
        near=0,
        inside=lambda c: (0, 1 / (SINGULAR_VALUE * c.p.steps)),
        where=rectified,
        rank="headline",
        source=OURS,
        why="Units turn for a time of order one at a rate of order one: a step of finite size moves the start a_0 by a "
        "fraction of 2 x learning rate, and the curve by learning rate / s; over the run, 1 / (s x steps).",
        note=DEVIATION + " Four pathways of their own a_0.",
    ),
    claim(
        "gates-one-per-example",
        "The gates of the trained ReLU units are those of one pathway per example.",
        lambda c: c.fits.gating_agreement.sel(gating=SINGLE, drop=True),
        near=1,
        inside=(0.99, 1),
        where=rectified,
        rank="headline",
        source=PAPER + "section 3, Fig. 3",
        why="Every unit answers four examples: the smallest disagreement of one unit is a quarter. One unit in 25.",
        note="Agreement of unit gates with the gating, weighted by each unit's part in the answer.",
        at_end=True,
    ),
    _fastest,
    _fastest.corrected(
        "Among self-consistent gatings that solve the task, training finds the fastest.",
        quantity=lambda c: lead(c, by_gating(c, "gating_consistent").astype(bool)),
        source=OURS,
        note=FASTEST["note"]
        + " Self-consistent: ReLU units along the weights that each pathway learns open just where the "
        "pathway does.",
    ),
    claim(
        "cell-types",
        "The hidden units of the ReLU network fall into four functional cell types.",
        lambda c: of_units(c, lambda weights, number: len(angle_clusters(weights)[1])),
        near=4,
        inside=(4, 4),
        where=rectified,
        source=PAPER + "Fig. 3a",
        why="A count: nothing but four in every seed is four.",
        note="Groups of input weights by direction, parted by more than 45 degrees.",
        at_end=True,
    ),
    claim(
        "cell-directions",
        "The input weights of each cell type point to one of the four examples.",
        lambda c: of_units(c, type_angle),
        near=0,
        inside=(0, 4.5),
        where=rectified,
        unit="degree",
        source=PAPER + "Fig. 3a",
        why="A tenth of the 45 degrees that no direction can exceed.",
        note="Largest angle between a type's mean direction and the nearest example.",
        at_end=True,
    ),
    claim(
        "cell-types-foreseen",
        "The initial weights of a unit decide which example it comes to answer.",
        types_as_predicted,
        near=1,
        inside=(0.99, 1),
        where=rectified,
        source=OURS,
        why="Units on the edge between two fates may be turned by the finite step: one in a hundred.",
        note="Fraction of units whose type is the one derived from the initial weights.",
        at_end=True,
    ),
    claim(
        "relu-start",
        "The fitted a_0 of the ReLU network is that of small rectified units in each pathway, about 0.165 N_h sigma_0^2.",
        lambda c: c.fits.fitted_descent_strength / natural_strength(c.p),
        near=lambda c: mean_rectified_start(),
        inside=lambda c: mean_start(
            c, mean_rectified_start(), rectified_variance() / (c.p.hidden_width / 4)
        ),
        where=rectified,
        source=OURS,
        why=MEAN_START + "N_h/4 units, of relative SD 1.19 each.",
        note="a_0 / (N_h sigma_0^2), fitted by descent of the reduction at the run's own step.",
    ),
    claim(
        "gated-start",
        "The a_0 of the gated network is N_h sigma_0^2 / 2 in the mean.",
        lambda c: c.fits.fitted_gated_strength / natural_strength(c.p),
        near=0.5,
        inside=lambda c: mean_start(c, 0.5, 2 / c.p.hidden_width),
        of="gated",
        source=GATED,
        why=MEAN_START + "N_h units, of relative SD root two each.",
        note="a_0 / (N_h sigma_0^2), one number fitted per seed by descent of the reduction.",
    ),
    claim(
        "gated-unfitted",
        "The initial weights of the gated network predict its loss, with nothing fitted.",
        lambda c: mean_deviation(curves(c["gated"]), curves(c.theory, "gated_loss")),
        near=0,
        inside=lambda c: (0, natural_strength(c.p) / 4 + float(np.finfo(c.p.precision).eps)),
        source=GATED,
        why="Initial weights that decay and are left out are a loss of order N_h sigma_0^2, for a part of the run.",
        note=DEVIATION,
    ),
    claim(
        "decoupled",
        "From decoupled weights, descent of the gated network is Euler's method on the reduction, step by step.",
        decoupled_gap,
        exact=True,
        near=0,
        inside=(0, 1e-12),
        source=PAPER + "eq. (10)",
        why="The same arithmetic in float64 in another order; growth by e^14 amplifies rounding in proportion only.",
        note="Largest deviation of a(t) over all steps and examples, over its end.",
    ),
    claim(
        "closed-form",
        "The loss of four decoupled pathways under gradient flow is eqs. (21)-(23).",
        flow_gap,
        exact=True,
        near=0,
        inside=lambda c: (0, 1e-12 + c.p.learning_rate**5),
        source=PAPER + "eqs. (21)-(23), Fig. 3c",
        why="A solver of fifth order at a rate of order one errs by the fifth power of its step, beside rounding of float64.",
        note="Largest difference of loss over its start.",
    ),
    claim(
        "gating-time",
        "Four decoupled pathways have half of their loss at the time predicted for the gating of one pathway per example.",
        half_time_gap,
        exact=True,
        near=0,
        inside=lambda c: (0, c.p.observe_every * c.p.learning_rate),
        rank="control",
        unit="step × learning rate",
        source="docs/predict.md",
        why="The stride in time of stored observations.",
        at_end=True,
    ),
]
