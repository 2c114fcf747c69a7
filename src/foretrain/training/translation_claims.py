"""What is said alike of translation networks in every study, and what their claims look at: kinds of pairs and of runs."""

from collections.abc import Callable, Iterable

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Sentence, claim
from foretrain.quantities.cell import Runs
from foretrain.quantities.measured import Exact
from foretrain.quantities.settling import unsettled
from foretrain.training.translation import GRAPH, PAIR
from foretrain.vocabulary import CONVERGED, OUT_OF_STEPS, STALLED

CONVERGE = "runs that converge"


def is_square(cell) -> bool:
    """Whether all factors are square, H = D."""
    return cell.parameters.hidden_width == cell.parameters.words


def mean_over(errors: xr.DataArray, pairs: xr.DataArray) -> xr.DataArray:
    """Mean of a pair-wise error over the pairs that are true; nan where there is none."""
    return errors.where(pairs).mean(PAIR)


def within(data: Runs | xr.Dataset, theory: Runs | xr.Dataset) -> xr.DataArray:
    """Untrained pairs within a component."""
    return (data["trained_pairs"] == 0) & (theory["predicted_pair_error"] == 0)


def converged(data: Runs | xr.Dataset) -> xr.DataArray:
    """Runs that reached the loss."""
    return data["outcome"] == CONVERGED


def stuck(data: Runs | xr.Dataset) -> xr.DataArray:
    """1 for runs that ended as stuck or used up their steps, 0 for those that converged, nan for others (such as missing)."""
    known = data["outcome"].isin((CONVERGED, STALLED, OUT_OF_STEPS))
    return (~converged(data)).astype(float).where(known)


def all_done(data: Runs | xr.Dataset, over: Iterable[str]) -> xr.DataArray:
    """Whether every run along these axes converged, is stuck for good, or had settled when its steps were used up."""
    loss = data["loss"].transpose(*data["outcome"].dims, "step")
    running = data["outcome"].copy(data=unsettled(loss.values)) & (data["outcome"] == OUT_OF_STEPS)
    return (stuck(data).notnull() & ~running).all(list(over))


def trained_pairs_alone(mask: Callable, over: tuple[str, ...]) -> Sentence:
    """The sentence that runs begin with descent on their stored pairs alone, those that ``mask(parameters, seed)`` draws."""

    def quantity(cell):
        # How far the first direction is from descent, over the latter's length; 1 at least where others are stored.
        gap = float(cell.simulation["gradient_gap"].max())
        for one in cell.cells():
            drawn = np.stack([mask(one.parameters, one.seed(seed)) for seed in range(cell.seeds)])
            stored = one.simulation["trained_pairs"].transpose("seed", *PAIR).values
            gap = max(gap, float(np.any((stored != drawn) & np.isfinite(stored))))
        return Exact(gap, "Largest relative distance of the directions.")

    return claim(
        "trained-pairs-alone",
        "Weights move along the descent direction of the mask's pairs alone: no gradient comes from an untrained one.",
        quantity,
        source=GRAPH,
        near=0,
        inside=rounding,
        why="Two ways to one gradient differ by rounding, one pair more or less of |T| by about its share, 1/|T|.",
        along=over,
        rank="control",
    )


def stuck_told(along: str) -> Sentence:
    """The sentence that trained pairs tell which runs get stuck, where ``along`` is the axis of the number of these pairs."""

    def quantity(cell):
        held = stuck(cell.simulation).transpose("init_scale", along, "seed").values
        exponent = cell.theory["frame_exponent"].transpose("init_scale", along, "seed").values
        one, other = exponent[..., :, None], exponent[..., None, :]
        larger = np.where(one < other, 1.0, np.where(one == other, 0.5, 0.0))
        met = (held[..., :, None] == 1) & (held[..., None, :] == 0)
        count = met.sum(-1)
        part = (larger * met).sum(-1) / np.where(count > 0, count, np.nan)
        known = np.isfinite(part).sum((0, 1))
        return np.nansum(part, (0, 1)) / np.where(known > 0, known, np.nan)

    return claim(
        "stuck-told",
        "At H = D the trained pairs predict which runs get stuck: those whose second singular value is closer to the "
        "first.",
        quantity,
        source="docs/studies/connectivity.md",
        inside=(0.6, 1),
        why="By chance it is a half. A tenth more is asked for.",
        along=("init_scale", along),
        among="seeds with a stuck run",
        note="Of the converged runs of the same scale and number of pairs, the fraction with a larger 1 - s_2/s_1 of the "
        "trained pairs than a stuck run; mean over a seed's stuck runs.",
        where=is_square,
    )


def rounding(cell) -> tuple[float, float]:
    """How far two ways to one gradient may be apart, relative to its length."""
    return 0, 1e-4 if cell.parameters.precision == "float32" else 1e-10


def exactness(cell) -> tuple[float, float]:
    """What the error of an untrained pair within a component may be where factors are square: 0 at zero loss.

    At a loss of l every trained block is off by at most sqrt(2 D |T| l), with |T| < L^2; over a path of n trained pairs
    the error is n^2 |T| l at most. Random masks are joined over paths of 10 at most.
    """
    p = cell.parameters
    return 0, 100 * p.languages**2 * p.loss_tolerance


def _square_exact(cell):
    data = cell.simulation
    error = data["pair_error"].where(within(data, cell.theory) & converged(data))
    runs, pairs = int(converged(data).sum()), int(error.notnull().sum())
    return Exact(float(error.max()), f"Largest error of {pairs} pairs of {runs} runs.")


square_exact = claim(
    "square-exact",
    "At H = D zero training loss forces exact generalisation within components, at any scale.",
    _square_exact,
    source=GRAPH,
    near=0,
    inside=exactness,
    why="A trained block is off by sqrt(2 D |T| loss), and a pair is joined over a path of at most 10 of them.",
    among=CONVERGE,
    where=is_square,
    rank="control",
)
