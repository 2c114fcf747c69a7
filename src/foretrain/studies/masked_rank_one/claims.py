"""What the note says of the simple case, and whether it is so."""

import numpy as np

from foretrain.quantities.slopes import slopes
from foretrain.studies.masked_rank_one.any_mask import CLAIMS as ANY_MASK
from foretrain.study import Exact, PerSeed, claim
from foretrain.training import masked_rank_one_claims as common
from foretrain.training.masked_rank_one import DEPARTURE, ESCAPE, FAINT
from foretrain.training.masked_rank_one_claims import OURS, connected_runs

NOTE = "Note on shared representations, "
ALONG = ("init_scale",)
# Where the linearised flow is held against the whole one: below it weights are far smaller than at the solution.
SMALL = 1e-2
# Where the square of the misalignment is a few percent at most.
ALIGNED = 1e-3


def small_scales(cell, largest=SMALL) -> np.ndarray:
    """The initial scales up to `largest`, ascending."""
    return np.array([scale for scale in cell.values("init_scale") if scale <= largest])


def decades(cell, largest=SMALL) -> float:
    """Logarithm of the range of the initial scales up to `largest`."""
    scales = small_scales(cell, largest)
    return float(np.log(scales[-1] / scales[0]))


def smallest(cell):
    """Runs and theory at the smallest initial scale."""
    return cell.simulation.isel(init_scale=0), cell.theory.isel(init_scale=0)


def until_escape(cell, name: str) -> np.ndarray:
    """A variable of the runs at escape from the small scales, ascending, shape (init_scale, seed)."""
    return cell.simulation[name].isel(stage=ESCAPE).sel(init_scale=small_scales(cell)).values


def sign_change(cell):
    runs, theory = smallest(cell)
    scale = runs["stage_scale"].isel(stage=ESCAPE).values
    flipped = scale * runs["start_scale"].values < 0
    told = float(theory["turns"].mean())
    note = f"Smallest init_scale; the linearised flow of these very starts turns in {told:.4g} of them."
    return PerSeed(np.where(np.isfinite(scale), flipped, np.nan), note)


def closed_forms(cell):
    scales = small_scales(cell)
    if not scales.size:
        return None
    stages = cell.fits.sel(init_scale=scales).isel(stage=[FAINT, DEPARTURE])
    neglected = stages["stage_neglected"]
    ratio = (stages["stage_deviation"] / neglected).values
    times = (stages["stage_time_deviation"] / neglected).values
    known = np.isfinite(ratio)
    worst = max(ratio[known].max(), np.nanmax(times, initial=0)) if known.any() else np.nan
    note = (
        "Largest relative deviation at equal S, in units of the relative size of the neglected term, which is "
        f"{float(neglected.median()):.2g} in the median; init_scale <= {SMALL:g}, when 0.01% and 1% of the loss are gone. "
        f"The median deviation is {np.median(ratio[known]) if known.any() else np.nan:.2f}, a third being predicted."
    )
    return Exact(worst, note, seeds=int(known.any((0, 2)).sum()))


def escape_constant(cell):
    if not small_scales(cell).size:
        return None
    runs, theory = smallest(cell)
    ratio = runs["stage_time"].isel(stage=ESCAPE) / theory["blow_up_time"]
    return Exact(float(np.abs(ratio - 1).max(skipna=False)))


def S_to_infinity(cell):
    progress = smallest(cell)[0]["stage_progress"].isel(stage=ESCAPE).values
    up = np.where(np.isfinite(progress), progress > 0, np.nan)
    return up if small_scales(cell).size else None


def S_to_infinity_corrected(cell):
    if not small_scales(cell).size:
        return None
    runs, theory = smallest(cell)
    progress = runs["stage_progress"].isel(stage=ESCAPE).values
    up = (runs["start_scale"].values > 0) ^ (theory["turns"].values == 1)
    return Exact(float(np.where(np.isfinite(progress), (progress > 0) != up, np.nan).mean()))


def best_rank_one(cell):
    scales = small_scales(cell)
    if scales.size < 2:
        return None
    stages = cell.simulation["stage_misalignment"].sel(init_scale=scales)
    left = stages.isel(stage=DEPARTURE).values
    # What falls as sigma^(1 - s_2/s_1) from the next larger scale to the smallest is gone in the limit.
    falls = (scales[0] / scales[1]) ** smallest(cell)[1]["alignment_exponent"].values
    by_scale = ", ".join(
        f"{scale:g}: {np.median(one):.2g}" for scale, one in zip(scales, left, strict=True)
    )
    note = (
        "Relative distance when 1% of the loss is gone, where it tends from the two smallest init_scale by the law "
        f"sigma^(1 - s_2/s_1); median by init_scale, {by_scale}. When half is gone it is "
        f"{float(stages.isel(stage=ESCAPE, init_scale=0).median()):.2g} at any small sigma: by then the flow is no longer "
        "linear."
    )
    return PerSeed((left[0] - falls * left[1]) / (1 - falls), note)


def escape_time(cell):
    logs, times = np.log(1 / small_scales(cell)), until_escape(cell, "stage_time")
    return (times[0] / times[-1]) / (logs[0] / logs[-1]) if logs.size > 1 else None


def escape_time_corrected(cell):
    logs, times = np.log(1 / small_scales(cell)), until_escape(cell, "stage_time")
    return slopes(logs, np.log(times)) if logs.size > 1 else None


def escape_progress(cell):
    logs, progress = np.log(1 / small_scales(cell)), np.abs(until_escape(cell, "stage_progress"))
    largest = smallest(cell)[1]["largest_singular_value"].values
    return slopes(logs, progress) * largest if logs.size > 1 else None


def alignment_exponent(cell):
    scales = small_scales(cell, ALIGNED)
    if scales.size < 2:
        return None
    second = cell.fits["stage_second_mode"].isel(stage=FAINT).sel(init_scale=scales).values
    exponent = smallest(cell)[1]["alignment_exponent"].values
    note = (
        "Slope of the logarithm of the second singular mode over the first against log sigma, minus 1 - s_2/s_1 (mean "
        f"{exponent.mean():.3f}) of each seed's own mask, init_scale <= {ALIGNED:g}, when 0.01% of the loss is gone: later "
        "the neglected term is no smaller than what is left."
    )
    return PerSeed(slopes(np.log(scales), np.log(second)) - exponent, note)


def every_connected_mask(cell):
    learned, stuck = connected_runs(cell.simulation)
    values = np.where(learned | stuck, learned, np.nan)
    shares = ", ".join(
        f"{scale:g}: {np.nanmean(row) if np.isfinite(row).any() else np.nan:.4g}"
        for scale, row in zip(cell.values("init_scale"), values, strict=True)
    )
    return PerSeed(
        values[0], f"Fraction of seeds at the smallest init_scale; by init_scale {shares}."
    )


def stuck_rate(cell):
    scales = np.array(cell.values("init_scale"))
    if scales.size < 2:
        return None
    learned, stuck = connected_runs(cell.simulation)
    known = np.where((learned | stuck).all(0), stuck, np.nan)
    exponent = smallest(cell)[1]["alignment_exponent"].values
    seen, expected = common.remaining(np.log(scales), known, exponent)
    note = (
        "Runs still stuck at each smaller init_scale over (sigma ratio)^(1 - s_2/s_1) of those stuck at the next larger one: "
        f"{np.nansum(seen):.0f} for {np.nansum(expected):.1f} expected."
    )
    return PerSeed(common.ratio(seen, expected), note)


COMMON = common.along(*ALONG)


CLAIMS = [
    *COMMON,
    *ANY_MASK,
    claim(
        "sign-change",
        "In about 20% of the runs s changes its sign before it escapes.",
        sign_change,
        along=ALONG,
        source=OURS,
        near=0.2,
        inside=(0.15, 0.25),
        why="'About 20%': nearer to it than to 10% or 30%.",
        statistic="fraction",
    ),
    claim(
        "closed-forms",
        "Before escape u and v are cosh and sinh of Sigma S on their start, s follows from the conserved quantity, "
        "and t from dS/s.",
        closed_forms,
        along=ALONG,
        source=NOTE + "section 3 (u, v); s and t: " + OURS,
        near=0,
        inside=(0, 1),
        why="What is neglected grows three times as fast as the weights, so that they deviate by a third of it; s and t, "
        "integrals of them, by no more than the whole.",
        rank="headline",
    ),
    claim(
        "escape-constant",
        "Escape takes t = c/sigma + O(1), c the finite time after which S is infinite in the linearised flow.",
        escape_constant,
        along=ALONG,
        source=OURS,
        near=0,
        inside=lambda cell: (
            0,
            100 * cell.values("init_scale")[0]
            + cell.parameters.solver_tolerance * cell.parameters.steps,
        ),
        why="The remainder is some units of time and c some tenths, hence 100 sigma; the solver adds its tolerance per "
        "step.",
        note="Largest |t sigma / c - 1| at the smallest init_scale, until half of the loss is gone.",
    ),
    claim(
        "S-to-infinity",
        "The variable S(t) tends to infinity.",
        S_to_infinity,
        along=ALONG,
        source=NOTE + "section 3",
        near=1,
        inside=(0.95, 1),
        why="'Must' leaves room for an odd run only.",
        statistic="fraction",
        note="Fraction of seeds with S > 0 at escape, smallest init_scale.",
    ),
    claim(
        "S-to-infinity.corrected",
        "The variable S(t) tends to infinity with the sign of s at the start, or with the other sign if the "
        "linearised flow turns.",
        S_to_infinity_corrected,
        along=ALONG,
        source=OURS,
        corrects="S-to-infinity",
        near=0,
        inside=(0, 0),
        why="What is neglected is of order init_scale^3 where s turns: no start is so near to the border.",
        note="Fraction of seeds that do otherwise, smallest init_scale.",
    ),
    claim(
        "best-rank-one",
        "For small sigma u v^T emerges as the best rank-one approximation of T, up to a factor.",
        best_rank_one,
        along=ALONG,
        source=NOTE + "section 3",
        near=0,
        inside=(-0.1, 0.1),
        why="'Approximately': a relative distance of a tenth is an angle of 6 degrees.",
    ),
    claim(
        "escape-time",
        "The vectors u and v align around time t ~ -log(sigma).",
        escape_time,
        along=ALONG,
        source=NOTE + "footnote 3",
        near=1,
        inside=(0.5, 2),
        why="A law in the limit: a factor of two over the whole range would still be logarithmic growth.",
        statistic="median",
        note=f"Growth of the escape time over that of log(1/sigma), init_scale <= {SMALL:g}.",
        rank="headline",
    ),
    claim(
        "escape-time.corrected",
        "The escape time grows as 1/sigma.",
        escape_time_corrected,
        along=ALONG,
        source=OURS,
        corrects="escape-time",
        near=1,
        inside=(0.98, 1.02),
        why="A remainder O(1) as large as a quarter of the shortest escape time would tilt the fit by about this much.",
        note=f"Slope of log t against log(1/sigma), init_scale <= {SMALL:g}.",
        rank="headline",
    ),
    claim(
        "escape-progress",
        "In the variable S escape takes log(1/sigma)/s_1.",
        escape_progress,
        along=ALONG,
        source=OURS,
        near=1,
        inside=lambda cell: (1 - 0.5 / decades(cell), 1 + 0.5 / decades(cell)),
        why="Next to the logarithm stands a bounded constant, of which other modes are the part that varies with sigma: "
        "half a unit of s_1 S over the range of log(1/sigma).",
        statistic="median",
        note=f"Slope of |S| at escape against log(1/sigma), times s_1, init_scale <= {SMALL:g}.",
    ),
    claim(
        "alignment-exponent",
        "The misalignment at escape falls as sigma^(1 - s_2/s_1).",
        alignment_exponent,
        along=ALONG,
        source=OURS,
        near=0,
        inside=lambda cell: (-0.1 / decades(cell, ALIGNED), 0.1 / decades(cell, ALIGNED)),
        why="Other modes shift the second mode's share by the square of the misalignment, a tenth at the largest of these"
        " scales, which tilts the slope by so much over their range of log(sigma).",
        rank="headline",
    ),
    claim(
        "every-connected-mask",
        "On every connected mask, circulant or not, training succeeds and generalises as sigma tends to 0.",
        every_connected_mask,
        along=ALONG,
        source=OURS,
        near=1,
        inside=(0.95, 1),
        why="One seed in twenty may not be there yet; at what rate they get there is the next sentence's.",
        statistic="fraction",
        among="runs on connected masks",
        at_end=True,
        rank="headline",
    ),
    claim(
        "stuck-rate",
        "The fraction of stuck runs falls as sigma^(1 - s_2/s_1), and so to zero.",
        stuck_rate,
        along=ALONG,
        source=OURS,
        near=1,
        inside=(2 / 3, 3 / 2),
        why="Without a fall half as many would be seen as expected, and with twice the exponent twice as many: half way "
        "to either, in logarithm.",
        among="runs on connected masks",
        at_end=True,
    ),
]
