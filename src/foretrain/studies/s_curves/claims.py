"""What the thread says of loss curves at ranks above one, and whether it is so."""

from typing import Any

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.quantities.allowed import (
    FOUND,
    MOST,
    NEVER,
    NOT_FOUND,
    SETTINGS,
    by_settings,
    over_settings,
)
from foretrain.quantities.measured import Exact
from foretrain.quantities.steps import plateau_strengths
from foretrain.quantities.time_rescaling import time_rescalings
from foretrain.quantities.trajectory import at_end, curves
from foretrain.studies.s_curves.prediction_claims import CLAIMS as PREDICTION_CLAIMS
from foretrain.studies.s_curves.study import LARGE_SCALE
from foretrain.studies.s_curves.theory import DIRECT_SEEDS
from foretrain.training.factorization import THREAD

THEORY = "docs/theory/s-curves.md"
OURS = "docs/studies/s-curves.md"


def own(cell, loss, optimizers, here=True):
    """Runs in a cell of this loss and one of these optimizers, else None.

    Of "mse", of "cross_entropy" where logits are small, or of "large_logits", the network beside cross-entropy.
    """
    p = cell.parameters
    trained = "mse" if loss == "mse" else "cross_entropy"
    if (p.loss_function, p.optimizer in optimizers, here) != (trained, True, True):
        return None
    if loss == "large_logits":
        return cell.variants.get(loss)
    return cell.simulation if loss == "mse" or p.target_scale < LARGE_SCALE else None


def strengths(data: Any, nth: int = 1) -> Any:
    """How many times slower the loss falls on the nth strongest plateau of every run than beside it, shape (seed,)."""
    if data is None:
        return None
    losses = data["loss"].transpose("seed", "step").values
    return plateau_strengths(data["step"].values, losses, nth)


def has_plateau(data: Any, nth: int = 1) -> Any:
    """Whether runs have an nth plateau, at the strictest setting of a counter up to the mildest."""
    return None if data is None else over_settings(strengths(data, nth))


def full(cell) -> bool:
    """Whether the target has full rank."""
    return cell.parameters.rank == cell.parameters.dimension


def rank_one_reduction(cell):
    predicted = cell.theory["loss"].transpose("seed", "step").values
    if not np.isfinite(predicted).any():
        return None
    measured = cell.simulation["loss"].transpose("seed", "step").values
    gap = np.abs(measured - predicted) / np.fmax(measured, measured[:, :1])
    gap = gap[np.isfinite(measured)]
    return Exact(gap.max() if gap.size else np.nan, "Largest deviation over the first loss.")


def _rank_two(cell):
    """What the best rescaling of time leaves, per seed: of rank two beside rank one, and of rank one beside its next seed."""
    data = own(cell, "mse", ["sgd"], {1, 2} <= set(cell.axes["rank"]))
    if data is None:
        return None
    one, two = (list(curves(data.sel(rank=rank), "relative_loss")) for rank in (1, 2))
    return time_rescalings(one, two)[1], time_rescalings(one, one[1:] + one[:1])[1]


def rank_2_like_1(cell):
    found = _rank_two(cell)
    return found and found[0]


def weight_decay_end(cell):
    p = cell.parameters
    data = own(cell, "mse", ["sgd_decay"], p.rank > 1 and p.weight_decay > 0)
    return data and at_end(data["loss"]).values / cell.theory["decayed_loss"].values


def _both_losses(cell, optimizers, here):
    """Cross-entropy of small logits and squared error; None if one is missing."""
    p, names = cell.parameters, ("cross_entropy", "mse")
    if not set(names) <= set(cell.axes["loss_function"]) or p.target_scale >= LARGE_SCALE:
        return None
    chosen = p.optimizer in optimizers and here
    return [cell.simulation.sel(loss_function=name) for name in names] if chosen else None


def cross_entropy_two_plateaus_corrected(cell):
    both = _both_losses(cell, ["sgd", "adam"], cell.parameters.rank == 2)
    return both and np.log(strengths(both[0], 2) / strengths(both[1], 2))


def large_logits_weak_plateau(cell):
    strength = strengths(own(cell, "large_logits", ["sgd", "adam"], cell.parameters.rank == 2), 2)
    if strength is None:
        return None
    return np.where(np.isfinite(strength), strength >= SETTINGS[1], np.nan)


LEFT = {
    "why": "Loss is left if more than a percent is, as a figure shows; in most runs, or in hardly any.",
    "at_end": True,
    "statistic": "fraction",
    "note": "Fraction of runs with more than a percent of the loss left.",
}


def _left(data):
    """Whether each run leaves more than a percent of the loss, shape (seed,); nan if it diverged."""
    if data is None:
        return None
    end = at_end(data["relative_loss"]).values
    return np.where(np.isfinite(end), end > 0.01, np.nan)


_DECAY = "Length of what the gradient that trains holds beside its signal, over that of the squared error's decay / (2 n^2), "


def cross_entropy_no_decay(cell):
    data = own(cell, "cross_entropy", ["sgd"], cell.parameters.rank == 2)
    return data and data["start_decay"].values


def cross_entropy_no_decay_corrected(cell):
    data = own(cell, "cross_entropy", ["sgd"], cell.parameters.rank == 2)
    if data is None:
        return None
    start, end = data["start_decay"].values, data["final_decay"].values
    return np.where(np.abs(start - 1) > np.abs(end - 1), start, end)


def _direct(cell) -> list:
    """Descent on the logits themselves, small and large, of the first hundred seeds; [] where it was not computed."""
    known = cell.theory[["direct_loss", "direct_loss_large"]].isel(seed=slice(DIRECT_SEEDS))
    known = known.rename(direct_loss="loss").transpose("seed", "step")
    large = known.assign(loss=known["direct_loss_large"])
    return [known, large] if np.isfinite(known.to_array()).all() else []


def softmax_alone(cell):
    each = [strengths(one) for one in _direct(cell)]
    return over_settings(np.minimum(*each)) if each else None


_low_rank_plateau = claim(
    "low-rank-plateau",
    "At a rank below the dimension the loss stays on a plateau before it falls.",
    lambda c: has_plateau(own(c, "mse", ["sgd"], c.p.rank < c.p.dimension)),
    **by_settings(THREAD, FOUND),
    rank="headline",
)
_adam_full_rank_plateau = claim(
    "adam-full-rank-plateau",
    "Under Adam the full-rank case regains a plateau.",
    lambda c: has_plateau(own(c, "mse", ["adam"], full(c))),
    **by_settings(THREAD, FOUND),
)
_symmetry_adds_s = claim(
    "symmetry-adds-s",
    "Breaking the symmetry between two targets adds another S.",
    lambda c: has_plateau(own(c, "mse", ["sgd"], c.p.rank == 2), 2),
    **by_settings(THREAD, FOUND, "second "),
    rank="headline",
)
_cross_entropy_rank_10 = claim(
    "cross-entropy-rank-10",
    "With cross-entropy training at rank ten does not find the zero-loss solution.",
    lambda c: _left(own(c, "cross_entropy", ["sgd", "adam"], c.p.rank == 10)),
    source=THREAD,
    inside=MOST,
    **LEFT,
)
_large_logits_rank_10 = claim(
    "large-logits-rank-10",
    "With cross-entropy of large logits training at rank ten does not find the zero-loss solution.",
    lambda c: _left(own(c, "large_logits", ["sgd", "adam"], c.p.rank == 10)),
    source=THREAD,
    inside=MOST,
    of="large_logits",
    **LEFT,
)
_large_logits_full_rank = claim(
    "large-logits-full-rank",
    "With cross-entropy of large logits, too, the loss has no plateau at full rank.",
    lambda c: has_plateau(own(c, "large_logits", ["sgd"], full(c))),
    **by_settings(THREAD, NOT_FOUND, of="large_logits"),
)


CLAIMS = [
    *PREDICTION_CLAIMS,
    claim(
        "rank-one-reduction",
        "At rank one the loss is that of the four-number reduction at every step.",
        rank_one_reduction,
        source=THEORY,
        near=0,
        inside=lambda cell: (0, 1e3 * float(np.finfo(cell.parameters.precision).eps)),
        why="Rounding of a step, grown by e^4 on the plateau and added up over a few hundred steps.",
        rank="control",
    ),
    _low_rank_plateau,
    claim(
        "full-rank-no-plateau",
        "At full rank the loss has no plateau: a plateau needs a target of low rank.",
        lambda c: has_plateau(own(c, "mse", ["sgd"], full(c))),
        **by_settings(THREAD, NOT_FOUND),
        rank="headline",
    ),
    _adam_full_rank_plateau,
    claim(
        "rank-2-like-1",
        "Apart from bumps the loss at rank two is the loss at rank one with time rescaled.",
        rank_2_like_1,
        source=THREAD,
        near=0,
        inside=(0, 0.2),
        why="Alike by eye: 20% in time at equal loss.",
        along=("rank",),
        note="SD over loss levels of the log ratio of times after the best rescaling, paired by seed.",
        rank="headline",
    ),
    _symmetry_adds_s,
    claim(
        "weight-decay-end",
        "With weight decay the converged solution does not minimise the original loss.",
        weight_decay_end,
        source=THREAD,
        near=1,
        inside=(0.95, 1.05),
        why="A twentieth of where the singular values of the target say it ends: those near lambda/2 are learned slowly.",
        at_end=True,
        note="Loss at the end over the sum of min(s, lambda/2)^2 over the singular values s of the target that can be "
        "learned and of s^2 over the others.",
    ),
    claim(
        "cross-entropy-two-plateaus",
        "With cross-entropy the loss has two plateaus at rank two.",
        lambda c: has_plateau(own(c, "cross_entropy", ["sgd", "adam"], c.p.rank == 2), 2),
        **by_settings(THREAD, FOUND, "second "),
    ),
    claim(
        "cross-entropy-two-plateaus.corrected",
        "For small logits the second plateau of cross-entropy at rank two is as strong as that of the squared error.",
        cross_entropy_two_plateaus_corrected,
        source=OURS,
        near=0,
        inside=(-0.1, 0.1),
        why="A tenth of its strength, as a log ratio: logits of order 1/n change a curve by less than a percent.",
        statistic="median",
        along=("loss_function",),
        corrects="cross-entropy-two-plateaus",
        note="Log ratio of the strengths of the second plateau, paired by seed.",
    ),
    claim(
        "large-logits-two-plateaus",
        "With cross-entropy of large logits the loss has two plateaus at rank two.",
        lambda c: has_plateau(own(c, "large_logits", ["sgd", "adam"], c.p.rank == 2), 2),
        **by_settings(THREAD, FOUND, "second ", of="large_logits"),
    ),
    claim(
        "large-logits-two-plateaus.corrected",
        "For large logits the second plateau at rank two is weak: the loss falls at most four times slower than "
        "beside it.",
        large_logits_weak_plateau,
        source=OURS,
        inside=NOT_FOUND,
        why="The strictest of usual counters finds it in a minority of the runs; what milder ones find is left open.",
        statistic="fraction",
        of="large_logits",
        corrects="large-logits-two-plateaus",
        note="Share of runs with a second plateau at the strictest setting.",
    ),
    _cross_entropy_rank_10,
    _cross_entropy_rank_10.corrected(
        "With cross-entropy training at rank ten finds the solution to a percent of the loss.",
        source=OURS,
        inside=NEVER,
    ),
    _large_logits_rank_10,
    _large_logits_rank_10.corrected(
        "With cross-entropy of large logits Adam finds the solution at rank ten to a percent of the loss.",
        source=OURS,
        inside=NEVER,
        where=lambda cell: cell.parameters.optimizer == "adam",
    ),
    claim(
        "cross-entropy-full-rank",
        "With cross-entropy, too, the loss has no plateau at full rank.",
        lambda c: has_plateau(own(c, "cross_entropy", ["sgd"], full(c))),
        **by_settings(THREAD, NOT_FOUND),
    ),
    _large_logits_full_rank,
    claim(
        "cross-entropy-no-decay",
        "With cross-entropy the gradient has no exponential decay term.",
        cross_entropy_no_decay,
        source=THREAD,
        near=0,
        inside=(0, 0.1),
        why='"Just isn\'t there": at most a tenth of what the squared error has.',
        note=_DECAY + "at the start.",
    ),
    claim(
        "cross-entropy-no-decay.corrected",
        "Cross-entropy of small logits has the decay term of the centred squared error divided by 2 n^2.",
        cross_entropy_no_decay_corrected,
        source=THEORY,
        near=1,
        inside=(0.95, 1.05),
        why="Logits of the start and of the target are of order 1/n: corrections of a few percent.",
        corrects="cross-entropy-no-decay",
        note=_DECAY + "at the start or at the end, whichever is further from one.",
        rank="control",
    ),
    claim(
        "softmax-alone",
        "A softmax alone makes an S: training logits directly has a plateau, for small and for large logits.",
        softmax_alone,
        **by_settings(THREAD, FOUND, of=()),
    ),
]
