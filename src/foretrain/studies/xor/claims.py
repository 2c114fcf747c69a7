"""Claims on exclusive-or: the closed form of four gated pathways, starts of ReLU units, cell types and gates."""

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import tolerance
from foretrain.quantities.gates import angle_clusters
from foretrain.study import claim, float_type, relative_gap
from foretrain.tasks.logic import xor
from foretrain.theory.pathways.exclusive_or import LEARNED, SINGULAR_VALUE, descent, loss_of
from foretrain.theory.pathways.rectified_start import sort_rectified_units
from foretrain.training.pathways import FASTEST, by_gating, lead

from .study import SINGLE, decoupled_strength, natural_strength, start_weights

PAPER = "Saxe, Sodhani & Lewallen (2022), "
OURS = "docs/studies/xor.md"


def is_rectified(c) -> bool:
    return c.p.network == "relu"


def deviation(loss, predicted):
    """Return the mean |difference of loss| over the run, over its start."""
    return abs(loss - predicted).mean("step", skipna=False) / loss.isel(step=0, drop=True)


def while_learning(c) -> float:
    """Return the fraction of the run in which the predicted loss falls from 99% to 1% of its start."""
    left = c.theory.loss / c.theory.start.loss
    return float(((left < 0.99) & (left > 0.01)).mean())


def predicted_starts(c):
    start = c.theory.start
    own = start.example_strength - c.theory.start_strength
    gated = start.gated_loss - loss_of(c.theory.gated_start_strength.transpose("seed", ...).values)
    return np.concatenate([own.values.ravel(), gated.values])


def unit_values(c, measure) -> np.ndarray:
    """Return ``measure(weights, number)`` of the input weights of every seed's ReLU units; nan for one that diverged."""
    weights = c.input_weights.transpose("seed", "unit", "input").values
    whole = np.isfinite(weights).all((1, 2))
    return np.array([measure(own, n) if whole[n] else np.nan for n, own in enumerate(weights)])


def cell_types(weights, number) -> float:
    return float(np.where(np.abs(angle_clusters(weights)[1] % 90 - 45) > 4.5, -1, 1).sum())


def types_as_predicted(c) -> np.ndarray:
    x = xor(1).inputs["x"]

    def fraction(weights, number):
        start = start_weights(c.p, c.seed(number))
        predicted, _ = sort_rectified_units(start["in1"], start["out1"][0])
        return (x[(weights @ x.T).argmax(1)] == predicted).all(1).mean()

    return unit_values(c, fraction)


def decoupled_gap(c):
    strength, start = c["decoupled"].example_strength, np.full(4, decoupled_strength(c.p) ** 2)
    expected = descent(start, c.p.learning_rate, c.p.steps, every=c.p.observe_every)
    expected = xr.DataArray(expected[: strength.sizes["step"]], dims=("step", "example"))
    return (strength - expected) / LEARNED


RELU = {"where": is_rectified, "rank": "headline"}
TYPES = {"where": is_rectified, "at_end": True}
DEVIATION = {"near": 0, "note": "Mean |difference of loss| over the run, over its start."}
CLAIMS = [
    claim(
        "relu-tracks-closed-form",
        "A ReLU network from small weights follows the closed form of four gated pathways, with one fitted a_0.",
        lambda c: deviation(c.loss, c.fits.fitted_closed_form_loss),
        inside=lambda c: (0, 0.01 * while_learning(c)),
        source=PAPER + "eqs. (21)-(23), Fig. 3c",
        why="The curves of the paper's figure lie on each other within a line's width, a hundredth of their height, while the "
        "loss falls from 99% to 1% of its start; flat parts do not count.",
        **DEVIATION,
        **RELU,
    ),
    claim(
        "relu-unfitted",
        "The initial weights of a ReLU network predict its loss, with nothing fitted.",
        lambda c: deviation(c.loss, c.theory.loss),
        inside=lambda c: (0, 1 / (SINGULAR_VALUE * c.p.steps)),
        source=OURS,
        why="Units turn for a time of order one at a rate of order one: a step of finite size moves the start a_0 by a "
        "fraction of 2 x learning rate, and the curve by learning rate / s; over the run, 1 / (s x steps).",
        **DEVIATION,
        **RELU,
    ),
    claim(
        "strengths-unfitted",
        "The initial weights of a ReLU network predict how strongly it answers each example, with nothing fitted.",
        lambda c: (
            abs(c.example_strength - c.theory.example_strength).mean(
                ("step", "example"), skipna=False
            )
            / LEARNED
        ),
        near=0,
        inside=lambda c: (0, 1 / (SINGULAR_VALUE * c.p.steps)),
        source=OURS,
        why="The same delay as of the loss, learning rate / s, while a strength grows from nothing to its end.",
        note="Mean |difference of strength| over run and examples, over its end.",
        where=is_rectified,
    ),
    claim(
        "predicted-starts",
        "Predictions of the ReLU network and of the gated one begin at the strengths derived from their initial weights.",
        predicted_starts,
        at_most=1e-12,
        source=OURS,
        why="Two readings of one number of float64.",
        note="Largest difference at step 0, of strengths and of the gated network's loss.",
        rank="control",
    ),
    claim(
        "gates-one-per-example",
        "The gates of the trained ReLU units are those of one pathway per example.",
        lambda c: c.fits.gating_agreement.sel(gating=SINGLE, drop=True),
        near=1,
        inside=(0.99, 1),
        within=(0, 1),
        source=PAPER + "section 3, Fig. 3",
        why="Every unit answers four examples: the smallest disagreement of one unit is a quarter. One unit in 25.",
        note="Agreement of unit gates with the gating, weighted by each unit's part in the answer.",
        at_end=True,
        **RELU,
    ),
    *claim(
        "gates-fastest",
        "Among gatings that solve the task, training finds the one that is predicted to learn fastest.",
        lead,
        **RELU,
        **FASTEST,
    ).and_corrected(
        "Among self-consistent gatings that solve the task, training finds the fastest.",
        quantity=lambda c: lead(c, by_gating(c, "gating_consistent").astype(bool)),
        source=OURS,
        note=FASTEST["note"]
        + " Self-consistent: ReLU units along the weights that each pathway learns open just where the pathway does.",
    ),
    claim(
        "cell-types",
        "The hidden units of the ReLU network fall into four functional cell types, whose input weights point to one of the "
        "four examples each.",
        lambda c: unit_values(c, cell_types),
        **tolerance(4, 0),
        source=PAPER + "Fig. 3a",
        why="A count: nothing but four in every seed is four. A tenth of the 45 degrees that no direction can exceed.",
        note="Groups of input weights by direction, parted by more than 45 degrees, that point to an example within 4.5 "
        "degrees, less those that do not.",
        **TYPES,
    ),
    claim(
        "cell-types-foreseen",
        "The initial weights of a unit decide which example it comes to answer.",
        types_as_predicted,
        near=1,
        inside=(0.99, 1),
        within=(0, 1),
        source=OURS,
        why="Units on the edge between two fates may be turned by the finite step: one in a hundred.",
        note="Fraction of units whose type is the one derived from the initial weights.",
        **TYPES,
    ),
    claim(
        "gated-unfitted",
        "The initial weights of the gated network predict its loss, with nothing fitted.",
        lambda c: deviation(c["gated"].loss, c.theory.gated_loss),
        inside=lambda c: (
            0,
            natural_strength(c.p) / 4 + float(np.finfo(float_type(c.p.precision)).eps),
        ),
        source="docs/theory/gated-networks.md",
        why="Initial weights that decay and are left out are a loss of order N_h sigma_0^2, for a part of the run.",
        **DEVIATION,
    ),
    claim(
        "decoupled",
        "From decoupled weights, descent of the gated network is Euler's method on the reduction, step by step.",
        decoupled_gap,
        at_most=1e-12,
        source=PAPER + "eq. (10)",
        why="The same arithmetic in float64 in another order; growth by e^14 amplifies rounding in proportion only.",
        note="Largest deviation of a(t) over all steps and examples, over its end.",
    ),
    claim(
        "closed-form",
        "The loss of four decoupled pathways under gradient flow is eqs. (21)-(23).",
        lambda c: relative_gap(
            c["decoupled-flow"].loss, c.theory.closed_form_loss.isel(seed=0, drop=True)
        ),
        at_most=lambda c: 1e-12 + c.p.learning_rate**5,
        source=PAPER + "eqs. (21)-(23), Fig. 3c",
        why="A solver of fifth order at a rate of order one errs by the fifth power of its step, beside rounding of float64.",
        note="Largest difference of loss over its start.",
    ),
]
