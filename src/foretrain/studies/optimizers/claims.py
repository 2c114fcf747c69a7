"""What the thread says of Adam and AdamW at rank one, and whether it is so. Tolerances stand beside their reasons."""

import numpy as np

from foretrain.claims.claim import Claim
from foretrain.claims.claim import judge as judge_seeds
from foretrain.measures.plateaus import plateau_length
from foretrain.measures.time_rescaling import time_rescaling
from foretrain.plans.grid import LabelledRuns
from foretrain.studies.optimizers.study import AXES
from foretrain.training.thread_claims import THREAD, curves, pairs, where

OURS = "docs/studies/optimizers.md"


def judge_grid(runs: LabelledRuns) -> list[Claim]:
    """Every pair of optimisers of the grid, at equal start scale and learning rate."""
    cells = [cell for _, cell in runs.cells()]
    claims = []
    for names, judge_pair in ((("sgd", "adamw"), _accelerates), (("adam", "adamw"), _differs)):
        for one, other in pairs(cells, "optimiser", AXES):
            if (one.parameters.optimiser, other.parameters.optimiser) == names:
                label = where(other.parameters, ("init_scale", "learning_rate"))
                claims += judge_pair(one, other, label)
    return claims


def _accelerates(sgd, adamw, label) -> list[Claim]:
    both = zip(curves(sgd.simulation), curves(adamw.simulation), strict=True)
    found = [time_rescaling(*first, *second) for first, second in both]
    residuals = [one.residual for one in found]
    shares = [_plateau_share(cell) for cell in (sgd, adamw)]
    spread = "SD over loss levels of the log ratio of times"
    share = "Time from loss 1.1 to .9 over time to loss .1, ratio of the two optimisers, paired by seed."
    return [
        judge_seeds(
            f"adamw-faster{label}",
            "AdamW is faster than gradient descent at the same learning rate.",
            THREAD,
            [one.factor for one in found],
            # "Accelerates": any factor below one.
            (0, 1 - 1e-9),
            note="Steps of AdamW over steps of descent to equal loss, geometric mean over levels, paired by seed.",
        ),
        judge_seeds(
            f"adamw-just-accelerates{label}",
            "AdamW just accelerates: its loss is that of gradient descent with time rescaled.",
            THREAD,
            residuals,
            # "Just": at no level is the time off by more than some 10% after the best rescaling.
            (0, 0.1),
            predicted=0,
            note=f"{spread}. One time-scale explains {np.median([one.explained for one in found]):.2f} of the "
            "variance of AdamW's log times (median).",
        ),
        judge_seeds(
            f"adamw-just-accelerates.corrected{label}",
            "AdamW also changes the shape of the curve: after the best rescaling times differ by more than 20%.",
            OURS,
            residuals,
            # What the eye sees, as for two curves alike in the study s-curves.
            (0.2, np.inf),
            note=f"{spread}.",
        ),
        judge_seeds(
            f"adamw-same-plateau{label}",
            "The plateau is as large a part of training under AdamW as under gradient descent.",
            THREAD,
            shares[1] / shares[0],
            # A rescaling of time keeps it; 10% as above.
            (0.9, 1.1),
            predicted=1,
            note=share,
        ),
        judge_seeds(
            f"adamw-same-plateau.corrected{label}",
            "The plateau is a smaller part of training under AdamW.",
            OURS,
            shares[1] / shares[0],
            # Below what "as large" allows.
            (0, 0.9),
            note=share,
        ),
    ]


def _plateau_share(cell) -> np.ndarray:
    shares = []
    for step, losses in curves(cell.simulation):
        learned = plateau_length(step, losses, upper=max(losses[0], 1.2), lower=0.1)
        share = plateau_length(step, losses, upper=1.1, lower=0.9) / learned
        shares.append(share if np.isfinite(share) else np.nan)
    return np.array(shares)


def _differs(adam, adamw, label) -> list[Claim]:
    differences = []
    for (_, one), (_, other) in zip(curves(adam.simulation), curves(adamw.simulation), strict=True):
        length = min(len(one), len(other))
        differences.append(np.abs(one[:length] - other[:length]).max())
    decay = adamw.parameters.weight_decay
    note = f"Largest difference of loss at equal step, lambda = {decay:g}."
    return [
        judge_seeds(
            f"adamw-differs{label}",
            "AdamW's results differ from Adam's.",
            THREAD,
            differences,
            # A difference that a figure shows: 2% of the plateau's height somewhere.
            (0.02, np.inf),
            note=note,
        ),
        judge_seeds(
            f"adamw-differs.corrected{label}",
            "At rank one AdamW agrees with Adam to within lambda, for a lambda as small as this.",
            OURS,
            differences,
            # Decay moves the fixed point by a relative lambda / 2 at most, hence the loss by less than lambda.
            (0, decay),
            note=note,
        ),
    ]
