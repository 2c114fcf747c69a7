"""What the note says of its Fig. 1, and whether it is so."""

import numpy as np
import xarray as xr

from foretrain.claims.sentence import Exact, PerSeed, sentence
from foretrain.measures.threshold import lasting_threshold
from foretrain.studies.translation.study import mask
from foretrain.training.translation import GRAPH, PAIR
from foretrain.training.translation_claims import (
    all_done,
    converged,
    exactness,
    largest_gap,
    largest_within,
    mean_over,
    rounding,
    stuck,
    within,
)

NOTE = "Note on shared representations, section 2, Fig. 1"
OURS = "docs/studies/translation.md"
OVER = ("init_scale", "trained_fraction")
# Half of what answering nothing costs, 1/2: above it a pair is worse translated than not, or near that.
SPIKE = GENERALISES = 0.25
STEP = 0.05  # of the note's grid of trained fractions
CONVERGE = "runs that converge"
THRESHOLD = f"Fraction from which the untrained error stays at most {GENERALISES:g}, half of that of answering nothing."


ALL = {"source": OURS, "over": OVER, "at_end": True}
CONVERGED = {"source": OURS, "over": OVER, "among": CONVERGE}


def is_square(cell) -> bool:
    """Whether all factors are square, H = D."""
    return cell.parameters.hidden_width == cell.parameters.words


def is_wide(cell) -> bool:
    """Whether the hidden layers are at least twice as wide as the data."""
    return cell.parameters.hidden_width >= 2 * cell.parameters.words


def thresholds(error: xr.DataArray) -> xr.DataArray:
    """Smallest measured fraction from which the error stays at most `GENERALISES`, 1 if none; nan if none is measured."""
    found = xr.apply_ufunc(
        lambda values: lasting_threshold(error["trained_fraction"].values, values, GENERALISES),
        error,
        input_core_dims=[["trained_fraction"]],
    )
    return found.fillna(1.0).where(error.notnull().any("trained_fraction"))


def measured_thresholds(cell) -> xr.Dataset | None:
    """Thresholds of the runs that converged, ``measured`` and ``predicted`` of the same runs, dims (init_scale, seed).

    They are nan where a run is not done; None where only one fraction is trained.
    """
    data, kept = cell.simulation, converged(cell.simulation)
    if data.sizes["trained_fraction"] < 2:
        return None
    error = mean_over(data["pair_error"], data["trained_pairs"] == 0)
    errors = {"measured": error, "predicted": cell.theory["predicted_untrained_error"]}
    found = {name: thresholds(values.where(kept)) for name, values in errors.items()}
    return xr.Dataset(found).where(all_done(data, ["trained_fraction"]))


def spikes(data: xr.Dataset, theory: xr.Dataset) -> xr.DataArray:
    """1 for runs whose untrained error within components is above `SPIKE`, 0 for others; nan without such pairs."""
    error = mean_over(data["pair_error"], within(data, theory))
    return (error > SPIKE).astype(float).where(error.notnull())


def frustrated(data: xr.Dataset) -> xr.DataArray:
    """F: number of trained pairs whose map has a negative determinant at the end."""
    return ((data["orientation"] < 0) & (data["trained_pairs"] > 0)).sum(PAIR)


def bounds(data: xr.Dataset, words: int) -> xr.DataArray:
    """F/(2 D |T|), below which no loss can lie; nan where it is zero."""
    bound = frustrated(data) / (2 * words * data["trained_pairs"].sum(PAIR))
    return bound.where(bound > 0)


@sentence(
    "Weights move along the descent direction of the mask's pairs alone: no gradient comes from an untrained one.",
    source=GRAPH,
    predicted=0,
    allowed=rounding,
    why="Two ways to one gradient differ by rounding, one pair more or less of |T| by about its share, 1/|T|.",
    over=OVER,
)
def trained_pairs_alone(cell):
    return largest_gap(cell, mask)


@sentence(
    "Generalisation typically emerges after roughly 30% of the pairs have been trained.",
    source=NOTE,
    predicted=0.3,
    allowed=(0.3 - STEP, 0.3 + STEP),
    why="The note's 'roughly': one step of its grid of fractions to either side.",
    over=OVER,
    among=CONVERGE,
    note=f"{THRESHOLD} Mean over scales.",
)
def threshold(cell):
    found = measured_thresholds(cell)
    return None if found is None else found["measured"].mean("init_scale", skipna=False).values


OF_GRAPH = {
    "source": GRAPH,
    "predicted": 0,
    "allowed": (-STEP, STEP),
    "why": "One step of the note's grid of fractions.",
    "over": OVER,
    "among": CONVERGE,
}


@sentence(
    "For small weights generalisation emerges where the graph of trained pairs is nearly connected.",
    corrects="threshold",
    note="Threshold at the smallest scale minus that predicted from each seed's own masks.",
    **OF_GRAPH,
)
def threshold_of_graph(cell):
    found = measured_thresholds(cell)
    if found is None:
        return None
    found = found.isel(init_scale=0)
    words = f"That is {float(found['predicted'].mean()):.3f} on average."
    return PerSeed((found["measured"] - found["predicted"]).values, words)


@sentence(
    "The generalisation threshold decreases as the initialisation scale decreases.",
    source=NOTE,
    allowed=(STEP / 2, 1),
    why="Half a step of the note's grid of fractions.",
    over=OVER,
    among=CONVERGE,
    note="Threshold at the largest minus threshold at the smallest scale.",
)
def threshold_falls(cell):
    found = measured_thresholds(cell)
    if found is None or found.sizes["init_scale"] < 2:
        return None
    return (found["measured"].isel(init_scale=-1) - found["measured"].isel(init_scale=0)).values


@sentence(
    "At H = D the threshold is that of the graph at any scale, of the runs that converge: the scale decides which do.",
    corrects="threshold-falls",
    note="Threshold minus that predicted for the same runs, mean over scales.",
    **OF_GRAPH,
)
def threshold_at_any_scale(cell):
    found = measured_thresholds(cell) if is_square(cell) else None
    if found is None:
        return None
    return (found["measured"] - found["predicted"]).mean("init_scale", skipna=False).values


ACROSS = {
    "over": OVER,
    "among": CONVERGE,
    "note": "Error of pairs across components at the smallest scale.",
}


def error_across(cell):
    """Mean error of pairs across components whose languages both are trained, at the smallest scale; one value per seed."""
    data = cell.simulation.isel(init_scale=0)
    across = cell.theory["predicted_pair_error"].isel(init_scale=0) == 1
    error = mean_over(data["pair_error"], across).where(converged(data))
    return error.mean("trained_fraction").where(all_done(data, ["trained_fraction"])).values


@sentence(
    "As the scale goes to zero the generalisation threshold may go to zero as well.",
    source=NOTE,
    predicted=0,
    allowed=(0, 0.1),
    why="A threshold of zero means that pairs across components generalise too: a tenth of what they cost otherwise.",
    **ACROSS,
)
def threshold_zero(cell):
    return error_across(cell)


@sentence(
    "Pairs across components never generalise: they compute a random orthogonal map, of error 1 on average.",
    source=GRAPH,
    predicted=1,
    allowed=lambda cell: (1 - 1 / cell.parameters.words, 1 + 1 / cell.parameters.words),
    why="The standard deviation of a pair, 1/D: tens of pairs and masks are averaged, but a seed's pairs share their frames.",
    corrects="threshold-zero",
    **ACROSS,
)
def across(cell):
    return error_across(cell)


@sentence(
    "Spikes of the untrained error within a component are runs that are stuck on a plateau (H = D).",
    predicted=0,
    allowed=(0, 0.05),
    why="None, but for one in twenty that may be caught on its way down.",
    note=f"Fraction of runs with an untrained error within components above {SPIKE:g} that did reach the loss.",
    **ALL,
)
def spikes_stuck(cell):
    if not is_square(cell):
        return None
    held = stuck(cell.simulation).where(spikes(cell.simulation, cell.theory) == 1)
    return Exact(float(1 - held.mean()), f"Of {int(held.count())} runs.")


@sentence(
    "At H = D zero training loss forces exact generalisation within components, at any scale.",
    source=GRAPH,
    predicted=0,
    allowed=exactness,
    why="A trained block is off by sqrt(2 D |T| loss), and a pair is joined over a path of at most 10 of them.",
    over=OVER,
    among=CONVERGE,
)
def square_exact(cell):
    return largest_within(cell.simulation, cell.theory) if is_square(cell) else None


AGAIN = {
    "over": OVER,
    "of": ("", "precise"),
    "at_end": True,
    "among": "seeds with a spike",
    "note": "Fraction of the spikes at H = D, of each seed, in double precision with a thirtieth of the solver's error.",
}


def spikes_again(cell):
    """Fraction of the spikes of every seed that are spikes in double precision too."""
    if "precise" not in cell.variants or not is_square(cell):
        return None
    first, again = (
        spikes(data, cell.theory) for data in (cell.simulation, cell.variants["precise"])
    )
    found = again.where(first == 1)
    return PerSeed(found.mean(OVER).values, f"{int(found.count())} spikes.")


@sentence(
    "Spikes in the test loss at larger fractions are numerical.",
    source=NOTE,
    predicted=0,
    allowed=(0, 0.5),
    why="More than half of them should then vanish.",
    **AGAIN,
)
def spikes_numerical(cell):
    return spikes_again(cell)


@sentence(
    "Spikes belong to the gradient flow: they come again in double precision.",
    source=OURS,
    predicted=1,
    allowed=(0.9, 1),
    why="One in ten may stand at a fork that the solver's error decides.",
    corrects="spikes-numerical",
    **AGAIN,
)
def spikes_real(cell):
    return spikes_again(cell)


@sentence(
    "Runs get stuck where all factors are square (H = D).",
    allowed=(0.01, 1),
    why="More than a rare accident: one run in a hundred.",
    note="Fraction of runs that did not reach the loss in the steps allowed.",
    **ALL,
)
def square_stuck(cell):
    return stuck(cell.simulation).mean(OVER).values if is_square(cell) else None


@sentence(
    "A run with square factors is stuck if and only if some trained pair has a negative determinant at the end.",
    predicted=1,
    allowed=(0.95, 1),
    why="An 'if and only if', allowing one run in twenty that is merely slow.",
    note="Fraction of runs at H = D in which the two agree.",
    **ALL,
)
def determinants(cell):
    if not is_square(cell):
        return None
    held = stuck(cell.simulation)
    agree = (held == (frustrated(cell.simulation) > 0)).astype(float).where(held.notnull())
    return agree.mean(OVER).values


@sentence(
    "The loss is at least F/(2 D |T|) with F trained pairs of negative determinant.",
    source=OURS,
    predicted=0,
    allowed=(0, 1e-4),
    why="Exact; single precision rounds a mean of about |T| D^2 squares.",
    over=OVER,
    note="Largest relative shortfall, 0 where every loss lies above its bound.",
)
def determinant_bound(cell):
    if not is_square(cell):
        return None
    ratio = cell.simulation["converged_loss"] / bounds(cell.simulation, cell.parameters.words)
    return Exact(max(0.0, 1 - float(ratio.min())) if ratio.notnull().any() else np.nan)


@sentence(
    "A stuck run misses one mode of each such pair and nothing else: its loss sinks to F/(2 D |T|).",
    predicted=1,
    allowed=(1 - 1e-4, 1.25),
    why="The bound is reached only at infinity, where weights diverge; within a quarter of it says one mode, not two.",
    among="seeds with a stuck run",
    note="Loss of stuck runs over their bound, median over the runs of a seed; runs without such pairs left out.",
    **ALL,
)
def stuck_loss(cell):
    if not is_square(cell):
        return None
    data = cell.simulation
    ratio = data["converged_loss"] / bounds(data, cell.parameters.words)
    return ratio.where(stuck(data) == 1).median(OVER).values


@sentence(
    "Signs of determinants at the start decide nothing: half of the trained pairs of converged runs had to turn.",
    predicted=0.5,
    allowed=lambda cell: tuple(
        0.5 + side / np.sqrt(2 * cell.parameters.languages) for side in (-1, 1)
    ),
    why="Signs of 2 L factors are fair coins, drawn once per seed: two standard deviations of their mean.",
    note="Fraction of trained pairs with a negative determinant at the start, H = D.",
    **CONVERGED,
)
def start_signs(cell):
    if not is_square(cell) or cell.parameters.start_orientation != "random":
        return None
    data = cell.simulation
    turned = (data["initial_orientation"] < 0).astype(float).where(data["trained_pairs"] > 0)
    return turned.where(converged(data)).mean((*OVER, *PAIR)).values


@sentence(
    "No run gets stuck where the hidden layers are twice as wide as the data (H = 2 D).",
    predicted=0,
    allowed=(0, 0.01),
    why="'No run', allowing one in a hundred that is slow.",
    note="Fraction of runs that did not reach the loss.",
    **ALL,
)
def wide_stuck(cell):
    return stuck(cell.simulation).mean(OVER).values if is_wide(cell) else None


@sentence(
    "At H = 2 D generalisation is an implicit bias of small weights: untrained errors fall with the scale.",
    source=GRAPH,
    allowed=lambda cell: (np.log10(max(scales := cell.values("init_scale")) / min(scales)), np.inf),
    why="At least linearly in the scale.",
    over=OVER,
    at_end=True,
    among=CONVERGE,
    unit="decades",
    note="log10 of untrained error within components, largest over smallest scale, mean over fractions.",
)
def wide_bias(cell):
    if not is_wide(cell) or len(cell.values("init_scale")) < 2:
        return None
    data = cell.simulation
    error = mean_over(data["pair_error"], within(data, cell.theory)).where(converged(data))
    fall = xr.apply_ufunc(np.log10, error.isel(init_scale=-1) / error.isel(init_scale=0))
    return fall.mean("trained_fraction").values


ARTEFACT = {
    "over": OVER,
    "of": "diagonal_only",
    "among": "seeds with runs that seem to generalise",
}
SEEMING = (
    f"Untrained error, all entries counted, of runs whose untrained error on the diagonal is at most {GENERALISES:g}, "
    "at the smallest scale"
)


def seeming(cell):
    """Untrained error of the runs that seem to generalise under the note's loss mask, mean per seed."""
    runs = cell.variants["diagonal_only"].isel(init_scale=0)
    untrained = runs["trained_pairs"] == 0
    good = mean_over(runs["pair_diagonal_error"], untrained) <= GENERALISES
    return mean_over(runs["pair_error"], untrained).where(good).mean("trained_fraction").values


@sentence(
    "With the note's loss mask T kron I networks that seem to generalise translate untrained pairs.",
    source=NOTE,
    predicted=0,
    allowed=(0, GENERALISES),
    why="What the note's figure calls generalising: far below the error of answering nothing.",
    note=f"{SEEMING}.",
    **ARTEFACT,
)
def diagonal_mask(cell):
    return seeming(cell)


@sentence(
    "They compute the all-ones matrix, of error (D - 1)/2, and translate nothing.",
    source=OURS,
    predicted=1,
    allowed=(0.9, 1.1),
    why="A tenth to either side leaves no doubt which matrix it is.",
    corrects="diagonal-mask",
    note=f"{SEEMING}, over (D - 1)/2.",
    **ARTEFACT,
)
def all_ones(cell):
    return None if cell.parameters.words < 2 else seeming(cell) / ((cell.parameters.words - 1) / 2)


@sentence(
    "The flow conserves Q at both hidden layers.",
    source="docs/theory/routing.md",
    predicted=0,
    allowed=lambda cell: (0, cell.parameters.solver_tolerance),
    why="Some hundreds of steps with a thirtieth of that as relative error each, which add up at random: sqrt(900)/30.",
    over=OVER,
    of="precise",
    note="Largest |Q(end) - Q(0)| over the squared norm of the hidden matrix, double precision, H = D.",
)
def conserved(cell):
    if "precise" not in cell.variants or not is_square(cell):
        return None
    return Exact(float(cell.variants["precise"]["final_drift"].max(skipna=False)))
