"""What the thread says of loss curves at ranks above one, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np
import xarray as xr

from foretrain.claims import Claim, exact
from foretrain.claims import judge as judge_seeds
from foretrain.measures.plateaus import count_plateaus, plateaus, time_rescaling
from foretrain.measures.trajectory import at_end
from foretrain.plans.labelled import LabelledRuns
from foretrain.studies import s_curves as study
from foretrain.studies import s_curves_theory

THREAD = "Jermyn & Shlegeris (2022), comments"
OURS = "docs/theory/s-curves.md"
FLOOR = 1e-5  # of the first loss: below it single precision rules

# "A plateau is there", "it is not", "I see two": a statement about every run one looks at. One in ten may differ.
ALWAYS, NEVER = (0.9, 1.0), (0.0, 0.1)


def judge(runs: LabelledRuns) -> list[Claim]:
    """Every sentence whose cells are in the grid."""
    cells = {_key(cell): cell for _, cell in runs.cells()}
    large = {
        key[1:]: cell.variants["large_logits"]
        for key, cell in cells.items()
        if key[0] == "cross_entropy" and "large_logits" in cell.variants
    }
    pick = lambda *key: cells[key].simulation if key in cells else None  # noqa: E731
    claims = [*_reduction(runs, cells), *_low_rank(pick), *_rank_two(pick), *_weight_decay(cells)]
    for scale, of in (
        (runs.parameters.target_scale, lambda rank, name: pick("cross_entropy", rank, name)),
        (study.LARGE_SCALE, lambda rank, name: large.get((rank, name))),
    ):
        claims += _cross_entropy(of, f"target_scale={scale:g}")
    return claims + _decay_term(runs, cells) + _softmax(cells)


def _key(cell):
    p = cell.parameters
    return p.loss_kind, p.rank, p.optimiser


def _counts(data: xr.Dataset) -> np.ndarray:
    """Plateaus of every run's loss curve, shape (seed,); nan for a run that diverged."""
    losses = data["loss"].transpose("seed", "step").values
    return count_plateaus(data["step"].values, losses, floor=FLOOR)


def _fraction(data, wanted) -> np.ndarray:
    counts = _counts(data)
    return np.where(np.isfinite(counts), wanted(counts).astype(float), np.nan)


def _some(data):
    return _fraction(data, lambda counts: counts >= 1)


def _two(data):
    return _fraction(data, lambda counts: counts >= 2)


def _count_claim(id, statement, data, measure, tolerance, note="") -> list[Claim]:
    if data is None:
        return []
    words = "Fraction of runs with a plateau" if measure is _some else "Fraction with two or more"
    note = f"{words}. {note}".strip()
    return [judge_seeds(id, statement, THREAD, measure(data), tolerance, note=note)]


def _reduction(runs, cells) -> list[Claim]:
    deviations, seeds = [], 0
    for cell in cells.values():
        predicted = cell.theory["loss"].transpose("seed", "step").values
        if not np.isfinite(predicted).any():
            continue
        measured = cell.simulation["loss"].transpose("seed", "step").values
        gap = np.abs(measured - predicted)[np.isfinite(measured)]
        deviations.append(gap.max() / measured[:, 0].max())
        seeds += cell.seeds
    if not deviations:
        return []
    return [
        exact(
            "rank-one-reduction",
            "At rank one the loss is that of the four-number reduction at every step.",
            OURS,
            max(deviations),
            # Single precision: 1e-7 a step on a plateau from which differences grow by e^2 to e^4.
            1e-3 if runs.parameters.precision == "float32" else 1e-11,
            seeds=seeds,
            note="Largest deviation over the first loss.",
        )
    ]


def _low_rank(pick) -> list[Claim]:
    claims = []
    for rank in (1, 2, 10):
        claims += _count_claim(
            f"low-rank-plateau[rank={rank}]",
            f"At rank {rank} the loss stays on a plateau before it falls.",
            pick("mse", rank, "sgd"),
            _some,
            ALWAYS,
        )
    claims += _count_claim(
        "full-rank-no-plateau",
        "At full rank there is no plateau: it needs a target of low rank.",
        pick("mse", 100, "sgd"),
        _some,
        NEVER,
    )
    return claims + _count_claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        pick("mse", 100, "adam"),
        _some,
        ALWAYS,
        "At Adam's reference rate; other rates and starts are in the study bumps.",
    )


def _rank_two(pick) -> list[Claim]:
    one, two = pick("mse", 1, "sgd"), pick("mse", 2, "sgd")
    if one is None or two is None:
        return []
    return [
        judge_seeds(
            "rank-2-like-1",
            "Apart from bumps rank two behaves as rank one: its loss is that curve with time rescaled.",
            THREAD,
            _residuals(one, two),
            # Alike by eye: 20% in time at equal loss.
            (0, 0.2),
            predicted=0,
            note="SD over loss levels of the log ratio of times after the best rescaling, paired by seed.",
        ),
        judge_seeds(
            "rank-2-like-1.corrected",
            "The loss at rank two is no further from that at rank one than rank-one runs of two seeds from each other.",
            "docs/studies/s-curves.md",
            np.array(_residuals(one, two)) - _neighbours(one),
            # "No further": a difference of .05 in the spread of log times is not seen beside one of .2.
            (-np.inf, 0.05),
            predicted=0,
            note="The residual above minus that between the rank-one runs of one seed and the next.",
        ),
        judge_seeds(
            "symmetry-adds-s",
            "Breaking the symmetry between two targets adds another S.",
            THREAD,
            _counts(two) - _counts(one),
            # One plateau more in most runs.
            (0.5, np.inf),
            predicted=1,
            note="Plateaus at rank two minus plateaus at rank one, paired by seed.",
        ),
    ]


def _residuals(one, other) -> list[float]:
    return [
        time_rescaling(*_curve(one, seed), *_curve(other, seed)).residual
        for seed in range(one.sizes["seed"])
    ]


def _neighbours(data) -> np.ndarray:
    """Residual between each run of a cell and that of the next seed, the last one's the first."""
    seeds = data.sizes["seed"]
    return np.array(
        [
            time_rescaling(*_curve(data, seed), *_curve(data, (seed + 1) % seeds)).residual
            for seed in range(seeds)
        ]
    )


def _curve(data, seed):
    row = data["relative_loss"].isel(seed=seed).values
    return data["step"].values[np.isfinite(row)], row[np.isfinite(row)]


def _weight_decay(cells) -> list[Claim]:
    claims = []
    for rank in (2, 10, 100):
        cell = cells.get(("mse", rank, "sgd_decay"))
        if cell is None:
            continue
        decay = cell.parameters.weight_decay
        claims.append(
            judge_seeds(
                f"weight-decay-end[rank={rank}]",
                "With weight decay the converged solution does not minimise the original loss.",
                THREAD,
                at_end(cell.simulation["loss"]).values / (rank * decay**2 / 4) if decay else [],
                # Every singular value s of the target ends at s - lambda/2 if it is larger than that, leaving
                # lambda^2/4; at low rank nearly all are. Full rank has many small ones, and is slow: it has between
                # a tenth and ten times as much.
                (0.95, 1.05) if rank < 100 else (0.1, 10),
                predicted=1,
                note=f"Loss at the end over rank × lambda^2 / 4, lambda = {decay:g}.",
            )
        )
    return claims


def _cross_entropy(of, label) -> list[Claim]:
    claims = []
    for name in ("sgd", "adam"):
        where = f"[{label}, optimiser={name}]"
        claims += _count_claim(
            f"cross-entropy-two-plateaus{where}",
            "With cross-entropy there are two plateaus at rank two.",
            of(2, name),
            _two,
            ALWAYS,
        )
        ten = of(10, name)
        if ten is not None:
            end = at_end(ten["relative_loss"]).values
            claims.append(
                judge_seeds(
                    f"cross-entropy-rank-10{where}",
                    "With cross-entropy training at rank ten does not find the zero-loss solution.",
                    THREAD,
                    np.where(np.isfinite(end), end > 0.01, np.nan),
                    # Loss is left if more than a percent is, as a figure shows; in most of the runs.
                    (0.5, 1),
                    note="Fraction of runs with more than a percent of the loss left; "
                    f"median left {np.nanmedian(end):.2g}.",
                )
            )
        claims += _count_claim(
            f"cross-entropy-full-rank{where}",
            "With cross-entropy nothing changes at full rank: no plateau.",
            of(100, name) if name == "sgd" else None,
            _some,
            NEVER,
        )
    return claims


def _decay_term(runs, cells) -> list[Claim]:
    cell = cells.get(("cross_entropy", 2, "sgd"))
    if cell is None:
        return []
    ratio = [
        s_curves_theory.decay_ratio(cell.parameters, runs.root_seed, seed)
        for seed in range(cell.seeds)
    ]
    note = "Length of (Q - u) Y over that of the centred squared error's decay / (2 n^2), at the start."
    return [
        judge_seeds(
            "cross-entropy-no-decay",
            "With cross-entropy the exponential decay term is not there.",
            THREAD,
            ratio,
            # "Just isn't there": at most a tenth of what the squared error has.
            (0, 0.1),
            predicted=0,
            note=note,
        ),
        judge_seeds(
            "cross-entropy-no-decay.corrected",
            "Cross-entropy has the decay term of the centred squared error divided by 2 n^2, for small logits.",
            OURS,
            ratio,
            # Logits of the start are of order 1/n: corrections of a few percent.
            (0.95, 1.05),
            predicted=1,
            note=note,
        ),
    ]


def _softmax(cells) -> list[Claim]:
    cell = cells.get(("cross_entropy", 2, "sgd"))
    if cell is None:
        return []
    curves = cell.theory["direct_loss"].transpose("seed", "step").values
    curves = curves[np.isfinite(curves).all(1)]
    step = cell.theory["step"].values
    found = [float(len(plateaus(step, row, floor=FLOOR)) >= 1) for row in curves]
    bend = np.diff(curves, 2, axis=1).min(initial=0.0) / curves.max(initial=1e-30)
    return [
        judge_seeds(
            "softmax-alone",
            "A softmax alone makes an S: training logits directly has a plateau.",
            THREAD,
            found,
            ALWAYS,
            note="Fraction of runs with a plateau where the logits themselves descend.",
        ),
        exact(
            "softmax-alone.corrected",
            "The loss of logits trained directly is convex in time: it never bends as an S does.",
            OURS,
            -bend,
            # Rounding of a loss of order 1e-4, summed from 1e4 terms in float64.
            1e-9,
            seeds=len(found),
            note="Largest downward bend between stored steps over the first loss.",
        ),
    ]
