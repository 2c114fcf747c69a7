"""What the note says of its Fig. 1, and whether it is so."""

from dataclasses import replace

import numpy as np
import xarray as xr

from foretrain.quantities.cell import Runs
from foretrain.quantities.threshold import lasting_threshold
from foretrain.studies.translation.departure import CLAIMS as DEPARTURE
from foretrain.studies.translation.study import mask
from foretrain.study import Exact, PerSeed, claim
from foretrain.training import translation_claims as common
from foretrain.training.translation import GRAPH, PAIR, SETTLED
from foretrain.training.translation_claims import (
    CONVERGE,
    converged,
    is_square,
    mean_over,
    stuck,
    within,
)

NOTE = "Note on shared representations, section 2, Fig. 1"
OURS = "docs/studies/translation.md"
OVER = ("init_scale", "trained_fraction")
# Half of what answering nothing costs, 1/2: above it a pair is worse translated than not, or near that.
SPIKE = GENERALISES = 0.25
STEP = 0.05  # of the note's grid of trained fractions
THRESHOLD = f"Fraction from which the untrained error stays at most {GENERALISES:g}, half of that of answering nothing."


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
    return xr.Dataset(found).where(common.all_done(data, ["trained_fraction"]))


def spikes(data: Runs | xr.Dataset, theory: Runs | xr.Dataset) -> xr.DataArray:
    """1 for runs whose untrained error within components is above `SPIKE`, 0 for others; nan without such pairs."""
    error = mean_over(data["pair_error"], within(data, theory))
    return (error > SPIKE).astype(float).where(error.notnull())


def frustrated(data: Runs | xr.Dataset) -> xr.DataArray:
    """F: number of trained pairs whose map has a negative determinant at the end."""
    return ((data["orientation"] < 0) & (data["trained_pairs"] > 0)).sum(PAIR)


def bounds(data: Runs | xr.Dataset, words: int) -> xr.DataArray:
    """F/(2 D |T|), below which no loss can lie; nan where it is zero."""
    bound = frustrated(data) / (2 * words * data["trained_pairs"].sum(PAIR))
    return bound.where(bound > 0)


trained_pairs_alone = common.trained_pairs_alone(mask, OVER)
stuck_told = common.stuck_told(OVER[1])


def threshold(cell):
    found = measured_thresholds(cell)
    return None if found is None else found["measured"].mean("init_scale", skipna=False).values


def threshold_of_graph(cell):
    found = measured_thresholds(cell)
    if found is None:
        return None
    found = found.isel(init_scale=0)
    words = f"That is {float(found['predicted'].mean()):.3f} on average."
    return PerSeed((found["measured"] - found["predicted"]).values, words)


def threshold_falls(cell):
    found = measured_thresholds(cell)
    if found is None or found.sizes["init_scale"] < 2:
        return None
    return (found["measured"].isel(init_scale=-1) - found["measured"].isel(init_scale=0)).values


def threshold_at_any_scale(cell):
    found = measured_thresholds(cell)
    if found is None:
        return None
    return (found["measured"] - found["predicted"]).mean("init_scale", skipna=False).values


def threshold_zero(cell):
    # Of pairs whose languages both are trained.
    data = cell.simulation.isel(init_scale=0)
    across = cell.theory["predicted_pair_error"].isel(init_scale=0) == 1
    error = mean_over(data["pair_error"], across).where(converged(data))
    return error.mean("trained_fraction").where(common.all_done(data, ["trained_fraction"])).values


def spikes_stuck(cell):
    held = stuck(cell.simulation).where(spikes(cell.simulation, cell.theory) == 1)
    return Exact(float(1 - held.mean()), f"Of {int(held.count())} runs.")


def spikes_numerical(cell):
    if "precise" not in cell.variants:
        return None
    first, again = (
        spikes(data, cell.theory) for data in (cell.simulation, cell.variants["precise"])
    )
    found = again.where(first == 1)
    return PerSeed(found.mean(OVER).values, f"{int(found.count())} spikes.")


def determinants(cell):
    held = stuck(cell.simulation)
    agree = (held == (frustrated(cell.simulation) > 0)).astype(float).where(held.notnull())
    return agree.mean(OVER).values


def determinant_bound(cell):
    ratio = cell.simulation["converged_loss"] / bounds(cell.simulation, cell.parameters.words)
    return Exact(max(0.0, 1 - float(ratio.min())) if ratio.notnull().any() else np.nan)


def stuck_loss(cell):
    data = cell.simulation
    ratio = data["converged_loss"] / bounds(data, cell.parameters.words)
    return (ratio <= SETTLED).astype(float).where(stuck(data) == 1).mean(OVER).values


def start_signs(cell):
    if cell.parameters.start_orientation != "random":
        return None
    data = cell.simulation
    turned = (data["initial_orientation"] < 0).astype(float).where(data["trained_pairs"] > 0)
    return turned.where(converged(data)).mean((*OVER, *PAIR)).values


def wide_bias(cell):
    if not is_wide(cell) or len(cell.values("init_scale")) < 2:
        return None
    data = cell.simulation
    error = mean_over(data["pair_error"], within(data, cell.theory)).where(converged(data))
    fall = xr.apply_ufunc(np.log10, error.isel(init_scale=-1) / error.isel(init_scale=0))
    return fall.mean("trained_fraction").values


def varies(cell):
    found = measured_thresholds(cell)
    if found is None or cell.seeds < 2:
        return None
    values = found["measured"].isel(init_scale=0).values
    apart = np.abs(values[:, None] - values)
    np.fill_diagonal(apart, np.nan)
    known = np.isfinite(apart)
    return np.where(known.any(1), np.nansum(apart, 1) / np.maximum(known.sum(1), 1), np.nan)


def varies_corrected(cell):
    found = measured_thresholds(cell)
    if found is None:
        return None
    off = (found["measured"] - found["predicted"]).isel(init_scale=0)
    return np.abs(off.values)


SEEMING = (
    f"Untrained error, all entries counted, of runs whose untrained error on the diagonal is at most {GENERALISES:g}, "
    "at the smallest scale"
)


def diagonal_mask(cell):
    runs = cell.variants["diagonal_only"].isel(init_scale=0)
    untrained = runs["trained_pairs"] == 0
    good = mean_over(runs["pair_diagonal_error"], untrained) <= GENERALISES
    return mean_over(runs["pair_error"], untrained).where(good).mean("trained_fraction").values


def all_ones(cell):
    ones = (cell.parameters.words - 1) / 2
    return diagonal_mask(cell) / ones if ones else None


def conserved(cell):
    if "precise" not in cell.variants:
        return None
    return Exact(float(cell.variants["precise"]["final_drift"].max(skipna=False)))


_threshold_zero = claim(
    "threshold-zero",
    "As the scale goes to zero the generalisation threshold may go to zero as well.",
    threshold_zero,
    along=OVER,
    source=NOTE,
    among=CONVERGE,
    near=0,
    inside=(0, 0.1),
    why="A threshold of zero means that pairs across components generalise too: a tenth of what they cost otherwise.",
    note="Error of pairs across components at the smallest scale.",
    rank="headline",
)
_spikes_numerical = claim(
    "spikes-numerical",
    "Spikes of the test loss at larger fractions are numerical.",
    spikes_numerical,
    along=OVER,
    source=NOTE,
    near=0,
    inside=(0, 0.5),
    why="More than half of them should then vanish.",
    of=("", "precise"),
    at_end=True,
    among="seeds with a spike",
    note="Fraction of the spikes at H = D, of each seed, in double precision with a thirtieth of the solver's error.",
    where=is_square,
    rank="headline",
)


CLAIMS = [
    *DEPARTURE,
    trained_pairs_alone,
    stuck_told,
    claim(
        "threshold",
        "Generalisation typically emerges after roughly 30% of the pairs have been trained.",
        threshold,
        along=OVER,
        source=NOTE,
        among=CONVERGE,
        near=0.3,
        inside=(0.3 - STEP, 0.3 + STEP),
        why="The note's 'roughly': one step of its grid of fractions to either side.",
        note=f"{THRESHOLD} Mean over scales.",
        rank="headline",
    ),
    claim(
        "threshold.corrected",
        "For small weights generalisation emerges where the graph of trained pairs is nearly connected.",
        threshold_of_graph,
        along=OVER,
        source=GRAPH,
        near=0,
        among=CONVERGE,
        inside=(-STEP, STEP),
        why="One step of the note's grid of fractions.",
        corrects="threshold",
        note="Threshold at the smallest scale minus that predicted from each seed's own masks.",
        rank="headline",
    ),
    claim(
        "threshold-falls",
        "The generalisation threshold decreases as the initialisation scale decreases.",
        threshold_falls,
        along=OVER,
        source=NOTE,
        among=CONVERGE,
        inside=(STEP / 2, 1),
        why="Half a step of the note's grid of fractions.",
        note="Threshold at the largest minus threshold at the smallest scale.",
    ),
    claim(
        "threshold-falls.corrected",
        "At H = D the threshold of the runs that converge is that of the graph at any scale: the scale decides which "
        "runs converge.",
        threshold_at_any_scale,
        along=OVER,
        source=GRAPH,
        near=0,
        among=CONVERGE,
        inside=(-STEP, STEP),
        why="One step of the note's grid of fractions.",
        corrects="threshold-falls",
        note="Threshold minus that predicted for the same runs, mean over scales.",
        where=is_square,
    ),
    _threshold_zero,
    _threshold_zero.corrected(
        "Pairs across components never generalise: they compute a random orthogonal map, of error 1 on average.",
        source=GRAPH,
        near=1,
        inside=lambda cell: (1 - 1 / cell.parameters.words, 1 + 1 / cell.parameters.words),
        why="The standard deviation of a pair, 1/D: tens of pairs and masks are averaged, but a seed's pairs share their "
        "frames.",
        rank="headline",
    ),
    claim(
        "spikes-stuck",
        "At H = D spikes of the untrained error within a component are runs that are stuck on a plateau.",
        spikes_stuck,
        along=OVER,
        source=OURS,
        at_end=True,
        near=0,
        inside=(0, 0.05),
        why="None, but for one in twenty that may be caught on its way down.",
        note=f"Fraction of runs with an untrained error within components above {SPIKE:g} that did reach the loss.",
        where=is_square,
    ),
    replace(common.square_exact, along=OVER),
    _spikes_numerical,
    _spikes_numerical.corrected(
        "Spikes of the test loss belong to the gradient flow: double precision gives them again.",
        source=OURS,
        near=1,
        inside=(0.9, 1),
        why="One in ten may stand at a fork that the solver's error decides.",
        rank="headline",
    ),
    claim(
        "determinants",
        "A run with square factors is stuck if and only if some trained pair has a negative determinant at the end.",
        determinants,
        along=OVER,
        source=OURS,
        at_end=True,
        near=1,
        inside=(0.95, 1),
        why="That determinants forbid the loss is exact; one run in twenty may be merely slow.",
        note="Fraction of runs at H = D in which the two agree.",
        where=is_square,
    ),
    claim(
        "determinant-bound",
        "The loss is at least F/(2 D |T|) with F trained pairs of negative determinant.",
        determinant_bound,
        along=OVER,
        source=OURS,
        near=0,
        inside=(0, 1e-4),
        why="Exact; single precision rounds a mean of about |T| D^2 squares.",
        note="Largest relative shortfall, 0 where every loss lies above its bound.",
        where=is_square,
        rank="control",
    ),
    claim(
        "stuck-loss",
        "The loss of a stuck run falls to F/(2 D |T|): one mode is missing for each of F trained pairs of negative "
        "determinant.",
        stuck_loss,
        along=OVER,
        source=OURS,
        at_end=True,
        near=1,
        inside=(0.95, 1),
        why="Two modes of a pair would be twice the bound. One run in twenty may be slow: the bound is reached only at "
        "infinity.",
        among="seeds with a stuck run",
        note=f"Fraction of stuck runs whose loss comes down to {SETTLED:g} of that, "
        "where they end if they are stuck for good.",
        where=is_square,
    ),
    claim(
        "start-signs",
        "Signs of determinants at the start do not decide the end: half of the trained pairs of converged runs had to"
        " turn.",
        start_signs,
        along=OVER,
        near=0.5,
        inside=lambda cell: 0.5 + np.array([-1, 1]) / np.sqrt(2 * cell.parameters.languages),
        why="Signs of 2 L factors are fair coins, drawn once per seed: two standard deviations of their mean.",
        source=OURS,
        among=CONVERGE,
        note="Fraction of trained pairs with a negative determinant at the start, H = D.",
        where=is_square,
    ),
    claim(
        "wide-stuck",
        "At H = 2D no run gets stuck.",
        lambda c: stuck(c.simulation).mean(OVER).values if is_wide(c) else None,
        along=OVER,
        source=OURS,
        at_end=True,
        near=0,
        inside=(0, 0.01),
        why="'No run', allowing one in a hundred that is slow.",
        note="Fraction of runs that did not reach the loss.",
    ),
    claim(
        "wide-bias",
        "At H = 2D generalisation is an implicit bias of small weights: untrained errors fall with the scale.",
        wide_bias,
        along=OVER,
        source=GRAPH,
        inside=lambda cell: (
            np.log10(max(scales := cell.values("init_scale")) / min(scales)),
            np.inf,
        ),
        why="At least linearly in the scale.",
        at_end=True,
        among=CONVERGE,
        unit="decades",
        note="log10 of untrained error within components, largest over smallest scale, mean over fractions.",
    ),
    claim(
        "varies",
        "The generalisation threshold varies considerably across random seeds.",
        varies,
        along=OVER,
        source=NOTE,
        among=CONVERGE,
        inside=(STEP / 2, 1),
        why="Half a step of the note's grid of fractions: more than the grid can make of equal thresholds.",
        note="Mean distance of a seed's threshold from those of the others, smallest scale.",
    ),
    claim(
        "varies.corrected",
        "Seeds differ by their graphs: the mask of a seed predicts its threshold.",
        varies_corrected,
        along=OVER,
        source=GRAPH,
        near=0,
        among=CONVERGE,
        corrects="varies",
        inside=(0, STEP / 2),
        why="Half a step of the note's grid of fractions.",
        note="Distance of a seed's threshold from that of its own masks, smallest scale.",
    ),
    claim(
        "diagonal-mask",
        "With the note's loss mask T kron I networks that seem to generalise translate untrained pairs.",
        diagonal_mask,
        along=OVER,
        source=NOTE,
        near=0,
        inside=(0, GENERALISES),
        why="What the note's figure calls generalising: far below the error of answering nothing.",
        of="diagonal_only",
        among="seeds with runs that seem to generalise",
        note=f"{SEEMING}.",
    ),
    claim(
        "diagonal-mask.corrected",
        "With the note's loss mask T kron I networks that seem to generalise compute the all-ones matrix, of error (D"
        " - 1)/2, and translate nothing.",
        all_ones,
        along=OVER,
        source=OURS,
        near=1,
        inside=(0.9, 1.1),
        why="A tenth to either side leaves no doubt which matrix it is.",
        corrects="diagonal-mask",
        of="diagonal_only",
        among="seeds with runs that seem to generalise",
        note=f"{SEEMING}, over (D - 1)/2.",
    ),
    claim(
        "conserved",
        "The flow conserves Q at both hidden layers.",
        conserved,
        along=OVER,
        source="docs/theory/routing.md",
        near=0,
        inside=lambda cell: (0, cell.parameters.solver_tolerance),
        why="Some hundreds of steps with a thirtieth of that as relative error each, which add up at random: "
        "sqrt(900)/30.",
        of="precise",
        note="Largest |Q(end) - Q(0)| over the squared norm of the hidden matrix, double precision, H = D.",
        where=is_square,
        rank="control",
    ),
]
