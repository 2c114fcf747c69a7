"""Claims of the thread on rank one: four numbers, signal and decay, the length of the plateau, weight decay."""

import math

import numpy as np

from foretrain.quantities.allowed import tolerance
from foretrain.quantities.learning_curves.curve_deviation import largest_deviation
from foretrain.quantities.learning_curves.plateaus import plateau_lengths
from foretrain.quantities.trajectory import at_end, furthest
from foretrain.study import Exact, claim, crossing, skip_if
from foretrain.theory.factorization.rank_one import FIELDS, RankOneState, gradient_terms
from foretrain.theory.factorization.rank_one_plateau import early_solution
from foretrain.training.factorization import THREAD

OURS = "docs/theory/s-curves.md"
GRID = ("weight_decay", "init_scale", "dimension")


def four_numbers(c):
    names = ("loss", *FIELDS, "signal", "decay")
    worst = max(largest_deviation(c[""][name], c.theory[name]) for name in names)
    return Exact(worst, seeds=c.loss.isel(step=0).size)


def weight_decay_end(c):
    decays = [decay for decay in c.values("weight_decay") if 0 < decay < 2]
    skip_if(not decays, "nothing decays")
    loss = c.loss.sel(weight_decay=decays)
    return furthest(at_end(loss) / (loss["weight_decay"] ** 2 / 4))


def irrelevant(runs):
    return runs.irrelevant_x + runs.irrelevant_y


def halving_time(c):
    return crossing(-irrelevant(c), -irrelevant(c.start) / 2)


def read_at(curve, times):
    """Return each run's curve at a time of its own, between observations by a straight line, shape (seed,)."""
    pairs = zip(times.values, curve.transpose("seed", "step").values, strict=True)
    return np.array([np.interp(at, curve["time"].values, row) for at, row in pairs])


def decay_dominates(c):
    logs = np.log(c.signal / c.decay)
    early = c.loss["time"] <= halving_time(c)
    return np.exp(logs.where(early, 0).sum("step", skipna=False) / early.sum("step"))


def halfway(measured, predicted):
    """Return the quantity "measured over the early solution's, halfway to the plateau's end", shape (seed,)."""

    def quantity(c):
        halves = c.theory.plateau_end / 2
        starts = (c.theory.start[name].values for name in FIELDS)
        early = [
            early_solution(RankOneState(*map(float, start)), half)
            for half, *start in zip(halves.values, *starts, strict=True)
        ]
        return read_at(measured(c), halves) / np.array([float(predicted(state)) for state in early])

    return quantity


def lengths(c):
    """Return the time from loss 1.1 to loss .9 of every run, nan where it does not get there."""
    return plateau_lengths(c.loss["time"], c.loss, upper=1.1, lower=0.9)


SPARSE = "too few times are stored to tell descent's delay"


def delay_factor(c):
    return 1 + c.p.learning_rate * (1 - c.p.weight_decay / 2)


def between_times(c):
    """Return what interpolation over a stride of time moves a length by, relative to it."""
    return 2 * (c.p.observe_every * c.p.learning_rate) ** 2


def flow_length(c):
    over = lengths(c) / c.theory.plateau_length
    return None if over.isnull().all() else furthest(over, delay_factor(c))


def estimated_length(c):
    over = lengths(c) / c.theory.plateau_estimate
    over = over.sel(weight_decay=c.theory.plateau_estimate.notnull().any("seed"))
    return furthest(over) if over.size else None


def over_undecayed(c, values):
    """Return values of runs with weight decay over those of runs without, paired by seed."""
    decays = c.values("weight_decay")
    skip_if(decays[0] != 0 or len(decays) == 1, "no runs with and without weight decay")
    return values.isel(weight_decay=slice(1, None)) / values.isel(weight_decay=0, drop=True)


CLOSED_FORM = {
    "source": OURS,
    **tolerance(1, lambda c: 0.02 + 2 * c.p.learning_rate + 2 * c.p.init_scale**2 / c.p.dimension),
    "why": "The closed form drops the squared overlaps beside 1, at the start sigma^2/n each; descent grows by a factor "
    "1 - eta slower than the flow, for about a unit of time; 2% for squared overlaps that have grown.",
    "statistic": "median",
}
HALFWAY = "halfway to the plateau's end, measured over predicted, median over seeds."
CLAIMS = [
    claim(
        "four-numbers",
        "Descent of 2n parameters is descent of four numbers, step for step, with and without weight decay.",
        four_numbers,
        source=OURS,
        at_most=lambda c: 1e-12 if c.p.precision == "float64" else 1e-4,
        why="The same arithmetic in another order: some hundred rounding errors of 1e-16, of 1e-7 in single precision.",
        along=GRID,
        note="Largest deviation of loss, overlaps, irrelevant parts, signal and decay, all runs of the grid.",
        rank="headline",
    ),
    claim(
        "weight-decay-end",
        "With weight decay the converged solution does not minimise the original loss.",
        weight_decay_end,
        source=THREAD,
        **tolerance(1, 0.01),
        why="Within a percent of the fixed point's loss, which is not zero.",
        along=GRID,
        at_end=True,
        note="Loss |C - Z|^2 at the end over lambda^2 / 4, of all cells that which is furthest from 1.",
    ),
    *claim(
        "irrelevant-decays",
        "At the start the irrelevant components rapidly decay, while the correct component slowly grows.",
        lambda c: read_at(c.overlap_x * c.overlap_y, halving_time(c)),
        source=THREAD,
        inside=(-math.inf, 0.1),
        why="Next to nothing is learned, a tenth of the target, by the time half of the irrelevant part is gone.",
        where=lambda c: c.p.weight_decay == 0,
        note="alpha beta (1 when learned) when half of the irrelevant squared length is gone.",
        rank="headline",
    ).and_corrected(
        "On the plateau irrelevant components fall as the closed form predicts: like 1/t, and only once 4 sigma^2 t > 1.",
        quantity=halfway(irrelevant, irrelevant),
        note=f"Irrelevant squared length {HALFWAY}",
        **CLOSED_FORM,
    ),
    *claim(
        "decay-dominates",
        "At the start of training the decay term is larger than the signal.",
        decay_dominates,
        source=THREAD,
        inside=(0, 1),
        why="The sentence is an inequality.",
        where=lambda c: c.p.weight_decay == 0,
        note="Length of the signal over that of the decay, geometric mean over the time in which the irrelevant part halves.",
    ).and_corrected(
        "On the plateau the signal outgrows the decay term as the closed form predicts.",
        quantity=halfway(
            lambda c: c.signal / c.decay, lambda early: np.divide(*gradient_terms(early))
        ),
        note=f"Signal over decay {HALFWAY} At the start it is about 1 to sigma^2 sqrt(n).",
        **CLOSED_FORM,
    ),
    claim(
        "plateau-length",
        "The plateau lasts as long as in the flow of the four numbers, and in descent a little longer.",
        flow_length,
        source=OURS,
        near=delay_factor,
        inside=lambda c: (1, delay_factor(c) + c.p.learning_rate + between_times(c)),
        domain=lambda c: SPARSE if between_times(c) > delay_factor(c) - 1 else "",
        why="Descent grows by (1 + eta r)^(1/eta) = e^(r (1 - eta r/2)) in a unit of time, r = 2 - lambda. As much again "
        "for the time before the growth is pure, and h^2/2 for interpolation over a stride h of time, of a length of "
        "a quarter or more.",
        along=("init_scale", "dimension"),
        statistic="median",
        note="Measured over predicted time from loss 1.1 to loss .9: of all cells that which is furthest from what is "
        "predicted, median over seeds.",
        rank="headline",
    ),
    claim(
        "plateau-estimate",
        "The plateau lasts as long as the closed form predicts, with and without weight decay.",
        estimated_length,
        along="weight_decay",
        note="Measured over predicted time from loss 1.1 to loss .9: of all decays that which is furthest from 1, median over "
        "seeds.",
        rank="headline",
        **CLOSED_FORM,
    ),
    claim(
        "weight-decay-early",
        "Weight decay accelerates the initial decay.",
        lambda c: over_undecayed(c, halving_time(c)).max(GRID, skipna=False),
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
        lambda c: over_undecayed(c, lengths(c)).min(GRID, skipna=False),
        source=THREAD,
        inside=(1 + 1e-9, math.inf),
        why="'Extends': any factor above one. Growth at 2 - lambda instead of 2 makes it 2 / (2 - lambda).",
        along=GRID,
        note="Length of the plateau, with over without decay, paired by seed: the smallest of all cells.",
        rank="headline",
    ),
]
