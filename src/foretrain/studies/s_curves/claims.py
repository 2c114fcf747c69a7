"""What the thread says of loss curves at ranks above one, and whether it is so. Tolerances stand beside their reasons."""

import dataclasses

import numpy as np
import xarray as xr

from foretrain.claims.claim import Claim, exact
from foretrain.claims.claim import judge as judge_seeds
from foretrain.measures.plateaus import count_plateaus
from foretrain.measures.time_rescaling import time_rescaling
from foretrain.measures.trajectory import at_end
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.s_curves import study
from foretrain.studies.s_curves import theory as s_curves_theory
from foretrain.training.thread_claims import ALWAYS, MOST, NEVER, SOME, THREAD, curves

THEORY = "docs/theory/s-curves.md"
OURS = "docs/studies/s-curves.md"
FLOOR = 1e-5  # of the first loss: below it single precision rules


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """Every sentence whose cells are in the grid of the study's own axes."""
    cells = {_key(cell): cell for _, cell in runs.cells()}
    pick = lambda *key: cells[key].simulation if key in cells else None  # noqa: E731
    ranks = sorted({rank for _, rank, _ in cells})
    p = runs.parameters
    claims = [*_reduction(runs, cells), *_low_rank(pick, ranks, p.dimension), *_rank_two(pick)]
    claims += _weight_decay(cells)
    large = {
        key: cell.variants["large_logits"]
        for key, cell in cells.items()
        if key[0] == "cross_entropy" and "large_logits" in cell.variants
    }
    claims += _cross_entropy(pick, pick, p, p.target_scale)
    if p.target_scale != study.LARGE_SCALE:
        claims += _cross_entropy(lambda *key: large.get(key), pick, p, study.LARGE_SCALE)
    return claims + _decay_term(runs, cells) + _softmax(cells)


def _key(cell):
    p = cell.parameters
    return p.loss_kind, p.rank, p.optimiser


def _counts(data: xr.Dataset) -> np.ndarray:
    """Plateaus of every run's loss curve, shape (seed,); nan for a run that diverged."""
    losses = data["loss"].transpose("seed", "step").values
    return count_plateaus(data["step"].values, losses, floor=FLOOR)


def _with_plateaus(data, least: int = 1) -> np.ndarray:
    """Whether each run has that many plateaus at least, shape (seed,); nan for a run that diverged."""
    counts = _counts(data)
    return np.where(np.isfinite(counts), (counts >= least).astype(float), np.nan)


def _count_claim(id, statement, data, tolerance, note="", least=1, corrected=()) -> list[Claim]:
    """A sentence on the number of plateaus; `corrected` is its true form (statement, tolerance), if it needs one."""
    if data is None:
        return []
    words = "Fraction of runs with a plateau" if least == 1 else "Fraction with two or more"
    note = f"{words}. {note}".strip()
    found = _with_plateaus(data, least)
    claims = [judge_seeds(id, statement, THREAD, found, tolerance, note=note)]
    if corrected:
        statement, tolerance = corrected
        claims.append(judge_seeds(_corrected(id), statement, OURS, found, tolerance, note=note))
    return claims


def _corrected(id: str) -> str:
    """The id of a claim's corrected form, its label behind: ``name.corrected[label]``."""
    name, bracket, label = id.partition("[")
    return f"{name}.corrected{bracket}{label}"


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
            THEORY,
            max(deviations),
            # Single precision: 1e-7 a step on a plateau from which differences grow by e^2 to e^4.
            1e-3 if runs.parameters.precision == "float32" else 1e-11,
            seeds=seeds,
            note="Largest deviation over the first loss.",
        )
    ]


def _low_rank(pick, ranks, dimension) -> list[Claim]:
    claims = []
    for rank in (rank for rank in ranks if rank < dimension):
        # The plateau fades where the rank is no longer small beside the dimension.
        fading = f"At rank {rank} most runs still have a plateau.", MOST
        claims += _count_claim(
            f"low-rank-plateau[rank={rank}]",
            f"At rank {rank} the loss stays on a plateau before it falls.",
            pick("mse", rank, "sgd"),
            ALWAYS,
            corrected=fading if 10 * rank >= dimension else (),
        )
    claims += _count_claim(
        "full-rank-no-plateau",
        "At full rank there is no plateau: it needs a target of low rank.",
        pick("mse", dimension, "sgd"),
        NEVER,
    )
    return claims + _count_claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        pick("mse", dimension, "adam"),
        ALWAYS,
        "At Adam's reference rate; other rates and starts are in the study bumps.",
        corrected=("At the reference rate and sigma = 1 Adam has no plateau at full rank.", NEVER),
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
            OURS,
            np.subtract(_residuals(one, two), _residuals(one, one, shift=1)),
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
        judge_seeds(
            "symmetry-adds-s.corrected",
            "Breaking the symmetry between two targets adds no plateau.",
            OURS,
            _counts(two) - _counts(one),
            # None: not even in one run of ten.
            (-0.1, 0.1),
            predicted=0,
            note="Plateaus at rank two minus plateaus at rank one, paired by seed.",
        ),
    ]


def _residuals(one, other, shift=0) -> list[float]:
    """Per seed what the best rescaling of time leaves between a run of `one` and that of `other`, `shift` seeds on."""
    first, second = list(curves(one, "relative_loss")), list(curves(other, "relative_loss"))
    second = second[shift:] + second[:shift]
    return [time_rescaling(*a, *b).residual for a, b in zip(first, second, strict=True)]


def _weight_decay(cells) -> list[Claim]:
    claims = []
    for (kind, rank, optimiser), cell in cells.items():
        decay = study.weight_decay(cell.parameters)
        if (kind, optimiser) != ("mse", "sgd_decay") or rank == 1 or not decay:
            continue
        seeds = range(cell.seeds)
        ends = [s_curves_theory.decayed_loss(cell.parameters, cell.root_seed, s) for s in seeds]
        claims.append(
            judge_seeds(
                f"weight-decay-end[rank={rank}]",
                "With weight decay the converged solution does not minimise the original loss.",
                THREAD,
                at_end(cell.simulation["loss"]).values / ends,
                # Within a twentieth of where the singular values of the target say it ends: at full rank those near
                # lambda/2 are learned slowly.
                (0.95, 1.05),
                predicted=1,
                note="Loss at the end over the sum of min(s, lambda/2)^2 over the singular values s of the target that "
                f"can be learned and of s^2 over the others, lambda = {decay:g}.",
            )
        )
    return claims


def _cross_entropy(of, pick, parameters, scale) -> list[Claim]:
    """The sentences on cross-entropy of a target of that scale; `of` gives its cells, `pick` those of squared error."""
    claims, full = [], parameters.dimension
    small = scale != study.LARGE_SCALE
    for name in ("sgd", "adam"):
        where = f"[target_scale={scale:g}, optimiser={name}]"
        two, ten = of("cross_entropy", 2, name), of("cross_entropy", 10, name)
        compared = small and name == "sgd"
        claims += _count_claim(
            f"cross-entropy-two-plateaus{where}",
            "With cross-entropy there are two plateaus at rank two.",
            two,
            ALWAYS,
            least=2,
            corrected=()
            if compared
            else ("Two plateaus at rank two occur in some runs, not as a rule.", SOME),
        )
        if compared:
            claims += _as_squared_error(where, two, pick("mse", 2, name))
        if ten is not None:
            claims += _rank_ten(where, ten, leaves=not small and name == "sgd")
    where = f"[target_scale={scale:g}, optimiser=sgd]"
    data = of("cross_entropy", full, "sgd")
    claims += _count_claim(
        f"cross-entropy-full-rank{where}",
        "With cross-entropy nothing changes at full rank: no plateau.",
        data,
        NEVER,
        corrected=() if small else ("For large logits descent has a plateau at full rank.", ALWAYS),
    )
    squared = pick("mse", full, "sgd")
    if small and data is not None and squared is not None:
        claims.append(
            judge_seeds(
                f"cross-entropy-full-rank-curve{where}",
                "With cross-entropy the loss at full rank takes the course of the squared error.",
                THREAD,
                np.abs(data["relative_loss"] - squared["relative_loss"]).max("step").values,
                # "Nothing changes": a twentieth of the loss cannot be told by eye; logits of order .1 make as much.
                (0, 0.05),
                predicted=0,
                note="Largest difference of the losses, each over that of the zero matrix, paired by seed.",
            )
        )
    return claims


def _as_squared_error(where, crossed, squared) -> list[Claim]:
    if crossed is None or squared is None:
        return []
    return [
        judge_seeds(
            f"cross-entropy-two-plateaus.corrected{where}",
            "For small logits cross-entropy has as many plateaus at rank two as squared error.",
            OURS,
            _counts(crossed) - _counts(squared),
            # As many: they differ in less than one run of ten.
            (-0.1, 0.1),
            predicted=0,
            note="Plateaus under cross-entropy minus plateaus under squared error, paired by seed.",
        )
    ]


def _rank_ten(where, data, leaves) -> list[Claim]:
    """Whether training at rank ten ends; `leaves` is whether loss is known to be left."""
    end = at_end(data["relative_loss"]).values
    left = np.where(np.isfinite(end), end > 0.01, np.nan)
    note = f"Fraction of runs with more than a percent of the loss left; median left {np.nanmedian(end):.2g}."
    claims = [
        judge_seeds(
            f"cross-entropy-rank-10{where}",
            "With cross-entropy training at rank ten does not find the zero-loss solution.",
            THREAD,
            left,
            # Loss is left if more than a percent is, as a figure shows; in most of the runs.
            MOST,
            note=note,
        )
    ]
    if not leaves:
        said = (
            "With cross-entropy training at rank ten finds the solution to a percent of the loss."
        )
        id = f"cross-entropy-rank-10.corrected{where}"
        claims.append(judge_seeds(id, said, OURS, left, NEVER, note=note))
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
            THEORY,
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
    claims = _direct(cell.theory, "direct_loss")
    if cell.parameters.target_scale == study.LARGE_SCALE:
        return claims
    where = f"[target_scale={study.LARGE_SCALE:g}]"
    return claims + [
        dataclasses.replace(claim, id=f"{claim.id}{where}")
        for claim in _direct(cell.theory, "direct_loss_large")
    ]


def _direct(theory, name) -> list[Claim]:
    data = theory[name].transpose("seed", "step").dropna("seed", how="any")
    found = count_plateaus(data["step"].values, data.values, floor=FLOOR) >= 1
    first = data.values.max(initial=1e-30)
    bend = np.diff(data.values, 2, axis=1).min(initial=0.0) / first
    return [
        judge_seeds(
            "softmax-alone",
            "A softmax alone makes an S: training logits directly has a plateau.",
            THREAD,
            found.astype(float),
            ALWAYS,
            note="Fraction of runs with a plateau where the logits themselves descend.",
        ),
        exact(
            "softmax-alone.corrected",
            "The loss of logits trained directly is convex in time: it never bends as an S does.",
            THEORY,
            -bend,
            # Rounding of a loss of order 1e-4, summed from 1e4 terms in float64.
            1e-9,
            seeds=len(found),
            note="Largest downward bend between stored steps over the first loss.",
        ),
    ]
