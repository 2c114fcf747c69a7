"""What the thread says of rank one, and whether it is so. The reason of every interval stands beside it."""

import math

import numpy as np
import xarray as xr

from foretrain.quantities.allowed import around
from foretrain.quantities.cell import Runs
from foretrain.quantities.curve_deviation import largest_deviation
from foretrain.quantities.plateaus import plateau_lengths
from foretrain.quantities.trajectory import at_end, furthest, half_gone
from foretrain.study import Exact, claim
from foretrain.theory.rank_one import FIELDS, RankOneState, gradient_terms
from foretrain.theory.rank_one_plateau import early_solution, plateau, typical_start
from foretrain.training.factorization import THREAD

OURS = "docs/theory/s-curves.md"
GRID = ("weight_decay", "init_scale", "dimension")


def four_numbers(cell):
    names = ("loss", *FIELDS, "signal", "decay")
    worst = max(largest_deviation(cell.simulation[name], cell.theory[name]) for name in names)
    return Exact(worst, seeds=cell.simulation["loss"].isel(step=0).size)


def imbalance(cell):
    data = _runs(cell, lambda decay: decay == 0)
    if data is None:
        return None
    squares = data["overlap_x"] ** 2 + data["irrelevant_x"]
    difference = squares - data["overlap_y"] ** 2 - data["irrelevant_y"]
    drift = abs(difference - difference.isel(step=0)).max("step").values
    fall = (data["loss"].isel(step=0, drop=True) - data["loss"].min("step")).values
    fell = fall > 0
    ratio = drift[fell] / (cell.parameters.learning_rate * fall[fell])
    return Exact(float(ratio.max(initial=-math.inf)) if fell.any() else math.nan, seeds=fell.size)


def _runs(cell, wanted) -> xr.Dataset | None:
    """Runs of a grid laid along `GRID` whose weight decay is wanted, if there are any."""
    decays = [decay for decay in cell.values("weight_decay") if wanted(decay)]
    return cell.simulation.sel(weight_decay=decays) if decays else None


def _near_one(cell) -> tuple[float, float]:
    """1 up to 1e-3 and to what the flow leaves of the deviation in the time after the last plateau."""
    decay = np.array([value for value in cell.values("weight_decay") if value < 2])
    end = cell.theory["plateau_end"].max(("init_scale", "dimension", "seed"))
    rest = cell.parameters.steps * cell.parameters.learning_rate - end.sel(weight_decay=decay)
    left = np.exp(-(4 - 2 * decay) * np.nan_to_num(rest.values, nan=0.0))
    return around(1, 1e-3 + min(1.0, float(left.max())))


END = {
    "near": 1,
    "inside": _near_one,
    "why": "One in a thousand, and e^(-(4 - 2 lambda) t) for the time t that is left after the last plateau of the flow.",
    "along": GRID,
    "at_end": True,
}


def fixed_point(cell):
    data = _runs(cell, lambda decay: decay < 2)
    if data is None:
        return None
    ends = at_end(data["overlap_x"] * data["overlap_y"])
    return furthest(ends / (1 - data["weight_decay"] / 2))


def weight_decay_end(cell):
    data = _runs(cell, lambda decay: 0 < decay < 2)
    return data and furthest(at_end(data["loss"]) / (data["weight_decay"] ** 2 / 4))


def irrelevant_decays(cell):
    if cell.parameters.weight_decay > 0:
        return None
    data = cell.simulation
    product = (data["overlap_x"] * data["overlap_y"]).transpose("seed", "step").values
    pairs = zip(_halved(data).values, product, strict=True)
    return np.array([np.interp(t, data["time"].values, row) for t, row in pairs])


def _halved(data: Runs | xr.Dataset) -> xr.DataArray:
    """When half of the irrelevant squared length is gone, without the dim ``step``."""
    return half_gone(data["time"], data["irrelevant_x"] + data["irrelevant_y"])


def _closed_form(cell) -> tuple[float, float]:
    p = cell.parameters
    return around(1, 0.02 + 2 * p.learning_rate + 2 * p.init_scale**2 / p.dimension)


CLOSED_FORM = {
    "near": 1,
    "inside": _closed_form,
    "why": "The closed form drops the squared overlaps beside 1, at the start sigma^2/n each; descent grows by a factor "
    "1 - eta slower than the flow, for about a unit of time; 2% for squared overlaps that have grown.",
    "statistic": "median",
}
HALFWAY = "halfway to the plateau's end, measured over predicted, median over seeds."


def irrelevant_follow(cell):
    data = cell.simulation
    measured = (data["irrelevant_x"] + data["irrelevant_y"]).transpose("seed", "step").values
    return _halfway(cell, measured, lambda early: early.irrelevant_x + early.irrelevant_y)


def decay_dominates(cell):
    if cell.parameters.weight_decay > 0:
        return None
    ratios = (cell.simulation["signal"] / cell.simulation["decay"]).transpose("seed", "step")
    early = cell.simulation["time"].values <= _halved(cell.simulation).values[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(early, np.log(ratios.values), 0).sum(1) / early.sum(1)
    return np.exp(logs)


def signal_outgrows(cell):
    def ratio(early):
        terms = gradient_terms(early)
        return terms.signal_x / terms.decay_x

    measured = (cell.simulation["signal"] / cell.simulation["decay"]).transpose("seed", "step")
    return _halfway(cell, measured.values, ratio)


def _halfway(cell, measured, quantity) -> np.ndarray | None:
    """What was measured, shape (seed, step), halfway to the plateau's end, over the early solution's; shape (seed,)."""
    if cell.parameters.weight_decay > 0:
        return None
    halves = cell.theory["plateau_end"].values / 2
    starts = (cell.theory[name].isel(step=0).values for name in FIELDS)
    early = [
        early_solution(RankOneState(*map(float, start)), half)
        for half, *start in zip(halves, *starts, strict=True)
    ]
    time = cell.simulation["time"].values
    found = [np.interp(half, time, row) for half, row in zip(halves, measured, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.array(found) / np.array([float(quantity(one)) for one in early])


LENGTH = "Measured over predicted time from loss 1.1 to loss .9"


def _slower(p) -> float:
    return 1 + p.learning_rate * (1 - p.weight_decay / 2)


def _flow_length(cell) -> tuple[float, float]:
    p = cell.parameters
    return around(_slower(p), p.learning_rate + 2 * (p.observe_every * p.learning_rate) ** 2)


def flow_length(cell):
    ratio = _lengths(cell.simulation) / cell.theory["plateau_length"]
    return None if ratio.isnull().all() else furthest(ratio, _slower(cell.parameters))


def plateau_estimate(cell):
    ratio = _lengths(cell.simulation) / cell.theory["plateau_estimate"]
    ratio = ratio.sel(weight_decay=cell.theory["plateau_estimate"].notnull().any("seed"))
    return furthest(ratio) if ratio.size else None


def _lengths(data: Runs | xr.Dataset) -> xr.DataArray:
    """Time from loss 1.1 to loss .9 of every run, nan where it does not get there."""
    return plateau_lengths(data["time"], data["loss"], upper=1.1, lower=0.9)


def _with_decay(cell, function) -> xr.DataArray | None:
    """What `function` gives of runs with weight decay over what it gives of those without, paired by seed."""
    values = cell.values("weight_decay")
    if values[0] != 0 or len(values) == 1:
        return None
    found = function(cell.simulation)
    return found.isel(weight_decay=slice(1, None)) / found.isel(weight_decay=0, drop=True)


def weight_decay_early(cell):
    ratio = _with_decay(cell, _halved)
    return None if ratio is None else ratio.max(GRID, skipna=False).values


def weight_decay_longer(cell):
    ratio = _with_decay(cell, _lengths)
    return None if ratio is None else ratio.min(GRID, skipna=False).values


def _typical(cell, field) -> float:
    """Length of the plateau of the typical start at the largest value of the field, less that at the smallest."""
    p, values = cell.parameters, cell.values(field)
    starts = [{"dimension": p.dimension, "init_scale": p.init_scale, field: v} for v in values]
    small, large = (plateau(typical_start(**start)).length for start in (starts[0], starts[-1]))
    return large - small


def _around(field, slack):
    """The interval of that half-width about what the typical starts say."""
    return {
        "source": OURS,
        "near": lambda cell: _typical(cell, field),
        "inside": lambda cell: around(_typical(cell, field), slack(cell.parameters)),
        "along": (field,),
        "unit": "step × learning rate",
        "note": f"Length at the largest {field} minus that at the smallest.",
    }


def _gained(cell, field, factor) -> np.ndarray | None:
    values = cell.values(field)
    if cell.parameters.weight_decay > 0 or values[-1] / values[0] < factor:
        return None
    lengths = _lengths(cell.simulation)
    return (lengths.isel({field: -1}) - lengths.isel({field: 0})).values


CLAIMS = [
    claim(
        "four-numbers",
        "Descent of 2n parameters is descent of four numbers, step for step, with and without weight decay.",
        four_numbers,
        source=OURS,
        near=0,
        inside=lambda cell: (0, 1e-12 if cell.parameters.precision == "float64" else 1e-4),
        why="The same arithmetic in another order: some hundred rounding errors of 1e-16, of 1e-7 in single precision.",
        along=GRID,
        note="Largest deviation of loss, overlaps, irrelevant parts, signal and decay, all runs of the grid.",
        rank="headline",
    ),
    claim(
        "imbalance",
        "Descent changes |x|^2 - |y|^2 by no more than the learning rate times the fall of the loss.",
        imbalance,
        source=OURS,
        near=0,
        inside=lambda cell: (
            0,
            1 + 5 * cell.parameters.learning_rate * max(1, cell.values("init_scale")[-1] ** 2),
        ),
        why="A step changes it by eta^2 (|g_x|^2 - |g_y|^2) and lowers the loss by eta (|g_x|^2 + |g_y|^2), less eta/2 "
        "times the curvature along it, which is below 6 s + 2 for squared lengths s: at most the ratio 1 + 4 eta s, "
        "and s is about 1, or sigma^2 where that is more.",
        along=GRID,
        note="Largest drift over learning rate × fall of the loss; the flow conserves it exactly.",
        rank="control",
    ),
    claim(
        "fixed-point",
        "Training ends at alpha beta = 1 - lambda/2.",
        fixed_point,
        source=OURS,
        note="alpha beta at the end over 1 - lambda/2: of all cells that which is furthest from 1.",
        **END,
        rank="control",
    ),
    claim(
        "weight-decay-end",
        "With weight decay the converged solution does not minimise the original loss.",
        weight_decay_end,
        source=THREAD,
        near=1,
        inside=(0.99, 1.01),
        why="Within a percent of the fixed point's loss, which is not zero.",
        along=GRID,
        at_end=True,
        note="Loss |C - Z|^2 at the end over lambda^2 / 4, of all cells that which is furthest from 1.",
    ),
    claim(
        "irrelevant-decays",
        "At the start the irrelevant components rapidly decay, while the correct component slowly grows.",
        irrelevant_decays,
        source=THREAD,
        inside=(-math.inf, 0.1),
        why="Next to nothing is learned, a tenth of the target, by the time half of the irrelevant part is gone.",
        note="alpha beta (1 when learned) when half of the irrelevant squared length is gone.",
        rank="headline",
    ),
    claim(
        "irrelevant-decays.corrected",
        "On the plateau irrelevant components fall as the closed form predicts: like 1/t, and only once 4 sigma^2 t >"
        " 1.",
        irrelevant_follow,
        source=OURS,
        corrects="irrelevant-decays",
        note=f"Irrelevant squared length {HALFWAY}",
        **CLOSED_FORM,
        rank="headline",
    ),
    claim(
        "decay-dominates",
        "At the start of training the decay term is larger than the signal.",
        decay_dominates,
        source=THREAD,
        inside=(0, 1),
        why="The sentence is an inequality.",
        note="Length of the signal over that of the decay, geometric mean over the time in which the irrelevant part "
        "halves.",
    ),
    claim(
        "decay-dominates.corrected",
        "On the plateau the signal outgrows the decay term as the closed form predicts.",
        signal_outgrows,
        source=OURS,
        corrects="decay-dominates",
        note=f"Signal over decay {HALFWAY} At the start it is about 1 to sigma^2 sqrt(n).",
        **CLOSED_FORM,
    ),
    claim(
        "plateau-length",
        "The plateau lasts as long as in the flow of the four numbers, and in descent a little longer.",
        flow_length,
        source=OURS,
        near=lambda cell: _slower(cell.parameters),
        inside=_flow_length,
        why="Descent grows by (1 + eta r)^(1/eta) = e^(r (1 - eta r/2)) in a unit of time, r = 2 - lambda. As much again "
        "for the time before the growth is pure, and h^2/2 for interpolation over a stride h of time, of a length of "
        "a quarter or more.",
        along=("init_scale", "dimension"),
        statistic="median",
        note=f"{LENGTH}: of all cells that which is furthest from what is predicted, median over seeds.",
        rank="headline",
    ),
    claim(
        "plateau-estimate",
        "The plateau lasts as long as the closed form predicts, with and without weight decay.",
        plateau_estimate,
        source=OURS,
        along=("weight_decay",),
        note=f"{LENGTH}: of all decays that which is furthest from 1, median over seeds.",
        **CLOSED_FORM,
        rank="headline",
    ),
    claim(
        "weight-decay-early",
        "Weight decay accelerates the initial decay.",
        weight_decay_early,
        source=THREAD,
        inside=(0, 1 - 1e-9),
        why="'Accelerates': any factor below one.",
        along=GRID,
        note="Time in which half of the irrelevant squared length goes, with over without decay, paired by seed: the "
        "largest of all cells.",
    ),
    claim(
        "weight-decay-longer",
        "Weight decay extends the exponential phase.",
        weight_decay_longer,
        source=THREAD,
        inside=(1 + 1e-9, math.inf),
        why="'Extends': any factor above one. Growth at 2 - lambda instead of 2 makes it 2 / (2 - lambda).",
        along=GRID,
        note="Length of the plateau, with over without decay, paired by seed: the smallest of all cells.",
        rank="headline",
    ),
    claim(
        "plateau-dimension",
        "The plateau lengthens with the dimension n as the closed form for a typical start predicts.",
        lambda c: _gained(c, "dimension", 100),
        why="Starts of two sizes are independent draws, and a plateau varies over starts by .56 whatever n: two hundred "
        "of them settle the difference to ±.11.",
        **_around("dimension", lambda p: 0.2),
    ),
    claim(
        "plateau-init-scale",
        "The plateau lengthens with smaller starts as the closed form for a typical start predicts.",
        lambda c: _gained(c, "init_scale", 9),
        why="Starts of two scales are the same draw; but the typical start is balanced and its overlaps are small. At "
        "scale one an imbalance c, of mean square 4/n, adds (2 c T)^2 / 6 to log D, of which a quarter goes to the "
        "length: 1.0/n, found with 600 other starts of n = 10, and overlaps that are large at once another .6/n.",
        **_around("init_scale", lambda p: 0.1 + 1.6 / p.dimension),
    ),
]
