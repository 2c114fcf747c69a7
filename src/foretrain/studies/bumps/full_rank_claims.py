"""Plateaus and bumps at full rank, cell by cell. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.claims.claim import judge as judge_seeds
from foretrain.measures.plateaus import plateaus_of_runs
from foretrain.measures.trajectory import at_end
from foretrain.studies.bumps.cells_claims import OURS, bumps, stable
from foretrain.training.thread_claims import ALWAYS, MOST, NEVER, POSITIVE, THREAD
from foretrain.training.thread_claims import where as label

FLOOR = 1e-4  # of the first loss: runs end there
FAST = 5.0  # relative rate of Adam from which its loss stops falling and oscillates
START = 5  # steps in which Adam moves an entry by half of what it ends at, at the reference rate


def judge(cells) -> list[Claim]:
    """The sentences on full rank, for every cell of descent that is stable and every cell of Adam."""
    claims = []
    for cell in cells:
        p = cell.parameters
        if p.rank < p.dimension:
            continue
        where = label(p, ("init_scale", "relative_rate"))
        if p.optimiser == "sgd" and stable(cell):
            claims += _low_rank_needed(cell, where)
        elif p.optimiser == "adam":
            claims += _adam_plateau(cell, where) + _late(cell, where) + _adam_bumps(cell, where)
    return claims


def _losses(cell, name="loss") -> np.ndarray:
    return cell.simulation[name].transpose("seed", "step").values


def _plateaus(cell, floor=FLOOR) -> list:
    """The plateaus of every run above that fraction of its first loss; None for a run that diverged."""
    return plateaus_of_runs(cell.simulation["step"].values, _losses(cell), floor=floor)


def _found(cell, floor=FLOOR, after=0.0) -> np.ndarray:
    """Whether each run has a plateau above that fraction of its first loss that ends after that step; nan if it diverged."""
    return np.array(
        [
            np.nan if found is None else float(any(one.end > after for one in found))
            for found in _plateaus(cell, floor)
        ]
    )


def _note(cell) -> str:
    end = float(np.nanmedian(at_end(cell.simulation["relative_loss"]).values))
    return f"Fraction of runs with a plateau; median loss left {end:.2g}."


def _low_rank_needed(cell, where) -> list[Claim]:
    note = _note(cell)
    claims = [
        judge_seeds(
            f"low-rank-needed{where}",
            "At full rank gradient descent has no plateau.",
            THREAD,
            _found(cell),
            NEVER,
            note=note,
        )
    ]
    if cell.parameters.init_scale < 1:
        said = "From starts smaller than the target descent has a plateau at full rank, too."
        id = f"low-rank-needed.corrected{where}"
        claims.append(judge_seeds(id, said, OURS, _found(cell), ALWAYS, note=note))
    return claims


def _adam_plateau(cell, where) -> list[Claim]:
    """Descent's plateau of small starts is there at the smallest rates; where Adam is faster, it is too short to be seen."""
    p = cell.parameters
    claim = judge_seeds(
        f"adam-full-rank-plateau{where}",
        "Under Adam the full-rank case regains a plateau.",
        THREAD,
        _found(cell),
        ALWAYS,
        note=_note(cell),
    )
    if p.init_scale < 1 and p.relative_rate < 1:
        said = "From starts smaller than the target most runs of slow Adam have one, as those of descent do."
        samples, tolerance, note = _found(cell), MOST, _note(cell)
    elif p.init_scale < 1:
        said = "What Adam has of a plateau at full rank above a tenth of the loss is over within five steps."
        samples, tolerance = _found(cell, 0.1, after=START), NEVER
        note = f"Fraction of runs with a plateau above a tenth of the first loss past step {START}."
    else:
        said = "Adam has no plateau at full rank above a tenth of the loss."
        samples, tolerance = _found(cell, 0.1), NEVER
        note = "Fraction of runs with a plateau above a tenth of the first loss."
    id = f"adam-full-rank-plateau.corrected{where}"
    return [claim, judge_seeds(id, said, OURS, samples, tolerance, note=note)]


def _late(cell, where) -> list[Claim]:
    """At which loss the plateaus of fast Adam lie."""
    if cell.parameters.relative_rate < FAST:
        return []
    losses, relative = _losses(cell), _losses(cell, "relative_loss")
    highest = [
        max((one.loss for one in found or () if one.end > START), default=np.nan)
        for found in _plateaus(cell)
    ]
    levels = np.array(highest) * relative[:, 0] / losses[:, 0]
    if not np.isfinite(levels).any():
        return []
    return [
        judge_seeds(
            f"adam-plateau-late{where}",
            "What fast Adam has of plateaus at full rank past its first steps lies at two percent of the loss or below.",
            OURS,
            levels,
            # Two percent of |C|^2: hidden in a figure of the whole curve.
            (0, 0.02),
            note=f"Loss over that of the zero matrix at the highest plateau past step {START}, of runs with one.",
        )
    ]


def _adam_bumps(cell, where) -> list[Claim]:
    """Bumps at full rank: how many, and whether they form while the loss is on a plateau."""
    found, fast = bumps(cell), cell.parameters.relative_rate > FAST
    note = "Bumps per component at full rank under Adam."
    claims = [
        judge_seeds(
            f"adam-full-rank-bumps{where}",
            "The plateau at full rank corresponds to a period with a lot of bump formation.",
            THREAD,
            found,
            # "A lot": a bump for every second component.
            (0.5, np.inf),
            note=note,
        ),
        judge_seeds(
            f"adam-full-rank-bumps.corrected{where}",
            "Where Adam jumps up again bumps form, fewer than one for every second component."
            if fast
            else "Next to nothing bumps at full rank under Adam.",
            OURS,
            found,
            # Some, but less than "a lot"; next to nothing is less than one component in ten.
            (0.1, 0.5) if fast else NEVER,
            note=note,
        ),
    ]
    excess = formation_on_plateaus(cell)
    if np.isfinite(excess).any():
        claims.append(
            judge_seeds(
                f"plateau-forms-bumps{where}",
                "More maxima of alignments are passed on the plateau than its share of the logarithm of time.",
                THREAD,
                excess,
                # "A period with a lot of formation": more than its share.
                POSITIVE,
                note="Share of maxima passed on a plateau minus its share of log time, of runs with both; a maximum "
                "counts once the alignment has fallen by the prominence.",
            )
        )
    return claims


def formation_on_plateaus(cell) -> np.ndarray:
    """Per seed the share of maxima passed on plateaus minus their share of log time; nan without either."""
    step = cell.simulation["step"].values.astype(float)
    passed = _losses(cell, "maxima_passed")
    excess = np.full(len(passed), np.nan)
    for run, found in enumerate(_plateaus(cell)):
        kept = np.isfinite(passed[run])
        if not found or not passed[run][kept][-1] > 0:
            continue
        times, counts = step[kept], passed[run][kept]
        ends = np.clip([(one.start, one.end) for one in found], times[1], None)
        formed = np.diff(np.interp(ends, times, counts)).sum() / counts[-1]
        excess[run] = formed - np.diff(np.log(ends)).sum() / np.log(times[-1] / times[1])
    return excess
