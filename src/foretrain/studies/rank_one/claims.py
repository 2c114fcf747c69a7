"""What the thread says of rank one, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim, exact, in_cell
from foretrain.claims.claim import judge as judge_seeds
from foretrain.measures.learning_time import crossing_time
from foretrain.measures.plateaus import plateau_length
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.rank_one import study
from foretrain.theory.rank_one_plateau import early_solution, plateau, typical_start
from foretrain.training.thread_claims import THREAD, curves
from foretrain.training.thread_claims import pairs as pairs_of_cells

OURS = "docs/theory/s-curves.md"


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """Claims about all cells together, about groups of cells, and about pairs of cells that differ in one thing."""
    cells = [cell for _, cell in runs.cells()]
    undecayed = [cell for cell in cells if cell.parameters.weight_decay == 0]
    claims = [_exact_reduction(runs), *_conserved(undecayed), *_end(cells)]
    for label, group in _groups(undecayed, "init_scale"):
        claims += [in_cell(claim, label) for claim in _story(group)]
    claims.append(_plateau(cells, "plateau_length", "the flow of the reduction says", 0.03))
    for label, group in _groups(cells, "dimension"):
        # The closed form adds its own error, .024 at most for n = 100, init_scale = 1, of a length near 1.
        claim = _plateau(group, "plateau_estimate", "the closed form says", 0.06)
        claims.append(in_cell(claim, label))
    return claims + _weight_decay(cells) + _lengths(undecayed)


def _groups(cells, field):
    """The cells by their value of `field`, each group with its label; no label where there is one value."""
    values = dict.fromkeys(getattr(cell.parameters, field) for cell in cells)
    for value in values:
        group = [cell for cell in cells if getattr(cell.parameters, field) == value]
        yield (f"{field}={value:g}" if len(values) > 1 else ""), group


def _over(cells, function) -> np.ndarray:
    """Values per seed of all cells, end to end."""
    return np.concatenate([function(cell) for cell in cells])


def _exact_reduction(runs: LabelledRuns) -> Claim:
    worst = 0.0
    for name in ("loss", *study.FIELDS, "signal", "decay"):
        measured = runs.simulation[name]
        gap = np.abs(measured.values - runs.theory[name].transpose(*measured.dims).values)
        finite = np.isfinite(measured.values)
        # A run that diverged is compared as far as it went.
        scale = np.abs(measured.values[finite]).max(initial=1.0)
        worst = max(worst, float(gap[finite].max(initial=0.0)) / scale)
    return exact(
        "four-numbers",
        "Training 2n parameters by descent is descent of four numbers, step for step, with weight decay or without.",
        OURS,
        worst,
        # The same arithmetic in another order: some hundred rounding errors of 1e-16, of 1e-7 in single precision.
        1e-12 if runs.parameters.precision == "float64" else 1e-4,
        seeds=runs.simulation["loss"].size // runs.simulation.sizes["step"],
        note="Largest deviation of loss, overlaps, irrelevant parts, signal and decay, all runs of the grid.",
    )


def _conserved(cells) -> list[Claim]:
    worst, seeds = 0.0, 0
    for cell in cells:
        data = cell.simulation
        squares = data["overlap_x"] ** 2 + data["irrelevant_x"]
        imbalance = squares - data["overlap_y"] ** 2 - data["irrelevant_y"]
        drift = np.abs(imbalance - imbalance.isel(step=0)).max("step")
        fallen = data["loss"].isel(step=0, drop=True) - data["loss"].min("step")
        worst = max(worst, float((drift / (cell.parameters.learning_rate * fallen)).max()))
        seeds += cell.seeds
    if not seeds:
        return []
    return [
        exact(
            "imbalance",
            "Descent changes |x|^2 - |y|^2 by no more than the learning rate times the fall of the loss.",
            OURS,
            worst,
            # A step changes it by eta^2 (|g_x|^2 - |g_y|^2) and lowers the loss by eta (|g_x|^2 + |g_y|^2) up to
            # second order in eta: at most the ratio one, and 5% for that order.
            1.05,
            seeds=seeds,
            note="Largest drift over learning rate × fall of the loss; the flow conserves it exactly.",
        )
    ]


def _end(cells) -> list[Claim]:
    values = [
        at_end(cell.simulation["overlap_x"] * cell.simulation["overlap_y"]).values
        / (1 - cell.parameters.weight_decay / 2)
        for cell in cells
        if cell.parameters.weight_decay < 2
    ]
    if not values:
        return []
    return [
        judge_seeds(
            "fixed-point",
            "Training ends at alpha beta = 1 - lambda/2.",
            OURS,
            np.concatenate(values),
            # Ten time constants after the plateau; one in a hundred leaves room for late starts.
            (0.99, 1.01),
            predicted=1,
            note="alpha beta at the end over 1 - lambda/2, all cells.",
        )
    ]


def _story(cells) -> list[Claim]:
    return [
        judge_seeds(
            "irrelevant-decays",
            "At the start the irrelevant components rapidly decay, while the correct component slowly grows.",
            THREAD,
            _over(cells, _learned_when_halved),
            # Next to nothing is learned, a tenth of the target, by the time half of the irrelevant part is gone.
            (-np.inf, 0.1),
            note="alpha beta (1 when learned) when half of the irrelevant squared length is gone.",
        ),
        judge_seeds(
            "irrelevant-decays.corrected",
            "On the plateau irrelevant parts fall as the closed form says: like 1/t, and only once 4 sigma^2 t > 1.",
            OURS,
            _over(cells, _irrelevant_mid_plateau),
            # To first order in the overlaps, which are below a tenth of their end there; 5% for the second.
            (0.95, 1.05),
            predicted=1,
            statistic=np.median,
            note="Irrelevant squared length halfway to the plateau's end, measured over predicted, median over seeds.",
        ),
        judge_seeds(
            "decay-dominates",
            "At the start the decay is larger than the signal.",
            THREAD,
            _over(cells, lambda cell: _signal_over_decay(cell).isel(step=0).values),
            # The sentence is an inequality.
            (0, 1),
            note="Length of the signal over that of the decay at step 0.",
        ),
        judge_seeds(
            "decay-dominates.corrected",
            "At the start the signal is to the decay as 1 to sigma^2 sqrt(n).",
            OURS,
            _over(cells, _scaled_start_ratio),
            # Over 60 starts the median of |b . y| has a standard error of 15%: twice that.
            (0.7, 1.3),
            predicted=1,
            statistic=np.median,
            note="Ratio times sigma^2 sqrt(n) / .674, the median of |b . y| of a normal start; median over seeds.",
        ),
        judge_seeds(
            "decay-balances",
            "In the end the decay balances the signal.",
            THREAD,
            _over(cells, lambda cell: at_end(_signal_over_decay(cell)).values),
            # Equality at convergence, to the same percent as the fixed point.
            (0.99, 1.01),
            predicted=1,
        ),
    ]


def _learned_when_halved(cell):
    data = cell.simulation
    product = (data["overlap_x"] * data["overlap_y"]).transpose("seed", "step").values
    time = data["time"].values
    return [np.interp(t, time, row) for t, row in zip(_halved(cell), product, strict=True)]


def _irrelevant_mid_plateau(cell):
    p, data = cell.parameters, cell.simulation
    irrelevant = (data["irrelevant_x"] + data["irrelevant_y"]).transpose("seed", "step").values
    ratios = []
    halves = cell.theory["plateau_end"].values / 2
    for seed, (row, halfway) in enumerate(zip(irrelevant, halves, strict=True)):
        start = study.reduced_start(p, cell.root_seed, seed)
        early = early_solution(start, halfway, p.weight_decay)
        measured = np.interp(halfway, data["time"].values, row)
        ratios.append(measured / float(early.irrelevant_x + early.irrelevant_y))
    return ratios


def _scaled_start_ratio(cell):
    p = cell.parameters
    scale = p.init_scale**2 * np.sqrt(p.dimension) / 0.674
    return scale * _signal_over_decay(cell).isel(step=0).values


def _halved(cell: LabelledRuns) -> np.ndarray:
    """When half of the irrelevant squared length is gone, shape (seed,)."""
    data = cell.simulation
    irrelevant = (data["irrelevant_x"] + data["irrelevant_y"]).transpose("seed", "step").values
    return crossing_time(data["time"].values, -irrelevant, -irrelevant[:, 0] / 2)


def _signal_over_decay(cell: LabelledRuns):
    return cell.simulation["signal"] / cell.simulation["decay"]


def _plateau(cells, name, words, tolerance) -> Claim:
    # Descent at .01 grows by (1 + 2 eta)^(1/eta) = e^(2 (1 - eta)) in a unit of time, one percent less than the flow;
    # interpolation between observations loses as much.
    return judge_seeds(
        name.replace("_", "-"),
        f"The plateau lasts as long as {words}.",
        OURS,
        _over(cells, lambda cell: _measured_lengths(cell) / cell.theory[name].values),
        (1 - tolerance, 1 + tolerance),
        predicted=1,
        statistic=np.median,
        note="Measured over predicted time from loss 1.1 to loss .9, median over seeds.",
    )


def _measured_lengths(cell: LabelledRuns) -> np.ndarray:
    times = cell.simulation["time"].values
    lengths = [
        plateau_length(times[: len(losses)], losses, upper=1.1, lower=0.9)
        for _, losses in curves(cell.simulation)
    ]
    return np.where(np.isfinite(lengths), lengths, np.nan)


def _pairs(cells, field):
    """Pairs of cells that differ in `field` only, the lower value first, each with a label of what they share."""
    for low, high in pairs_of_cells(cells, field, study.AXES):
        if getattr(low.parameters, field) < getattr(high.parameters, field):
            names = (name for name in ("init_scale", "dimension") if name != field)
            yield (
                low,
                high,
                ", ".join(f"{name}={getattr(low.parameters, name):g}" for name in names),
            )


def _weight_decay(cells) -> list[Claim]:
    pairs = [pair for pair in _pairs(cells, "weight_decay") if not pair[0].parameters.weight_decay]
    if not pairs:
        return []

    def ratio(function):
        return np.concatenate([function(high) / function(low) for low, high, _ in pairs])

    strengths = sorted({high.parameters.weight_decay for _, high, _ in pairs})
    named = "lambda = " + ", ".join(f"{value:g}" for value in strengths)
    weakest = strengths[0]
    end = [
        at_end(high.simulation["loss"]).values / (high.parameters.weight_decay**2 / 4)
        for _, high, _ in pairs
        if high.parameters.weight_decay < 2
    ]
    return [
        judge_seeds(
            "weight-decay-early",
            "Weight decay accelerates the initial decay.",
            THREAD,
            ratio(_halved),
            # "Accelerates": any factor below one.
            (0, 1 - 1e-9),
            note=f"Time in which half of the irrelevant squared length goes, {named} over none, paired by seed.",
        ),
        judge_seeds(
            "weight-decay-longer",
            "Weight decay extends the exponential phase.",
            THREAD,
            ratio(_measured_lengths),
            # "Extends": any factor above one. Growth at 2 - lambda instead of 2 predicts 2 / (2 - lambda).
            (1 + 1e-9, np.inf),
            predicted=2 / (2 - weakest) if weakest < 2 else np.inf,
            note=f"Length of the plateau, {named} over none, paired by seed.",
        ),
        judge_seeds(
            "weight-decay-end",
            "With weight decay the converged solution does not minimise the original loss.",
            THREAD,
            np.concatenate(end) if end else [],
            # Within a percent of the fixed point's loss, which is not zero.
            (0.99, 1.01),
            predicted=1,
            note=f"Loss |C - Z|^2 at the end over lambda^2 / 4, {named}.",
        ),
    ]


def _lengths(cells) -> list[Claim]:
    claims = []
    wanted = {"dimension": 10, "init_scale": 3}
    for field, factor in wanted.items():
        pairs = list(_pairs(cells, field))
        for low, high, label in pairs:
            values = [getattr(cell.parameters, field) for cell in (low, high)]
            if values[1] / values[0] < factor**2:
                continue
            if sum(label == other for *_, other in pairs) > 1:
                ends = f"{field}={values[0]:g} to {values[1]:g}"
                label = f"{label}, {ends}" if label else ends
            lengths = [_measured_lengths(cell) for cell in (low, high)]
            typical = [
                plateau(
                    typical_start(cell.parameters.dimension, cell.parameters.init_scale),
                    weight_decay=cell.parameters.weight_decay,
                ).length
                for cell in (low, high)
            ]
            predicted = typical[1] - typical[0]
            # Starts of two sizes are independent draws, and a plateau varies over starts by .56 whatever n: two hundred
            # of them settle the difference to +-.11. Starts of two scales are the same draw; but the typical start is
            # balanced and its overlaps are small. At scale one an imbalance c, of mean square 4/n, adds (2 c T)^2 / 6 to
            # log D, of which a quarter goes to the length: 1.0/n, found with 600 other starts of n = 10, and overlaps that
            # are large at once another .6/n.
            slack = 0.2 if field == "dimension" else 0.1 + 1.6 / low.parameters.dimension
            claims.append(
                judge_seeds(
                    f"plateau-{field.replace('_', '-')}[{label}]",
                    "The plateau lengthens with n and with smaller starts as the typical start says.",
                    OURS,
                    lengths[1] - lengths[0],
                    (predicted - slack, predicted + slack),
                    predicted=predicted,
                    unit="step × learning rate",
                    note=f"Length at {field} = {values[1]:g} minus that at {values[0]:g}.",
                )
            )
    return claims
