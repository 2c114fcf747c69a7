"""What is said alike in every study that trains the masked rank-one model."""

from dataclasses import replace

import numpy as np

from foretrain.quantities.cell import Cell
from foretrain.study import CONVERGED, Exact, Grid, Sentence, claim
from foretrain.training.masked_rank_one import DEPARTURE

OURS = "docs/theory/masked-rank-one.md"


def flown(cell: Cell | Grid):
    """The runs of the model in a cell: of the variant ``trained`` (at the last of its sizes), or the study's own."""
    if "trained" in cell.variants:
        return cell.variants["trained"].isel(mask_size=-1, missing_dims="ignore")
    return cell.simulation


def generalised(data) -> np.ndarray:
    """Whether each run reached zero loss and is right on every untrained pair, 1 or 0; nan where it has not run."""
    done = (data["outcome"] == CONVERGED) & (data["final_untrained_error"] < 1e-6)
    return done.where(np.isfinite(data["final_loss"])).values


def connected_runs(data):
    """Whether each run learned, whether it is stuck (on a connected mask both), and whether it has run at all."""
    there = np.isfinite(data["final_loss"].values)
    connected = (data["connected"].values == 1) & there
    converged = data["outcome"].values == CONVERGED
    return converged & connected, ~converged & connected


def remaining(logs: np.ndarray, stuck: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """How often each seed is stuck at a smaller scale, and how often it should be, by its exponent, from the next larger one.

    A run is stuck from sigma if the share of the leading mode in its start is below some multiple of
    sigma^(1 - s_2/s_1). That share has a density at zero, so that of runs stuck at one scale a part
    (sigma'/sigma)^(1 - s_2/s_1) is stuck at the next.

    Args:
        logs: Logarithm of the scales, ascending, shape (scale,).
        stuck: 1 or 0, nan where not known, shape (scale, seed).
        exponent: 1 - s_2/s_1 of every seed's mask, shape (seed,).

    Returns:
        Seen and expected, each summed over the scales, shape (2, seed).
    """
    left = np.exp(-np.diff(logs)[:, None] * exponent)
    return np.array([stuck[:-1].sum(0), (stuck[1:] * left).sum(0)])


def ratio(seen: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """One number per seed whose mean is what is seen over what is expected; nan where nothing is expected at all.

    What is expected of a seed is taken from it, seed by seed, which leaves the mean as it is and the chance of the start out.
    """
    known = np.isfinite(seen)
    each = expected[known].mean() if known.any() else 0.0
    return 1 + (seen - expected) / each if each > 0 else np.full(seen.shape, np.nan)


def _invariants(cell):
    return Exact(float(flown(cell)["invariant_drift"].max(skipna=False)))


def _zero_loss_generalises(cell):
    data = flown(cell)
    learned, _ = connected_runs(data)
    bound = (2 * data.sizes["input_domain"] - 1) ** 2 * cell.parameters.loss_tolerance
    worst = data["final_untrained_error"].values[learned].max(initial=-np.inf) / bound
    note = f"Largest mean error of untrained pairs over (2n - 1)^2 times the tolerance of the loss, of {learned.sum()} runs."
    return Exact(worst if learned.any() else np.nan, note)


def _stuck_training(cell):
    data = flown(cell)
    learned, stuck = connected_runs(data)
    between = (stuck & (data["final_loss"].values < 0.5)).sum()
    note = "Number of runs that end with a loss between the tolerance and 1/2. "
    note += f"{stuck.sum()} of {(learned | stuck).sum()} runs are stuck"
    error = data["final_untrained_error"].values[stuck]
    note += f"; their untrained error is {np.median(error):.3g} (median)." if stuck.any() else "."
    return Exact(float(between) if (learned | stuck).any() else np.nan, note)


def _agreeing_signs(cell):
    data = flown(cell)
    learned, stuck = connected_runs(data)
    agrees = (data["stage_agrees"].isel(stage=DEPARTURE).values == 1) & (learned | stuck)
    note = f"Number of stuck runs among the {agrees.sum()} whose signs agree when 1% of the loss is gone."
    return Exact(float((agrees & stuck).sum()) if agrees.any() else np.nan, note)


invariants = claim(
    "invariants",
    "The flow conserves |u|^2 - s^2 and |v|^2 - s^2.",
    _invariants,
    source=OURS,
    near=0,
    inside=lambda cell: (0, 2 * cell.parameters.solver_tolerance * cell.parameters.steps),
    why="Each step may err by the solver's tolerance relative to the weights, twice that in their squares.",
    note="Largest change over all runs and times, relative to |u|^2 + |v|^2 + s^2.",
    rank="control",
)
zero_loss_generalises = claim(
    "zero-loss-generalises",
    "Zero training loss on connected T is perfect generalisation, at any sigma.",
    _zero_loss_generalises,
    source=OURS,
    near=0,
    inside=(0, 1),
    why="Each pair on a path of at most 2n - 1 trained pairs may be off by sqrt(2 loss); their sum squared, over 2.",
    among="runs that converge on connected masks",
    rank="control",
)
stuck_training = claim(
    "stuck-training",
    "Every failure is stuck training: a trained pair keeps the wrong sign, and the loss stays above 1/2.",
    _stuck_training,
    source=OURS,
    near=0,
    inside=(0, 0),
    at_end=True,
    among="runs on connected masks",
    why="A count: no run may end between the tolerance and one half.",
    rank="control",
)
agreeing_signs = claim(
    "agreeing-signs",
    "A run in which all trained pairs have s u_i v_j > 0 keeps these signs and learns.",
    _agreeing_signs,
    source=OURS,
    near=0,
    inside=(0, 0),
    at_end=True,
    among="runs on connected masks",
    why="A count.",
    rank="control",
)
COMMON = (invariants, zero_loss_generalises, stuck_training, agreeing_signs)


def along(*over: str, of: tuple[str, ...] = ("",)) -> tuple[Sentence, ...]:
    """The sentences of `COMMON`, looking along these axes, where the runs of the networks `of` must all be there."""
    return tuple(replace(said, along=over, of=of) for said in COMMON)
