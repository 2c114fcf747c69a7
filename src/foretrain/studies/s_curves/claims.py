"""Claims of the thread on loss curves at ranks above one, and predictions of the flow from a run's own start."""

import numpy as np
import xarray as xr

from foretrain.quantities import allowed
from foretrain.quantities.learning_curves.steps import plateau_strengths
from foretrain.quantities.learning_curves.time_rescaling import time_rescalings
from foretrain.quantities.trajectory import curves
from foretrain.study import DIVERGED, claim, crossing
from foretrain.training.factorization import THREAD, components, learning_rate

from .study import FLOW, FLOW_SEEDS, follows

FROM_START = {"source": "docs/theory/s-curves.md", "among": f"the first {FLOW_SEEDS} seeds"}


def cells_of(loss, *optimizers, low=False, ranks=None):
    """Return the cells of this loss and these optimizers, of low rank alone, or of ranks for which a function says so."""

    def where(c):
        trained = c.p.loss_function == loss and c.p.optimizer in optimizers
        few = 10 * components(c.p) <= c.p.dimension
        return trained and (few or not low) and (ranks is None or ranks(c.p))

    return where


def first(runs, name):
    return runs[name].isel(seed=slice(FLOW_SEEDS))


def run_variable(c, name):
    """Return a variable of the first seeds; all nan where one of them diverged, for nothing then holds of all of them."""
    return first(c.simulation, name).where(~(first(c.simulation, "outcome") == DIVERGED).any())


def gap_to_flow(c, shift=0):
    """Return the largest difference from the flow from the start of a seed, in steps of the steepest fall of the flow."""
    predicted = first(c.theory, "flow_loss").roll(seed=shift, roll_coords=False)
    steepest = (-predicted.diff("step")).max("step", skipna=False).clip(min=1e-12)
    gap = np.abs(run_variable(c, "relative_loss") - predicted).max("step")
    return gap / (steepest / c.p.observe_every)


def ahead(c) -> str:
    """Return why steps, to first order in length, and logits of variance v leave the flow by half a step, docs/theory."""
    loss, share = first(c.theory, "flow_loss"), c.p.init_scale**2 / c.p.target_scale
    slowed = (2 * c.p.dimension**2) ** (c.p.loss_function != "mse")  # its rate makes up for this
    u = 1 + 4 * c.p.init_scale**2 * loss["step"] * learning_rate(c.p) / slowed
    v = components(c.p) * (c.p.target_scale / c.p.dimension) ** 2 * (c.p.loss_function != "mse")
    gained = (0.5 - 0.75 * share / u) * np.log(u) - 0.375 * np.log(loss.clip(1e-9, np.exp(-1)))
    outside = components(c.p) / c.p.rank * (share / u) ** 2
    fall, own = (-values.diff("step") for values in (loss, loss - outside))
    gained = gained * own + v / 2 * loss["step"] * fall
    gap = float((gained.max("step") / fall.max("step")).mean())
    return "" if gap <= 0.5 else f"steps, or logits, get ahead of the flow by {gap:.2g} of a step"


def start_gap(c):
    gaps = [
        run_variable(c, own).isel(step=0) - first(c.theory.start, flow)
        for flow, own in FLOW.items()
    ]
    return xr.concat(gaps, "of")


def mode_order(c):
    halves = crossing(run_variable(c, "mode_strengths"), 0.5, "step")
    halves = halves.transpose("seed", "mode").values
    predicted = first(c.theory, "flow_half_step").transpose("seed", "mode").values
    left, right = np.triu_indices(halves.shape[1], 1)
    order, foretold = (np.sign(steps[:, left] - steps[:, right]) for steps in (halves, predicted))
    pairs = np.isfinite(order) & np.isfinite(foretold) & (order != 0)
    count = pairs.sum(1)
    return np.where(count > 0, ((order == foretold) & pairs).sum(1) / np.maximum(count, 1), np.nan)


def plateau_change(c, name):
    """Return a curve half way to the first half of a mode over its first value, per seed, with the ``step`` there."""
    middle = first(c.theory, "flow_half_step").min("mode") / 2
    curve = run_variable(c, name)
    place = (curve["step"] >= middle).argmax("step")
    return (curve.isel(step=place) / curve.isel(step=0, drop=True)).where(middle.notnull())


def irrelevant_decays(c):
    outside, inside = plateau_change(c, "outside"), plateau_change(c, "inside")
    known = np.isfinite(outside) & np.isfinite(inside)
    return ((outside <= 0.5) & (inside > 1)).astype(float).where(known)


def outside_decays(c):
    change = plateau_change(c, "outside")
    return change * (1 + 4 * c.p.init_scale**2 * change.step * learning_rate(c.p))


def strengths(runs, nth=1):
    """Return how many times slower the loss falls on the nth strongest plateau than around it, shape (seed,)."""
    losses = runs["loss"].transpose("seed", "step").values
    return plateau_strengths(runs["step"].values, losses, nth)


def plateau(nth=1):
    """Return the quantity "runs have an nth plateau", from the strictest setting of a counter to the mildest."""
    return lambda c: allowed.over_settings(strengths(c.simulation, nth))


def rank_2_like_1(c):
    both = (list(curves(c.simulation.sel(rank=rank), "relative_loss")) for rank in (1, 2))
    return time_rescalings(*both)[1]


def second_plateaus(c):
    crossed, squared = (
        strengths(c.simulation.sel(loss_function=name), 2) for name in ("cross_entropy", "mse")
    )
    return np.log(crossed / squared)


def small_of_both_losses(rank):
    """Return a function that says of a cell whether it has this rank and both losses, the logits of the target being small."""

    def where(c):
        both = {"cross_entropy", "mse"} <= set(c.values("loss_function"))
        small = c.p.target_scale < c.p.dimension
        return both and small and c.p.rank == rank and c.p.optimizer in ("sgd", "adam")

    return where


def percent_left(c):
    """Return the log ratio of the steps at which a percent of the loss is left, of the last step where it never is."""
    curve = np.log(c.simulation["relative_loss"])
    steps = crossing(-curve, np.log(100), "step")
    steps = steps.fillna(curve["step"].max()).where(curve.isel(step=-1).notnull())
    crossed, squared = (steps.sel(loss_function=name) for name in ("cross_entropy", "mse"))
    return np.log((crossed / squared).transpose("seed").values)


def largest_logit(c):
    """Return the mean largest of n^2 normal entries of variance r s^2/n^2, those of target or learner."""
    p = c.p
    size = max(p.target_scale, p.init_scale**2) * np.sqrt(p.rank) / p.dimension
    return float(size * np.sqrt(2 * np.log(p.dimension**2)))


CLAIMS = [
    claim(
        "flow-loss",
        "At every rank the loss follows the gradient flow from the run's own start to within half a step of descent.",
        gap_to_flow,
        near=0,
        inside=(0, 0.5),
        why="A step of descent takes the slope of its beginning, that of the flow its middle: half a step between them.",
        where=lambda c: follows(c.p),
        domain=ahead,
        note="Largest difference of the losses over the steepest fall in a step that is predicted.",
        rank="headline",
        **FROM_START,
    ),
    claim(
        "flow-start",
        "The flow from the start of another seed predicts the loss of a run less well than the flow from its own start.",
        lambda c: gap_to_flow(c, shift=1) - gap_to_flow(c),
        inside=allowed.POSITIVE,
        why="Further: by whatever the seeds establish.",
        where=lambda c: follows(c.p),
        note="The same with the prediction for the next seed, minus that with its own.",
        rank="control",
        **FROM_START,
    ),
    claim(
        "flow-begins",
        "The flow begins with the loss of every run, and with its alignments inside and outside of the target's span.",
        start_gap,
        at_most=lambda c: 1e-10 if c.p.precision == "float64" else 1e-5,
        why="Two readings of one start, of order one; rounding.",
        where=lambda c: follows(c.p) and c.p.loss_function == "mse",
        note="Largest difference at step 0.",
        rank="control",
        **FROM_START,
    ),
    claim(
        "mode-order",
        "The modes of the target are learned in the order that the flow from the start predicts.",
        mode_order,
        near=1,
        inside=(0.9, np.inf),
        within=(0, 1),
        why="Nine pairs of modes in ten: those learned within a few steps of each other may change places.",
        where=cells_of("mse", "sgd", ranks=lambda p: p.rank > 1),
        note="Share of the pairs among the ten first modes of the target that are half learned in the order predicted.",
        rank="headline",
        **FROM_START,
    ),
    claim(
        "irrelevant-decays",
        "On the plateau the factors outside of the target's span decay fast while the factors inside it slowly grow.",
        irrelevant_decays,
        inside=allowed.MOST,
        why="To a half at least, and growth at all, in a majority of runs: it is said of the typical one.",
        statistic="fraction",
        where=cells_of("mse", "sgd", low=True),
        note="Fraction of runs in which, half way to the first half of a mode, the squared length outside is at most half "
        "of what it was and that inside is larger than it was.",
        **{**FROM_START, "source": THREAD},
    ),
    claim(
        "outside-decays",
        "At any low rank the squared length outside of the target's span falls as 1/(1 + 4 sigma^2 t).",
        outside_decays,
        near=1,
        inside=(0.8, 1.25),
        why="Components lean on each other by sqrt(k/n), at most .3, in second order; a step of descent adds a twentieth.",
        where=cells_of("mse", "sgd", low=True),
        note="Squared length half way to the first half of a mode, over that at the start, times 1 + 4 sigma^2 t.",
        **FROM_START,
    ),
    claim(
        "low-rank-plateau",
        "At a rank below the dimension the loss stays on a plateau before it falls.",
        plateau(),
        where=cells_of("mse", "sgd", ranks=lambda p: p.rank < p.dimension),
        rank="headline",
        **allowed.by_settings(THREAD, allowed.FOUND),
    ),
    claim(
        "full-rank-no-plateau",
        "At full rank the loss has no plateau: a plateau needs a target of low rank.",
        plateau(),
        where=cells_of("mse", "sgd", ranks=lambda p: p.rank == p.dimension),
        rank="headline",
        **allowed.by_settings(THREAD, allowed.NOT_FOUND),
    ),
    claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        plateau(),
        where=cells_of("mse", "adam", ranks=lambda p: p.rank == p.dimension),
        **allowed.by_settings(THREAD, allowed.FOUND),
    ),
    claim(
        "rank-2-like-1",
        "Apart from bumps the loss at rank two is the loss at rank one with time rescaled.",
        rank_2_like_1,
        source=THREAD,
        near=0,
        inside=(0, 0.2),
        why="Alike by eye: 20% in time at equal loss.",
        along="rank",
        where=lambda c: cells_of("mse", "sgd")(c) and {1, 2} <= set(c.values("rank")),
        note="SD over loss levels of the log ratio of times after the best rescaling, paired by seed.",
        rank="headline",
    ),
    claim(
        "symmetry-adds-s",
        "Breaking the symmetry between two targets adds another S.",
        plateau(2),
        where=cells_of("mse", "sgd", ranks=lambda p: p.rank == 2),
        rank="headline",
        **allowed.by_settings(THREAD, allowed.FOUND, "second "),
    ),
    claim(
        "weight-decay-end",
        "With weight decay the converged solution does not minimise the original loss.",
        lambda c: c.end.loss / c.theory.decayed_loss,
        source=THREAD,
        **allowed.tolerance(1, 0.05),
        why="A twentieth of where the singular values of the target say it ends: those near lambda/2 are learned slowly.",
        where=cells_of("mse", "sgd_decay", ranks=lambda p: p.rank > 1 and p.weight_decay > 0),
        at_end=True,
        note="Loss at the end over the sum of min(s, lambda/2)^2 over the singular values s of the target that can be "
        "learned and of s^2 over the others.",
    ),
    *claim(
        "cross-entropy-two-plateaus",
        "With cross-entropy the loss has two plateaus at rank two.",
        plateau(2),
        where=cells_of("cross_entropy", "sgd", "adam", ranks=lambda p: p.rank == 2),
        **allowed.by_settings(THREAD, allowed.FOUND, "second "),
    ).and_corrected(
        "For small logits the second plateau of cross-entropy at rank two is as strong as that of the squared error.",
        quantity=second_plateaus,
        source="docs/studies/s-curves.md",
        **allowed.tolerance(0, 0.1),
        why="A tenth of its strength, as a log ratio: logits of order 1/n change a curve by less than a percent.",
        statistic="median",
        along="loss_function",
        where=small_of_both_losses(2),
        note="Log ratio of the strengths of the second plateau, paired by seed.",
    ),
    *claim(
        "cross-entropy-rank-10",
        "With cross-entropy training at rank ten does not find the zero-loss solution.",
        lambda c: (c.end.relative_loss > 0.01).astype(float).where(c.end.relative_loss.notnull()),
        source=THREAD,
        inside=allowed.MOST,
        why="Loss is left if more than a percent is, as a figure shows; in most runs, or in hardly any.",
        where=cells_of("cross_entropy", "sgd", "adam", ranks=lambda p: p.rank == 10),
        at_end=True,
        statistic="fraction",
        note="Fraction of runs with more than a percent of the loss left.",
    ).and_corrected(
        "For small logits cross-entropy at rank ten leaves a percent of its loss after as many steps as the squared error.",
        quantity=percent_left,
        source="docs/studies/s-curves.md",
        at_end=False,
        statistic="mean",
        **allowed.tolerance(0, largest_logit),
        why="The curvature along an entry is n^2 Q times that of the squared error / (2 n^2), which is one up to the largest "
        "logit: rates, and times with them, differ by no more.",
        along="loss_function",
        where=small_of_both_losses(10),
        domain=lambda c: "unequal step sizes" * (c.p.optimizer == "sgd" and c.p.target_scale != 1),
        note="Log ratio of the steps at which a percent of the loss is left, paired by seed.",
    ),
    claim(
        "cross-entropy-full-rank",
        "With cross-entropy, too, the loss has no plateau at full rank.",
        plateau(),
        where=cells_of("cross_entropy", "sgd", ranks=lambda p: p.rank == p.dimension),
        **allowed.by_settings(THREAD, allowed.NOT_FOUND),
    ),
]
