"""What the thread says of plateaus and bumps at full rank, and whether it is so."""

import numpy as np

from foretrain.claims.sentence import claim
from foretrain.plans.grid import Grid
from foretrain.quantities.allowed import (
    FOUND,
    NOT_FOUND,
    POSITIVE,
    SETTINGS,
    by_settings,
    over_settings,
)
from foretrain.quantities.cell import Cell
from foretrain.quantities.plateaus import formed_on_plateaus, plateaus_of_runs
from foretrain.quantities.steps import plateau_strengths
from foretrain.studies.bumps.cells import OURS, STABLE, bumps, losses, stable, starts_small
from foretrain.training.factorization import REFERENCE_RATES, THREAD

FLOOR = 1e-4  # of the first loss: runs end there
FAST = 5.0  # relative rate of Adam from which its loss stops falling and oscillates
FEWEST = 6  # runs from which a mean over some of them is judged


def full(cell: Cell | Grid, optimizer: str) -> bool:
    """Whether the target has full rank and this optimizer trains."""
    p = cell.parameters
    return p.rank >= p.dimension and p.optimizer == optimizer


def strengths(cell: Cell | Grid, floor: float = 0.0) -> np.ndarray:
    """How strong each run's strongest plateau above that fraction of its first loss is, shape (seed,)."""
    return plateau_strengths(cell.simulation["step"].values, losses(cell), floor=floor)


def plateaus(cell: Cell | Grid) -> list:
    """The plateaus of every run that any usual counter finds; None for a run that diverged."""
    step = cell.simulation["step"].values
    return plateaus_of_runs(step, losses(cell), floor=FLOOR, acceleration=SETTINGS[0])


def first_steps(cell: Cell | Grid) -> float:
    """Steps in which Adam moves an entry by half of what it ends at, 1/sqrt(n), at the reference rate: 5 at n = 100."""
    return 0.5 / np.sqrt(cell.parameters.dimension) / REFERENCE_RATES["adam"]


def adam_plateau_late(cell):
    if not full(cell, "adam") or cell.parameters.relative_rate < FAST:
        return None
    first = first_steps(cell)
    highest = [
        max((one.loss for one in found or () if one.end > first), default=np.nan)
        for found in plateaus(cell)
    ]
    return np.array(highest) * losses(cell, "relative_loss")[:, 0] / losses(cell)[:, 0]


def plateau_forms_bumps(cell):
    if not full(cell, "adam"):
        return None
    step, passed = cell.simulation["step"].values, losses(cell, "maxima_passed")
    excess = np.array(
        [formed_on_plateaus(step, *run) for run in zip(passed, plateaus(cell), strict=True)]
    )
    return excess if np.isfinite(excess).sum() >= FEWEST else None


_low_rank_needed = claim(
    "low-rank-needed",
    "At full rank gradient descent has no plateau.",
    lambda c: over_settings(strengths(c)) if full(c, "sgd") and stable(c) else None,
    **by_settings(THREAD, NOT_FOUND, **STABLE),
)
_adam_full_rank_bumps = claim(
    "adam-full-rank-bumps",
    "The plateau of Adam at full rank is a period in which many bumps form.",
    lambda c: bumps(c) if full(c, "adam") else None,
    source=THREAD,
    inside=(0.5, np.inf),
    why="A lot: a bump for every second component.",
    note="Bumps per component at full rank under Adam.",
)


CLAIMS = [
    _low_rank_needed,
    _low_rank_needed.corrected(
        "From starts smaller than the target descent has a plateau at full rank, too.",
        where=starts_small,
        **by_settings(OURS, FOUND),
    ),
    claim(
        "adam-full-rank-plateau",
        "Under Adam the full-rank case regains a plateau.",
        lambda c: over_settings(strengths(c)) if full(c, "adam") else None,
        **by_settings(THREAD, FOUND),
    ),
    claim(
        "adam-full-rank-plateau.corrected",
        "From a start of the target's size Adam has no plateau at full rank above a tenth of the loss.",
        lambda c: over_settings(strengths(c, 0.1)),
        where=lambda cell: full(cell, "adam") and not starts_small(cell),
        **by_settings(OURS, NOT_FOUND, corrects="adam-full-rank-plateau"),
    ),
    claim(
        "adam-full-rank-plateau.small-start",
        "From a start smaller than the target Adam has a weak plateau at full rank above a tenth of the loss.",
        lambda c: strengths(c, 0.1),
        source=OURS,
        inside=(1.5, 5),
        why="Weak: it is found at some settings of a counter (1.5 to 4) and hardly at the strictest.",
        where=lambda cell: full(cell, "adam") and starts_small(cell),
        statistic="median",
        note="How many times slower the loss falls on the strongest plateau than beside it.",
        corrects="adam-full-rank-plateau",
    ),
    claim(
        "adam-plateau-late",
        "At full rank fast Adam has plateaus past its first steps only where at most two percent of the loss is left.",
        adam_plateau_late,
        source=OURS,
        inside=(-np.inf, 0.02),
        why="Two percent of |C|^2: hidden in a figure of the whole curve.",
        among="runs with a plateau past the first steps",
        note="Loss over that of the zero matrix at the highest plateau past step 50/sqrt(n).",
    ),
    _adam_full_rank_bumps,
    _adam_full_rank_bumps.corrected(
        "At full rank hardly a component has a bump under Adam in runs whose loss does not jump up again.",
        source=OURS,
        inside=(-np.inf, 0.1),
        why="Next to nothing is less than one component in ten.",
        where=lambda cell: cell.parameters.relative_rate <= FAST,
    ),
    _adam_full_rank_bumps.corrected(
        "At full rank, in runs of Adam whose loss jumps up again, fewer than one bump forms for every second "
        "component.",
        source=OURS,
        inside=(0.1, 0.5),
        why='Some, but less than "a lot".',
        where=lambda cell: cell.parameters.relative_rate > FAST,
        id="adam-full-rank-bumps.fast",
    ),
    claim(
        "plateau-forms-bumps",
        "The plateau holds more maxima of alignments than its part of the logarithm of time.",
        plateau_forms_bumps,
        source=THREAD,
        inside=POSITIVE,
        why='"A period with a lot of formation": more than its share.',
        among="runs with a plateau and a maximum, where these are six or more",
        note="Share of maxima passed on a plateau minus its share of log time; a maximum counts once the alignment has "
        "fallen by the prominence.",
    ),
]
